"""Says on stderr how far a sweep is."""

import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from assignlab.sweep.slices import reported

PROGRESS_EVERY = 2.0


class Progress:
    """Tells on stderr how far a sweep is, every few seconds, while it is entered.

    ``place``: the folder where the tasks leave their counts (:func:`assignlab.sweep.slices.report`);
    ``costs``: predicted, per scenario. Time left is judged by cost and not by number.
    """

    def __init__(self, place: Path, costs: Sequence[float]):
        self._place = place
        self._scenarios = len(costs)
        self._cost = sum(costs) or 1.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        self._began = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *failure):
        self._over.set()
        self._thread.join()
        if failure[0] is None:
            self._say(f"{time.monotonic() - self._began:.1f} s", self._scenarios, 1.0)

    def _watch(self):
        while not self._over.wait(PROGRESS_EVERY):
            done, cost = reported(self._place)
            share = min(cost / self._cost, 1.0)
            if done:
                left = (time.monotonic() - self._began) * (1 - share) / share
                self._say(f"{left:.0f} s left", done, share)

    def _say(self, text: str, done: int, share: float):
        line = f"sweep: {done}/{self._scenarios} scenarios, {share:.0%}, {text}"
        print(line, file=sys.stderr, flush=True)
