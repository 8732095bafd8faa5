"""How a notebook leaves its results: tables, pictures, one answer, and the record that it finished.

    import assignlab.study

    study = assignlab.study.begin("02_imbalance_and_topic_count", globals())
    study.figure("gap", fig, alt="Line chart: the gap of range grows with the number of topics ...")
    study.table("gap_numbers", frame, caption="Count gap by strategy and number of topics")
    study.answer(f"At {topics} topics range leaves a gap of {gap} partitions.")
    study.finish()

It does the same in JupyterLab, under plain Papermill in any working directory, and under
``assignlab run``. The runner says in the environment where the results go; otherwise they go to
``outputs/adhoc/<notebook>`` of the project, or of the working directory where the library is not
installed from a project folder.

The record that `Study.finish` writes last is what tells a finished notebook from one whose kernel
died: the runner believes it and not the notebook's metadata.
"""

import base64
import html
import io
import itertools
import math
import os
import re
import time
from datetime import UTC, datetime
from pathlib import Path

from assignlab.local.files import whole, write_json
from assignlab.local.project import RUN_ID_VARIABLE, git_state, outputs, run_folder, versions

RECORD = "record.json"
ROWS_SHOWN = 60
ANSWER_STYLE = (
    "border-left:.3em solid #0173b2;padding:.6em 1em;margin:1em 0;font-size:1.2em;line-height:1.4"
)


def plain(value) -> bool:
    """Whether `value` is a literal such as a parameters cell holds.

    >>> plain([1, "a", None]), plain({"a": 1.5}), plain((1, 2)), plain(print), plain(float("nan"))
    (True, True, False, False, False)
    """
    if isinstance(value, list):
        return all(plain(item) for item in value)
    if isinstance(value, dict):
        return all(isinstance(key, str) and plain(item) for key, item in value.items())
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or type(value) in (bool, int, str)


def parameters_among(variables) -> dict:
    """The parameters among a notebook's variables: its public names that hold plain literals.

    `begin` is called right after the parameters cell, so that nothing else is there yet but what
    IPython keeps for itself.

    >>> parameters_among({"topics": [1, 2], "seed": 7, "_": 3, "In": ["seed = 7"], "f": len})
    {'topics': [1, 2], 'seed': 7}
    """
    return {
        name: value
        for name, value in variables.items()
        if not name.startswith("_") and name not in ("In", "Out") and plain(value)
    }


def begin(notebook: str, variables) -> "Study":
    """Begin to collect the results of `notebook` (its file name without ``.ipynb``).

    variables: the notebook's ``globals()``, or a dict of its parameters.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", notebook):
        raise ValueError(f"not a notebook's name: {notebook!r}")
    folder = run_folder() or outputs() / "adhoc" / notebook
    return Study(notebook, folder, parameters_among(variables), os.environ.get(RUN_ID_VARIABLE))


class Study:
    """The results of one run of one notebook; made by `begin`.

    ``folder``: where they go. ``parameters``: name -> plain value.
    """

    def __init__(self, notebook: str, folder: Path, parameters: dict, run_id: str | None):
        self.notebook = notebook
        self.folder = folder
        self.parameters = parameters
        self._run_id = run_id
        self._results: dict[str, dict] = {}
        self._failures = 0
        self._answer = ""
        self._started = datetime.now(UTC)
        self._clock = time.monotonic()
        folder.mkdir(parents=True, exist_ok=True)
        # The record of an earlier run must not vouch for this one.
        (folder / RECORD).unlink(missing_ok=True)

    def table(self, name: str, frame, caption: str):
        """Show a pandas frame and keep it as ``<name>.csv`` and ``<name>.parquet``.

        An index with a name becomes a column; a nameless one is dropped. Long frames are shown
        shortened and kept whole.
        """
        frame = frame.reset_index() if any(frame.index.names) else frame.reset_index(drop=True)
        frame.columns = [str(column) for column in frame.columns]
        files = self._claim(name, "table", ["csv", "parquet"], caption)
        with whole(files[0]) as part:
            frame.to_csv(part, index=False)
        with whole(files[1]) as part:
            frame.to_parquet(part, index=False)
        shown = _texts_left(frame.head(ROWS_SHOWN))
        if len(frame) > ROWS_SHOWN:
            caption += f" (the first {ROWS_SHOWN} of {len(frame)} rows; all are in {name}.csv)"
        head, tail = shown.split(">", 1)
        # Jupyter's own layout gives every column the same width, whatever it holds.
        _display(
            {
                "text/html": f'<div style="overflow-x:auto">{head} style="table-layout:auto">'
                f"<caption>{html.escape(caption)}</caption>{tail}</div>",
                "text/plain": f"{caption}\n{frame.head(ROWS_SHOWN).to_string(index=False)}",
            }
        )

    def figure(self, name: str, figure, alt: str):
        """Show a matplotlib figure (or a seaborn grid) and keep it as PNG and SVG, then close it.

        alt: what the picture shows, in words, for those who do not see it.
        """
        import matplotlib.pyplot as plt

        if not alt.strip():
            raise ValueError(f"figure {name!r} needs an alt text that says what it shows")
        figure = getattr(figure, "figure", figure)
        files = self._claim(name, "figure", ["png", "svg"], alt)
        png = io.BytesIO()
        figure.savefig(png, format="png", dpi=144, bbox_inches="tight")
        with whole(files[0]) as part:
            part.write_bytes(png.getvalue())
        # No date and no random ids: the same numbers give the same file.
        with whole(files[1]) as part, plt.rc_context({"svg.hashsalt": name}):
            figure.savefig(part, format="svg", bbox_inches="tight", metadata={"Date": None})
        plt.close(figure)
        encoded = base64.b64encode(png.getvalue()).decode("ascii")
        _display({"image/png": encoded, "text/plain": alt}, {"image/png": {"alt": alt}})

    @staticmethod
    def told(of_each: dict[str, object], word: str) -> str:
        """What holds for each name, for an answer: names of which the same holds stand together.

        >>> Study.told({"range": 2, "roundrobin": 1, "sticky": 1, "server-uniform": 1}, "under")
        '2 under range, 1 under roundrobin, sticky and server-uniform'
        """
        names: dict[str, list[str]] = {}
        for name, what in of_each.items():
            names.setdefault(str(what), []).append(name)
        lists = {
            what: " and ".join(filter(None, (", ".join(some[:-1]), some[-1])))
            for what, some in names.items()
        }
        return ", ".join(f"{what} {word} {some}" for what, some in lists.items())

    def answer(self, sentence: str):
        """Show the one sentence that answers the notebook's question, computed and not typed."""
        if not sentence.strip():
            raise ValueError("the answer is empty")
        self._answer = sentence.strip()
        _display(
            {
                "text/html": f'<p class="answer" style="{ANSWER_STYLE}">'
                f"<strong>{html.escape(self._answer)}</strong></p>",
                "text/plain": self._answer,
            }
        )

    def failures(self, frame):
        """Say that simulations failed: `frame` has one row for each. An empty frame says nothing.

        They are kept as the table ``failures``, and the run's exit code tells of them.
        """
        if len(frame):
            self._failures += len(frame)
            self.table("failures", frame, caption=f"Simulations that failed: {len(frame)}")

    def finish(self):
        """Show the provenance line and write the completion record, in the last cell.

        Raises ValueError where the notebook gave no answer.
        """
        if not self._answer:
            raise ValueError("the notebook gave no answer: call answer(...) before finish()")
        seconds = round(time.monotonic() - self._clock, 3)
        record = {
            "notebook": self.notebook,
            "run_id": self._run_id,
            "answer": self._answer,
            "failures": self._failures,
            "parameters": self.parameters,
            "seed": self.parameters.get("seed"),
            "started": self._started.isoformat(timespec="seconds"),
            "seconds": seconds,
            "versions": versions(),
            "git": git_state(),
            "results": list(self._results.values()),
        }
        line = provenance(record)
        _display(
            {
                "text/html": f'<p class="provenance"><small>{html.escape(line)}</small></p>',
                "text/plain": line,
            }
        )
        write_json(self.folder / RECORD, record)

    def _claim(self, name: str, kind: str, suffixes: list[str], text: str) -> list[Path]:
        """The files of the result `name`, noted for the record; every result has its own name."""
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", name):
            raise ValueError(f"not a result's name (a-z, 0-9, _ and - only): {name!r}")
        if name in self._results:
            raise ValueError(f"there is a {self._results[name]['kind']} {name!r} already")
        files = [f"{name}.{suffix}" for suffix in suffixes]
        self._results[name] = {"name": name, "kind": kind, "files": files, "text": text}
        return [self.folder / file for file in files]


def provenance(record: dict) -> str:
    """One line: versions, seed and duration of a run, from its record."""
    parts = [" ".join(item) for item in record["versions"].items()]
    if record["git"]:
        parts[0] += f" ({record['git']})"
    if record["seed"] is not None:
        parts.append(f"seed {record['seed']}")
    return ", ".join([*parts, f"{record['seconds']:.1f} s"])


def _texts_left(frame) -> str:
    """The frame as HTML, numbers to the right and everything else to the left.

    >>> import pandas as pd
    >>> cells = re.findall("<t[hd][> ].*", _texts_left(pd.DataFrame({"n": [1], "of": ["a"]})))
    >>> print(*cells, sep=chr(10))
    <th>n</th>
    <th style="text-align:left">of</th>
    <td>1</td>
    <td style="text-align:left">a</td>
    """
    numbers = frame.select_dtypes("number").columns
    left = itertools.cycle([column not in numbers for column in frame.columns])
    return re.sub(
        "<(t[hd])>",
        lambda tag: f'<{tag[1]} style="text-align:left">' if next(left) else tag[0],
        frame.to_html(index=False, border=0, na_rep="-"),
    )


def _display(data: dict, details: dict | None = None):
    from IPython.display import display

    display(data, raw=True, metadata=details or {})
