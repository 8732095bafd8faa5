"""Lends the notebooks of a batch Java machines that are running and warm.

A Java machine and Spark on it spend ten seconds of a processor before the first sweep; so notebooks
that run one after the other use one. A notebook asks for it over a socket when it needs Spark
(`assignlab.sweep.lending`, the other end). A machine serves one notebook at a time, and another only
if that one ended well: what the others left running ends with it.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, Listener
from typing import NamedTuple
from uuid import uuid4

from assignlab.local.java import BRIEF
from assignlab.local.project import RUN_ID_VARIABLE


class Machine(NamedTuple):
    """A Java machine: the process that keeps it, the id that all its processes have, the way in."""

    process: subprocess.Popen
    run_id: str
    door: bytes


class Lender:
    """Answers the notebooks that ask at `address`, until the process ends.

    The address is None where the system gives no socket: its path is too long, say.
    start: starts a command with an environment and a guard; None where nothing may start any more.
    end: ends all processes of an id.
    """

    def __init__(
        self,
        start: Callable[[list[str], dict], subprocess.Popen | None],
        end: Callable[[str], None],
    ):
        self._start, self._end = start, end
        self._free: list[Machine] = []
        self._lent: dict[str, Machine] = {}
        self.address: str | None = None
        with suppress(OSError):
            # In a folder that nobody else may read, removed when the process ends.
            self._listener = Listener(family="AF_UNIX")
            self.address = str(self._listener.address)
            threading.Thread(target=self._listen, daemon=True).start()

    def give_back(self, run_id: str, well: bool) -> None:
        """Take what was lent to a run: for the next one, or, if it did not end well, for none."""
        machine = self._lent.pop(run_id, None)
        if machine and well:
            self._free.append(machine)
        elif machine:
            self._end(machine.run_id)

    def _listen(self) -> None:
        while True:
            asker = self._listener.accept()
            threading.Thread(target=self._answer, args=(asker,), daemon=True).start()

    def _answer(self, asker: Connection) -> None:
        """Send the way into a machine; nothing where there is none, or the run has one already:
        who asked then starts its own."""
        with asker, suppress(OSError, EOFError):
            run_id = asker.recv_bytes().decode()
            if run_id not in self._lent and (machine := self._running() or self._new()):
                self._lent[run_id] = machine
                try:
                    asker.send_bytes(machine.door)
                except OSError:  # the run was ended while the machine started
                    self.give_back(run_id, well=True)

    def _running(self) -> Machine | None:
        """One that is free, and has not ended meanwhile."""
        with suppress(IndexError):  # none is free
            while True:
                machine = self._free.pop()
                if machine.process.poll() is None:
                    return machine
        return None

    def _new(self) -> Machine | None:
        run_id = uuid4().hex
        command = [sys.executable, "-P", "-m", "assignlab.sweep.keeper"]
        own = {"SPARK_SUBMIT_OPTS": " ".join(BRIEF), **os.environ, RUN_ID_VARIABLE: run_id}
        process = self._start(command, own)
        if process is None or process.stdout is None:
            return None
        for line in process.stdout:
            if line.startswith("{"):
                # What it says later is not looked at, and must not fill the pipe.
                threading.Thread(target=process.stdout.read, daemon=True).start()
                return Machine(process, run_id, line.encode())
        return None
