"""The uniform assignor of 3.8 and 3.9 where members name different topics.

It works partition by partition, as the client's sticky assignor did. Every member keeps what it
holds of subscribed topics. Then each partition that nobody holds goes to the subscriber that has
least, by size and member id; a member that has all partitions of its topics takes no more.
Partitions come by partitions per subscriber (most first), then by subscribers (fewest first), then
by number; what is still equal stands in the order of a ``HashSet<TopicIdPartition>``.

Then all partitions are put into that set again, which may have grown, and gone through in the same
order, again and again: where some subscriber has at least two less than the owner, the partition
moves to the subscriber that has least, and is done with. That ends when nothing moves or the group
is balanced. Movements are recorded so that, instead of a move against an earlier one of the same
topic, the partition that came can be sent back; but the check of these records is the wrong way
round, and such a move ends in an exception.

3.7 did the same with racks (:mod:`~assignlab.assignors.kafka_server.parts.racks_3_7`), where they
count: what is held by a member in none of its racks is not kept at first. Partitions that nobody
keeps go to the subscriber in their racks that has least, else back to their holder, else to any.
And a partition whose owner is in its racks moves, if anywhere, to a member there, but nobody asks
whether that one subscribes to the topic.

Nobody is searched for: members of one subscription are a kind, and a tree of each kind knows who
of it has least (:class:`Kinds`). Candidates in racks are not sorted at every look, as the original
sorts them: what they held at earlier looks, which breaks ties, is read from the log.
"""

from typing import NamedTuple

import numpy as np

from assignlab.assignors.kafka_server.parts import sets, targets
from assignlab.assignors.kafka_server.parts.heterogeneous import MOVE, steps_of
from assignlab.assignors.kafka_server.parts.homogeneous import without_doubles
from assignlab.assignors.kafka_server.parts.racks_3_7 import (
    NO_RACKS,
    Racks,
    candidates,
    racks_mismatch,
)
from assignlab.assignors.parts import hash_codes, orders
from assignlab.assignors.parts.holdings import record
from assignlab.assignors.parts.partitions import codes_of
from assignlab.assignors.parts.slices import taken
from assignlab.assignors.parts.trees import (
    NOT_SEATED,
    NUMBER_BITS,
    NUMBERS,
    leaves,
    play_all,
    replay,
)
from assignlab.compiled import inner, leaf, njit
from assignlab.errors import OriginalError
from assignlab.group.assignment import Assignment, by_member, number_of, topic_of
from assignlab.group.model import Group
from assignlab.jvm.hash_map import (
    NOTHING,
    collection_capacity,
    hash_map_slots,
    spread_all,
    table_size_for,
    walk_map,
    walk_map_without,
    was_crowded,
)

FINE, LEFT_OVER, EMPTY_SET, MOVED_BACK, NO_TAKER, NO_ENTRY = range(6)
FAILURES = {
    LEFT_OVER: ("PartitionAssignorException", "some partitions were left unassigned"),
    EMPTY_SET: ("NoSuchElementException", "all members have all that they can have"),
    MOVED_BACK: ("PartitionAssignorException", "a partition would move back"),
    NO_ENTRY: ("NullPointerException", "a member subscribes to nothing that exists"),
    NO_TAKER: ("PartitionAssignorException", "no subscriber can take one more"),
}


class Shape(NamedTuple):
    """What is the same whatever the members hold.

    ``known``: what the steps look at; ``turns``: of each topic, see :func:`turns_of`;
    ``unassigned``: the set of the partitions that are given out, which grows when it is filled
    again, and turns when something is removed, only if it is ``crowded``; ``racks``: members by
    number; ``certain``: whether Java fixes the order.
    """

    known: "Known"
    turns: np.ndarray
    unassigned: "Filling"
    crowded: bool
    racks: Racks
    certain: bool


class Known(NamedTuple):
    """Members are numbered in hash order. ``order``: member indices; ``rank``: places by member id;
    ``subscribed``: bool[subscriptions, topics], only topics that exist; ``in_turn``: codes of all
    partitions of subscribed topics, in the order in which they are given out, and ``again`` in that
    in which they are moved; ``no_entry``: bool[members], members without topics, over which the
    release trips; ``first``: number of each topic's first partition; ``subscription``:
    int64[members], by member index.
    """

    order: np.ndarray
    rank: np.ndarray
    kinds: "Kinds"
    subscribed: np.ndarray
    in_turn: np.ndarray
    again: np.ndarray
    no_entry: np.ndarray
    first: np.ndarray
    subscription: np.ndarray


class Kinds(NamedTuple):
    """Members of one subscription are of one kind, or where racks count those of them in one rack.

    ``of``: int64[members]; ``most``: int64[kinds], how many partitions each member can have;
    ``leaf``: int64[members], which node each is of the tree of its kind, which begins at ``trees``,
    int64[kinds + 1]. Topic t is read by the kinds ``some[starts[t]:starts[t + 1]]`` and so many
    ``subscribers``, int64[topics].
    """

    of: np.ndarray
    most: np.ndarray
    leaf: np.ndarray
    trees: np.ndarray
    starts: np.ndarray
    some: np.ndarray
    subscribers: np.ndarray


class Filling(NamedTuple):
    """A ``HashSet`` is filled with ``codes``, int64[n], in this order; it has ``capacity`` slots
    when that begins."""

    codes: np.ndarray
    capacity: int = 16


def shape(group: Group) -> Shape:
    """The :class:`Shape` of a group."""
    return shape_of(group, group.prepared(sets.topics_walked).by_id)


def shape_of(
    group: Group, topics: np.ndarray, copied: bool = False, racks: Racks = NO_RACKS
) -> Shape:
    """The shape from subscribed topics as their partitions enter a set; ``racks``: members by number.

    That set, or a copy of it, is the one of the unassigned partitions. It is empty when all have
    owners, and filled again with the partitions of a new set; then those of one subscriber go.
    """
    order, partitions = group.prepared(orders.members_by_hash), group.topics.partitions
    subscribed, members = group.prepared(sets.existing), group.members
    racks_of_each = racks.place.shape[1]
    kinds = kinds_of(
        members.subscription[order], racks.of_member, racks_of_each,
        np.repeat(subscribed @ np.maximum(partitions, 0), racks_of_each),
        members.offsets, members.topics, partitions.size,
    )  # fmt: skip
    subscribers = kinds.subscribers
    own = subscribers[topics]
    turns, new, filled, in_turn, crowded, certain = _shape(
        topics, topics[np.lexsort((own, -(partitions[topics] / own)))], partitions, subscribers,
        group.topics.prepared(sets.topic_ids).hashes, copied,
    )  # fmt: skip
    again, unassigned = in_turn, Filling(*filled)
    if crowded:
        codes = codes_of(topics, partitions)
        fixed, _ = walked(group, Filling(codes[subscribers[topic_of(codes)] < 2]))
        slots = hash_map_slots(partition_hashes(group, unassigned.codes), unassigned.capacity)
        walk, fine = walked(group, Filling(new, slots), fixed)
        again, certain = by_turn(walk, turns), certain and fine
    known = Known(
        order, members.names.rank[order], kinds, subscribed, in_turn, again,
        np.zeros(order.size, dtype=np.bool_), group.topics.prepared(sets.dense_starts),
        members.subscription,
    )  # fmt: skip
    return Shape(known, turns, unassigned, crowded, racks, certain)


@njit
def kinds_of(subscription, rack, racks, most, offsets, topics, known):
    """The :class:`Kinds` of members by number.

    ``rack``: see :class:`Racks`, empty where racks do not count, and ``racks`` are one then;
    ``offsets``, ``topics``: see :class:`~assignlab.group.model.Members`; ``known``: how many topics
    there are.
    """
    of = np.empty(subscription.size, dtype=np.int64)
    count = np.zeros(most.size, dtype=np.int64)
    for i in range(of.size):
        of[i] = subscription[i] * racks + (rack[i] % racks if rack.size > 0 else 0)
        count[of[i]] += 1
    trees, leaf = leaves(of, most.size)
    starts = np.zeros(known + 1, dtype=np.int64)
    for t in topics:
        starts[t + 1] += racks
    for t in range(known):
        starts[t + 1] += starts[t]
    some = np.empty(starts[known], dtype=np.int64)
    fill = np.zeros(known, dtype=np.int64)
    subscribers = np.zeros(known, dtype=np.int64)
    for k in range(most.size):
        for n in range(offsets[k // racks], offsets[k // racks + 1]):
            t = topics[n]
            some[starts[t] + fill[t]] = k
            fill[t] += 1
            subscribers[t] += count[k]
    return Kinds(of, most, leaf, trees, starts, some, subscribers)


@njit
def _shape(topics, ordered, partitions, subscribers, of_id, copied):
    """(``turns`` of the :class:`Shape`; the new set of partitions as it is walked; codes and capacity
    of ``unassigned``; ``in_turn`` of the :class:`Known`; ``crowded`` and ``certain``).

    ``ordered``: the topics as :func:`turns_of` has them; ``of_id``: hash codes of topic ids.
    """
    turns = turns_of(ordered, partitions, subscribers)
    codes, capacity = codes_of(topics, partitions), 16
    new, crowded, certain = _walked(codes, of_id, capacity)
    first = new
    if copied:
        codes, capacity = new, collection_capacity(new.size)
        first, crowded, still = _walked(codes, of_id, capacity)
        certain = certain and still
    return turns, new, (codes, capacity), sort_partitions(first, turns), crowded, certain


@inner
def turns_of(topics, partitions, subscribers):
    """Where the partitions of each topic begin if all partitions take turns: int64[all topics].

    ``topics``: by partitions per subscriber (most first), then by subscribers (fewest first). Those
    in which both are equal begin together.
    """
    turns = np.zeros(partitions.size, dtype=np.int64)
    begin = end = 0
    for i in range(topics.size):
        t, last = topics[i], topics[max(i - 1, 0)]
        if partitions[t] != partitions[last] or subscribers[t] != subscribers[last]:
            begin = end
        turns[t] = begin
        end = begin + partitions[t]
    return turns


@inner
def sort_partitions(codes, turns):
    """The codes sorted (``sortTopicIdPartitions``), equal ones as they stand."""
    turn = np.empty(codes.size, dtype=np.int64)
    last = 0
    for k in range(codes.size):
        turn[k] = number_of(codes[k], turns)
        last = max(last, turn[k])
    _, in_turn = by_member(turn, codes, last + 1)
    return in_turn


def by_turn(codes: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """:func:`sort_partitions` for what is not compiled."""
    return codes[np.argsort(number_of(codes, turns), kind="stable")]


@inner
def _walked(codes, of_id, capacity):
    """(the codes as a set of so many slots is walked into which they were put, whether a slot was
    crowded, whether Java fixes that walk)."""
    hashes = hash_codes.partition_hashes(of_id, codes, hash_codes.TOPIC_ID_PARTITION_BEFORE_4_1)
    walk, certain = walk_map(hashes, capacity, codes[:0], False, False)
    return taken(codes, walk), was_crowded(spread_all(hashes), capacity, 8), certain


def walked(group: Group, filled: Filling, removed: np.ndarray = NOTHING) -> tuple[np.ndarray, bool]:
    """The codes as the set is walked once some (codes, in turn) are removed from it, and whether
    Java fixes that."""
    by_code = np.argsort(filled.codes)
    gone = by_code[np.searchsorted(filled.codes, removed, sorter=by_code)]
    hashes = partition_hashes(group, filled.codes)
    walk, certain = walk_map_without(hashes, gone, filled.capacity, NOTHING)
    return filled.codes[walk], certain


def partition_hashes(group: Group, codes: np.ndarray) -> np.ndarray:
    """``TopicIdPartition.hashCode`` before 4.1: int32[n]."""
    ids = group.topics.prepared(sets.topic_ids)
    return hash_codes.partition_hashes(ids.hashes, codes, hash_codes.TOPIC_ID_PARTITION_BEFORE_4_1)


def assign(group: Group) -> Assignment:
    """Keep, give out, move."""
    return as_lists(group, group.prepared(shape), *group.of_claims(moved))


def moved(group: Group) -> tuple[np.ndarray, np.ndarray]:
    """:func:`moves` in these releases."""
    return moves(group, group.prepared(shape))


def as_lists(group: Group, the_shape: Shape, log: np.ndarray, lost: np.ndarray) -> Assignment:
    """The assignment after these :func:`moves`."""
    order, stays = the_shape.known.order, log[~lost]
    offsets, codes = by_member(order[stays["taker"]], stays["code"], order.size)
    if group.of_claims(sets.walked).rivals:
        offsets, codes = without_doubles(offsets, codes)
    return Assignment(offsets, codes, notes={} if the_shape.certain else {"nondeterministic": True})


def reclaimed(group: Group, the_shape: Shape, log: np.ndarray) -> Assignment:
    """What the members hold next, once these :func:`moves` have made every member's map anew."""
    known, nothing = the_shape.known, sets.nothing(group)
    offsets, steps = steps_of(
        known.order, known.subscription, known.subscribed, nothing.offsets, nothing.codes, log
    )
    return targets.reclaimed_anew(group, offsets, steps)


def moves(group: Group, the_shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """(log, lost), once it is known how the unassigned partitions are walked.

    ``log``: MOVE[n], everything that happened, in turn; ``lost``: bool[n], whether the taker gave
    it away later.
    """
    known = the_shape.known
    if not known.subscribed.any():
        return np.empty(0, MOVE), np.empty(0, dtype=np.bool_)
    held = group.of_claims(sets.walked)
    codes = held.codes
    if the_shape.crowded and codes.size > 0 and not the_shape.racks.in_use:
        known = known._replace(in_turn=without_kept(group, the_shape, held.offsets, codes))
    log, lost, state = build(known, the_shape.racks, held.offsets, codes, held.rivals)
    if state != FINE:
        raise OriginalError(*FAILURES[state])
    return log, lost


def without_kept(
    group: Group, the_shape: Shape, offsets: np.ndarray, codes: np.ndarray
) -> np.ndarray:
    """``in_turn`` of the :class:`Known`, without what members keep, which was removed before."""
    known = the_shape.known
    holders = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    reads = known.subscribed[known.subscription[holders], topic_of(codes)]
    there = np.flatnonzero(reads & np.isin(codes, the_shape.unassigned.codes))
    in_order = np.argsort(np.argsort(known.order)[holders[there]], kind="stable")
    kept = np.array([*dict.fromkeys(codes[there[in_order]].tolist())], dtype=np.int64)
    left, _ = walked(group, the_shape.unassigned, kept)
    return by_turn(left, the_shape.turns)


MEMBER = record("held", "last", "place", "at_place")
"""How many partitions are in a member's sets; the last entry of the log that changed that; the place
by which ties are broken, and which member has the place of this one's number."""

PARTITION = record("owner", "entry", "moved")
"""The owner, -1 for nobody; the entry of the log that made it the owner; whether it has moved."""

LOOKED_AT = record("when", "fewest", "least")
"""Of a topic's subscribers: how long the log was, what was the smallest size then, and which member
had least of those that could have more, -1 if none could."""

CHANGE = record("loser", "taker", "turn")
"""Of an entry of the log: the entry before that changed the loser, and the taker; the place in
``again`` of a partition that moved."""

SHEET = record("held", "last")
"""What was known of a member when the log was as long as there are members, twice as long, ..."""

PLACES = record("log", "claims", "rounds", "too_many", "movable")
"""How long the log is, and how long it was when only claims were in it; how many rounds have begun; of
:func:`is_balanced`, the member that has too many, and the place of the partition that could move."""


class State(NamedTuple):
    """The assignment while it is made, members by number, partitions numbered through.

    ``members`` MEMBER[members]; ``sizes``: int64[members], how many partitions each has by the
    original's count (not the same as in its sets where claims are rivals); ``partitions``
    PARTITION[partitions]; ``log``: MOVE[n] and ``lost``: bool[n], see :func:`moves`; ``at``
    PLACES[1]; ``tree``: int64[...], the kinds' trees, in which members have a key by size and
    place; ``looked_at`` LOOKED_AT[topics]; ``changes`` CHANGE[n]; ``sheets`` SHEET[...], as many as
    there are members at a time, none where racks do not count; ``rounds``: int64[...], how long the
    log was when every round began.
    """

    members: np.ndarray
    sizes: np.ndarray
    partitions: np.ndarray
    log: np.ndarray
    lost: np.ndarray
    at: np.ndarray
    tree: np.ndarray
    looked_at: np.ndarray
    changes: np.ndarray
    sheets: np.ndarray
    rounds: np.ndarray


@njit
def build(known, racks, offsets, codes, rivals):
    """(log, lost, state): see :func:`moves`."""
    members = known.order.size
    size = codes.size + known.in_turn.size + known.again.size
    state = State(
        np.zeros(members, MEMBER), np.zeros(members, dtype=np.int64),
        np.empty(known.first[-1], PARTITION),
        np.empty(size, MOVE), np.zeros(size, dtype=np.bool_), np.zeros(1, PLACES),
        np.full(known.kinds.trees[-1], NOT_SEATED), np.empty(known.first.size - 1, LOOKED_AT),
        np.empty(size, CHANGE), np.empty(size + members if racks.in_use else 0, SHEET),
        np.empty(known.again.size + 2, dtype=np.int64),
    )  # fmt: skip
    begin(state)
    holder = keep(known, racks, offsets, codes, state)
    failure = FINE
    if racks.in_use:
        seat_everybody(known, False, state)
        failure = give_out_by_rack(known, racks, state)
    seat_everybody(known, True, state)
    if failure == FINE:
        failure = give_out(known, holder, state)
    if failure == FINE and has_no_entry(known.order, known.no_entry, 1):
        failure = NO_ENTRY
    if failure == FINE:
        failure = perform_reassignments(known, racks, rivals, holder, state)
    n = state.at[0].log
    return state.log[:n], state.lost[:n], failure


@leaf
def begin(state):
    """Nobody owns anything, nothing has been looked at."""
    for member in state.members:
        member.last = -1
    for partition in state.partitions:
        partition.owner = -1
        partition.moved = 0
    for looked_at in state.looked_at:
        looked_at.when = -1


@inner
def keep(known, racks, offsets, codes, state):
    """Everybody keeps what it holds of its topics, as far as racks match.

    Returns the last holder of each partition in none of its racks, -1 where there is none; nothing
    where racks do not count.
    """
    order, first, subscribed = known.order, known.first, known.subscribed
    subscription = known.subscription
    holder = np.full(first[-1] if racks.in_use else 0, -1, dtype=np.int64)
    for i in range(order.size):
        m = order[i]
        for c in codes[offsets[m] : offsets[m + 1]]:
            t, at = topic_of(c), number_of(c, first)
            if not subscribed[subscription[m], t]:
                continue
            exists = at < first[t + 1]
            if racks.in_use and racks_mismatch(racks, i, at, exists):
                if exists:
                    holder[at] = i
            else:
                take(c, at if exists else -1, -1, i, state)
    state.at[0].claims = state.at[0].log
    return holder


@leaf
def take(c, at, loser, taker, state):
    """A member takes a partition; ``at``: its number, -1 if it does not exist."""
    n = state.at[0].log
    if at != -1:
        state.partitions[at].owner = taker
        state.partitions[at].entry = n
    entry = state.log[n]
    entry.code, entry.loser, entry.taker = c, loser, taker
    state.at[0].log += 1
    state.sizes[taker] += 1
    state.members[taker].held += 1


@leaf
def give(c, at, taker, had_it, known, state):
    """A member takes a partition from whoever owns it; ``had_it``: it is in the member's sets."""
    n, loser, members = state.at[0].log, state.partitions[at].owner, state.members
    if state.sheets.size > 0 and n % members.size == 0:
        for i in range(members.size):
            state.sheets[n + i].held = members[i].held
            state.sheets[n + i].last = members[i].last
    if loser != -1:
        state.lost[state.partitions[at].entry] = True
        state.sizes[loser] -= 1
        members[loser].held -= 1
        state.changes[n].loser = members[loser].last
        members[loser].last = n
        resized(loser, known, state)
    take(c, at, loser, taker, state)
    if had_it:
        members[taker].held -= 1
    else:
        state.changes[n].taker = members[taker].last
        members[taker].last = n
    resized(taker, known, state)


@leaf
def seat_everybody(known, by_id, state):
    """Everybody is put in the tree of its kind; ties are broken by member id or by number."""
    kinds, members, tree = known.kinds, state.members, state.tree
    for i in range(members.size):
        place = known.rank[i] if by_id else i
        members[i].place = place
        members[place].at_place = i
        tree[kinds.trees[kinds.of[i]] + kinds.leaf[i]] = key_of(i, state)
    play_all(tree, kinds.trees)


@leaf
def key_of(i, state):
    """Of a member in its tree."""
    return state.sizes[i] << NUMBER_BITS | state.members[i].place


@leaf
def resized(i, known, state):
    """A member has another size: its matches are played again."""
    kinds = known.kinds
    replay(state.tree, kinds.trees[kinds.of[i]], kinds.leaf[i], key_of(i, state))


@leaf
def look_at(t, kinds, state):
    """The :data:`LOOKED_AT` of topic t as it is now."""
    looked_at = state.looked_at[t]
    if looked_at.when != state.at[0].log:
        looked_at.when = state.at[0].log
        fewest = least = NOT_SEATED
        for j in range(kinds.starts[t], kinds.starts[t + 1]):
            k = kinds.some[j]
            key = state.tree[kinds.trees[k] + 1]
            fewest = min(fewest, key)
            if key >> NUMBER_BITS < kinds.most[k]:
                least = min(least, key)
        looked_at.fewest = fewest >> NUMBER_BITS
        looked_at.least = member_of(least, state)
    return looked_at


@leaf
def member_of(key, state):
    """The member whose place the key of a node ends with, -1 for ``NOT_SEATED``."""
    return -1 if key == NOT_SEATED else state.members[key & NUMBERS].at_place


@inner
def give_out(known, holder, state):
    """Partitions that nobody has go back to who held them, or to the subscriber with least."""
    kinds = known.kinds
    failure = FINE
    for c in known.in_turn:
        at = number_of(c, known.first)
        if state.partitions[at].owner == -1:
            taker = holder[at] if holder.size > 0 else -1
            if taker == -1 or state.sizes[taker] >= kinds.most[kinds.of[taker]]:
                taker = look_at(topic_of(c), kinds, state).least
            if taker == -1:
                failure = LEFT_OVER
            else:
                give(c, at, taker, False, known, state)
    return failure


@inner
def give_out_by_rack(known, racks, state):
    """Partitions that nobody has go to subscribers in their racks."""
    trips = has_no_entry(known.order, known.no_entry, 1)
    for c in racks.sorted:
        at = number_of(c, known.first)
        if state.partitions[at].owner != -1:
            continue
        if trips and has_no_entry(candidates(racks, at), known.no_entry, 2):
            return NO_ENTRY
        i = least_in_racks(topic_of(c), racks.place, racks.kind[at], known.kinds, state)
        if i != -1:
            give(c, at, i, False, known, state)
    return FINE


@leaf
def has_no_entry(some, no_entry, enough):
    """Whether there are enough members to be looked at, and one of them has no entry."""
    for i in some:
        if some.size >= enough and no_entry[i]:
            return True
    return False


@leaf
def least_in_racks(t, places, kind, kinds, state):
    """The subscriber of topic t that has least and can have more, ties by the place of its rack
    and by number; -1 if none is in the racks."""
    best, best_place = NOT_SEATED, 0
    for j in range(kinds.starts[t], kinds.starts[t + 1]):
        k = kinds.some[j]
        place = places[kind, k % places.shape[1]]
        key = state.tree[kinds.trees[k] + 1]
        size, smallest = key >> NUMBER_BITS, best >> NUMBER_BITS
        if (
            place > 0
            and size < kinds.most[k]
            and (
                size < smallest
                or (size == smallest and place < best_place)
                or (size == smallest and place == best_place and key < best)
            )
        ):
            best, best_place = key, place
    return member_of(best, state)


@inner
def perform_reassignments(known, racks, rivals, holder, state):
    """Moves until nothing moves, or until balanced: FINE or what went wrong."""
    kinds, members = known.kinds, state.members
    pairs = np.zeros(1, dtype=np.int64)  # made when first needed
    everywhere = np.ones((1, 1), dtype=np.int64)
    modified = True
    occurred = False
    while modified:
        modified = occurred = False
        state.rounds[state.at[0].rounds] = state.at[0].log
        state.at[0].rounds += 1
        for turn in range(known.again.size):
            c = known.again[turn]
            t = topic_of(c)
            at = number_of(c, known.first)
            partition = state.partitions[at]
            if kinds.subscribers[t] < 2 or partition.moved:  # that is taken off the list
                continue
            if occurred:
                balanced, empty = is_balanced(everywhere, known, rivals, state)
                if empty:
                    return EMPTY_SET
                if balanced:
                    return FINE
            occurred = False
            loser, taker = partition.owner, -1
            if racks.in_use:
                taker = taker_by_rack(at, turn, known, racks, rivals, holder, state)
            if taker == -1:
                looked_at = look_at(t, kinds, state)
                if state.sizes[loser] <= looked_at.fewest + 1:
                    continue
                taker = looked_at.least
                if taker == -1:
                    return NO_TAKER
            if pairs.size == 1:
                pairs = np.zeros(table_size_for(2 * known.again.size), dtype=np.int64)
            if pairs[slot_of(pairs, pair_of(t, taker, loser, members.size))] != 0:
                return MOVED_BACK
            key = pair_of(t, loser, taker, members.size)
            pairs[slot_of(pairs, key)] = key
            partition.moved = 1
            state.changes[state.at[0].log].turn = turn
            give(c, at, taker, rivals and claims_still(state, c, taker), known, state)
            modified = occurred = True
    return FINE


@inner
def taker_by_rack(at, turn, known, racks, rivals, holder, state):
    """Who takes a partition with regard to racks: a member in its racks, if the owner is in them;
    or else its holder, if it was not kept; -1 if neither has at least two less."""
    partition = state.partitions[at]
    size = state.sizes[partition.owner]
    matches = not racks_mismatch(racks, partition.owner, at, True)
    least = least_size(racks.place, racks.kind[at], known.kinds, state)
    if matches and size > least + 1:
        looks = looks_at(at, turn, state)
        some = candidates(racks, at)
        return first_in_racks(some, looks, -1 if rivals else least, size, known.kinds, state)
    i = holder[at]
    if i != -1 and partition.entry >= state.at[0].claims and size > state.sizes[i] + 1:
        return i
    return -1


@leaf
def least_size(places, kind, kinds, state):
    """The smallest size of those that can have more, of everybody in racks with a place."""
    least = NOT_SEATED
    for k in range(kinds.most.size):
        size = state.tree[kinds.trees[k] + 1] >> NUMBER_BITS
        if size < min(least, kinds.most[k]) and places[kind, k % places.shape[1]] > 0:
            least = size
    return least


@leaf
def first_in_racks(some, looks, least, size, kinds, state):
    """The first candidate that has at least two less than an owner of so many and can have more.
    ``least``: how much the first one holds, -1 where claims are rivals.

    The candidates of a partition are sorted whenever they are looked at, by how much they hold, and
    equal ones stay as they were sorted the time before.
    """
    first = -1
    for i in some:
        if least >= 0 and state.sizes[i] != least:
            continue
        fits = state.sizes[i] + 1 < size and state.sizes[i] < kinds.most[kinds.of[i]]
        if fits and (first == -1 or comes_first(i, first, looks, state)):
            first, before = i, 0
            for k in range(looks.size):
                looks[k].held = held_then(i, looks[k], state)
                before += looks[k].held
            if least >= 0 and before == 0:
                return first  # who comes later cannot have held less
    return first


@leaf
def comes_first(i, first, looks, state):
    """Whether member i, who came later in the beginning, comes before the first so far by now."""
    if state.members[i].held != state.members[first].held:
        return state.members[i].held < state.members[first].held
    for k in range(looks.size - 1, -1, -1):
        held = held_then(i, looks[k], state)
        if held != looks[k].held:
            return held < looks[k].held
    return False


LOOK = record("log", "sheet", "held")
"""How long the log was when candidates were looked at, and when sheets were next filled; what the
first of them held."""


@inner
def looks_at(at, turn, state):
    """When a partition's candidates have been looked at before, LOOK[n]: as it was given out, if it
    was, and once in every round. What moved in a round is in the log by turns."""
    rounds = state.at[0].rounds
    looks = np.empty(rounds, LOOK)
    n = 0
    if state.partitions[at].entry >= state.at[0].claims:
        looks[0].log = state.partitions[at].entry
        n = 1
    for r in range(rounds - 1):
        low, high = state.rounds[r], state.rounds[r + 1]
        while low < high:
            middle = (low + high) // 2
            if state.changes[middle].turn < turn:
                low = middle + 1
            else:
                high = middle
        looks[n].log = low
        n += 1
    for k in range(n):
        members = state.members.size
        looks[k].sheet = (looks[k].log + members - 1) // members * members
    return looks[:n]


@leaf
def held_then(i, look, state):
    """How many a member held at a look."""
    held, n = state.members[i].held, state.members[i].last
    if n >= look.log and look.sheet < state.at[0].log:
        held, n = state.sheets[look.sheet + i].held, state.sheets[look.sheet + i].last
    while n >= look.log:
        if state.log[n].taker == i:
            held -= 1
            n = state.changes[n].taker
        else:
            held += 1
            n = state.changes[n].loser
    return held


@leaf
def is_balanced(everywhere, known, rivals, state):
    """(balanced, whether no member can have more): among those that can have more."""
    kinds, members, at = known.kinds, state.members, state.at[0]
    low = least_size(everywhere, 0, kinds, state)
    if low == NOT_SEATED:
        return False, True
    for _ in range(members.size):
        if low + 1 < state.sizes[at.too_many] < kinds.most[kinds.of[at.too_many]]:
            break
        at.too_many = (at.too_many + 1) % members.size
    else:
        return True, False
    for _ in range(known.again.size):
        if could_move(known.again[at.movable], known, rivals, state):
            return False, False
        at.movable = (at.movable + 1) % known.again.size
    return True, False


@leaf
def could_move(c, known, rivals, state):
    """Whether a subscriber that can have more and does not hold the partition has at least two
    less than its owner."""
    t, kinds, members = topic_of(c), known.kinds, state.members
    size = state.sizes[state.partitions[number_of(c, known.first)].owner]
    least = look_at(t, kinds, state).least
    if least == -1 or state.sizes[least] + 1 >= size:
        return False
    if not rivals:
        return True
    for i in range(members.size):
        if (
            known.subscribed[known.subscription[known.order[i]], t]
            and state.sizes[i] < kinds.most[kinds.of[i]]
            and state.sizes[i] + 1 < size
            and not claims_still(state, c, i)
        ):
            return True
    return False


@leaf
def claims_still(state, c, i):
    """Whether a partition is still in the sets of a member that claimed it."""
    for k in range(state.at[0].claims):
        if state.log[k].code == c and state.log[k].taker == i:
            return not state.lost[k]
    return False


@inner
def pair_of(t, source, destination, members):
    """A number for a topic and a pair of members, never 0."""
    return (t * members + source) * members + destination + 1


@leaf
def slot_of(table, key):
    """Where a key stands in an open hash table, or the empty slot where it would."""
    slot = (key * 0x9E3779 >> 12) & (table.size - 1)
    while table[slot] != 0 and table[slot] != key:
        slot = (slot + 1) & (table.size - 1)
    return slot
