"""Simulated time in whole milliseconds, on SimPy's event queue.

What happens is a call at a moment: a message that arrives, a timer that runs out. Calls at the
same moment run in the order in which they were asked for, so a run depends on nothing but its
scenario and seed.
"""

from collections.abc import Callable

import simpy


class Timer:
    """A call to come, which can be taken back."""

    __slots__ = ("call", "args")

    def __init__(self, call: Callable, args: tuple):
        self.call = call
        self.args = args

    def cancel(self) -> None:
        """It will not be called."""
        self.call = None

    def _ring(self, event) -> None:
        if self.call is not None:
            self.call(*self.args)


class Clock:
    """The moments of one run. ``events`` counts the calls that were made or taken back."""

    def __init__(self):
        self._environment = simpy.Environment()
        self.events = 0
        self.end = 0
        self._over = False

    @property
    def now(self) -> int:
        """Milliseconds since the start."""
        return self.end if self._over else self._environment._now

    def after(self, delay: int, call: Callable, *args) -> Timer:
        """Call ``call(*args)`` in ``delay`` milliseconds."""
        timer = Timer(call, args)
        self._environment.timeout(delay).callbacks.append(timer._ring)
        self.events += 1
        return timer

    def at(self, moment: int, call: Callable, *args) -> Timer:
        """Call ``call(*args)`` at ``moment``, or now if that has passed."""
        return self.after(max(moment - self.now, 0), call, *args)

    def run(self, end: int) -> None:
        """Let time pass until ``end``; what is asked for exactly then still happens."""
        self.end = end
        # SimPy stops before what is due at ``until``.
        self._environment.run(until=end + 0.5)
        self._over = True
