"""A forked process whose results are read as it makes them, and which can be ended at any time."""

import gc
import mmap
import os
import signal
import struct
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from ctypes import CDLL
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection

COLLECT_SELDOM = (200_000, 20, 20)
"""Thresholds of Python's garbage collector for work that makes many objects and next to no circles
of them: at the usual ones, looking for garbage takes 4 % of a sweep's time and 7 % of numba's."""
MARK = struct.Struct("q")
PRCTL = CDLL(None).prctl if sys.platform == "linux" else None
SET_PARENT_DEATH_SIGNAL = 1


class Child:
    """A forked process that sends what ``produce(mark, timer)`` yields.

    ``mark(n)`` leaves a number that this process can read when the child is gone;
    ``timer(seconds)`` has the system end the child after so much processor time, 0 stops the clock.
    As a context it ends the child when it is left. ``memory``: bytes that it may take beside those
    that it begins with; more is a MemoryError in it, where the system is Linux.
    """

    def __init__(self, produce: Callable[[Callable, Callable], Iterable], memory: int):
        self._shared = mmap.mmap(-1, MARK.size)
        self._set_mark(-1)
        self._reader, writer = Pipe(duplex=False)
        gc.freeze()  # what is there by now is no garbage: neither process looks through it again
        self._pid = os.fork()
        if self._pid == 0:
            gc.set_threshold(*COLLECT_SELDOM)
            end_with_parent()
            limit_memory(memory)
            self._reader.close()
            self._run(produce, writer)
        writer.close()
        self.code: int | None = None

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        """``code``: the child's exit code, negative for the signal that ended it."""
        self._reader.close()
        os.kill(self._pid, signal.SIGKILL)
        self.code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])

    @property
    def mark(self) -> int:
        """The last mark of the child, -1 if it left none."""
        return MARK.unpack_from(self._shared)[0]

    def messages(self) -> Iterator:
        """What the child sends, until it ends; what it raises is raised here."""
        while True:
            try:
                message = self._reader.recv()
            except (EOFError, ConnectionResetError):
                return
            if isinstance(message, str):
                raise RuntimeError(f"a slice failed:\n{message}")  # noqa: TRY004
            yield message

    def _run(self, produce, writer: Connection) -> None:
        code = 1
        try:
            signal.signal(signal.SIGPROF, signal.SIG_DFL)
            for message in produce(self._set_mark, partial(signal.setitimer, signal.ITIMER_PROF)):
                writer.send(message)
            code = 0
        except BrokenPipeError:
            pass  # nobody listens any more: the task was stopped
        except BaseException:
            with suppress(OSError):
                writer.send(traceback.format_exc())
        finally:
            os._exit(code)

    def _set_mark(self, number: int) -> None:
        MARK.pack_into(self._shared, 0, number)


def end_with_parent() -> None:
    """Have Linux end this process when its parent ends, be it by ``kill -9`` in mid simulation.

    Elsewhere a child without parent ends when it next sends something.
    """
    if PRCTL:
        PRCTL(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)


def limit_memory(more: int) -> None:
    """Let this process take so many bytes more than it has, where Linux counts them."""
    if sys.platform == "linux":
        import resource

        with open("/proc/self/statm") as file:
            pages = int(file.read().split()[5])  # data and stacks
        most = pages * resource.getpagesize() + more
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        if hard == resource.RLIM_INFINITY or most < hard:
            resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
