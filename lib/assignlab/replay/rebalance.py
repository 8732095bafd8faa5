"""Rebalances, one after the other: each result becomes the next claim, as a client sends it.

Protocols
- eager: everybody gives up everything, the assignor runs once, its result holds.
- cooperative: members keep what they have; the assignor leaves out what must first be given up;
  whoever gave something up asks for another round, until nobody has to.
- server, independent: one computation; members then give up the difference.

What a client claims: the partitions of its last assignment in the order in which the assignor will
read them (``Strategy.reclaim``), with the generation of that assignment where the strategy's claims
carry one. A member that joins claims nothing. Cooperative members give up partitions of topics
that they no longer subscribe to before they join.

A strategy that needs more than a scenario has (machine rooms, say) adds it to every group
(``Strategy.equip``).

Where the original throws, the step carries the error, every member keeps what it had, and the
history goes on from there.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import attrgetter

import numpy as np

from assignlab.assignors.strategy import Strategy
from assignlab.compiled import njit
from assignlab.errors import AssignlabError, OriginalError, shown
from assignlab.group.assignment import Assignment, Showing, code, topic_of
from assignlab.group.model import ABSENT, Claims, Group
from assignlab.replay import metrics
from assignlab.replay.history import Moment, origins

MAX_ROUNDS = 20
"""A cooperative rebalance of more rounds is an error; Kafka's own tests allow 4."""


class NeverStable(AssignlabError):
    """A cooperative rebalance still moves partitions after ``MAX_ROUNDS`` rounds."""


NOTHING = Assignment(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64))
"""What nobody holds."""

_arrays = attrgetter(*Claims.__slots__)


@dataclass(eq=False, slots=True)
class Step:
    """One rebalance; :func:`assignlab.replay.records.measure` gives its numbers.

    ``index`` counts from 0; ``group``: the group after the event, with the claims of the first
    round; ``after``: the assignment at the end; ``rounds``: how often the assignor ran;
    ``generation``: of the group at the end; ``revoked_kept``: partitions that a cooperative member
    gave up during the rebalance and has again at its end (0 under other protocols, though eager
    members give up all that stays with them); ``error``: why there is no new assignment, else None.
    ``previous`` and ``origin``: what was held by the members of the group before the event, and which
    of those each member is.
    """

    index: int
    moment: Moment
    group: Group
    strategy: Strategy
    previous: Assignment
    origin: np.ndarray
    generation: int
    after: Assignment = NOTHING
    rounds: int = 0
    revoked_kept: int = 0
    error: str | None = None

    @property
    def event(self) -> str:
        """The event that the rebalance answers."""
        return self.moment.event

    @property
    def before(self) -> Assignment:
        """What the members of ``group`` held before the event; newcomers held nothing."""
        return Assignment(*_carry(self.previous.offsets, self.previous.codes, self.origin))


def replay(
    moments: Sequence[Moment],
    strategy: Strategy | Sequence[Strategy],
    silent: Sequence[Collection[int]] | None = None,
) -> Iterator[Step]:
    """Play a history through a strategy, step by step.

    ``strategy``: a :class:`~assignlab.assignors.strategy.Strategy`, your own too, for all moments,
    or one for each, as in an upgrade; where it changes, the new one reads of the old assignment
    what :func:`handed_over` says. ``silent``: for each moment the members that gave up everything
    before they joined and claim nothing, though the strategy is cooperative: those whose client
    still has an eager assignor in its list. Raises :class:`~assignlab.errors.AssignlabError` where
    these are no moments, such as a scenario, or that is no strategy, such as a name, or not one for
    each.
    """
    if not isinstance(moments, Sequence) or not all(isinstance(m, Moment) for m in moments):
        raise AssignlabError(
            f"moments: expected those of history(scenario) or moments(groups), got {shown(moments)}"
        )
    chosen = [strategy] * len(moments) if isinstance(strategy, Strategy) else strategy
    if not isinstance(chosen, Sequence) or not all(isinstance(one, Strategy) for one in chosen):
        raise AssignlabError(
            "strategy: expected one, such as assignors.get('range'), or one for each moment, got "
            + shown(strategy)
        )
    if len(chosen) != len(moments):
        raise AssignlabError(f"strategy: {len(chosen)} for {len(moments)} moments")
    silent = silent or [()] * len(moments)
    step = None
    claims = Claims.none(0)
    remembered: list[Claims] = []
    for index, moment in enumerate(moments):
        if step is not None and step.strategy is not chosen[index]:
            claims = handed_over(step, chosen[index])
        group = _asking(moment, chosen[index], claims, remembered, silent[index])
        origin = _same(len(group.members)) if moment.origin is None else moment.origin
        held, generation = (NOTHING, 0) if step is None else (step.after, step.generation)
        step = Step(index, moment, group, chosen[index], held, origin, generation)
        asked = _assign(step) if moment.rebalance else None
        if step.error is not None or not moment.rebalance:
            step.after = step.before
        elif silent[index] and step.strategy.protocol == "cooperative":
            step.revoked_kept += held_again(step, silent[index])
        yield step
        if index + 1 < len(moments):  # nobody asks what members claim after the last
            claims = group.claims
            if asked is not None:
                claims = _claims(asked, step.strategy, step.after, step.generation)
            remembered.append(claims)


def handed_over(step: Step, new: Strategy) -> Claims:
    """What ``new`` reads of the assignment that the strategy of this step made.

    A coordinator that takes the group over knows what every member has. Where the coordinator hands
    the group to the clients, the last member of its protocol has left; the others were restarted
    before and tell their own strategy what they got since. Among clients' strategies only one that goes
    by the same name is told, another release or another client's: what a sticky client
    remembers, it sends with its own strategy's subscription, and an eager one has revoked
    everything before it joins.
    """
    told = "server" in (step.strategy.protocol, new.protocol) or step.strategy.kind == new.kind
    if new.sticky and told:
        return _sent(new.taken_over(step.group, step.after), new, step.generation)
    return Claims.none(len(step.group.members))


def _asking(
    moment: Moment,
    strategy: Strategy,
    claims: Claims,
    remembered: Sequence[Claims],
    silent: Collection[int],
) -> Group:
    """The group as the assignor sees it: with what its members claim after the event. A coordinator that
    assigns has forgotten what it gave to members that it expelled."""
    group = strategy.equipped(moment.group)
    if not strategy.sticky:
        return group
    claims = _carried(claims, moment.origin)
    if moment.returning and strategy.protocol != "server":
        claims = _with_returning(claims, moment.returning, remembered)
    if moment.resubscribed and strategy.protocol == "cooperative":
        claims = _without_unsubscribed(moment.group, claims)
    return group.with_claims(_without(claims, silent) if silent else claims)


def _assign(step: Step) -> Group | None:
    """Have the assignor answer, and tell the step.

    Returns the group as the last round had it, with which members claim the answer; None where they
    claim what they did before.
    """
    group, strategy = step.group, step.strategy
    asked: Group | None = group if strategy.sticky else None
    step.rounds = 1
    try:
        if strategy.protocol == "cooperative":
            owned = group.claims.offsets, group.claims.codes
            if step.moment.returning:
                owned = _carry(step.before.offsets, step.before.codes, step.origin)
            step.after, asked, step.rounds, step.revoked_kept = _rounds(
                group, strategy, step.generation, owned
            )
        else:
            step.after = answered(strategy, group)
    except OriginalError as raised:
        step.error = str(raised)
        asked = None
    step.generation += step.rounds
    return asked


def answered(strategy: Strategy, group: Group) -> Assignment:
    """What a strategy answers. Raises :class:`~assignlab.errors.AssignlabError` where one of your own
    gives no list for each member, or topics that the group does not have: compiled code reads them
    without looking."""
    found, members = strategy.assign(group), len(group.members)
    lists = found.offsets.size - 1 if isinstance(found, Assignment) else None
    if lists != members:
        told = shown(found) if lists is None else f"{lists} lists for {members} members"
        raise AssignlabError(
            f"strategy {strategy.name}: expected an Assignment with a list for each member, got {told}"
        )
    topics, codes = len(group.topics), found.codes
    if isinstance(strategy.assign, Showing):  # one that is discovered knows its group's topics
        return found
    if codes.min(initial=0) < 0 or codes.max(initial=-1) >= code(topics, 0):
        raise AssignlabError(
            f"strategy {strategy.name}: expected partitions of the group's {topics} topics, as "
            "code(topic, partition) numbers them"
        )
    return found


@lru_cache(maxsize=64)
def _same(members: int) -> np.ndarray:
    return np.arange(members)


@lru_cache(maxsize=64)
def _everybody(members: int) -> np.ndarray:
    return np.ones(members, dtype=np.bool_)


@lru_cache(maxsize=64)
def _of_generation(members: int, generation: int) -> np.ndarray:
    return np.full(members, generation, dtype=np.int64)


def claiming(
    group: Group, before: Group, strategy: Strategy, assignment: Assignment, generation: int = 1
) -> Group:
    """``group`` with what its members claim from ``assignment``, which ``before`` was given.

    Both groups number topics alike, as the groups around an event do. Members that were not in
    ``before`` claim nothing.
    """
    claims = _claims(before, strategy, assignment, generation)
    return group.with_claims(_carried(claims, origins(before, group)))


def _without(claims: Claims, silent: Collection[int]) -> Claims:
    """The claims without those of these members."""
    speaking = np.arange(claims.present.size)
    speaking[list(silent)] = -1
    return _carried(claims, speaking)


def held_again(step: Step, members: Collection[int]) -> int:
    """How many partitions these members had before the step and have after it."""
    before, after = step.before, step.after
    return sum(np.intersect1d(before.of(m), after.of(m)).size for m in members)


def _carried(claims: Claims, origin: np.ndarray | None) -> Claims:
    """The claims of the members ``origin``; None for the same members."""
    if origin is None:
        return claims
    return Claims(*_carry_claims(*_arrays(claims), origin))


def _claims(group: Group, strategy: Strategy, after: Assignment, generation: int) -> Claims:
    """What the members will claim after this assignment."""
    return _sent(strategy.sent_back(group, after), strategy, generation)


def _sent(order: Assignment, strategy: Strategy, generation: int) -> Claims:
    """What members claim who send these partitions in this order."""
    members = order.offsets.size - 1
    absent = _of_generation(members, ABSENT)
    now = _of_generation(members, generation)
    return Claims(
        order.offsets,
        order.codes,
        _everybody(members),
        now if "generation" in strategy.generations else absent,
        now if "sub_generation" in strategy.generations else absent,
    )


def settled(group: Group, strategy: Strategy) -> Assignment:
    """The first of :func:`settling`."""
    return settling(group, strategy)[0]


def settling(group: Group, strategy: Strategy) -> tuple[Assignment, int]:
    """What the members have once nobody has to give anything up, and how often the assignor ran until
    then: once, or for every cooperative round.

    Raises what the strategy raises, and :class:`NeverStable`.
    """
    if strategy.protocol != "cooperative":
        return answered(strategy, group), 1
    generation = max(0, int(group.claims.generation.max(initial=0)))
    owned = group.claims.offsets, group.claims.codes
    after, _, rounds, _ = _rounds(group, strategy, generation, owned)
    return after, rounds


def _rounds(
    group: Group, strategy: Strategy, generation: int, owned: tuple[np.ndarray, np.ndarray]
) -> tuple[Assignment, Group, int, int]:
    """Cooperative rounds until nobody gives anything up: (the assignment at the end, the group as the last
    round had it, how many there were, ``Step.revoked_kept``). ``owned``: (offsets, codes) of what members
    had before them, which is less than what one that was expelled still claims."""
    held = group.claims
    uninterrupted = None
    for number in range(1, MAX_ROUNDS + 1):
        after = answered(strategy, group)
        *kept, every = metrics.still_held(held.offsets, held.codes, after.offsets, after.codes)
        if every:
            break
        if uninterrupted is None:
            uninterrupted = kept
        else:
            *uninterrupted, _ = metrics.still_held(*uninterrupted, *kept)
        held = _claims(group, strategy, after, generation + number)
        group = group.with_claims(held)
    else:
        raise NeverStable(f"{strategy.name}: partitions still move after {MAX_ROUNDS} rounds")
    revoked_kept = 0
    if uninterrupted is not None:
        *again, _ = metrics.still_held(*owned, after.offsets, after.codes)
        _, always, _ = metrics.still_held(*uninterrupted, *again)
        revoked_kept = again[1].size - always.size
    return after, group, number, revoked_kept


@njit
def _carry(offsets, codes, origin):
    """The lists of the members ``origin`` in a new order; -1 gives an empty list."""
    members = origin.size
    carried = np.zeros(members + 1, dtype=np.int64)
    for m in range(members):
        before = origin[m]
        size = offsets[before + 1] - offsets[before] if before >= 0 else 0
        carried[m + 1] = carried[m] + size
    lists = np.empty(carried[members], dtype=np.int64)
    for m in range(members):
        before = origin[m]
        if before >= 0:
            for k in range(offsets[before], offsets[before + 1]):
                lists[carried[m] + k - offsets[before]] = codes[k]
    return carried, lists


@njit
def _carry_claims(offsets, codes, present, generation, sub_generation, origin):
    members = origin.size
    new_present = np.zeros(members, dtype=np.bool_)
    new_generation = np.full(members, ABSENT, dtype=np.int64)
    new_sub_generation = np.full(members, ABSENT, dtype=np.int64)
    for m in range(members):
        before = origin[m]
        if before >= 0:
            new_present[m] = present[before]
            new_generation[m] = generation[before]
            new_sub_generation[m] = sub_generation[before]
    carried, lists = _carry(offsets, codes, origin)
    return carried, lists, new_present, new_generation, new_sub_generation


def _with_returning(
    claims: Claims, returning: Sequence[tuple[int, int, int]], remembered: Sequence[Claims]
) -> Claims:
    """Members that come back claim what they held when they were last heard of."""
    members = claims.present.size
    lists = [claims.codes[claims.offsets[m] : claims.offsets[m + 1]] for m in range(members)]
    present = claims.present.copy()
    generation = claims.generation.copy()
    sub_generation = claims.sub_generation.copy()
    for m, moment, then in returning:
        old = remembered[moment]
        lists[m] = old.codes[old.offsets[then] : old.offsets[then + 1]]
        present[m] = old.present[then]
        generation[m] = old.generation[then]
        sub_generation[m] = old.sub_generation[then]
    offsets = np.cumsum([0] + [codes.size for codes in lists], dtype=np.int64)
    return Claims(offsets, np.concatenate(lists), present, generation, sub_generation)


def _without_unsubscribed(group: Group, claims: Claims) -> Claims:
    known = group.prepared(metrics.subscribers)
    offsets, codes = _subscribed_only(
        claims.offsets, claims.codes, known.subscription, known.subscribed
    )
    return replace(claims, offsets=offsets, codes=codes)


@njit
def _subscribed_only(offsets, codes, subscription, subscribed):
    kept_offsets = np.zeros(offsets.size, dtype=np.int64)
    kept = np.empty(codes.size, dtype=np.int64)
    n = 0
    for m in range(offsets.size - 1):
        for k in range(offsets[m], offsets[m + 1]):
            if subscribed[subscription[m], topic_of(codes[k])]:
                kept[n] = codes[k]
                n += 1
        kept_offsets[m + 1] = n
    return kept_offsets, kept[:n]
