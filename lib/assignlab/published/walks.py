"""The algorithms of the articles told step by step, by the very functions that the strategies run.

Every table here is written down while the original's steps run: nothing is rebuilt from results.
"""

import random
import struct
from collections.abc import Callable, Mapping
from functools import partial
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from assignlab import assignors
from assignlab.assignors.kafka import sticky_2_0
from assignlab.assignors.metaq import consistent_hash
from assignlab.assignors.metaq.parts.partitions import lines
from assignlab.assignors.parts import movements, orders, reassignment
from assignlab.assignors.parts.dealing import next_subscriber
from assignlab.assignors.parts.holdings import balance_score
from assignlab.assignors.parts.potential import NONE, potential, unpack_potential
from assignlab.assignors.parts.ranges import range_of, shares_of
from assignlab.group.assignment import Assignment, partition_names
from assignlab.group.model import Group, subscriptions_by_topic
from assignlab.group.plain import group as plain
from assignlab.jvm.names import string_hash, string_hashes
from assignlab.published.examples import claiming, short


def range_steps(partitions: int, consumers: list[str]) -> pd.DataFrame:
    """Range's arithmetic for one topic: i, consumer, start, length, partitions.

    >>> range_steps(10, ["c", "a", "b"])[["consumer", "start", "length"]].values.tolist()
    [['a', 0, 4], ['b', 4, 3], ['c', 7, 3]]
    """
    shares = shares_of(partitions, len(consumers) or 1)
    rows = []
    for i, consumer in enumerate(sorted(consumers)):
        start, length = range_of(i, shares)
        numbers = " ".join(f"p{p}" for p in range(start, start + length))
        rows.append((i, consumer, start, length, numbers))
    return pd.DataFrame(rows, columns=["i", "consumer", "start", "length", "partitions"])


def circle(group: Group) -> pd.DataFrame:
    """Java's round robin around its circle: round, partition, passed over, dealt to.

    A round ends where the circle begins anew.

    >>> from assignlab.group.plain import group
    >>> g = group({"t0": 1, "t1": 2}, {"c0": ["t0"], "c1": ["t0", "t1"]})
    >>> print(circle(g).to_string(index=False))
     round partition passed over dealt to
         1      t0p0                   c0
         1      t1p0                   c1
         2      t1p1          c0       c1
    """
    members = group.prepared(orders.members_by_id)
    subscribed = group.prepared(subscriptions_by_topic)
    names, place, rows = group.members.names, 0, []
    for t in group.prepared(orders.topics_by_name).tolist():
        for p in range(int(group.topics.partitions[t])):
            found = next_subscriber(
                members, place % members.size, group.members.subscription, subscribed, t
            )
            steps = (found - place) % members.size
            passed = [names[members[(place + k) % members.size]] for k in range(steps)]
            place += steps
            topic = group.topics.names[t]
            rows.append(
                (place // members.size + 1, f"{topic}p{p}", " ".join(passed), names[members[found]])
            )
            place += 1
    return pd.DataFrame(rows, columns=["round", "partition", "passed over", "dealt to"])


def circle_steps(group: Group) -> pd.DataFrame:
    """The circle as states to step through: told, lists (member -> short form), notes (by member).

    >>> from assignlab.group.plain import group
    >>> g = group({"t0": 1, "t1": 2}, {"c0": ["t0"], "c1": ["t0", "t1"]})
    >>> circle_steps(g).iloc[-1].tolist()
    ['round 2: t1p1 passes c0 over and goes to c1', {'c0': 't0p0', 'c1': 't1p0 t1p1'}, \
{'c0': 'passed over'}]
    """
    lists = dict.fromkeys(group.members.names, "")
    rows: list[tuple] = [("all partitions wait, in the order of their names", lists, {})]
    for number, partition, passed, owner in circle(group).itertuples(index=False):
        lists = lists | {owner: f"{lists[owner]} {partition}".strip()}
        way = f"passes {passed} over and goes" if passed else "goes"
        notes = dict.fromkeys(passed.split(), "passed over")
        rows.append((f"round {number}: {partition} {way} to {owner}", lists, notes))
    return pd.DataFrame(rows, columns=["told", "lists", "notes"])


def all_read(members: int, topics: int, each: int) -> Group:
    """C0, C1, ... that all read t0, t1, ..., topics of ``each`` partitions."""
    counts = {f"t{i}": each for i in range(topics)}
    return plain(counts, {f"C{i}": list(counts) for i in range(members)})


def own_circle(members: int, topics: int, each: int) -> pd.DataFrame:
    """:func:`circle_steps` of :func:`all_read`, without notes: nobody is passed over."""
    return circle_steps(all_read(members, topics, each))[["told", "lists"]]


# Sticky, step by step


STEPS = (
    "step", "what", "looked at", "moved", "from", "to", "sorted set", "score before", "score after",
)  # fmt: skip
"""The columns of a walk that are read; ``lists`` says who holds what."""


class Walk(NamedTuple):
    """What ``sticky@2.0`` did with a group.

    ``steps``: a row per step that changed something, columns ``step``, ``what`` (``kept``,
    ``assigned``, ``moved``, ``taken back``), ``looked at`` (the partition whose turn it was),
    ``moved`` (the one that went), ``from``, ``to``, ``sorted set`` (consumers and their sizes
    before the step, as ``sortedCurrentSubscriptions`` has them), ``score before`` and
    ``score after`` (the sum of the differences of all pairs that take part; NaN before moving
    begins), ``lists`` (after). ``order``: the partitions in the order in which they are looked at.
    ``assignment``: the result.
    """

    steps: pd.DataFrame
    order: list[str]
    assignment: Assignment


def sticky_told(steps: pd.DataFrame) -> list[str]:
    """What happens in every step of a :class:`Walk`, as a sentence."""
    return [
        {
            "kept": "every member keeps what it claims and still reads",
            "assigned": f"{row['moved']} has no owner and goes to the reader that has least,"
            f" {row['to']}",
            "moved": f"{row['moved']} goes from {row['from']} to {row['to']}"
            + (f", in place of {row['looked at']}" if row["looked at"] != row["moved"] else "")
            + f"; the score was {row['score before']:g} and is {row['score after']:g}",
            "taken back": "the score did not get less: all moves are taken back",
        }[row["what"]]
        for row in steps.to_dict("records")
    ]


def one_after_the_other(walks: Mapping[str, Walk]) -> pd.DataFrame:
    """The steps of several walks, and what is told of each: ``"<the walk's name>: <sentence>"``."""
    return pd.concat(
        [
            walk.steps.assign(told=[f"{name}: {said}" for said in sticky_told(walk.steps)])
            for name, walk in walks.items()
        ],
        ignore_index=True,
    )


def sticky_walk(group: Group) -> Walk:
    """Run ``sticky@2.0`` as Python, its steps watched by name.

    The functions of :mod:`assignlab.assignors.parts.reassignment` are copied into a namespace of
    their own, where some of them write down what they do. The compiled ones are not touched.
    """
    packed, may, _ = group.prepared(potential)
    known = unpack_potential(packed, may)
    claims, order = group.claims, sticky_2_0.current_assignment_order(group)
    current, _ = sticky_2_0.prepopulate_current_assignments(
        known, claims.offsets, claims.codes, order
    )
    sorted_partitions, _ = sticky_2_0.sort_partitions(known, current, not claims.present.any())
    watch = _Watch(group, known)
    steps = _namespace(reassignment, watch)
    offsets, codes, status = steps["balance"](known, current, sorted_partitions, False)
    reassignment.refuse(status)
    assignment = Assignment(offsets, codes)
    given = short(group, assignment)
    if watch.held is not None and watch.lists() != given:
        watch.note("taken back", NONE, NONE, "", "", watch.sorted_set(), given)
    frame = pd.DataFrame(watch.rows, columns=[*STEPS, "lists"])
    order = [watch.name(i) for i in sorted_partitions.tolist()]
    return Walk(frame, order, assignment)


def own_sticky(members: int, topics: int, each: int) -> pd.DataFrame:
    """:func:`all_read` under ``sticky@2.0``: its steps from nothing, then with one member more."""
    now, more = (all_read(n, topics, each) for n in (members, members + 1))
    first = sticky_walk(now)
    joins = sticky_walk(claiming(more, "sticky@2.0", now, first.assignment))
    both = one_after_the_other({"at first": first, f"C{members} joins": joins})
    return both[["told", *STEPS, "lists"]]


def drawn(seed: int) -> Group:
    """A small random group whose members claim some of what they read.

    >>> [(len(g.members), len(g.topics), g.claims.codes.size) for g in map(drawn, range(3))]
    [(4, 2, 2), (4, 1, 5), (4, 1, 1)]
    """
    draw = random.Random(seed)
    topics = {f"t{i}": draw.randint(1, 5) for i in range(draw.randint(1, 3))}
    members = {f"C{i}": draw.sample(sorted(topics), draw.randint(1, len(topics))) for i in range(4)}
    topics = {t: n for t, n in topics.items() if any(t in read for read in members.values())}
    claims: dict[str, list] = {member: [] for member in members}
    for topic, partitions in topics.items():
        for partition in range(partitions):
            owner = draw.choice([m for m, read in members.items() if topic in read] + [None])
            if owner:
                claims[owner].append([topic, partition])
    return plain(topics, members, owned=claims)


def _namespace(module: Any, watch: "_Watch") -> dict[str, Any]:
    """The module's functions as plain Python that call each other; the watched ones wrapped."""
    space = dict(vars(module))
    for name, value in vars(module).items():
        function = getattr(value, "py_func", value)
        if isinstance(function, FunctionType) and function.__module__ == module.__name__:
            space[name] = FunctionType(
                function.__code__, space, name, function.__defaults__, function.__closure__
            )
    space["the_actual_partition_to_be_moved"] = movements.the_actual_partition_to_be_moved
    for name in ("unassigned_partitions", "assign_partition", "state_of", "reassign_partition",
                 "process_partition_movement"):  # fmt: skip
        space[name] = partial(getattr(watch, name), space[name])
    return space


class _Watch:
    """Writes down what the watched steps do: a method per step, which runs the original."""

    def __init__(self, group: Group, known: Any):
        self.group, self.known = group, known
        self.members = [group.members.names[m] for m in known.by_id.tolist()]
        self.held: Any = None
        self.levels: Any = None
        self.score = float("nan")
        self.looked_at = NONE
        self.rows: list[tuple] = []

    def unassigned_partitions(self, run: Callable, held, sorted_partitions):
        self.held = held
        self.note("kept", NONE, NONE, "", "", self.sorted_set())
        return run(held, sorted_partitions)

    def assign_partition(self, run: Callable, held, m, i):
        before = self.sorted_set()
        run(held, m, i)
        self.note("assigned", i, i, "", self.members[m], before)

    def state_of(self, run: Callable, *before):
        state = run(*before)
        self.levels = state.levels
        self.score = balance_score(state.levels.counts)
        return state

    def reassign_partition(self, run: Callable, state, moves, i, new_consumer):
        self.looked_at = i
        return run(state, moves, i, new_consumer)

    def process_partition_movement(self, run: Callable, state, i, new_consumer):
        before, owner = self.sorted_set(), state.held.partitions[i].owner
        run(state, i, new_consumer)
        source, to = self.members[owner], self.members[new_consumer]
        self.note("moved", self.looked_at, i, source, to, before)

    def note(self, what, looked_at, moved, source, to, sorted_set, lists=None) -> None:
        score = float("nan") if self.levels is None else balance_score(self.levels.counts)
        partitions = (self.name(looked_at), self.name(moved))
        self.rows.append(
            (len(self.rows), what, *partitions, source, to, sorted_set, self.score, score,
             lists or self.lists())
        )  # fmt: skip
        self.score = score

    def name(self, i: int) -> str:
        if i == NONE:
            return ""
        [(topic, partition)] = partition_names(self.group, self.known.codes[[i]])
        return f"{topic}p{partition}"

    def sorted_set(self) -> str:
        counts = [int(consumer.count) for consumer in self.held.consumers]
        walk = sorted(range(len(counts)), key=lambda m: (counts[m], m))
        return " ".join(f"{self.members[m]}:{counts[m]}" for m in walk)

    def lists(self) -> dict[str, str]:
        offsets, codes = reassignment.lists(self.held, self.known.codes, self.known.by_id)
        return short(self.group, Assignment(offsets, codes))


def user_data(strategy: str, group: Group, assignment: Assignment) -> pd.DataFrame:
    """What each member sends the leader at its next join: member, was given, sends, user data.

    ``user data``: the bytes in hexadecimal, schema ``previous_assignment`` of the sticky assignor
    of Kafka 0.11 to 2.2: an array of (topic, array of partition numbers), numbers as big-endian
    int32, texts behind an int16 with their length.

    >>> from assignlab.group.plain import group
    >>> g = group({"t0": 2}, {"C0": ["t0"]})
    >>> user_data("sticky@2.0", g, assignors.get("sticky@2.0").assign(g))["user data"].item()
    '00000001 0002 7430 00000002 00000000 00000001'
    """
    sent = assignors.get(strategy).reclaim(group, assignment)
    given, sends = short(group, assignment), short(group, sent)
    rows = [
        (name, given[name], sends[name], " ".join(_fields(partition_names(group, sent.of(m)))))
        for m, name in enumerate(group.members.names)
    ]
    return pd.DataFrame(rows, columns=["member", "was given", "sends", "user data"])


def _fields(pairs: list[list]) -> list[str]:
    """The fields of ``previous_assignment``, each in hexadecimal."""
    by_topic: dict[str, list[int]] = {}
    for topic, partition in pairs:
        by_topic.setdefault(topic, []).append(partition)
    fields = [struct.pack(">i", len(by_topic))]
    for topic, partitions in by_topic.items():
        name = topic.encode()
        fields += [struct.pack(">h", len(name)), name, struct.pack(">i", len(partitions))]
        fields += [struct.pack(">i", partition) for partition in partitions]
    return [field.hex() for field in fields]


# The coordinator, Kafka 0.8 and MetaQ


def offsets_partition(group_id: str, partitions: int = 50) -> int:
    """The partition of ``__consumer_offsets`` that keeps a group's commits.

    The broker that leads it is the group's coordinator. ``partitions``: the broker's setting
    ``offsets.topic.num.partitions``. The rule is ``Utils.abs(groupId.hashCode) % partitions``.

    >>> offsets_partition("test"), offsets_partition("polygenelubricants")
    (48, 0)
    """
    hashed = string_hash(group_id)
    return (0 if hashed == -(2**31) else abs(hashed)) % partitions


def hash_order(topics: dict[str, int]) -> pd.DataFrame:
    """Partitions as Kafka 0.8's round robin sorts them: place, partition, text, hashCode.

    >>> hash_order({"t0": 11})["partition"].head(3).tolist()
    ['t0p10', 't0p0', 't0p1']
    """
    rows = [(f"{t}p{p}", f"[{t},{p}]") for t, n in topics.items() for p in range(n)]
    frame = pd.DataFrame(rows, columns=["partition", "text"])
    frame["hashCode"] = string_hashes(frame["text"].tolist()).astype(np.int64)
    frame = frame.sort_values("hashCode", kind="stable", ignore_index=True)
    return frame.rename_axis("place").reset_index()


class Ring(NamedTuple):
    """MetaQ's ring: ``points`` (columns point, consumer)
    and ``partitions`` (point, partition, owner).

    Points lie from 0 to 2**32 - 1.
    """

    points: pd.DataFrame
    partitions: pd.DataFrame


def hash_ring(group: Group) -> Ring:
    """The ring on which MetaQ's consistent hashing finds the owners of a topic's partitions.

    ``group``: one topic, which every member reads. Raises ValueError for a group without members.
    """
    if not len(group.members):
        raise ValueError("a ring needs at least one member")
    ring = group.prepared(consistent_hash.consumer_ring)
    places = group.prepared(consistent_hash.hashed_partitions).place
    names = group.prepared(lines).names
    hashes = consistent_hash.first_numbers(names)
    members = np.array(group.members.names)
    owners = members[ring.consumers[places]]
    return Ring(
        pd.DataFrame({"point": ring.points, "consumer": members[ring.consumers]}),
        pd.DataFrame({"point": hashes, "partition": names, "owner": owners}),
    )
