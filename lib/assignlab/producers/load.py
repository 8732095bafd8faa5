"""From keys to consumers: how often keys come, which partition they go to, and who reads it.

Keys get ranks; the record count of the key of rank r is drawn with weight 1 / r^skew (Zipf; skew 0
is uniform). The partitioner gives every key its partition, the assignor every partition its
consumer, so a consumer's load is the sum of its partitions' records. And what becomes of keys when
a topic gets more partitions: a key that changes partition has records in two of them, which two
consumers, or one in any order, may read.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from numbers import Real
from typing import ClassVar

import numpy as np
import pandas as pd

from assignlab import assignors, producers
from assignlab.errors import UnknownName, shown
from assignlab.group.assignment import Assignment, number_of
from assignlab.group.plain import group
from assignlab.producers.hashes import Keys, keys, numbered
from assignlab.producers.partitioner import column, whole

SYLLABLES = (
    "an ar be da de el en er ga he in ka la le li ma me mi na ne no on or "
    "pa ra re ri ro sa se si so sta ta te ti to tu un ur va ve vi wa ya za"
)
KINDS = ("words", "numbers", "uuids")


@cache
def key_set(kind: str, count: int, seed: int = 0) -> Keys:
    """``count`` distinct keys: ``words`` made of syllables, ``numbers`` from 0 in a drawn order, or
    ``uuids``.

    The same call gives the same object, for reading. Raises UnknownName for another kind, and
    ValueError for a count below 0.
    """
    count = whole("count", count, 0)
    draws = np.random.default_rng([seed, count])
    if kind == "numbers":
        return numbered(draws.permutation(count))
    if kind == "uuids":
        halves = draws.integers(0, 1 << 62, size=(count, 2))
        digits = [f"{a:016x}{b:016x}" for a, b in halves.tolist()]
        return keys("-".join((d[:8], d[8:12], d[12:16], d[16:20], d[20:])) for d in digits)
    if kind == "words":
        return keys(_words(count, draws))
    raise UnknownName("kind of keys", kind, KINDS)


def _words(count: int, draws: np.random.Generator) -> list[str]:
    """Distinct words of two to four syllables; longer ones once the short ones are used up."""
    syllables = SYLLABLES.split()
    found: dict[str, None] = {}
    longest = 4
    while len(found) < count:
        # One call for all words of a round: it draws what a call for each word would.
        lengths = draws.integers(2, longest + 1, size=count)
        ends = np.cumsum(lengths).tolist()
        drawn = [syllables[i] for i in draws.integers(0, len(syllables), size=ends[-1]).tolist()]
        for begin, end in zip([0, *ends], ends, strict=False):
            found.setdefault("".join(drawn[begin:end]))
        longest += 1
    return list(found)[:count]


def weights(count: int, skew: float) -> np.ndarray:
    """Probability of the key of each rank: float64[count], which sum to 1.

    Raises ValueError for no rank, and for a skew that is no number from 0 on.

    >>> weights(3, 1.0).round(3).tolist()
    [0.545, 0.273, 0.182]
    """
    if not (isinstance(skew, Real) and 0 <= skew < math.inf):
        raise ValueError(f"skew: expected a number from 0 on, got {shown(skew)}")
    raw = np.arange(1, whole("count", count, 1) + 1) ** -float(skew)
    return raw / raw.sum()


def record_counts(count: int, skew: float, records: int, seed: int = 0) -> np.ndarray:
    """How many of ``records`` each key gets: int64[count], drawn."""
    records = whole("records", records, 0, most=2**63 - 1)
    return np.random.default_rng([seed, 1]).multinomial(records, weights(count, skew))


def partition_load(name: str, of: Keys, counts: np.ndarray, partitions: int) -> np.ndarray:
    """Records of each partition: int64[partitions].

    ``of``: distinct keys, none of them null, ``counts`` int64[k] records of each. Raises ValueError
    for a partitioner that does not look at keys, and for counts that are not one for each key, from
    0 on.
    """
    chosen, counts = key_partitions(name, of, partitions), column("counts", counts)
    if counts.size != chosen.size or (counts < 0).any():
        raise ValueError(
            f"counts: expected {chosen.size} of 0 or more, got {shown(counts.tolist())}"
        )
    return np.bincount(chosen, weights=counts, minlength=partitions).astype(np.int64)


def key_partitions(name: str, of: Keys, partitions: int) -> np.ndarray:
    """The partition of each key: int64[k]. Raises ValueError where keys do not decide."""
    if producers.get(name).keyed == "none":
        raise ValueError(f"{name} does not look at keys")
    return producers.partitions_of(name, of, partitions)


def owned_by(strategy: str, loads: Sequence[np.ndarray], members: int) -> Assignment:
    """Which of ``members`` consumers reads which partition.

    ``loads``: per topic, records of each partition, which strategies that read weights know; all
    members read all topics and own nothing before. Member ids sort in their order.
    """
    chosen, members = assignors.get(strategy), whole("members", members, 1)
    width = len(str(max(members - 1, len(loads) - 1)))
    names = [f"t{i:0{width}}" for i in range(len(loads))]
    asked = group(
        {name: load.size for name, load in zip(names, loads, strict=True)},
        {f"c{i:0{width}}": names for i in range(members)},
        weights=dict(zip(names, map(np.ndarray.tolist, loads), strict=True))
        if chosen.reads_weights
        else None,
    )
    return chosen.assign(chosen.equipped(asked))


def read_by(given: Assignment, loads: Sequence[np.ndarray], members: int) -> np.ndarray:
    """Records that each member reads of those that every partition has: [members], of the type of
    ``loads``."""
    starts = np.concatenate(([0], np.cumsum([load.size for load in loads])))
    flat = np.concatenate(loads)
    records = flat[number_of(given.codes, starts)]
    return np.bincount(given.owners, weights=records, minlength=members).astype(flat.dtype)


def first_partitions(names: Iterable[str], partitions: int, records: int) -> pd.DataFrame:
    """Where the first records without a key go when each needs a batch of its own.

    Columns: ``partitioner``, ``record`` (from 1), ``partition``. Seed 0 decides the draws.
    """
    every = np.ones(records, bool)
    rows = [
        {"partitioner": name, "record": record + 1, "partition": partition}
        for name in names
        for record, partition in enumerate(
            producers.partitions_of(name, [None] * records, partitions, new_batch=every).tolist()
        )
    ]
    return pd.DataFrame(rows)


def agreement(names: Sequence[str], of: Keys, partitions: int) -> pd.DataFrame:
    """Share of the keys that two partitioners put into the same partition, for every pair.

    A square: the column ``partitioner`` and one column for each name.
    """
    chosen = {name: key_partitions(name, of, partitions) for name in names}
    return pd.DataFrame(
        [
            {"partitioner": one, **{two: (chosen[one] == chosen[two]).mean() for two in names}}
            for one in names
        ]
    )


def moved_law(before: int, after: int) -> float:
    """Share of keys that change partition under hash % partitions, for evenly spread hashes.

    Of the lcm(n, m) pairs of remainders that occur, min(n, m) are pairs of equal numbers.

    >>> moved_law(4, 8), moved_law(4, 5)
    (0.5, 0.8)
    """
    before, after = whole("before", before, 1), whole("after", after, 1)
    return 1 - min(before, after) / math.lcm(before, after)


# ---- as trials of a sweep ----------------------------------------------------------------------


@dataclass(frozen=True)
class Trial:
    """One set of keys, for a sweep (:func:`assignlab.timeline.sweep`).

    ``names``: partitioners, or strategies, with commas between. What a question has no use for
    stays as it is.
    """

    SHARING: ClassVar = ("skew",)
    """Trials that differ in it alone have the same keys."""

    seed: int
    names: str
    skew: float
    partitions: int
    kind: str = "words"
    key_count: int = 10_000
    records: int = 1_000_000
    partitioner: str = ""
    topics: int = 1
    members: int = 1
    before: int = 0
    unread: int = 0


def play_balance(trial: Trial) -> list[dict]:
    """The partitions' loads: one record for each partitioner of ``names``.

    ``max_over_mean`` (fullest partition over mean), ``emptiest_over_mean``, ``heaviest_key``
    (records of the most frequent key over a partition's mean, which no hash can go below where it
    is above 1).
    """
    of = key_set(trial.kind, trial.key_count, trial.seed)
    counts = record_counts(trial.key_count, trial.skew, trial.records, trial.seed)
    mean = trial.records / trial.partitions
    found = []
    for name in trial.names.split(","):
        load = partition_load(name, of, counts, trial.partitions)
        found.append({
            "partitioner": name, "skew": trial.skew, "seed": trial.seed,
            "max_over_mean": float(load.max() / mean),
            "emptiest_over_mean": float(load.min() / mean),
            "heaviest_key": float(counts.max() / mean),
        })  # fmt: skip
    return found


def play_end_to_end(trial: Trial) -> list[dict]:
    """Consumers' loads, all topics together: one record for each strategy of ``names``.

    Every topic has its own keys, ``records`` of them. ``max_over_mean`` of the consumers,
    ``partitions_over_mean``: what counting partitions alone would say, ``fullest_partition``: the
    fullest partition over a consumer's mean, which no assignment goes below where it is above 1,
    ``fullest_together``: of the topics' fullest partitions, one a topic, the most that one consumer
    has; ``topics / members`` of them are the mean, whatever the strategy.
    """
    topics, partitions, members = trial.topics, trial.partitions, trial.members
    loads = [
        partition_load(
            trial.partitioner,
            key_set(trial.kind, trial.key_count, seed),
            record_counts(trial.key_count, trial.skew, trial.records, seed),
            partitions,
        )
        for seed in range(trial.seed * topics, (trial.seed + 1) * topics)
    ]
    fullest = [(np.arange(partitions) == load.argmax()).astype(np.int64) for load in loads]
    mean = trial.records * topics / members
    found = []
    for strategy in trial.names.split(","):
        given = owned_by(strategy, loads, members)
        found.append({
            "strategy": strategy, "skew": trial.skew, "seed": trial.seed,
            "max_over_mean": float(read_by(given, loads, members).max() / mean),
            "partitions_over_mean": float(given.sizes.max() * members / (topics * partitions)),
            "fullest_partition": float(max(load.max() for load in loads) / mean),
            "fullest_together": int(read_by(given, fullest, members).max()),
        })  # fmt: skip
    return found


def play_reordering(trial: Trial) -> list[dict]:
    """What ``partitions`` after ``before`` put out of order: one record for each of ``names``.

    ``records`` are sent, then partitions are added, then as many are sent again; ``unread`` of the
    first lie unread at that time. ``moved_keys``: share of keys that change partition, ``law``;
    ``moved_records``: share of the later records that go elsewhere than their key's earlier ones;
    ``out_of_order``: share of the keys in use that have unread records in the old partition and
    later ones in another, so that the later may be read first.
    """
    before, after = trial.before, trial.partitions
    of = key_set(trial.kind, trial.key_count, trial.seed)
    draws = np.random.default_rng([trial.seed, 2])
    chance = weights(trial.key_count, trial.skew)
    waiting = draws.multinomial(trial.unread, chance)
    earlier = draws.multinomial(trial.records - trial.unread, chance) + waiting
    later = draws.multinomial(trial.records, chance)
    in_use = (earlier > 0) | (later > 0)
    found = []
    for name in trial.names.split(","):
        moved = key_partitions(name, of, before) != key_partitions(name, of, after)
        found.append({
            "partitioner": name, "before": before, "after": after, "seed": trial.seed,
            "moved_keys": float(moved.mean()),
            "law": moved_law(before, after),
            "moved_records": float(later[moved & (earlier > 0)].sum() / later.sum()),
            "out_of_order": float((moved & (waiting > 0) & (later > 0)).sum() / in_use.sum()),
        })  # fmt: skip
    return found
