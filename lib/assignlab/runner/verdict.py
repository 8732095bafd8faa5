"""Whether a run really completed.

Papermill's exit code and the notebook's metadata each tell success after failures: a cell with
``sys.exit(0)`` leaves exit code 0, a dead kernel or a timeout leaves every cell "completed". So a
run counts only if all of this holds: exit code 0, every code cell run to its end without an error,
the record that the notebook writes last, with this run's id, and every declared result in place.
"""

from pathlib import Path

from assignlab.runner.plan import NOTEBOOK_SHAPE, Notebook
from assignlab.runner.records import RESULT
from assignlab.runner.shapes import read_shaped, shaped
from assignlab.study import FAILURES, RECORD

RECORD_SHAPE = {
    **dict.fromkeys(("run_id", "answer", "do", "short", "picture"), str),
    "failures": int,
    "seed": object,
    "seconds": int | float,
    "versions": dict,
    "git": str | None,
    "results": [RESULT],
}
CELL_SHAPE = {"outputs": [{"output_type": str}], "execution_count": int | None}
# What Papermill ends with when the kernel died under it.
KERNEL_DIED = 138


def read_record(folder: Path, run_id: str) -> dict | None:
    """The completion record of this very run, or None."""
    record = read_shaped(folder / RECORD, RECORD_SHAPE)
    return record if record and record["run_id"] == run_id else None


def reason_of_failure(
    notebook: Notebook, folder: Path, run_id: str, exit_code: int | None
) -> str | None:
    """Why the run did not complete, in one line; None if it did."""
    executed = folder / f"{notebook.name}.ipynb"
    cells = _code_cells(executed)
    error = next(filter(None, map(_error, cells)), None)
    if error:
        # What came of no records is often that there were none.
        failed = (folder / f"{FAILURES}.csv").exists()
        return error + f"; before that simulations failed, see {FAILURES}.csv" * failed
    if exit_code == KERNEL_DIED:
        return "the kernel died (out of memory, or ended from inside)"
    if exit_code != 0:
        return f"papermill ended with exit code {exit_code}: {_last_line(folder / 'run.log')}"
    if not cells:
        return f"{executed.name}, the executed notebook, cannot be read: not whole, or no notebook"
    unfinished = [number for number, cell in enumerate(cells, 1) if not _ran(cell)]
    if unfinished:
        return f"stopped before the end: code cell {unfinished[0]} did not run"
    record = read_record(folder, run_id)
    if record is None:
        if (folder / RECORD).exists():
            return f"{RECORD} is not one that study.finish() wrote in this run"
        return "left no completion record: the last cell must call study.finish()"
    missing = missing_results(notebook, folder, record)
    if missing:
        return f"did not leave the results it declares: {', '.join(missing)}"
    if record["failures"]:
        return f"{record['failures']} simulations failed, see {FAILURES}.csv"
    return None


def missing_results(notebook: Notebook, folder: Path, record: dict) -> list[str]:
    """Declared results that the record does not name or whose files are not there."""
    there = {
        result["name"]
        for result in record["results"]
        if all((folder / file).is_file() for file in result["files"])
    }
    return [name for name in notebook.results if name not in there]


def _code_cells(executed: Path) -> list[dict]:
    """The cells with code of an executed notebook; none where it cannot be read."""
    document = read_shaped(executed, NOTEBOOK_SHAPE) or {"cells": []}
    cells = [
        cell
        for cell in document["cells"]
        if cell["cell_type"] == "code" and "".join(cell["source"]).strip()
    ]
    return cells if shaped(cells, [CELL_SHAPE]) else []


def _error(cell: dict) -> str | None:
    for output in cell["outputs"]:
        if output["output_type"] == "error":
            return ": ".join(filter(None, [output.get("ename"), output.get("evalue")]))
    return None


def _ran(cell: dict) -> bool:
    ran = shaped(cell["metadata"], {"papermill": {"status": str}})
    return (
        ran
        and cell["metadata"]["papermill"]["status"] == "completed"
        and cell["execution_count"] is not None
    )


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n") if log.exists() else []
    return next((line.strip() for line in reversed(lines) if line.strip()), "no output")
