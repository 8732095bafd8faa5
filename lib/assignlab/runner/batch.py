"""Runs plans: a folder per notebook that appears whole, a record written last, a report of all.

A run works in ``<scale>/.running/<notebook>`` and takes the place of ``<scale>/<notebook>`` when it
has ended, so results of two runs never mix, and an interrupted one leaves the earlier in place.
"""

import fcntl
import shutil
import signal
import threading
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import click

from assignlab.runner.page import write_page
from assignlab.runner.papermill import Processes, execute
from assignlab.runner.plan import Place, Plan
from assignlab.runner.progress import Progress, clock
from assignlab.runner.records import RUN_RECORD, describe, is_complete, run_record, run_records
from assignlab.runner.report import write_report
from assignlab.runner.verdict import read_record, reason_of_failure
from assignlab.study import versions, write_json

INTERRUPTED = 130


def run(place: Place, plans: list[Plan], jobs: int, timeout: float | None, resume: bool) -> int:
    """Run the plans and return the exit code: 0 only if every notebook completed.

    timeout: seconds that one notebook may take. resume: skip what is complete and unchanged.
    """
    place.folder.mkdir(parents=True, exist_ok=True)
    with _alone(place) as alone, _interruptible():
        if not alone:
            click.echo(f"assignlab: another run writes to {place.folder}: wait for it", err=True)
            return 1
        working = place.folder / ".running"
        shutil.rmtree(working, ignore_errors=True)
        try:
            completed = _run_all(place, plans, jobs, timeout, resume)
        except KeyboardInterrupt:
            click.echo(f"assignlab: interrupted; what is done: {write_report(place)}", err=True)
            return INTERRUPTED
        finally:
            shutil.rmtree(working, ignore_errors=True)
    failed = [plan.name for plan in plans if plan.name not in completed]
    if failed:
        click.echo(f"assignlab: did not complete: {', '.join(failed)}", err=True)
    click.echo(f"{len(completed)} of {len(plans)} notebooks complete at scale {place.scale}")
    click.echo(str(write_report(place)))
    return 1 if failed else 0


def _run_all(place: Place, plans: list[Plan], jobs: int, timeout, resume: bool) -> set[str]:
    """Run what is not complete yet, some at a time; the names of the complete ones."""
    # Papermill adds one cell, with the parameters.
    cells = {plan.name: plan.notebook.cells + 1 for plan in plans}
    earlier = {
        name: record["seconds"]
        for name, record in run_records(place).items()
        if record["status"] == "completed"
    }
    progress = Progress(cells, earlier, jobs)
    completed = {plan.name for plan in plans if resume and is_complete(place, plan)}
    for name in cells:
        if name in completed:
            progress.note(name, "complete and unchanged, skipped (--force runs it again)")
    processes = Processes()
    pool = ThreadPoolExecutor(jobs)
    running = {
        pool.submit(run_one, place, plan, processes, timeout, progress): plan.name
        for plan in plans
        if plan.name not in completed
    }
    try:
        while running:
            done, _ = wait(running, timeout=1, return_when=FIRST_COMPLETED)
            for future in done:
                name = running.pop(future)
                if future.result() == "completed":
                    completed.add(name)
                write_report(place)
            progress.tick()
    finally:
        processes.stop()
        pool.shutdown(cancel_futures=True)
        progress.clear()
    return completed


def run_one(
    place: Place, plan: Plan, processes: Processes, timeout: float | None, progress: Progress
) -> str:
    """Run one notebook, put its folder in place and return its status."""
    folder = place.folder / ".running" / plan.name
    folder.mkdir(parents=True)
    run_id = uuid4().hex
    started, began = datetime.now(UTC), time.monotonic()
    progress.start(plan.name)
    exit_code, expired = execute(
        plan, folder, run_id, processes, timeout, lambda line: progress.said(plan.name, line)
    )
    if processes.stopped:
        return "interrupted"
    reason = reason_of_failure(
        plan.notebook, folder, run_id, exit_code, timeout if expired else None
    )
    write_page(folder, plan.notebook)
    record = read_record(folder, run_id) or {}
    status = "failed" if reason else "completed"
    write_json(
        folder / RUN_RECORD,
        {
            "notebook": plan.name,
            "title": plan.notebook.title,
            "scale": place.scale,
            "status": status,
            "reason": reason,
            "answer": record.get("answer"),
            "run_id": run_id,
            "key": plan.key,
            "parameters": plan.values,
            "seed": plan.values.get("seed"),
            "started": started.isoformat(timespec="seconds"),
            "seconds": round(time.monotonic() - began, 3),
            "versions": record.get("versions") or versions(),
            "git": record.get("git"),
            "results": [describe(folder, result) for result in record.get("results", [])],
            "files": sorted(path.name for path in folder.iterdir() if path.is_file()),
        },
    )
    publish(folder, place.folder / plan.name)
    outcome = f"FAILED: {reason}" if reason else f"complete. {record['answer']}"
    progress.end(plan.name, outcome, status == "completed")
    return status


def publish(folder: Path, target: Path) -> None:
    """Put a finished run's folder in place of the earlier one."""
    old = folder.with_name(f"{folder.name}.old")
    if target.exists():
        target.rename(old)
    folder.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def print_list(place: Place, plans: list[Plan]) -> None:
    """Print what would run: notebooks, state and parameters, with what each may be."""
    for plan in plans:
        record = run_record(place, plan.name)
        if record is None:
            state = "not run"
        elif is_complete(place, plan):
            state = f"complete, took {clock(record['seconds'])}"
        else:
            state = "failed" if record["status"] == "failed" else "outdated"
        click.echo(f"{plan.name}  ({state} at scale {place.scale})")
        for name, parameter in plan.notebook.parameters.items():
            click.echo(f"  {name} = {plan.values[name]!r}")
            click.echo(f"      {parameter.kind.text}: {parameter.meaning}")


@contextmanager
def _alone(place: Place):
    """True if no other run writes to this folder; the lock ends with the process."""
    with (place.folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


@contextmanager
def _interruptible():
    """A termination signal ends a run as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
