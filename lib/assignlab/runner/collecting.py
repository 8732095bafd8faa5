"""One table of what many runs left, with their parameters as columns."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from assignlab.local.files import whole
from assignlab.local.project import RUNNING
from assignlab.runner.records import RUN_RECORD, RUN_SHAPE
from assignlab.runner.shapes import read_shaped


def collect(notebook: str, table: str, folders: Iterable[Path]):
    """A table of all complete runs of a notebook below the folders, as a pandas frame.

    notebook: its name or number. In front of the table's columns stand ``scale`` and, as
    ``param_<name>``, the runs' parameters; lists as JSON. Raises ValueError where no run has it, or where
    the file of one that had it is gone.
    """
    import pandas as pd

    frames, tables = [], set()
    for path, record in _runs(notebook, folders):
        names = {result["name"] for result in record["results"] if result["kind"] == "table"}
        tables |= names
        file = path.parent / f"{table}.parquet"
        if not file.is_file():
            if table in names:
                raise ValueError(f"{file} is gone: 'assignlab run' makes it again")
            continue
        frame = pd.read_parquet(file)
        values = {
            f"param_{name}": json.dumps(value) if isinstance(value, list) else value
            for name, value in record["parameters"].items()
        }
        front = pd.DataFrame({"scale": record["scale"], **values}, index=frame.index)
        frames.append(pd.concat([front, frame], axis="columns"))
    if not frames:
        known = f"its tables: {', '.join(sorted(tables))}" if tables else "no complete run is there"
        raise ValueError(f"no table {table!r} of notebook {notebook!r}: {known}")
    return pd.concat(frames, ignore_index=True)


def _runs(notebook: str, folders: Iterable[Path]):
    """(record's file, record) of every complete run of the notebook, each once."""
    paths = {path.resolve() for folder in folders for path in folder.rglob(RUN_RECORD)}
    for path in sorted(paths):
        record = read_shaped(path, {**RUN_SHAPE, "notebook": str, "scale": str})
        if RUNNING not in path.parts and record and record["status"] == "completed":
            name = record["notebook"]
            if name == notebook or name.startswith(f"{notebook.zfill(2)}_"):
                yield path, record


def write(frame, target: Path | None) -> None:
    """Write a frame to a .csv or .parquet file, whole or not at all, or as CSV to standard output."""
    if target is None:
        frame.to_csv(sys.stdout, index=False)
        return
    if target.suffix not in (".csv", ".parquet"):
        raise ValueError(f"{target}: write to a .csv or .parquet file")
    with whole(target) as part:
        if target.suffix == ".parquet":
            frame.to_parquet(part, index=False)
        else:
            frame.to_csv(part, index=False)
