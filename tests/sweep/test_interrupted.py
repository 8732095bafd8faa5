"""Sweeps that are interrupted: nothing half is taken for a table, what is done is kept, all is cleared."""

import errno
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_sweep import STRATEGIES, digest, plain, read

from assignlab import sweep
from assignlab.sweep.slices import SCHEMA, record_batch
from assignlab.sweep.workplace import Workplace, clear_leftovers, code
from conftest import java_missing

GRID = dict(members=range(2, 12), topics=range(1, 11), partitions=[40], seed=range(2))
SWEEP = f"""
from assignlab import sweep
sweep.run(sweep.grid(**{GRID!r}), {STRATEGIES!r}, name="table", slices=12)
"""


def write_slices(place: Workplace, numbers, rows=()) -> None:
    for number in numbers:
        batch = record_batch(rows) if rows else pa.RecordBatch.from_pylist([], SCHEMA)
        pq.write_table(pa.Table.from_batches([batch]), place.slices / f"slice-{number:05}.parquet")


# ---- the folder of a sweep ---------------------------------------------------------------------


def test_finished_slices_are_kept_and_taken_up_again(tmp_path, capsys):
    with pytest.raises(KeyboardInterrupt), Workplace(tmp_path, "question") as place:
        assert place.dealt(lambda: [0, 1, 1]) == [0, 1, 1] and not place.done()
        write_slices(place, [1])
        (place.parts / "0.half").write_text("half")
        raise KeyboardInterrupt
    assert "1 finished slices are kept" in capsys.readouterr().err
    with Workplace(tmp_path, "question") as place:
        assert place.dealt(lambda: [0, 0, 0]) == [0, 1, 1], "slices of two ways to deal would mix"
        assert place.done() == {1: 0} and not any(place.parts.iterdir())
        write_slices(place, [0])
        place.take_place(tmp_path / "table.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]
    names = {path.name for path in (tmp_path / "table.parquet").iterdir()}
    assert names == {"slice-00000.parquet", "slice-00001.parquet"}


def test_a_slice_that_is_cut_off_is_played_again(tmp_path):
    with pytest.raises(OSError, match="disk"), Workplace(tmp_path, "question") as place:
        place.dealt(lambda: [0, 1])
        write_slices(place, [0, 1])
        os.truncate(place.slices / "slice-00001.parquet", 50)
        raise OSError("disk full")
    with Workplace(tmp_path, "question") as place:
        assert place.done() == {0: 0}


@pytest.mark.parametrize("left", [0, 50])
def test_what_was_dealt_is_dealt_anew_where_it_is_cut_off(tmp_path, left):
    with pytest.raises(OSError, match="disk"), Workplace(tmp_path, "question") as place:
        place.dealt(lambda: [0, 1])
        write_slices(place, [0, 1])
        os.truncate(place.path / "dealt.npy", left)
        raise OSError("disk full")
    with Workplace(tmp_path, "question") as place:
        assert place.dealt(lambda: [1, 0]) == [1, 0] and not place.done()


@pytest.mark.parametrize("question", [None, "question"])
def test_without_finished_slices_nothing_is_left(tmp_path, question):
    with pytest.raises(OSError, match="full"), Workplace(tmp_path, question) as place:
        place.dealt(lambda: [0, 1])
        write_slices(place, [0] if question is None else [])
        raise OSError("disk full")
    assert not any(tmp_path.iterdir())


def test_two_sweeps_of_one_question_do_not_share_a_folder(tmp_path):
    with Workplace(tmp_path, "question") as one, Workplace(tmp_path, "question") as other:
        assert one.path != other.path
        write_slices(one, [0])
        clear_leftovers(tmp_path)
        assert one.done() == {0: 0} and other.slices.exists()


@pytest.mark.slow
def test_a_file_system_without_locks_serves_too(tmp_path, monkeypatch):
    def flock(*_):
        raise OSError(errno.ENOTSUP, "no locks")

    monkeypatch.setattr("fcntl.flock", flock)
    with Workplace(tmp_path, "question") as one, Workplace(tmp_path, "question") as other:
        assert one.path != other.path and one.slices.exists()
        one.take_place(tmp_path / "table.parquet")
    assert (tmp_path / "table.parquet").exists() and not other.path.exists()


def be_killed(tables: Path, ready) -> None:
    with Workplace(tables, "question"):
        ready.set()
        time.sleep(60)


@pytest.mark.slow
def test_what_killed_sweeps_left_is_told_and_cleared(tmp_path, capsys):
    spawn = multiprocessing.get_context("spawn")
    ready = spawn.Event()
    driver = spawn.Process(target=be_killed, args=(tmp_path, ready))
    driver.start()
    assert ready.wait(60)
    clear_leftovers(tmp_path)
    assert len(list(tmp_path.glob(".unfinished/*"))) == 1, "its driver lives"
    driver.kill()
    driver.join()
    left = [next(tmp_path.glob(".unfinished/*"))]
    for name in ("kept", "question-00000000"):
        done = tmp_path / ".unfinished" / (f"kept-{code()}" if name == "kept" else name)
        (done / "slices").mkdir(parents=True)
        (done / "slices" / "slice-00000.parquet").touch()
    left.append(done)
    left += [tmp_path / ".t.parquet.0123abcd.part", tmp_path / "t.parquet" / ".2.0123abcd.part"]
    left[2].mkdir()
    left[3].parent.mkdir()
    left[3].touch()
    (left[0] / "earlier" / "0123abcd.u.parquet" / "whole").mkdir(parents=True)
    with Workplace(tmp_path, "another"):
        pass
    said = capsys.readouterr().err
    for path in left:
        assert not path.exists() and f"removed what a killed sweep left: {path}" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".unfinished",
        "t.parquet",
        "u.parquet",
    ], "the table that u was to replace is back"
    assert [path.name for path in tmp_path.glob(".unfinished/*")] == [f"kept-{code()}"]


def test_a_folder_that_another_sweep_removes_just_now_has_no_leftovers(tmp_path, monkeypatch):
    (tmp_path / "t.parquet").mkdir()
    (tmp_path / ".unfinished").mkdir()
    scandir = os.scandir

    def removed(path):
        if Path(path).name in ("t.parquet", ".unfinished"):
            raise FileNotFoundError(path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", removed)
    clear_leftovers(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [".unfinished", "t.parquet"]


def end_together(tables: Path, number: int, barrier, failed) -> None:
    try:
        for _ in range(50):
            with Workplace(tables, None) as place:
                (place.slices / f"by-{number}").touch()
                barrier.wait(60)
                place.take_place(tables / "t.parquet")
    except BaseException:
        failed.set()
        barrier.abort()
        raise


@pytest.mark.slow
def test_of_sweeps_of_one_name_that_end_together_the_last_wins(tmp_path):
    spawn = multiprocessing.get_context("spawn")
    barrier, failed = spawn.Barrier(3), spawn.Event()
    drivers = [
        spawn.Process(target=end_together, args=(tmp_path, number, barrier, failed))
        for number in range(3)
    ]
    for driver in drivers:
        driver.start()
    for driver in drivers:
        driver.join()
    assert not failed.is_set()
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]
    assert len(list((tmp_path / "t.parquet").iterdir())) == 1


# ---- a driver that is ended in mid sweep -------------------------------------------------------


@pytest.mark.skipif(java_missing(), reason="needs Java 17 or later")
@pytest.mark.parametrize("signals", [[signal.SIGKILL], [signal.SIGINT, signal.SIGINT]])
def test_asked_again_a_sweep_goes_on_from_what_was_done(spark, tables, signals, capsys):
    driver = subprocess.Popen(
        [sys.executable, "-c", SWEEP],
        env=os.environ | {"SPARK_MASTER": "local[2]"},
        stderr=subprocess.PIPE,
        text=True,
    )
    done: list[Path] = []
    while len(done) < 2:
        assert driver.poll() is None, driver.stderr.read()
        time.sleep(0.02)
        done = list(tables.glob(".unfinished/*/slices/*.parquet"))
    started = psutil.Process(driver.pid).children(recursive=True)
    for number in signals:
        driver.send_signal(number)
        time.sleep(0.1)
    driver.wait(timeout=60)
    driver.stderr.close()
    _, alive = psutil.wait_procs(started, timeout=30)
    assert not alive and not (tables / "table.parquet").exists()

    times = {path: path.stat().st_mtime_ns for path in done}
    table = sweep.run(sweep.grid(**GRID), STRATEGIES, name="table", slices=12)
    assert "scenarios are there, from a sweep that did not end" in capsys.readouterr().err
    for path, written in times.items():
        assert (table.path / path.name).stat().st_mtime_ns == written, "it was played again"
    assert digest(read(table)) == digest(plain(sweep.grid(**GRID)))
    assert [path.name for path in tables.iterdir()] == ["table.parquet"]


@pytest.mark.skipif(java_missing(), reason="needs Java 17 or later")
def test_an_interrupt_ends_the_jobs_of_a_sweep_where_the_process_lives_on(spark, tables):
    """As in JupyterLab, whose kernel goes on."""
    status = spark.sparkContext.statusTracker()

    def interrupt():
        while not status.getActiveJobsIds() or not any(tables.glob(".unfinished/*/slices/*")):
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        sweep.run(sweep.grid(**GRID | {"seed": range(500)}), STRATEGIES, name="table", slices=99)
    for _ in range(100):
        if not status.getActiveJobsIds():
            break
        time.sleep(0.1)
    assert not status.getActiveJobsIds()
