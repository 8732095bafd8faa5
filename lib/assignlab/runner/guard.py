"""Watches over one run: ends all of its processes when its command ends, or when the runner is gone.

The guard is a small process between runner and Papermill. The runner holds the other end of its
standard input; when the runner ends, however it ends, the operating system closes that end, and the
guard ends the run. It holds the runner's lock too, so that no other run begins before that.

The processes of a run are known by its id in their environment: a kernel, its Java machine and what
a notebook starts have sessions of their own, and may have lost their parents.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Collection
from contextlib import suppress

import psutil

from assignlab.local.project import RUN_ID_VARIABLE

GRACE = 5.0
"""Seconds between asking a process to end and ending it."""
ROUNDS = 3


def guarded(command: list[str]) -> list[str]:
    """The command, run by a guard; the run's id is expected in the environment."""
    start = "import sys; from assignlab.runner import guard; sys.exit(guard.main(sys.argv[1:]))"
    # -P: no modules from the working directory, which may be a folder that others write to.
    return [sys.executable, "-P", "-c", start, *command]


def main(command: list[str]) -> int:
    """Run the command to its end, or to the runner's; returns its exit code as a shell would."""
    run_ids = {os.environ[RUN_ID_VARIABLE]}
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)

    def watch():
        while os.read(0, 1):
            pass
        end(run_ids)

    threading.Thread(target=watch, daemon=True).start()
    code = process.wait()
    # A Java machine that has lost its kernel ends by itself and clears its folders first.
    psutil.wait_procs(processes(run_ids), timeout=GRACE)
    end(run_ids)
    return code if code >= 0 else 128 - code


def end(run_ids: Collection[str]) -> None:
    """End all processes of these runs: ask them to, then, after `GRACE` seconds, do it."""
    asked = processes(run_ids)
    _each(asked, psutil.Process.terminate)
    psutil.wait_procs(asked, timeout=GRACE)
    # Again for what they started meanwhile; not for ever, since a process that waits for a disk
    # cannot be ended.
    for _ in range(ROUNDS):
        left = processes(run_ids)
        _each(left, psutil.Process.kill)
        psutil.wait_procs(left, timeout=GRACE)


def processes(run_ids: Collection[str]) -> list[psutil.Process]:
    """The processes of these runs and all that they started, apart from this one."""
    found = {}
    for process in psutil.process_iter():
        with suppress(psutil.Error):  # it has ended meanwhile, or belongs to somebody else
            if process.environ().get(RUN_ID_VARIABLE) in run_ids:
                for one in (process, *process.children(recursive=True)):
                    found[one.pid] = one
    found.pop(os.getpid(), None)
    return list(found.values())


def _each(some: list[psutil.Process], action) -> None:
    for process in some:
        with suppress(psutil.Error):
            action(process)
