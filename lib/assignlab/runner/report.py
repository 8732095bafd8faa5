"""What a batch leaves over all notebooks: ``manifest.json`` and the gallery ``index.html``."""

import base64
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from assignlab.local.files import whole, write_json
from assignlab.local.project import versions
from assignlab.parameters.declared import Mistake
from assignlab.runner.articles import TITLE, write_articles
from assignlab.runner.page import PAGE_SUFFIX, environment, navigate, number_of, style, values_line
from assignlab.runner.plan import Place, read_notebook
from assignlab.runner.progress import clock
from assignlab.runner.records import point_records, run_records
from assignlab.study import made_with
from assignlab.words import TERMS, linked

MANIFEST = "manifest.json"


def write_report(place: Place) -> Path:
    """Write manifest and index of this scale, and the index of all outputs, which is returned.

    Both tell of every notebook of the collection: its last run at this scale, whichever call of the
    runner made it. Pages get the links to their neighbours.
    """
    records = run_records(place)
    points = {name: point_records(place, name) for name in place.notebooks()}
    write_json(
        place.folder / MANIFEST,
        {
            "scale": place.scale,
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": versions(),
            "notebooks": [
                records.get(name, {"notebook": name, "status": "not run"})
                for name in place.notebooks()
            ],
            "points": {
                str(path): record for found in points.values() for path, record in found.items()
            },
        },
    )
    articles = write_articles(place)
    _link_neighbours(place, records, articles and f"../../{articles}")
    _write_index(place, records, points, articles, place.folder / "index.html", "")
    index = place.outputs / "index.html"
    _write_index(place, records, points, articles, index, f"{place.scale}/")
    return index


def _link_neighbours(place: Place, records: dict[str, dict], articles: str | None) -> None:
    names = [name for name in records if (place.folder / name / f"{name}{PAGE_SUFFIX}").is_file()]
    links = [
        (f"../{name}/{name}{PAGE_SUFFIX}", f"{number_of(name)} {records[name]['title']}")
        for name in names
    ]
    for name, before, after in zip(names, [None, *links], [*links[1:], None], strict=False):
        navigate(place.folder / name / f"{name}{PAGE_SUFFIX}", before, after, articles)


def _write_index(
    place: Place, records: dict, points: dict, articles: str | None, path: Path, prefix: str
) -> None:
    up = "" if prefix else "../"
    titles = {name: title_of(file) for name, file in place.notebooks().items()}
    html = environment().get_template("index.html.j2").render(
        style=style(),
        scale=place.scale,
        manifest=prefix + MANIFEST,
        articles=articles and up + articles,
        of_articles=TITLE,
        cards=[
            card(place.folder, name, title, records.get(name), f"{prefix}{name}/")
            for name, title in titles.items()
        ],
        grids=[
            grid
            for name, title in titles.items()
            for grid in grids_of(name, title, points[name], prefix)
        ],
        others=[
            (scale, f"{up}{scale}/index.html")
            for scale in sorted(found.parent.name for found in place.outputs.glob(f"*/{MANIFEST}"))
            if scale != place.scale
        ],
        provenance=provenances(records),
        terms=TERMS,
    )  # fmt: skip
    with whole(path) as part:
        part.write_text(linked(html), encoding="utf-8")


def title_of(path: Path) -> str:
    """The title of a notebook, or its name where it cannot be read."""
    try:
        return read_notebook(path).title
    except Mistake:
        return path.stem


def provenances(records: dict[str, dict]) -> list[str]:
    """A line for all runs: versions, commit, time; one for each where they differ.

    >>> run = {"versions": {"assignlab": "1.0", "python": "3.12"}, "git": "abc", "seconds": 59.0}
    >>> provenances({"01_first": run, "02_second": run})
    ['assignlab 1.0 (abc), python 3.12: 01, 02, 1:58 in all']
    """
    lines: dict[str, list[tuple[str, float]]] = {}
    for name, record in records.items():
        told = number_of(name) or name, record["seconds"]
        lines.setdefault(made_with(record), []).append(told)
    return [
        f"{line}: {', '.join(number for number, _ in runs)}, "
        f"{clock(sum(seconds for _, seconds in runs))} in all"
        for line, runs in lines.items()
    ]


def card(folder: Path, name: str, title: str, record: dict | None, prefix: str) -> dict:
    """What the index shows of one notebook; links begin with `prefix`."""
    if record is None:
        return {"number": number_of(name), "title": title, "status": "not run"}
    files = {file: prefix + file for file in record["files"]}
    results = sorted(record["results"], key=lambda one: one["kind"])  # figures, then tables
    return {
        "number": number_of(name),
        "title": record["title"],
        "link": files.get(f"{name}{PAGE_SUFFIX}") or files.get("run.log"),
        "status": record["status"],
        "reason": record["reason"],
        "short": record["short"] or record["answer"],
        "duration": clock(record["seconds"]),
        "parameters": values_line(record["parameters"]),
        "picture": _picture(folder / name, record),
        "files": [
            (text, files[file])
            for text, file in (("executed notebook", f"{name}.ipynb"), ("log", "run.log"))
            if file in files
        ],
        "results": [(one["name"].replace("_", " "), _links(one, prefix)) for one in results],
    }


def _links(result: dict, prefix: str) -> list[tuple[str, str]]:
    """(what it is, link) of each file of a result."""
    names = [file["file"] for file in result["files"]]
    return [(Path(name).suffix[1:], prefix + name) for name in names]


def grids_of(name: str, title: str, records: dict, prefix: str) -> list[dict]:
    """What the index shows of a notebook's runs with values of their own: a table for all that set
    the same parameters.

    Of two parameters one turns along the rows and one along the columns; else every run is a row.
    """
    alike: dict[tuple, dict] = {}
    for path, record in records.items():
        link = f"{prefix}{path.as_posix()}/{name}{PAGE_SUFFIX}"
        told = record["short"] if record["status"] == "completed" else record["status"]
        names, values = zip(*values_line(record["passed"]), strict=True)
        cells = alike.setdefault(names, {})
        if values in cells:  # rounded they are another run's
            values = tuple(map(str, record["passed"].values()))
        cells[values] = (link, told)
    return [
        {"number": number_of(name), "title": title, "head": head, "body": body}
        for names, cells in alike.items()
        for head, body in [_grid(names, cells)]
    ]


def _grid(names: tuple, cells: dict) -> tuple[list, list]:
    """The head and the rows of a table of runs; values in the order of their numbers.

    >>> _grid(("m", "n"), {("4", "1"): "a", ("10", "1"): "b", ("4", "2"): "c"})
    (['m \\\\ n', '1', '2'], [['4', 'a', 'c'], ['10', 'b', None]])
    >>> _grid(("m",), {("4",): "a"})
    (['m', 'answer'], [['4', 'a']])
    """
    if len(names) != 2:
        body = [[", ".join(values), cells[values]] for values in sorted(cells, key=_in_order)]
        return [", ".join(names), "answer"], body
    rows, columns = (
        sorted({values[i] for values in cells}, key=lambda value: _in_order([value]))
        for i in (0, 1)
    )
    head = [" \\ ".join(names), *columns]
    return head, [[row, *(cells.get((row, column)) for column in columns)] for row in rows]


def _in_order(values: Iterable[str]) -> list[tuple[float, str]]:
    """A key that sorts what `values_line` gives: numbers, lists of them, texts by numbers in them.

    >>> sorted(["20,000", "900", "0.25", "0.5", "900, 1"], key=lambda value: _in_order([value]))
    ['0.25', '0.5', '900', '900, 1', '20,000']
    >>> sorted(["sticky@2.11", "sticky@2.4"], key=lambda value: _in_order([value]))
    ['sticky@2.4', 'sticky@2.11']
    """
    key: list[tuple[float, str]] = []
    for value in ", ".join(values).split(", "):
        try:
            key.append((float(value.replace(",", "")), ""))
        except ValueError:
            parts = re.split(r"(\d+)", value)
            key += [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
    return key


def _picture(folder: Path, record: dict) -> dict | None:
    """The picture that shows the answer, small, as data inside the page; its alt text says where it
    is described."""
    figures = [result for result in record["results"] if result["kind"] == "figure"]
    for figure in sorted(figures, key=lambda figure: figure["name"] != record["picture"]):
        path = folder / f"{figure['name']}.small.png"
        if path.is_file():
            data = base64.b64encode(path.read_bytes()).decode("ascii")
            # What stands for the picture may be a part of it, or another one.
            alt = f"Small picture of {figure['name'].replace('_', ' ')}, described on the page"
            return {"source": f"data:image/png;base64,{data}", "alt": alt}
    return None
