"""The record of a notebook's last run: ``run.json`` in its folder, written at the very end."""

import hashlib
import json
from pathlib import Path

from assignlab.runner.plan import Place, Plan

RUN_RECORD = "run.json"


def run_record(place: Place, notebook: str) -> dict | None:
    """The record of a notebook's last run at this scale, or None."""
    try:
        text = (place.folder / notebook / RUN_RECORD).read_text(encoding="utf-8")
        return json.loads(text)
    except (OSError, ValueError):
        return None


def run_records(place: Place) -> dict[str, dict]:
    """Notebook -> record of its last run, for those of the collection that ever ran."""
    records = {name: run_record(place, name) for name in place.notebooks()}
    return {name: record for name, record in records.items() if record}


def is_complete(place: Place, plan: Plan) -> bool:
    """Whether the last run completed with this notebook, values and library, its files in place."""
    record = run_record(place, plan.name)
    if not record or record["status"] != "completed" or record["key"] != plan.key:
        return False
    folder = place.folder / plan.name
    files = {
        folder / file["file"]: file["bytes"]
        for result in record["results"]
        for file in result["files"]
    }
    return all(path.is_file() and path.stat().st_size == size for path, size in files.items())


def describe(folder: Path, result: dict) -> dict:
    """A result as the manifest names it, with size and SHA-256 of each file that is there."""
    files = [
        {
            "file": name,
            "bytes": (folder / name).stat().st_size,
            "sha256": hashlib.sha256((folder / name).read_bytes()).hexdigest(),
        }
        for name in result["files"]
        if (folder / name).is_file()
    ]
    return {**result, "files": files}
