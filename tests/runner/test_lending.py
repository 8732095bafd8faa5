"""Java machines lent to notebooks: one after the other, and none that a failed notebook had."""

import json
import subprocess
import sys
import time
from multiprocessing.connection import Client

import pytest

from assignlab.runner.lending import Lender

KEEPER = (
    "import time; print('sweep: waits'); print('{{\"port\": {}}}', flush=True); time.sleep(600)"
)


@pytest.fixture
def machines():
    """The keepers that a lender has started, and the lender."""
    started = {}

    def start(command, environment):
        assert command[-2:] == ["-m", "assignlab.sweep.keeper"]
        script = KEEPER.format(len(started)) if len(started) < 4 else "print('no Java')"
        process = subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
        )
        return started.setdefault(environment["ASSIGNLAB_RUN_ID"], process)

    def end(run_id):
        started[run_id].kill()
        started[run_id].wait()

    yield started, Lender(start, end)
    for run_id in started:
        end(run_id)


def asked(lender: Lender, run_id: str) -> int:
    """The number of the machine that a run is lent."""
    with Client(lender.address, family="AF_UNIX") as client:
        client.send_bytes(run_id.encode())
        return json.loads(client.recv_bytes())["port"]


def test_a_machine_serves_one_run_after_the_other_while_all_goes_well(machines):
    started, lender = machines
    assert asked(lender, "first") == 0
    assert asked(lender, "beside it") == 1
    with pytest.raises(EOFError):  # a program that this notebook runs has one of its own
        asked(lender, "beside it")
    lender.give_back("first", well=True)
    lender.give_back("asked for none", well=False)
    assert asked(lender, "second") == 0
    lender.give_back("second", well=False)
    first, _ = started.values()
    assert first.poll() is not None, "a machine of a failed run is still there"
    assert asked(lender, "third") == 2
    lender.give_back("third", well=True)
    list(started.values())[2].kill()
    list(started.values())[2].wait()
    assert asked(lender, "fourth") == 3, "lent a machine that has ended"
    with pytest.raises(EOFError):  # the run starts one of its own, and tells why that fails
        asked(lender, "fifth")


def test_a_machine_whose_run_was_ended_while_it_started_is_lent_to_the_next(machines):
    started, lender = machines
    with Client(lender.address, family="AF_UNIX") as client:
        client.send_bytes(b"ended")
    lender.give_back("ended", well=False)
    until = time.monotonic() + 30
    while not lender._free and time.monotonic() < until:
        time.sleep(0.05)
    assert asked(lender, "next") == 0 and len(started) == 1


def test_where_a_socket_would_have_too_long_a_path_nothing_is_lent(tmp_path, monkeypatch):
    monkeypatch.setattr("multiprocessing.util.get_temp_dir", lambda: str(tmp_path / ("deep" * 40)))
    assert Lender(lambda *_: None, lambda _: None).address is None
