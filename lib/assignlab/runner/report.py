"""What a batch leaves over all notebooks: ``manifest.json`` and the page ``index.html``."""

import base64
from datetime import UTC, datetime
from pathlib import Path

import jinja2

from assignlab.local.files import whole, write_json
from assignlab.local.project import versions
from assignlab.runner.page import PAGE_SUFFIX, TEMPLATES, style
from assignlab.runner.plan import Place
from assignlab.runner.progress import clock
from assignlab.runner.records import run_records
from assignlab.study import provenance

MANIFEST = "manifest.json"


def write_report(place: Place) -> Path:
    """Write manifest and index of this scale, and the index of all outputs, which is returned.

    Both tell of every notebook of the collection: its last run at this scale, whichever call of the
    runner made it.
    """
    records = run_records(place)
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
        },
    )
    _write_index(place, records, place.folder / "index.html", "")
    index = place.outputs / "index.html"
    _write_index(place, records, index, f"{place.scale}/")
    return index


def _write_index(place: Place, records: dict[str, dict], path: Path, prefix: str) -> None:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    up = "" if prefix else "../"
    html = environment.get_template("index.html.j2").render(
        style=style(),
        scale=place.scale,
        manifest=prefix + MANIFEST,
        cards=[
            card(place.folder, name, records.get(name), f"{prefix}{name}/")
            for name in place.notebooks()
        ],
        others=[
            (scale, f"{up}{scale}/index.html")
            for scale in sorted(found.parent.name for found in place.outputs.glob(f"*/{MANIFEST}"))
            if scale != place.scale
        ],
    )
    with whole(path) as part:
        part.write_text(html, encoding="utf-8")


def card(folder: Path, name: str, record: dict | None, prefix: str) -> dict:
    """What the index shows of one notebook; links begin with `prefix`."""
    if record is None:
        return {"title": name, "status": "not run"}
    tables, figures = (
        [result for result in record["results"] if result["kind"] == kind]
        for kind in ("table", "figure")
    )
    return {
        "title": record["title"],
        "status": record["status"],
        "reason": record["reason"],
        "answer": record["answer"],
        "duration": clock(record["seconds"]),
        "provenance": provenance(record),
        "parameters": record["parameters"],
        "picture": _picture(folder / name, figures),
        "pages": [
            (text, prefix + file)
            for text, file in (
                ("page", f"{name}{PAGE_SUFFIX}"),
                ("notebook", f"{name}.ipynb"),
                ("log", "run.log"),
            )
            if file in record["files"]
        ],
        "results": [
            (
                result["name"],
                [
                    (Path(file["file"]).suffix[1:], prefix + file["file"])
                    for file in result["files"]
                ],
            )
            for result in tables + figures
        ],
    }


def _picture(folder: Path, figures: list[dict]) -> dict | None:
    """The first picture, as data inside the page, with its alt text."""
    for figure in figures:
        for file in figure["files"]:
            if file["file"].endswith(".png") and (folder / file["file"]).is_file():
                data = base64.b64encode((folder / file["file"]).read_bytes()).decode("ascii")
                return {"source": f"data:image/png;base64,{data}", "alt": figure["text"]}
    return None
