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

A strategy that needs more than a scenario has (machine rooms, say) is shown every group at home.

Where the original throws, the step carries the error, every member keeps what it had, and the
history goes on from there.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import fields
from functools import lru_cache

import numpy as np

from assignlab import assignors, metrics
from assignlab.assignment import Assignment
from assignlab.compiled import njit
from assignlab.errors import AssignlabError, OriginalError
from assignlab.events import Moment, history, origins
from assignlab.group import ABSENT, Claims, Group
from assignlab.metrics import Column
from assignlab.scenarios import Scenario
from assignlab.strategy import Strategy

MAX_ROUNDS = 20
"""Kafka's own tests allow a cooperative rebalance 4 rounds; more than these are an error."""


class NeverStable(AssignlabError):
    """A cooperative rebalance still moves partitions after ``MAX_ROUNDS`` rounds."""


class Step:
    """One rebalance. ``measure(step)`` gives its numbers.

    ``index`` counts from 0; ``event``; ``group``: the group after the event, with the claims of the
    first round; ``after``: the assignment at the end; ``rounds``: how often the assignor ran;
    ``generation``: of the group at the end; ``revoked_kept``: pairs given up during the rebalance
    and held again at its end (an eager rebalance: all that stayed; not counted here); ``error``:
    why there is no new assignment, else None. ``previous`` and ``origin``: what was held by the
    members of the group before the event, and which of those each member is.
    """

    __slots__ = (
        "index", "event", "group", "strategy", "previous", "origin", "after", "rounds",
        "generation", "revoked_kept", "error",
    )  # fmt: skip

    def __init__(
        self, index: int, moment: Moment, group: Group, strategy: Strategy, previous: Assignment,
        origin: np.ndarray, after: Assignment, rounds: int, generation: int, revoked_kept: int,
        error: str | None,
    ):  # fmt: skip
        self.index = index
        self.event = moment.event
        self.group = group
        self.strategy = strategy
        self.previous = previous
        self.origin = origin
        self.after = after
        self.rounds = rounds
        self.generation = generation
        self.revoked_kept = revoked_kept
        self.error = error

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

    ``strategy``: one for all moments, or one for each, as in an upgrade; where it changes, the new
    one reads of the old assignment what :func:`handed_over` says. ``silent``: for each moment the
    members that gave up everything before they joined and claim nothing, though the strategy is
    cooperative: those whose client still has an eager assignor in its list.
    """
    chosen = [strategy] * len(moments) if isinstance(strategy, Strategy) else strategy
    strategy, group = None, None
    held = Assignment(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64))
    claims = Claims.none(0)
    remembered: list[Claims] = []
    generation = 0
    for index, moment in enumerate(moments):
        if chosen[index] is not strategy:
            if strategy is not None:
                claims = handed_over(group, held, generation, strategy, chosen[index])
            strategy = chosen[index]
            cooperative = strategy.protocol == "cooperative"
        group = moment.group
        if strategy.at_home is not None:
            group = group.prepared(strategy.at_home)
        members = len(group.members)
        origin = _same(members) if moment.origin is None else moment.origin
        if strategy.sticky:
            claims = _claims_after(moment, claims, remembered, cooperative)
            if silent is not None and silent[index]:
                claims = _without(claims, silent[index])
            group = group.with_claims(claims)
        rounds = 0
        revoked_kept = 0
        error = None
        if moment.rebalance:
            rounds = 1
            try:
                if cooperative:
                    after, claims, rounds, revoked_kept = _rounds(group, strategy, generation)
                else:
                    after = strategy.assign(group)
                    if strategy.sticky:
                        claims = _claims(group, strategy, after, generation + 1)
            except OriginalError as raised:
                error = str(raised)
            generation += rounds
        if error is not None or not moment.rebalance:
            after = Assignment(*_carry(held.offsets, held.codes, origin))
        elif cooperative and silent is not None and silent[index]:
            before = Assignment(*_carry(held.offsets, held.codes, origin))
            revoked_kept += _held_again(before, after, silent[index])
        yield Step(
            index, moment, group, strategy, held, origin, after, rounds, generation, revoked_kept,
            error,
        )  # fmt: skip
        held = after
        remembered.append(claims)


def handed_over(
    group: Group, held: Assignment, generation: int, old: Strategy, new: Strategy
) -> Claims:
    """What ``new`` reads of an assignment that ``old`` made.

    A coordinator that takes the group over knows what every member has. Clients tell it only to a
    strategy that goes by the same name, another release or another client's: what a sticky client
    remembers, it sends with its own strategy's subscription, and an eager one has revoked
    everything before it joins.
    """
    if new.sticky and (new.protocol == "server" or _called(old) == _called(new)):
        return _claims(group, new, held, generation)
    return Claims.none(len(group.members))


def _called(strategy: Strategy) -> str:
    """The name under which a client offers the strategy: without system and release."""
    return strategy.name.partition("@")[0].removeprefix(f"{strategy.system}-")


@lru_cache(maxsize=64)
def _same(members: int) -> np.ndarray:
    return np.arange(members)


@lru_cache(maxsize=64)
def _everybody(members: int) -> np.ndarray:
    return np.ones(members, dtype=np.bool_)


@lru_cache(maxsize=64)
def _of_generation(members: int, generation: int) -> np.ndarray:
    return np.full(members, generation, dtype=np.int64)


def _claims_after(
    moment: Moment, claims: Claims, remembered: Sequence[Claims], cooperative: bool
) -> Claims:
    """What the members of the group claim after an event."""
    claims = _carried(claims, moment.origin)
    if moment.returning:
        claims = _with_returning(claims, moment.returning, remembered)
    if cooperative and moment.resubscribed:
        claims = _without_unsubscribed(moment.group, claims)
    return claims


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


def _held_again(before: Assignment, after: Assignment, members: Collection[int]) -> int:
    """Partitions of these members that they had before and have afterwards."""
    return sum(np.intersect1d(before.of(m), after.of(m)).size for m in members)


def _carried(claims: Claims, origin: np.ndarray | None) -> Claims:
    """The claims of the members ``origin``; None for the same members."""
    if origin is None:
        return claims
    return Claims(
        *_carry_claims(
            claims.offsets, claims.codes, claims.present, claims.generation,
            claims.sub_generation, origin,
        )
    )  # fmt: skip


def _claims(group: Group, strategy: Strategy, after: Assignment, generation: int) -> Claims:
    """What the members will claim after this assignment."""
    order = after if strategy.reclaim is None else strategy.reclaim(group, after)
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


def _rounds(
    group: Group, strategy: Strategy, generation: int
) -> tuple[Assignment, Claims, int, int]:
    """Cooperative rounds until nobody gives anything up: (after, claims, rounds, revoked_kept)."""
    first = held = group.claims
    uninterrupted = None
    for number in range(1, MAX_ROUNDS + 1):
        after = strategy.assign(group)
        claims = _claims(group, strategy, after, generation + number)
        kept = metrics.still_held(held.offsets, held.codes, after.offsets, after.codes)
        if kept[1].size == held.codes.size:
            break
        if uninterrupted is None:
            uninterrupted = kept
        else:
            uninterrupted = metrics.still_held(*uninterrupted, *kept)
        held = claims
        group = group.with_claims(claims)
    else:
        raise NeverStable(f"{strategy.name}: partitions still move after {MAX_ROUNDS} rounds")
    revoked_kept = 0
    if uninterrupted is not None:
        again = metrics.still_held(first.offsets, first.codes, after.offsets, after.codes)
        always = metrics.still_held(*uninterrupted, *again)
        revoked_kept = again[1].size - always[1].size
    return after, claims, number, revoked_kept


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
            lists[carried[m] : carried[m + 1]] = codes[offsets[before] : offsets[before + 1]]
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
    offsets = np.zeros(members + 1, dtype=np.int64)
    np.cumsum([codes.size for codes in lists], out=offsets[1:])
    return Claims(offsets, np.concatenate(lists), present, generation, sub_generation)


def _without_unsubscribed(group: Group, claims: Claims) -> Claims:
    shape = group.prepared(metrics.shape)
    offsets, codes = _subscribed_only(
        claims.offsets, claims.codes, shape.subscription, shape.subscribed
    )
    return Claims(offsets, codes, claims.present, claims.generation, claims.sub_generation)


@njit
def _subscribed_only(offsets, codes, subscription, subscribed):
    kept_offsets = np.zeros(offsets.size, dtype=np.int64)
    kept = np.empty(codes.size, dtype=np.int64)
    n = 0
    for m in range(offsets.size - 1):
        for k in range(offsets[m], offsets[m + 1]):
            if subscribed[subscription[m], codes[k] >> 32]:
                kept[n] = codes[k]
                n += 1
        kept_offsets[m + 1] = n
    return kept_offsets, kept[:n]


# ---- records -----------------------------------------------------------------------------------

SCENARIO_COLUMNS = (
    Column("members", "int64", "members", "members at the start"),
    Column("topics", "int64", "topics", "topics at the start"),
    Column("partitions", "int64", "partitions", "partitions over all topics at the start"),
    Column("distribution", "string", "", "how partitions are split over topics"),
    Column("subscription", "string", "", "how members subscribe"),
    Column("seed", "int64", "", "seed of all that is drawn"),
    Column("ids", "string", "", "style of member ids and topic names"),
    Column("static", "bool", "", "whether members have a group.instance.id"),
    Column("racks", "int64", "racks", "number of racks, 0 for none"),
    Column("events", "string", "", "the whole history, words separated by blanks"),
)
STEP_COLUMNS = (
    Column("strategy", "string", "", "name of the strategy"),
    Column("step", "int64", "", "place in the history, from 0"),
    Column("event", "string", "", "what happened before this rebalance"),
    Column("error", "string", "", "why there is no assignment, else null"),
    Column("rounds", "int64", "rounds", "how often the assignor ran until stable"),
    Column("generation", "int64", "", "generation of the group at the end"),
)
COLUMNS = SCENARIO_COLUMNS + STEP_COLUMNS + metrics.COLUMNS
"""The columns of a record, in order; those of the metrics are null in an error record."""

_NO_METRICS = (None,) * len(metrics.COLUMNS)
_FIELDS = tuple(field.name for field in fields(Scenario))
assert _FIELDS == tuple(column.name for column in SCENARIO_COLUMNS)


def measure(step: Step) -> tuple:
    """The ``metrics.COLUMNS`` of a step."""
    return metrics.measure(
        step.group,
        step.after,
        step.previous,
        step.origin,
        step.strategy.protocol == "eager" and step.rounds > 0,
        step.revoked_kept,
    )


def record(step: Step) -> tuple:
    """The step's own columns and its metrics."""
    facts = (step.strategy.name, step.index, step.event, step.error, step.rounds, step.generation)
    return facts + (_NO_METRICS if step.error is not None else measure(step))


def records(scenario: Scenario, strategies: Sequence[str]) -> Iterator[tuple]:
    """One record per rebalance and strategy, in the order of ``COLUMNS``.

    The history is built once and replayed through every strategy. Whatever raises becomes an error
    record and ends that strategy's history; an original's own exception does not end it.
    """
    start = scenario_values(scenario)
    try:
        moments = _history(scenario)
    except Exception as raised:
        for name in strategies:
            yield start + _failure(name, 0, scenario.events[0], raised)
        return
    for name in strategies:
        done = 0
        try:
            for step in replay(moments, assignors.get(name)):
                row = start + record(step)
                done += 1
                yield row
        except Exception as raised:
            yield start + _failure(name, done, moments[done].event, raised)


@lru_cache(maxsize=1)
def _history(scenario: Scenario) -> list[Moment]:
    """The history that calls for one scenario after the other share, with all it has prepared."""
    return history(scenario)


def scenario_values(scenario: Scenario) -> tuple:
    """The ``SCENARIO_COLUMNS`` of a scenario."""
    values = [getattr(scenario, name) for name in _FIELDS]
    values[-1] = " ".join(scenario.events)
    return tuple(values)


def _failure(name: str, step: int, event: str, raised: Exception) -> tuple:
    error = f"{type(raised).__name__}: {raised}"
    return (name, step, event, error, None, None) + _NO_METRICS


def cost(scenario: Scenario, strategies: int = 1) -> float:
    """About how many seconds ``records`` takes: to cut a sweep into slices of equal cost."""
    steps = len(scenario.events)
    if "ROLLING_RESTART" in scenario.events:
        steps += scenario.events.count("ROLLING_RESTART") * 2 * scenario.members
    size = scenario.partitions + 10 * scenario.members + scenario.topics
    build = 100 + 0.1 * size
    return 1e-6 * (build + steps * (build + strategies * (60 + 0.2 * size)))
