"""Breaks things while sweeps and batches run, and checks one thing: what is called complete is right.

    python bench/chaos.py [--seconds 1200] [--seed 1] [--round N]

Each round starts a small sweep or a small batch (``assignlab run``) in a folder of its own, and in its
midst a fault: a worker, the driver, Spark's Java machine, a kernel or the runner is killed, the
terminal closed or Ctrl-C pressed several times, files may not grow, folders are taken away or
closed, parameters are hostile. Then it looks at what is there, asks the same again without a fault,
and looks once more. A round fails where

- a table, or a notebook's results, that are called complete differ from those of an undisturbed run;
- asked again, the sweep or batch does not complete;
- a process of the round outlives it.

All that is drawn follows from the seed and the round's number, so ``--seed S --round N`` plays one round
again; at which moment a fault meets which line is the machine's.
"""

import argparse
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from arguments import amount, whole

from assignlab import sweep
from assignlab.local.project import OUTPUTS_VARIABLE
from assignlab.replay.records import records
from assignlab.replay.scenarios import Scenario
from assignlab.runner.plan import Place
from assignlab.runner.records import describe, run_records
from assignlab.sweep import slices

MARK = "ASSIGNLAB_CHAOS"
STRATEGIES = ["range@2.0", "roundrobin"]
GRID = dict(members=[3, 7], topics=[1, 5, 9], partitions=[60], seed=range(20))
HOSTILE = [
    dict(partitions=2**63),
    dict(seed=2**70),
    dict(members=2**33),
    dict(members=1, events=("FULL", "LEAVE_ONE")),
]
SWEEP = """
import sys
sys.path.insert(0, {bench!r})
from chaos import STRATEGIES, asked
from assignlab import sweep
sweep.run(asked({hostile!r}), STRATEGIES, name="table", slices=10)
"""
NOTEBOOK = """
import assignlab.study
from assignlab import sweep
study = assignlab.study.begin({name!r}, globals())
grid = sweep.grid(members=[3, 5], topics=range(1, 7), partitions=[60], seed=range(seed, seed + 5))
table = sweep.run(grid, ["range@2.0"], slices=6)
study.table("numbers", table.summary(["members", "topics"], ["gini", "by_choice"]), "Numbers")
study.answer("There are %d rows." % len(table.frame()))
study.finish()
"""
BATCH = "from assignlab.cli import main; main()"
LONGEST = 300.0
"""Seconds that a sweep or batch of a round may take."""
ALONE = 60.0
"""Seconds after its end in which all that it started has to end."""


class Task(NamedTuple):
    """What a round plays. ``start(folder, hostile)``: the process; ``complete(folder)``: whatever
    is called complete there, name -> digest; ``right(hostile)``: the digests of an undisturbed run."""

    start: Callable[[Path, bool], subprocess.Popen]
    complete: Callable[[Path, bool], dict[str, str]]
    right: Callable[[bool], dict[str, str]]


def asked(hostile: bool) -> list[Scenario]:
    """The scenarios of a sweep; the hostile ones among them."""
    return sweep.grid(**GRID) + ([Scenario(**fields) for fields in HOSTILE] if hostile else [])


def launch(folder: Path, code: str, words: list[str]) -> subprocess.Popen:
    """A Python process of the round, with all that it prints in ``log``."""
    with (folder / "log").open("a") as log:
        return subprocess.Popen(
            [sys.executable, "-c", code, *words],
            env={**os.environ, MARK: str(folder), OUTPUTS_VARIABLE: str(folder / "outputs")},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


# ---- the two tasks -----------------------------------------------------------------------------


def start_sweep(folder: Path, hostile: bool) -> subprocess.Popen:
    bench = str(Path(__file__).parent)
    return launch(folder, SWEEP.format(bench=bench, hostile=hostile), [])


def complete_sweep(folder: Path, hostile: bool) -> dict[str, str]:
    tables = (folder / "outputs" / "sweeps").glob("*.parquet")
    return {path.name: digest(read(path)) for path in tables}


def right_sweep(hostile: bool) -> dict[str, str]:
    rows = [(i, *row) for i, s in enumerate(asked(hostile)) for row in records(s, STRATEGIES)]
    return {"table.parquet": digest(pa.Table.from_batches([slices.record_batch(rows)]))}


def read(path: Path) -> pa.Table:
    """All that a reader finds in a table's folder, half files too."""
    return pa.concat_tables(
        [pq.read_table(file).cast(slices.SCHEMA) for file in sorted(path.glob("*.parquet"))]
    )


def digest(table: pa.Table) -> str:
    """Of a table's rows in the order of their key."""
    key = [(name, "ascending") for name in slices.REBALANCES.key]
    rows = table.sort_by(key).combine_chunks().to_pylist()
    return hashlib.sha256(repr(rows).encode()).hexdigest()


def start_batch(folder: Path, hostile: bool) -> subprocess.Popen:
    for name in ("01_one", "02_two"):
        write_notebook(folder, name)
    words = ["run", "--project", str(folder), "--scale", "smoke"]
    words += ["--outputs", str(folder / "outputs")]
    return launch(folder, BATCH, words + (["-p", f"seed={'9' * 5000}"] if hostile else []))


def write_notebook(folder: Path, name: str) -> None:
    """A notebook that sweeps and leaves a table of means."""

    def cell(source: str, *tags: str) -> dict:
        return {
            "cell_type": "code",
            "id": hashlib.sha256(source.encode()).hexdigest()[:8],
            "source": source,
            "metadata": {"tags": list(tags)},
            "execution_count": None,
            "outputs": [],
        }

    title = {"cell_type": "markdown", "id": "title", "source": f"# {name}", "metadata": {}}
    document = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {
            "kernelspec": {"name": "python3", "display_name": "x", "language": "python"},
            "assignlab": {"results": ["numbers"]},
        },
        "cells": [
            title,
            cell("seed = 7  # int 0..: seed", "parameters"),
            cell(NOTEBOOK.format(name=name)),
        ],
    }
    for path, text in (
        (folder / "notebooks" / f"{name}.ipynb", json.dumps(document)),
        (folder / "params" / "smoke" / f"{name}.yaml", ""),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def complete_batch(folder: Path, hostile: bool) -> dict[str, str]:
    place, found = Place(folder, folder / "outputs", "smoke"), {}
    for name, record in run_records(place).items():
        if record["status"] == "completed":
            for result in record["results"]:
                names = [file["file"] for file in result["files"]]
                as_it_lies = describe(place.folder / name, {**result, "files": names})
                vouched = "" if as_it_lies == result else " (not as its record says)"
                text = [(place.folder / name / file).read_text() for file in names if "csv" in file]
                found[name] = hashlib.sha256(repr(text).encode()).hexdigest() + vouched
    return found


def right_batch(hostile: bool) -> dict[str, str]:
    with tempfile.TemporaryDirectory(prefix="chaos-") as name:
        process = start_batch(Path(name), False)
        if process.wait():
            raise SystemExit(f"the undisturbed batch fails:\n{(Path(name) / 'log').read_text()}")
        return complete_batch(Path(name), False)


TASKS = {
    "sweep": Task(start_sweep, complete_sweep, right_sweep),
    "batch": Task(start_batch, complete_batch, right_batch),
}

# ---- faults ------------------------------------------------------------------------------------


def of_round(folder: Path, *words: str) -> list[psutil.Process]:
    """The round's processes whose command has one of the words; all, where none is given."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == str(folder):
                command = " ".join(process.cmdline())
                if process.status() != psutil.STATUS_ZOMBIE and (
                    not words or any(word in command for word in words)
                ):
                    found.append(process)
        except psutil.Error:
            continue
    return found


def kill(*words: str, times: int = 1):
    """A fault: ``kill -9`` of a process whose command has one of the words."""

    def fault(draw: random.Random, folder: Path, process: subprocess.Popen) -> None:
        for _ in range(times):
            some = of_round(folder, *words)
            if some:
                draw.choice(some).kill()
            time.sleep(draw.uniform(0, 1))

    return fault


def send(*signals: int):
    """A fault: signals to the process that was started."""

    def fault(draw: random.Random, folder: Path, process: subprocess.Popen) -> None:
        for number in signals:
            if process.poll() is None:
                process.send_signal(number)
            time.sleep(draw.uniform(0, 0.5))

    return fault


def take_away(draw: random.Random, folder: Path, process: subprocess.Popen) -> None:
    """A folder that the sweep works in goes."""
    there = [
        *folder.glob("outputs/**/.unfinished/*/*/"),
        *folder.glob("outputs/smoke/.running/*/*/"),
    ]
    if there:
        shutil.rmtree(draw.choice(sorted(there)), ignore_errors=True)


def close_folder(draw: random.Random, folder: Path, process: subprocess.Popen) -> None:
    """A folder that the sweep works in loses its permissions, for a while; root does not mind."""
    there = [*folder.glob("outputs/**/.unfinished/*/*/"), *folder.glob("outputs/sweeps/")]
    if there:
        chosen = draw.choice(sorted(there))
        chosen.chmod(0o000)
        time.sleep(draw.uniform(1, 4))
        if chosen.exists():
            chosen.chmod(0o700)


def full_disk(draw: random.Random, folder: Path, process: subprocess.Popen) -> None:
    """No file of the round grows beyond a few kilobytes any more."""
    size = draw.randrange(2_000, 60_000)
    for one in of_round(folder):
        with suppress(OSError):  # it has ended
            resource.prlimit(one.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def nothing(draw: random.Random, folder: Path, process: subprocess.Popen) -> None:
    """No fault beside what the process was asked."""


FAULTS: dict[str, dict[str, Callable]] = {
    "sweep": {
        "workers killed": kill("pyspark.daemon", times=3),
        "driver killed": kill("sweep.run"),
        "Java machine killed": kill("org.apache.spark"),
        "Ctrl-C": send(signal.SIGINT),
        "Ctrl-C three times": send(signal.SIGINT, signal.SIGINT, signal.SIGINT),
        "terminated": send(signal.SIGTERM),
        "files may not grow": full_disk,
        "folder taken away": take_away,
        "folder closed": close_folder,
        "hostile parameters": kill("pyspark.daemon"),
    },
    "batch": {
        "runner killed": kill("assignlab.cli"),
        "kernel killed": kill("ipykernel_launcher"),
        "Java machine killed": kill("org.apache.spark"),
        "Papermill killed": kill("-m papermill"),
        "workers killed": kill("pyspark.daemon", times=3),
        "terminal closed": send(signal.SIGHUP),
        "Ctrl-C twice": send(signal.SIGINT, signal.SIGINT),
        "files may not grow": full_disk,
        "folder taken away": take_away,
        "hostile parameters": nothing,
    },
}

# ---- rounds ------------------------------------------------------------------------------------


def play(seed: int, number: int, right: dict) -> list[str]:
    """Play one round; returns what is wrong."""
    draw = random.Random(f"{seed}/{number}")
    kind = draw.choice(["sweep", "sweep", "batch"])
    name = draw.choice(sorted(FAULTS[kind]))
    task, hostile = TASKS[kind], name.startswith("hostile")
    delay = draw.uniform(0, 20)
    print(f"round {number}: {kind}, {name} ...", end=" ", flush=True)
    began = time.monotonic()
    wanted = right.get((kind, hostile)) or right.setdefault((kind, hostile), task.right(hostile))
    with tempfile.TemporaryDirectory(prefix="chaos-", ignore_cleanup_errors=True) as place:
        folder = Path(place)
        process = task.start(folder, hostile)
        wait_for_work(process, folder, delay)
        FAULTS[kind][name](draw, folder, process)
        wrong = outlives(process, folder)
        found = task.complete(folder, hostile)
        wrong += differs("after the fault", found, wanted)
        again = task.start(folder, hostile and kind == "sweep")
        wrong += outlives(again, folder)
        found = task.complete(folder, hostile)
        wrong += differs("asked again", found, wanted)
        if again.returncode or found.keys() != wanted.keys():
            wrong.append(f"asked again: exit code {again.returncode}, complete: {sorted(found)}")
        if wrong:
            kept = Path(tempfile.mkdtemp(prefix="chaos-wrong-"))
            shutil.copytree(folder, kept, dirs_exist_ok=True, symlinks=True)
            wrong.append(f"kept in {kept}; --seed {seed} --round {number} plays it again")
    print("; ".join(wrong) or f"right, {time.monotonic() - began:.0f} s", flush=True)
    return wrong


def wait_for_work(process: subprocess.Popen, folder: Path, delay: float) -> None:
    """Until slices come, or the process ends; in every fourth round some moment before that."""
    started = time.monotonic()
    while process.poll() is None and time.monotonic() - started < LONGEST:
        if delay < 5.0 and time.monotonic() - started > delay:
            return
        if any(folder.glob("outputs/sweeps/.unfinished/*/slices/*.parquet")):
            time.sleep(delay / 20)
            return
        time.sleep(0.05)


def outlives(process: subprocess.Popen, folder: Path) -> list[str]:
    """Wait for the process to end, then for all that it started; ends and names what does not."""
    wrong = []
    try:
        process.wait(timeout=LONGEST)
    except subprocess.TimeoutExpired:
        wrong.append(f"still runs after {LONGEST:g} s")
        process.kill()
        process.wait()
    until = time.monotonic() + ALONE
    while (left := of_round(folder)) and time.monotonic() < until:
        time.sleep(0.2)
    for one in left:
        wrong.append(f"left behind: {' '.join(one.cmdline())[:80]}")
        one.kill()
    return wrong


def differs(when: str, found: dict[str, str], wanted: dict[str, str]) -> list[str]:
    """What is called complete, and is not as it should be."""
    return [f"{when}: {name} is wrong" for name in found if found[name] != wanted.get(name)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--seconds", type=amount(0), default=1200, help="begin no round after these"
    )
    parser.add_argument("--seed", type=whole(0), default=1, help="of all that is drawn")
    parser.add_argument("--round", type=whole(0), help="play this one alone")
    given = parser.parse_args()
    began, failed, number, right = time.monotonic(), 0, 0, {}
    if given.round is not None:
        return 1 if play(given.seed, given.round, right) else 0
    while time.monotonic() - began < given.seconds:
        failed += bool(play(given.seed, number, right))
        number += 1
    print(f"{number} rounds, {failed} wrong, seed {given.seed}")
    return 1 if failed or not number else 0


if __name__ == "__main__":
    sys.exit(main())
