"""What every partitioner is told and gives: records in order, topics, and its own state.

A partitioner is a state machine: :meth:`Partitioner.choose` takes the state and some records and
gives a partition for each, and the state after them. Draws are part of the state, so a seed decides
everything.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from assignlab.errors import OriginalError, shown
from assignlab.group.document import MAX_NUMBER, MAX_PARTITIONS
from assignlab.producers.draws import generator, seed_of
from assignlab.producers.hashes import Keys
from assignlab.releases import span, version

NONE = 1 << 40
"""No number yet: a counter that has not started, a topic without a sticky partition."""


WANTED = {
    np.int64: "whole numbers",
    np.int32: "whole numbers of 32 bits or None",
    bool: "True or False",
}
"""What a column of a kind holds."""


def column(name: str, values: Any, kind: type = np.int64) -> np.ndarray:
    """A list of whole numbers, or of flags, as an array of that kind.

    Raises ValueError for what is none, and where a value would become another one.
    """
    with suppress(ValueError), np.errstate(invalid="ignore"):  # lists of several lengths; NaN
        found = np.asarray(values)
        if found.ndim == 1 and found.dtype.kind in ("iufb" if kind is bool else "iuf"):
            made = found.astype(kind)
            if (made == found).all():
                return made
    raise ValueError(f"{name}: expected a list of {WANTED[kind]}, got {shown(values)}")


def plain(value: Any) -> Any:
    """A number of NumPy as Python's own."""
    return value.item() if isinstance(value, np.generic) else value


def whole(name: str, value: Any, least: int, most: int = MAX_NUMBER) -> int:
    """A setting that is a whole number of at least so much. Raises ValueError, which names it."""
    given = plain(value)
    if type(given) is not int or not least <= given <= most:
        raise ValueError(
            f"{name}: expected a whole number from {least} to {most}, got {shown(given)}"
        )
    return given


class Topics(NamedTuple):
    """t topics: how many partitions each has, and which of them have a leader.

    ``partitions`` int64[t]. The available partitions of topic i, in the order in which the client
    lists them (Java's since 2.2: :func:`~assignlab.producers.kafka_hash.listed`), are
    ``available[starts[i]:starts[i + 1]]``, int64[...] and int64[t + 1].
    """

    partitions: np.ndarray
    available: np.ndarray
    starts: np.ndarray


def topics(partitions: Sequence[int], available: Sequence[Sequence[int]] | None = None) -> Topics:
    """Topics from their numbers of partitions; all are available, by number, unless told otherwise.

    Raises ValueError for no topic, one without partitions, or with more than ``MAX_PARTITIONS``, and
    for an available partition that it lacks.
    """
    counts = column("partitions", partitions)
    if counts.size == 0:
        raise ValueError("partitions: expected at least one topic")
    if counts.min() < 1:
        raise ValueError("every topic needs at least one partition")
    if counts.max() > MAX_PARTITIONS:
        raise ValueError(f"partitions: {counts.max()} of a topic are more than {MAX_PARTITIONS:,}")
    lists = [range(count) for count in counts.tolist()]
    if available is not None:
        one_each = available if isinstance(available, Iterable) else [available]
        lists = [column("available partitions", ids).tolist() for ids in one_each]
    if len(lists) != counts.size:
        raise ValueError(f"{counts.size} topics, but available partitions of {len(lists)}")
    for count, ids in zip(counts.tolist(), lists, strict=True):
        if any(partition not in range(count) for partition in ids) or len(set(ids)) < len(ids):
            raise ValueError(f"available partitions {list(ids)} of a topic with {count}")
    flat = np.array([partition for ids in lists for partition in ids], dtype=np.int64)
    return Topics(counts, flat, np.concatenate(([0], np.cumsum([len(ids) for ids in lists]))))


class Records(NamedTuple):
    """n records in the order of sending.

    ``topics`` int64[n]; ``keys``; ``explicit`` int64[n], the partition that the application names,
    or NONE. What the producer's buffer says about the partition chosen first, all bool[n]:
    ``new_batch``: it has no batch with room for the record; ``full_before``, ``full_after``: all
    its batches are full or sent, before the record is appended and after. ``sizes`` int64[n]: bytes
    that the record adds to its batch.
    """

    topics: np.ndarray
    keys: Keys
    explicit: np.ndarray
    new_batch: np.ndarray
    full_before: np.ndarray
    full_after: np.ndarray
    sizes: np.ndarray


class State(NamedTuple):
    """What a partitioner remembers, per topic: int64[t] each, NONE where there is nothing yet.

    ``turn``: counter, or sticky partition. ``noted``: bytes sent to the sticky partition, or an
    answer to be repeated. ``random`` uint64[1]: the generator, see
    :mod:`~assignlab.producers.draws`. ``loads``, ``load_ids`` int64[t, p] and ``load_lengths``
    int64[t]: the load tables of the built-in partitioner, length 0 for none.
    """

    turn: np.ndarray
    noted: np.ndarray
    random: np.ndarray
    loads: np.ndarray
    load_ids: np.ndarray
    load_lengths: np.ndarray

    def copy(self) -> "State":
        """A state that can be changed without changing this one."""
        return State(*(part.copy() for part in self))


def fresh(of: Topics, random: np.ndarray) -> State:
    """The state of a producer that has sent nothing."""
    count, widest = of.partitions.size, int(of.partitions.max())
    return State(
        np.full(count, NONE, np.int64),
        np.zeros(count, np.int64),
        random,
        np.zeros((count, widest), np.int64),
        np.zeros((count, widest), np.int64),
        np.zeros(count, np.int64),
    )


Run = Callable[[Records, Topics, State], np.ndarray]


@dataclass(frozen=True, kw_only=True)
class Partitioner:
    """A rule by which a producer chooses partitions.

    ``name``: stable, used in params, tables and charts; a name without a version is the newest
    release checked. ``client``, ``first``, ``last``: whose it is, and the versions that behave so,
    ``first`` alone unless told. ``source``: the class or function that is reproduced, and in
    brackets the artifact with its release. ``rule``: in a few words. ``run``: changes the state in
    place and returns int64[n] partitions. ``seeded``: the generator's state from a seed. ``keyed``:
    which keys decide the partition: ``all``, ``non-empty`` or ``none``. ``exact_draws``: whether
    the draws are the original's own for the same seed; where not, a record without such a key gets
    a uniform draw of ours. ``explicit_errors``: the exceptions for an explicit partition below 0
    and for one that the topic lacks; empty where none is played, which these clients may have all
    the same. ``lacking_since``: the release since which the latter is another one, and which.
    ``sees_explicit``: whether ``run`` is given the records with an explicit partition too, because
    they change what the others get.
    """

    name: str
    client: str
    first: str
    source: str
    rule: str
    run: Run
    last: str = ""
    seeded: Callable[[int], np.ndarray] = generator
    keyed: str = "all"
    exact_draws: bool = True
    explicit_errors: tuple[str, ...] = ()
    lacking_since: tuple[str, str] | None = None
    sees_explicit: bool = False

    def __post_init__(self):
        object.__setattr__(self, "last", self.last or self.first)

    @property
    def versions(self) -> str:
        """The versions that behave so, in words."""
        return span(self.first, self.last)

    def start(self, of: Topics, seed: int = 0) -> State:
        """The state of a new producer with this partitioner. Raises TypeError for a seed that is no
        whole number."""
        return fresh(of, self.seeded(seed_of(seed)))

    def choose(self, records: Records, of: Topics, state: State) -> tuple[np.ndarray, State]:
        """Partitions int64[n], one for each record, and the state afterwards.

        Raises :class:`~assignlab.errors.OriginalError` where the original throws, ValueError for a
        record of a topic that ``of`` or the state does not have.
        """
        known = min(of.partitions.size, state.turn.size)
        strange = (records.topics < 0) | (records.topics >= known)
        if strange.any():  # compiled code would read, and write, beyond the arrays
            row = int(strange.argmax())
            raise ValueError(f"record {row} is of topic {records.topics[row]}, there are {known}")
        after = state.copy()
        named = records.explicit != NONE
        if not named.any():
            return self.run(records, of, after), after
        self._check_explicit(records, of, named)
        if self.sees_explicit:
            return self.run(records, of, after), after
        chosen = records.explicit.copy()
        chosen[~named] = self.run(rows(records, np.flatnonzero(~named)), of, after)
        return chosen, after

    def _check_explicit(self, records: Records, of: Topics, named: np.ndarray) -> None:
        if not self.explicit_errors:
            raise ValueError(
                f"explicit: {self.name} is played without records that name a partition"
            )
        counts = of.partitions[records.topics]
        wrong = named & ((records.explicit < 0) | (records.explicit >= counts))
        if wrong.any():
            row = int(wrong.argmax())
            partition = int(records.explicit[row])
            error = self.explicit_errors[partition >= 0]
            if partition >= 0 and self.lacking_since is not None:
                since, later = self.lacking_since
                error = later if version(self.first) >= version(since) else error
            raise OriginalError(
                error, f"record {row} names partition {partition} of a topic with {counts[row]}"
            )


def rows(records: Records, chosen: np.ndarray) -> Records:
    """Some of the records, int64[m], in that order."""
    return Records(*(p.take(chosen) if isinstance(p, Keys) else p[chosen] for p in records))
