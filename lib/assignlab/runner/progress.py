"""What the user sees while notebooks run: which one, which cell, how far the sweep, time left.

On a terminal one line is rewritten in place; in a log every cell gets a line, and the sweep one
every few seconds.
"""

import io
import re
import shutil
import sys
import threading
import time
from contextlib import suppress

from assignlab.runner.papermill import CELL

SWEEP = re.compile(r"\bsweep: .*")
LOG_EVERY = 5.0


def clock(seconds: float) -> str:
    """Minutes and seconds.

    >>> clock(5.4), clock(3725)
    ('0:05', '62:05')
    """
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def estimate(unfinished: dict[str, float], earlier: dict[str, float], jobs: int) -> float:
    """Seconds left; 0 where nothing is known to judge by, or all takes longer than before.

    unfinished: notebook -> seconds that it has run already (0 if it waits). earlier: notebook ->
    seconds that it took before; one that never completed counts as their mean.

    >>> estimate({"a": 4.0, "b": 0.0}, {"a": 10.0, "c": 20.0}, jobs=1)
    21.0
    """
    if not earlier:
        return 0.0
    mean = sum(earlier.values()) / len(earlier)
    left = [max(0.0, earlier.get(name, mean) - ran) for name, ran in unfinished.items()]
    return max(sum(left) / jobs, max(left, default=0.0))


class Progress:
    """The state of a batch, and its printing. Safe to call from several threads.

    cells: notebook -> number of cells that Papermill will count. earlier: see `estimate`.
    """

    def __init__(self, cells: dict[str, int], earlier: dict[str, float], jobs: int, out=None):
        self._cells = cells
        self._earlier = dict(earlier)
        self._jobs = jobs
        self._out = out or sys.stdout or io.StringIO()  # standard output may be closed
        self._live = self._out.isatty()
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self._started: dict[str, float] = {}
        self._waiting = list(cells)
        self._at: dict[str, int] = {}
        self._sweep: dict[str, str] = {}
        self._printed = 0.0
        self._width = 0

    def start(self, name: str) -> None:
        """Note that a notebook has begun, and show it."""
        with self._lock:
            self._started[name] = time.monotonic()
            self._waiting.remove(name)
            self._at[name] = 0
            self._show(name)

    def said(self, name: str, line: str) -> None:
        """Take in one line that the notebook's process printed."""
        cell, sweep = CELL.search(line), SWEEP.search(line)
        with self._lock:
            if cell:
                self._at[name] = int(cell[1])
                self._sweep.pop(name, None)
                self._show(name)
            elif sweep:
                # The first word of a cell's sweep comes at once, whatever else runs beside it.
                every = LOG_EVERY if name in self._sweep else 0.0
                self._sweep[name] = sweep[0].strip()
                self._show(name, every)

    def tick(self) -> None:
        """Show that time passes, where nothing else is said."""
        with self._lock:
            if self._started:
                self._show(next(reversed(self._started)), every=6 * LOG_EVERY)

    def end(self, name: str, text: str, completed: bool) -> None:
        """One lasting line: how the notebook ended."""
        with self._lock:
            seconds = time.monotonic() - self._started.pop(name)
            if completed:
                self._earlier[name] = seconds
            self._lasting(name, f"{text}  ({clock(seconds)})")

    def note(self, name: str, text: str) -> None:
        """One lasting line about a notebook that does not run."""
        with self._lock:
            self._waiting.remove(name)
            self._lasting(name, text)

    def clear(self) -> None:
        """Take the line off the terminal, so that other text can follow."""
        with self._lock:
            self._clear()

    def _lasting(self, name: str, text: str) -> None:
        self._clear()
        self._write(f"{self._place(name)}  {text}\n")

    def _place(self, name: str) -> str:
        return f"[{list(self._cells).index(name) + 1}/{len(self._cells)}] {name}"

    def _line(self, name: str) -> str:
        now = time.monotonic()
        unfinished = {name: now - began for name, began in self._started.items()}
        unfinished |= dict.fromkeys(self._waiting, 0.0)
        left = estimate(unfinished, self._earlier, self._jobs)
        parts = [self._place(name)]
        cell = self._at[name]
        parts.append(f"cell {cell} of {self._cells[name]}" if cell else "starts")
        parts.append(
            f"{clock(now - self._began)} so far" + (f", about {clock(left)} left" if left else "")
        )
        return "  ".join([*parts, *filter(None, [self._sweep.get(name)])])

    def _show(self, name: str, every: float = 0.0) -> None:
        now = time.monotonic()
        if self._live:
            # One column less than the terminal has: a full line would wrap and not be overwritten.
            line = self._line(name)[: shutil.get_terminal_size().columns - 1]
            self._write("\r" + line.ljust(self._width))
            self._width = len(line)
        elif now - self._printed >= every:
            self._printed = now
            self._write(self._line(name) + "\n")

    def _clear(self) -> None:
        if self._live and self._width:
            self._write("\r" + " " * self._width + "\r")
            self._width = 0

    def _write(self, text: str) -> None:
        # Where the terminal is gone, nobody is there to read it.
        with suppress(OSError):
            self._out.write(text)
            self._out.flush()
