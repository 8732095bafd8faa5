"""Simulated time in whole milliseconds, on SimPy's event queue.

What happens is a call at a moment: a message that arrives, a timer that runs out. Calls at the
same moment run in the order in which they were asked for, and who only looks comes after them, so
a run depends on nothing but its scenario and seed.
"""

from collections.abc import Callable

import simpy
from simpy.events import NORMAL, EventPriority

LAST = EventPriority(NORMAL + 1)
"""For a call that comes after all others at its moment."""


class Timer(simpy.Event):
    """A call to come, which can be taken back."""

    __slots__ = ("args", "call", "clock", "moment")
    _ok, _value = True, None

    def __init__(
        self, clock: "Clock", delay: int, call: Callable, args: tuple,
        priority: EventPriority = NORMAL,
    ):  # fmt: skip
        self.env = clock.environment
        self.callbacks = [Timer._ring]
        self.env.schedule(self, priority, delay)
        self.clock = clock
        self.moment = clock.now + delay
        self.call: Callable | None = call
        self.args = args

    def _ring(self) -> None:
        if self.call is not None:
            self.clock.now = self.moment
            self.call(*self.args)


def cancel(timer: Timer | None) -> None:
    """What it waits for will not be called; None has nothing to wait for."""
    if timer is not None:
        timer.call = None


class Clock:
    """The moments of one run. ``now``: milliseconds since the start.

    ``events`` counts the calls that were asked for.
    """

    def __init__(self):
        self.environment = simpy.Environment()
        self.now = 0
        self.events = 0

    def after(self, delay: int, call: Callable, *args) -> Timer:
        """Call ``call(*args)`` in ``delay`` milliseconds."""
        self.events += 1
        return Timer(self, delay, call, args)

    def at(self, moment: int, call: Callable, *args) -> Timer:
        """Call ``call(*args)`` at ``moment``, or now if that has passed."""
        return self.after(max(moment - self.now, 0), call, *args)

    def look(self, delay: int, call: Callable) -> None:
        """Call ``call()`` in ``delay`` milliseconds, when all else of that moment has happened."""
        Timer(self, delay, call, (), LAST)

    def run(self, end: int) -> None:
        """Let time pass until ``end``; what is asked for exactly then still happens."""
        # SimPy stops before what is due at ``until``.
        self.environment.run(until=end + 0.5)
        self.now = end
