"""How a notebook leaves its results: tables, pictures, one answer, and the record that it finished.

    import assignlab.study

    study = assignlab.study.begin("02_imbalance_and_topic_count", globals())
    study.figure("gap", fig, alt="Line chart: the gap of range grows with the number of topics ...")
    study.table("gap_numbers", frame, caption="Gap by strategy and topics", show=largest)
    study.answer(f"At {topics} topics range leaves a gap of {gap} partitions.", do="Set ...")
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
import json
import math
import os
import re
import time
from collections.abc import Collection
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from textwrap import fill

from assignlab.local import project
from assignlab.local.doctor import folder_problem
from assignlab.local.files import whole, write_json
from assignlab.parameters.declared import of_session
from assignlab.sliders import (
    Request,
    bars_of,
    bars_widget,
    compare_first,
    explorer,
    live,
    request,
    stepper,
    steps_widget,
)
from assignlab.words import NOTEBOOK, cell, counted, first_sentence, heading, linking, listed

RECORD = "record.json"
FAILURES = "failures"
"""The table of the simulations that failed."""
ROWS_SHOWN = 15
SHORT = 160
"""Characters of an answer in the index, at most."""
WIDTH = 48
"""Characters that fit side by side on a phone: wider tables are marked, for the page to turn."""
DPI, MARGIN = 144, 0.1
"""Of a picture: dots per inch, and inches left free around what it shows."""
TITLE = 56
"""Characters of a line of a picture's title, at most: what a phone shows of a wide picture."""
SMALL = 640
"""Width in pixels of a picture's part that the index shows."""
ROLE = "assignlab"
"""Key of an output's metadata: what it is, ``{"kind": "table", "name": ...}``, for the page."""
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

    variables: the notebook's ``globals()``, or a dict of its parameters. Where the parameters cell
    ran, their values are checked as ``assignlab run`` does before it starts anything: ``Mistake``,
    a ValueError, says what is allowed. Raises OSError where the results cannot be written.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", notebook):
        raise ValueError(f"not a notebook's name: {notebook!r}")
    folder = project.run_folder() or project.outputs() / "adhoc" / notebook
    project.BEGUN[:] = [folder]
    parameters = of_session(variables)
    if parameters is None:
        parameters = parameters_among(variables)
    named = project.FOLDER_VARIABLE if project.run_folder() else project.OUTPUTS_VARIABLE
    if problem := folder_problem(str(folder), named):
        raise OSError(problem)
    return Study(notebook, folder, parameters, os.environ.get(project.RUN_ID_VARIABLE))


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
        self._made_by: dict[str, Request] = {}
        self._failed: list = []
        self._answer: dict[str, str] = {}
        self._started = datetime.now(UTC)
        self._clock = time.monotonic()
        folder.mkdir(parents=True, exist_ok=True)
        # Neither the record of an earlier run nor what it made must pass for this one's.
        with suppress(FileNotFoundError, ValueError, LookupError, TypeError):  # none, or another's
            for result in json.loads((folder / RECORD).read_text(encoding="utf-8"))["results"]:
                for name in filter(None, [*result["files"], result.get("small")]):
                    (folder / Path(name).name).unlink(missing_ok=True)
        (folder / RECORD).unlink(missing_ok=True)

    def table(self, name: str, frame, caption: str, show=None):
        """Show a pandas frame and keep it as ``<name>.csv`` and ``<name>.parquet``.

        An index with a name becomes a column; a nameless one is dropped. show: another frame to
        show in its place, of the rows and columns that answer. At most 15 rows are shown, with
        words above the columns (`assignlab.words.heading`).
        """
        frame = _flat(frame)
        self._keep(name, frame, caption)
        shown = frame if show is None else _flat(show)
        told = shown.head(ROWS_SHOWN)
        rows = counted(len(frame), "row")
        if told.empty:
            caption += ": none" + f" ({rows} in {name}.csv)" * bool(len(frame))
        elif set(shown.columns) - set(frame.columns) and len(told) < max(len(shown), len(frame)):
            first = f"the first {len(told)} of {len(shown)} lines; " * (len(told) < len(shown))
            caption += f" ({first}from {rows}, all in {name}.csv)"
        elif len(told) < len(frame):
            caption += f" ({len(told)} of {rows}; all are in {name}.csv)"
        text = f"{caption}\n{told.to_string(index=False)}"
        _display({"text/html": _table_html(told, caption)}, text, kind="table", name=name)

    def figure(self, name: str, figure, alt: str, small=None, title: str = ""):
        """Show a matplotlib figure (or a seaborn grid) and keep it as PNG and SVG, then close it.

        alt: what the picture shows, in words, for those who do not see it. title: what is seen; it
        stands above the picture, in lines that a phone shows whole. small: the axes that stand for
        the picture in the index, or another figure that does; the first axes unless given.
        """
        import matplotlib.pyplot as plt

        if not alt.strip():
            raise ValueError(f"figure {name!r} needs an alt text that says what it shows")
        figure = getattr(figure, "figure", figure)
        if title:
            figure.suptitle(fill(title, TITLE), x=0.01, ha="left", weight="bold")
        png = io.BytesIO()
        box = _laid_out(figure)
        figure.savefig(png, format="png", dpi=DPI, bbox_inches=box)
        files = self._claim(name, "figure", ["png", "svg"], alt)
        with whole(files[0]) as part:
            part.write_bytes(png.getvalue())
        # No date and no random ids: the same numbers give the same file.
        with whole(files[1]) as part, plt.rc_context({"svg.hashsalt": name}):
            figure.savefig(part, format="svg", bbox_inches=box, metadata={"Date": None})
        self._results[name]["small"] = f"{name}.small.png"
        with whole(self.folder / f"{name}.small.png") as part:
            _save_small(figure, small, box, part)
        plt.close(figure)
        if hasattr(small, "savefig"):
            plt.close(small)
        encoded = base64.b64encode(png.getvalue()).decode("ascii")
        _display({"image/png": encoded}, alt, kind="figure", name=name)

    def explore(
        self, name: str, frame, sliders: list[str], bars: str, value: str, caption: str, ask=None
    ):
        """Show numbers as bars that sliders choose from, and keep the frame as :meth:`table` does.

        sliders: columns; each gets a slider over its values, and the rows with the values chosen
        are drawn: a bar for each value of the column ``bars``, as long as ``value``. A page has all
        answers in itself, and works offline; JupyterLab shows widgets of the same look.

        ask: the function that the numbers are from: called with the sliders' values by name, it
        gives the number of every bar by its name, as a dict or a Series. In JupyterLab sliders over
        whole numbers then stop at each from the least to the greatest, and what stands in no row is
        computed when a slider moves. Everywhere the first row is asked and compared.

        Raises ValueError where rows are not told apart by sliders and bars, numbers are negative or
        missing, or ``ask`` gives others than the frame has.
        """
        frame = _flat(frame)
        if frame.duplicated([*sliders, bars]).any():
            raise ValueError(f"{', '.join([*sliders, bars])} do not tell the rows apart")
        if not (frame[value] >= 0).all():
            raise ValueError(f"{value} has values that no bar shows: negative or missing")
        choice = bars_of(frame, sliders, bars, value, caption)
        if ask:
            compare_first(choice, ask)
        self._keep(name, frame, caption)
        text = f"{caption}\n{frame.head(ROWS_SHOWN).to_string(index=False)}"
        if len(frame) and (widgets := live()):
            shown = bars_widget(widgets, choice, ask)._repr_mimebundle_()
        else:
            shown = {"text/html": explorer(name, choice)}
        _display(shown, text, kind="table", name=name)

    def steps(
        self, name: str, frame, pictures: list[str], caption: str, ask=None, at=None, most=None
    ):
        """Show pictures one at a time, a slider goes from one to the next; the frame is kept.

        pictures: SVG, such as `assignlab.pictures.frames` makes. frame: a row for each, whose
        column ``told`` is the sentence that stands above the picture; kept as :meth:`table` does. A
        page has all of it in itself; JupyterLab shows widgets, and can play the steps.

        ask: the function that made frame and pictures, from the whole numbers ``at`` by name. In
        JupyterLab each of them gets a slider from 1 to what ``most`` says,
        and moving it begins anew.

        Raises ValueError where a row has no picture or a picture no row.
        """
        frame = _flat(frame)
        if not 0 < len(frame) == len(pictures):
            raise ValueError(f"{len(pictures)} pictures for {len(frame)} steps")
        self._keep(name, frame, caption)
        told = [str(sentence) for sentence in frame["told"]]
        numbered = "\n".join(f"{step}. {sentence}" for step, sentence in enumerate(told, 1))
        if widgets := live():
            box = steps_widget(widgets, told, pictures, caption, ask, at, most)
            shown = box._repr_mimebundle_()
        else:
            shown = {"text/html": stepper(name, told, pictures, caption)}
        _display(shown, f"{caption}\n{numbered}", kind="table", name=name)

    @staticmethod
    def told(of_each: dict[str, object], word: str, most: int | None = None) -> str:
        """What holds for each name, for an answer: names of which the same holds stand together.

        most: how many of them are named, where they are more by two at least. The mean of nothing,
        ``nan``, is told as no answer: that of an original that throws.

        >>> each = {"range": 2, "roundrobin": 1, "sticky": 1, "server-uniform": 1}
        >>> Study.told(each, "under")
        '2 under range, 1 under roundrobin, sticky and server-uniform'
        >>> Study.told(each, "under", most=1)
        '2 under range, 1 under roundrobin and 2 more'
        >>> Study.told({"range": "3", "scala-roundrobin": "nan"}, "under")
        '3 under range, no answer under scala-roundrobin'
        """
        names: dict[str, list[str]] = {}
        for name, what in of_each.items():
            known = "no answer" if str(what) == "nan" else str(what)
            names.setdefault(known, []).append(name)
        return ", ".join(f"{what} {word} {listed(some, most)}" for what, some in names.items())

    def answer(self, sentence: str, do: str = "", short: str = "", picture: str = ""):
        """Show what answers the notebook's question, computed and not typed: in its first sentence,
        which stands out; what follows says how much, and where it is not so.

        The page begins with it. do: what a reader does with it, in a sentence or two, and where to
        read on, as ``[06 upgrade](06_upgrade.ipynb)``. short: the
        answer for the index, the result first: what is beyond 160 characters is cut off there, for
        names may be long; the answer's beginning unless given. picture: the name of the figure that
        shows it; the first one unless given.
        """
        if not sentence.strip():
            raise ValueError("the answer is empty")
        if picture and self._results.get(picture, {}).get("kind") != "figure":
            raise ValueError(f"there is no figure {picture!r} yet")
        figures = (one["name"] for one in self._results.values() if one["kind"] == "figure")
        self._answer = {
            "answer": sentence.strip(),
            "do": do.strip(),
            "short": whole_words(short.strip()) or shortened(sentence),
            "picture": picture or next(figures, ""),
        }
        first, rest = map(html.escape, first_sentence(self._answer["answer"]))
        said = f"<strong>{first}</strong> {rest}".rstrip()
        then = f"<p>{linking(self._answer['do'])}</p>" if do else ""
        page = f'<p class="answer" style="{ANSWER_STYLE}">{said}</p>{then}'
        text = "\n".join(filter(None, [self._answer["answer"], NOTEBOOK.sub(r"\1", do.strip())]))
        _display({"text/html": page}, text, kind="answer")

    def failures(self, frame):
        """Say that simulations failed: `frame` has one row for each. An empty frame says nothing.

        All that are told are kept as one table, ``failures``, and the run's exit code tells of them.
        In JupyterLab those of a cell that is run again are told anew, or no more.
        """
        asked = request()
        others = [(by, rows) for by, rows in self._failed if not asked.repeats(by)]
        if not len(frame) and len(others) == len(self._failed):
            return
        # Columns that one sweep has and another lacks keep their values as they are.
        self._failed = others + [(asked, frame.astype(object))] * (len(frame) > 0)
        before = self._results.pop(FAILURES, {"files": []})
        if self._failed:
            import pandas as pd

            rows = pd.concat([rows for _, rows in self._failed], ignore_index=True).infer_objects()
            self.table(FAILURES, rows, caption=f"Simulations that failed: {len(rows)}")
        else:
            for name in before["files"]:
                (self.folder / name).unlink(missing_ok=True)

    def finish(self, otherwise: Collection[str] = ()):
        """Show the provenance line and write the completion record, in the last cell.

        otherwise: words of the glossary that the page uses in another sense; its list leaves them out.
        Raises ValueError where the notebook gave no answer.
        """
        if not self._answer:
            raise ValueError("the notebook gave no answer: call answer(...) before finish()")
        seconds = round(time.monotonic() - self._clock, 3)
        record = {
            "notebook": self.notebook,
            "run_id": self._run_id,
            **self._answer,
            "failures": sum(len(rows) for _, rows in self._failed),
            "parameters": self.parameters,
            "seed": self.parameters.get("seed"),
            "started": self._started.isoformat(timespec="seconds"),
            "seconds": seconds,
            "versions": project.versions(),
            "git": project.git_state(),
            "otherwise": list(otherwise),
            "results": list(self._results.values()),
        }
        line = provenance(record)
        page = f'<p class="provenance"><small>{html.escape(line)}</small></p>'
        _display({"text/html": page}, line, kind="provenance")
        write_json(self.folder / RECORD, record)

    def _keep(self, name: str, frame, caption: str) -> None:
        """The rows of a table in its two files."""
        csv, parquet = self._claim(name, "table", ["csv", "parquet"], caption)
        try:
            with whole(csv) as text, whole(parquet) as columns:
                frame.to_parquet(columns, index=False)
                frame.to_csv(text, index=False)
        except Exception as error:
            del self._results[name]
            if isinstance(error, OSError):
                raise
            # pyarrow says last which column
            why = " ".join(error.args[::-1]) if len(error.args) == 2 else error
            raise ValueError(f"table {name!r} cannot be kept: {why}") from None

    def _claim(self, name: str, kind: str, suffixes: list[str], text: str) -> list[Path]:
        """The files of the result `name`, noted for the record; every result has its own name.

        In JupyterLab a cell that is run again replaces what it made.
        """
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", name):
            raise ValueError(f"not a result's name (a-z, 0-9, _ and - only): {name!r}")
        asked = request()
        made_by = self._made_by.setdefault(name, asked)
        if name in self._results and not asked.repeats(made_by):
            raise ValueError(f"there is a {self._results[name]['kind']} {name!r} already")
        self._made_by[name] = asked
        files = [f"{name}.{suffix}" for suffix in suffixes]
        self._results[name] = {"name": name, "kind": kind, "files": files, "text": text}
        return [self.folder / file for file in files]


def provenance(record: dict) -> str:
    """One line: versions, seed and duration of a run, from its record."""
    seed = f", seed {record['seed']}" * (record["seed"] is not None)
    return f"{made_with(record)}{seed}, {record['seconds']:.1f} s"


def made_with(record: dict) -> str:
    """The versions of a run, and the project's commit, from its record."""
    parts = [" ".join(item) for item in record["versions"].items()]
    if record["git"]:
        parts[0] += f" ({record['git']})"
    return ", ".join(parts)


def shortened(text: str, most: int = SHORT) -> str:
    """The beginning of a text: its first sentence, or as many whole words as fit.

    >>> shortened("Range leaves 2.5 more. Others do not."), shortened("one two three", most=9)
    ('Range leaves 2.5 more.', 'one two …')
    """
    return whole_words(re.split(r"(?<=[.:;])\s", text.strip(), maxsplit=1)[0].rstrip(":;"), most)


def whole_words(text: str, most: int = SHORT) -> str:
    """A text, or as many whole words of it as fit.

    >>> whole_words("Two restart: 39 in step, 563 late", most=26), whole_words("x" * 9, most=5)
    ('Two restart: 39 in step …', 'xxxx…')
    """
    if len(text) <= most:
        return text
    words, blank, _ = text[: most - 1].rpartition(" ")
    return f"{words.rstrip(',;:')} …" if blank else f"{text[: most - 1]}…"


def _laid_out(figure):
    """Lay a figure out, once for all its files; what it covers, in inches."""
    figure.set_dpi(DPI)
    if engine := figure.get_layout_engine():
        engine.execute(figure)
        # It would lay it out anew, twice for each file.
        figure.set_layout_engine(None)
    return figure.get_tightbbox().padded(MARGIN)


def _save_small(figure, small, box, part: Path) -> None:
    """Save what stands for a figure in the index: another one, one of its axes, or all there is."""
    drawn = [ax for ax in figure.axes if ax.has_data() or ax.patches or ax.texts]
    if hasattr(small, "savefig"):
        figure, box = small, _laid_out(small)
    elif small is not None or len(drawn) > 1:
        shown = small or drawn[0]
        for ax in figure.axes:
            ax.set_visible(ax is shown)
        for legend in figure.legends:
            legend.set_visible(False)
        pixels = shown.get_tightbbox()
        box = pixels.transformed(figure.dpi_scale_trans.inverted()).padded(0.05)
    figure.savefig(part, format="png", dpi=min(SMALL / box.width, 200), bbox_inches=box)


def _flat(frame):
    """The frame with named indices as columns and every column called by a text."""
    frame = frame.reset_index() if any(frame.index.names) else frame.reset_index(drop=True)
    frame.columns = [str(column) for column in frame.columns]
    return frame


def _table_html(frame, caption: str) -> str:
    """The frame as HTML: words for headings, numbers to the right, everything else to the left.

    Every cell carries its heading too, so that a narrow page can show a row as a list.

    >>> import pandas as pd
    >>> page = _table_html(pd.DataFrame({"count_gap": [1.5], "even": [False]}), "Gaps & more")
    >>> print(page.replace("<t", "\\n<t").replace(' style="text-align:left"', " LEFT"))
    <div style="overflow-x:auto">
    <table style="table-layout:auto"><caption>Gaps &amp; more</caption>
    <thead>
    <tr>
    <th>gap</th>
    <th LEFT>even</th></tr></thead>
    <tbody>
    <tr>
    <td data-label="gap">1.5</td>
    <td LEFT data-label="even">no</td></tr></tbody></table></div>
    """
    counted = frame.select_dtypes("number").columns
    left = ["" if column in counted else ' style="text-align:left"' for column in frame.columns]
    words = [html.escape(heading(column)) for column in frame.columns]
    head = "".join(f"<th{at}>{word}</th>" for at, word in zip(left, words, strict=True))
    rows = [
        "".join(
            f'<td{at} data-label="{word}">{html.escape(cell(value))}</td>'
            for at, word, value in zip(left, words, row, strict=True)
        )
        for row in frame.astype(object).itertuples(index=False, name=None)
    ]
    wide = ' class="wide"' if _width(frame) > WIDTH else ""
    # Jupyter's own layout gives every column the same width, whatever it holds.
    return (
        f'<div style="overflow-x:auto"><table{wide} style="table-layout:auto">'
        f"<caption>{html.escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>"
        + "".join(f"<tr>{row}</tr>" for row in rows)
        + "</tbody></table></div>"
    )


def _width(frame) -> int:
    """Characters that a row needs, long texts broken into lines."""
    words = {column: map(len, heading(column).split()) for column in frame.columns}
    cells = {column: map(_narrowest, map(cell, frame[column])) for column in frame.columns}
    return sum(2 + max([0, *words[column], *cells[column]]) for column in frame.columns)


def _narrowest(text: str) -> int:
    """Characters that a cell needs where it may be broken at blanks and hyphens, 16 of a long one.

    >>> _narrowest("one, two and three more of them"), _narrowest("group.consumer.session.timeout.ms")
    (16, 33)
    """
    return max(min(len(text), 16), *map(len, re.split(r"[\s-]", text)))


def _display(shown: dict, text: str, **role: str):
    """Show something, also as text, which is a picture's alternative; ``role``: what it is."""
    from IPython.display import display

    details = {form: {"alt": text} for form in shown if form == "image/png"}
    display({**shown, "text/plain": text}, raw=True, metadata={**details, ROLE: role})
