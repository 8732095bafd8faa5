"""Runs plans: a folder per notebook that appears whole, a record written last, a report of all.

A run works in ``<scale>/.running/<run id>/<its path>`` and takes the place of ``<scale>/<its
path>`` (`Plan.path`: the notebook's name, for values of one's own below ``points/<values>``) when
it has ended and none of its processes is left. So results of two runs never mix, and an interrupted
one leaves the earlier in place.
"""

import shutil
import signal
import threading
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import click

from assignlab.errors import INTERRUPTED
from assignlab.local.files import write_json
from assignlab.local.locks import fcntl
from assignlab.local.project import versions
from assignlab.runner import compiling, guard
from assignlab.runner.page import write_page
from assignlab.runner.papermill import Processes, execute
from assignlab.runner.plan import Place, Plan
from assignlab.runner.progress import Progress, clock
from assignlab.runner.records import RUN_RECORD, describe, reason_to_run, run_record
from assignlab.runner.report import write_report
from assignlab.runner.verdict import read_record, reason_of_failure

EARLIER = ".earlier"
PART_AGE = 60.0
WAIT = 15.0
"""Seconds to wait for the lock: longer than a guard takes to end what a killed runner left."""


def run(
    place: Place,
    plans: list[Plan],
    jobs: int,
    timeout: float | None,
    resume: bool,
    compile_ahead: bool = False,
) -> int:
    """Run the plans and return the exit code: 0 only if every notebook completed.

    timeout: seconds that one notebook may take. resume: skip what is complete and unchanged.
    compile_ahead: have the strategies that notebooks name compiled while the first one runs.
    """
    place.folder.mkdir(parents=True, exist_ok=True)
    with _interruptible(), _alone(place) as lock:
        if lock is None:
            tell(f"assignlab: another run writes to {place.folder}: wait for it", err=True)
            return 1
        clear_leftovers(place)
        processes = Processes(lock, place.outputs, lend=len(plans) > 1)
        try:
            completed = _run_all(place, plans, processes, jobs, timeout, resume, compile_ahead)
        except KeyboardInterrupt:
            tell(f"assignlab: interrupted; what is done: {_report(place)}", err=True)
            return INTERRUPTED
        finally:
            processes.stop()
            shutil.rmtree(place.running, ignore_errors=True)
        return _sum_up(place, plans, completed)


def _sum_up(place: Place, plans: list[Plan], completed: set[str]) -> int:
    """Say how the batch ended, and return its exit code."""
    failed = [plan.label for plan in plans if plan.label not in completed]
    if failed:
        tell(f"assignlab: did not complete: {', '.join(failed)}", err=True)
    what = "runs" if any(plan.passed for plan in plans) else "notebooks"
    tell(f"{len(completed)} of {len(plans)} {what} complete at scale {place.scale}")
    report = _report(place)
    tell(str(report))
    return 1 if failed or report is None else 0


def tell(text: str, err: bool = False) -> None:
    """Print a line; where the terminal is gone, nobody is there to read it."""
    with suppress(OSError):
        click.echo(text, err=err)


def _report(place: Place) -> Path | None:
    """Write manifest and index; None, and the reason on stderr, where that fails."""
    try:
        return write_report(place)
    except OSError as error:
        tell(f"assignlab: the index could not be written: {error}", err=True)
        return None


def clear_leftovers(place: Place) -> None:
    """Remove what killed runs left, with a line for each; called while nobody else runs."""
    for left in sorted(place.running.glob("*")):
        guard.end({left.name})
        for earlier in left.rglob(f"*{EARLIER}"):
            # It was killed while its results took the place of these.
            target = place.folder / str(earlier.relative_to(left)).removesuffix(EARLIER)
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                earlier.rename(target)
        shutil.rmtree(left, ignore_errors=True)
        what = "cannot remove" if left.exists() else "removed"
        tell(f"assignlab: {what} what a killed run left: {left}", err=True)
    for part in (*place.folder.glob(".*.part"), *place.outputs.glob(".*.part")):
        # A younger one may be the index that a run at another scale is writing.
        with suppress(FileNotFoundError):  # it has written it just now
            if time.time() - part.stat().st_mtime > PART_AGE:
                part.unlink()


def _run_all(
    place, plans, processes: Processes, jobs: int, timeout, resume: bool, compile_ahead: bool
) -> set[str]:
    """Run what is not complete yet, some at a time; the names of the complete ones."""
    # Papermill adds one cell, with the parameters.
    cells = {plan.label: plan.notebook.cells + 1 for plan in plans}
    earlier = {
        plan.label: record["seconds"]
        for plan in plans
        if (record := run_record(place, plan.path)) and record["status"] == "completed"
    }
    progress = Progress(cells, earlier, jobs)
    completed = {plan.label for plan in plans if resume and not reason_to_run(place, plan)}
    for name in cells:
        if name in completed:
            progress.note(name, "complete and unchanged, skipped (--force runs it again)")
    waiting = [plan for plan in plans if plan.label not in completed]
    wait_for = compiling.compile_ahead(waiting if compile_ahead else (), processes)

    def run_compiled(plan: Plan) -> bool:
        wait_for(plan)
        return run_one(place, plan, processes, timeout, progress)

    pool = ThreadPoolExecutor(jobs)
    running = {pool.submit(run_compiled, plan): plan.label for plan in waiting}
    try:
        while running:
            done, _ = wait(running, timeout=1, return_when=FIRST_COMPLETED)
            for future in done:
                name = running.pop(future)
                if future.result():
                    completed.add(name)
                _report(place)
            progress.tick()
    finally:
        processes.stop()
        pool.shutdown(cancel_futures=True)
        progress.clear()
    return completed


def run_one(
    place: Place, plan: Plan, processes: Processes, timeout: float | None, progress: Progress
) -> bool:
    """Run one notebook and put its folder in place; whether it completed.

    Whatever goes wrong is told as the reason of this notebook, and the others go on.
    """
    progress.start(plan.label)
    try:
        record = _run_apart(place, plan, processes, timeout, progress)
    except Exception as error:
        record = {"status": "failed", "reason": one_line(error)}
    if processes.stopped:
        return False
    completed = record["status"] == "completed"
    outcome = f"complete. {record['answer']}" if completed else f"FAILED: {record['reason']}"
    progress.end(plan.label, outcome, completed)
    return completed


def _run_apart(place: Place, plan: Plan, processes: Processes, timeout, progress) -> dict:
    """Run one notebook in a folder of its own, then put this in place; returns the run's record."""
    run_id = uuid4().hex
    folder = place.running / run_id / plan.path
    folder.mkdir(parents=True)
    started, began = datetime.now(UTC), time.monotonic()
    exit_code, reason = execute(
        plan, folder, run_id, processes, timeout, lambda line: progress.said(plan.label, line)
    )
    if processes.stopped:
        return {"status": "interrupted"}
    reason = reason or reason_of_failure(plan.notebook, folder, run_id, exit_code)
    left = read_record(folder, run_id) or {}
    try:
        write_page(folder, plan, place.scale, left)
    except Exception as error:
        reason = reason or f"its page could not be made: {one_line(error)}"
    record = {
        "notebook": plan.name,
        "title": plan.notebook.title,
        "scale": place.scale,
        "status": "failed" if reason else "completed",
        "reason": reason,
        **{told: left.get(told) for told in ("answer", "do", "short", "picture")},
        "run_id": run_id,
        "inputs": plan.inputs,
        "parameters": plan.values,
        "passed": plan.passed,
        "seed": plan.values.get("seed"),
        "started": started.isoformat(timespec="seconds"),
        "seconds": round(time.monotonic() - began, 3),
        "versions": left.get("versions") or versions(),
        "git": left.get("git"),
        "results": [describe(folder, result) for result in left.get("results", [])],
        "files": sorted(path.name for path in folder.iterdir() if path.is_file()),
    }
    write_json(folder / RUN_RECORD, record)
    publish(folder, place.folder / plan.path)
    shutil.rmtree(place.running / run_id, ignore_errors=True)
    return record


def one_line(error: Exception) -> str:
    """An error as one line of at most 300 characters."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def publish(folder: Path, target: Path) -> None:
    """Put a finished run's folder in place of the earlier one."""
    earlier = folder.with_name(f"{folder.name}{EARLIER}")
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        target.rename(earlier)
    folder.rename(target)
    shutil.rmtree(earlier, ignore_errors=True)


def print_list(place: Place, plans: list[Plan]) -> None:
    """Print what would run: notebooks, state, reason to run, parameters and what each may be."""
    for plan in plans:
        reason, record = reason_to_run(place, plan), run_record(place, plan.path)
        took = clock(record["seconds"]) if record else ""
        state = f"would run: {reason}" if reason else f"complete, took {took}"
        click.echo(f"{plan.label}  (scale {place.scale}; {state})")
        for name, parameter in plan.notebook.parameters.items():
            click.echo(f"  {name} = {plan.values[name]!r}")
            click.echo(f"      {parameter.kind.text}: {parameter.meaning}")


@contextmanager
def _alone(place: Place):
    """The descriptor of the lock on this folder, or None if another run keeps it.

    The guards of a run hold the lock too: it is free when the last of them has ended, which may be
    a few seconds after a runner was killed.
    """
    with (place.folder / ".lock").open("w") as lock:
        until = time.monotonic() + WAIT
        while not (free := _locked(lock)) and time.monotonic() < until:
            time.sleep(0.2)
        yield lock.fileno() if free else None


def _locked(lock) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def _interruptible():
    """A termination signal, or a closed terminal, ends a run as Ctrl-C does.

    After the first one others are ignored: what runs is being ended.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_):
        for number in before:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    # What is ignored from the start (nohup, a background job) stays so.
    before = {
        number: handler
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if (handler := signal.getsignal(number)) is not signal.SIG_IGN
    }
    for number in before:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
