"""The order in which the coordinator of the consumer protocol walks its members.

After TimelineHashMap, SnapshottableHashTable and BaseHashTable of kafka-server-common 4.0: a table
of slots, chosen by the highest bits of a multiplied hash code; slots are walked from the first to
the last, and what shares a slot from the newest to the oldest.
"""

from collections.abc import Iterator

from assignlab.jvm.names import Names

FIBONACCI = -7046029254386353131
LOAD_FACTOR = 0.75


class TimelineMap:
    """The keys of a map, in its order.

    >>> walk = TimelineMap()
    >>> for name in "abcdef":
    ...     walk.add(name)
    >>> walk.remove("c")
    >>> "".join(walk)
    'febda'
    """

    def __init__(self):
        self._slots: list[list[str]] = [[], []]
        self._hashes: dict[str, int] = {}

    def add(self, key: str) -> None:
        """Put a key, if it is not there."""
        if key in self._hashes:
            return
        if (len(self._hashes) + 1) * LOAD_FACTOR > len(self._slots):
            before = [known for slot in self._slots for known in slot]
            self._slots = [[] for _ in range(2 * len(self._slots))]
            for known in before:
                self._slot(known).append(known)
        self._hashes[key] = int(Names([key]).hashes[0])
        self._slot(key).append(key)

    def remove(self, key: str) -> None:
        """Take a key out, if it is there; the table keeps its size."""
        if key in self._hashes:
            self._slot(key).remove(key)
            del self._hashes[key]

    def __iter__(self) -> Iterator[str]:
        for slot in self._slots:
            yield from reversed(slot)

    def _slot(self, key: str) -> list[str]:
        mixed = self._hashes[key] * FIBONACCI % 2**64
        return self._slots[mixed >> 64 - (len(self._slots).bit_length() - 1)]
