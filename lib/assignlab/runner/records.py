"""The record of a notebook's last run: ``run.json`` in its folder, written at the very end."""

import hashlib
from collections.abc import Iterator
from glob import escape
from pathlib import Path, PurePath

from assignlab.parameters.strict_yaml import shown
from assignlab.runner.plan import POINTS, Place, Plan
from assignlab.runner.shapes import read_shaped

RUN_RECORD = "run.json"

RESULT = {"name": str, "kind": str, "files": [str], "text": str}
FILE = {"file": str, "bytes": int, "sha256": str}
INPUTS = {
    **dict.fromkeys(("notebook", "constraints"), str),
    **dict.fromkeys(("sources", "library", "packages"), dict),
    "tables": str | None,
}
RUN_SHAPE = {
    **dict.fromkeys(("title", "status"), str),
    **dict.fromkeys(("reason", "answer", "do", "short", "picture", "git"), str | None),
    **dict.fromkeys(("parameters", "passed", "versions"), dict),
    "inputs": INPUTS,
    "seed": object,
    "seconds": int | float,
    "results": [{**RESULT, "files": [FILE]}],
    "files": [str],
}


def run_record(place: Place, path: PurePath) -> dict | None:
    """The record of the last run that left its results in this folder of the scale, or None."""
    return read_shaped(place.folder / path / RUN_RECORD, RUN_SHAPE)


def run_records(place: Place) -> dict[str, dict]:
    """Notebook -> record of its last run of the study, for all of the collection that ever ran."""
    records = {name: run_record(place, PurePath(name)) for name in place.notebooks()}
    return {name: record for name, record in records.items() if record}


def point_records(place: Place, notebook: str) -> dict[PurePath, dict]:
    """Folder below that of the scale -> record, of a notebook's runs with values of their own."""
    found = sorted((place.folder / POINTS).glob(f"*/{escape(notebook)}"))
    paths = [path.relative_to(place.folder) for path in found]
    return {path: record for path in paths if (record := run_record(place, path))}


def reason_to_run(place: Place, plan: Plan) -> str | None:
    """Why the notebook has to run, in one line; None if its last run is complete and as it would be.

    That is: it completed, with these values, notebook, library and packages, and its files are as
    it left them.
    """
    record = run_record(place, plan.path)
    if record is None:
        return "not run yet"
    if record["status"] != "completed":
        return f"failed: {record['reason']}"
    reasons = list(_changes(record, plan))
    folder = place.folder / plan.path
    for result in record["results"]:
        names = [file["file"] for file in result["files"]]
        if describe(folder, {**result, "files": names}) != result:
            reasons.append(f"{' or '.join(names)} is not as the run left it")
    return "; ".join(reasons) or None


def _changes(record: dict, plan: Plan) -> Iterator[str]:
    """What has changed since the run of this record."""
    before, now = record["inputs"], plan.inputs
    for name in _different(record["parameters"], plan.values):
        was = shown(record["parameters"].get(name))
        yield f"{name} was {was}, is {shown(plan.values.get(name))}"
    for name, told in (("notebook", "the notebook"), ("constraints", "constraints.txt")):
        if before[name] != now[name]:
            yield f"{told} changed"
    for source in _different(before["sources"], now["sources"]):
        yield f"{source} changed"
    if rooms := _different(before["library"], now["library"]):
        yield f"the library changed: {', '.join(rooms)}"
    if before["tables"] != now["tables"]:
        there, here = (inputs["tables"] or "outputs" for inputs in (before, now))
        yield f"its tables are in {there}, asked for in {here}"
    for name in _different(before["packages"], now["packages"]):
        yield f"{name} was {before['packages'].get(name)}, is {now['packages'].get(name)}"


def _different(before: dict, now: dict) -> list[str]:
    return sorted(key for key in before.keys() | now.keys() if before.get(key) != now.get(key))


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
