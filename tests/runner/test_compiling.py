"""What is compiled before a notebook runs, and which notebook waits for it."""

import threading
import time

import pytest
from test_runner import notebook

from assignlab import assignors
from assignlab.runner import Place, plan
from assignlab.runner.compiling import compile_ahead, strategies_of
from assignlab.runner.papermill import Processes

ALL = "everywhere = None  # list of strategy names or None: who assigns; None for all there are"
TWO = 'strategies = ["range", "sticky"]  # list of strategy names: who assigns'
OTHERS = sorted({*assignors.names()} - {"range", "sticky"})
ONE = 'strategy = "range"  # strategy name: who assigns'


@pytest.fixture
def plans(tmp_path):
    for name, parameters in (("01_none", "seed = 7  # int 0..: seed"), ("02_two", TWO),
                             ("03_one", ONE), ("04_all", ALL)):  # fmt: skip
        notebook(tmp_path, name, parameters=parameters)
    return plan(Place(tmp_path, tmp_path / "outputs", "smoke"), [])


def test_a_notebooks_parameters_say_what_it_needs(plans):
    named = [sorted(strategies_of(one)) for one in plans]
    assert named == [[], ["range", "sticky"], ["range"], sorted(assignors.names())]


class FakeProcesses:
    """Starts nothing; a process ends when it is let go."""

    def __init__(self):
        self.asked = []
        self.let_go = threading.Event()

    def start(self, command, environment):
        self.asked.append(command[command.index("warm") + 1 :])
        return self

    @property
    def stdout(self):
        self.let_go.wait(30)
        return []

    def wait(self):
        return 0


def test_everything_is_compiled_once_in_the_order_of_the_notebooks(plans):
    processes = FakeProcesses()
    wait_for = compile_ahead(plans, processes)
    wait_for(plans[0])  # at once, though nothing is compiled yet
    waiting = threading.Thread(target=wait_for, args=[plans[1]])
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive()
    processes.let_go.set()
    wait_for(plans[3])
    waiting.join(5)
    assert not waiting.is_alive()
    # Without names: the optimum and the timeline too, for which nobody waits.
    for _ in range(50):
        if len(processes.asked) == 3:
            break
        time.sleep(0.1)
    assert [named[:2] for named in processes.asked] == [["range", "sticky"], OTHERS[:2], []]


def test_what_cannot_be_compiled_ahead_keeps_no_notebook_from_running(plans, monkeypatch):
    def fails(*_):
        raise OSError("no more processes")

    processes = FakeProcesses()
    monkeypatch.setattr(processes, "start", fails)
    compile_ahead(plans, processes)(plans[1])


class Kept(Processes):
    """Real processes, which can be asked how they ended."""

    def start(self, command, environment):
        self.last = super().start(command, environment)
        return self.last


@pytest.mark.slow
def test_what_compiles_comes_to_its_end(plans, tmp_path):
    with (tmp_path / "lock").open("w") as lock:
        processes = Kept(lock.fileno(), tmp_path)
        compile_ahead(plans[1:2], processes)(plans[1])
    assert processes.last.returncode == 0
