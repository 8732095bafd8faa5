"""``assignlab group replicas``: how many members the group may have, and what each step costs."""

import random
from typing import Any

from assignlab import assignors
from assignlab.advice import pauses
from assignlab.advice.clients import as_run, taken_for
from assignlab.advice.happening import UP_TO
from assignlab.advice.play import Event, begun, numbers
from assignlab.advice.report import Report, Table
from assignlab.advice.scaling import draws_for, joined, leaver, switched
from assignlab.advice.subject import Range, Subject, answered_by, drawn, subject
from assignlab.assignors.strategy import Strategy
from assignlab.errors import AssignlabError
from assignlab.groups.show import title
from assignlab.replay import events
from assignlab.timeline import Config
from assignlab.words import counted, listed

MOST_PAUSES = 60
"""Up to so many members are steps played in simulated time."""
COLUMNS = (
    "members", "fullest", "emptiest", "idle", "step from", "moved", "avoidable",
    "unowned partition-seconds", "divides the sum",
)  # fmt: skip


def report(
    document: dict[str, Any], up_to: int, strategy: str | None, release: str, config: Config
) -> Report:
    """The table for 1 to ``up_to`` members, and where a divisors rule is wrong about it.

    Where the strategy fails, that comes first, and the table has the numbers of members before it.
    """
    asked = subject(as_run(document, release))
    told = as_run(document if strategy is None else answered_by(document, strategy), release)
    chosen = asked.chosen() if strategy is None else assignors.get(told["strategy"])
    now = asked.members
    if up_to < 1:
        raise AssignlabError(f"up to {up_to} members: expected 1 or more")
    if up_to > (most := max(UP_TO, 10 * now, 10 * asked.partitions)):
        raise AssignlabError(
            f"up to {up_to} members: expected {most} at most, ten times what the group has or {UP_TO};"
            " members beyond the number of partitions have nothing to read"
        )
    count = draws_for(asked, max(up_to, now), up_to)
    failed: dict[str, str] = {}
    sizes = drawn(count, lambda draw: _stairs(asked, chosen, draw, up_to, failed))
    played = bool(sizes) and max(up_to, now) <= MOST_PAUSES
    costs = pauses.staircase(asked, chosen, up_to, config) if played else {}
    rows = [
        (
            n,
            sizes[f"{n} fullest"],
            sizes[f"{n} emptiest"],
            sizes[f"{n} idle"],
            None if n == now else n - 1 if n > now else n + 1,
            sizes.get(f"{n} moved"),
            sizes.get(f"{n} avoidable"),
            costs.get(n),
            asked.partitions % n == 0 if asked.partitions else None,
        )
        for n in range(1, max(up_to, now) + 1)
        if (n <= up_to or n == now) and f"{n} fullest" in sizes
    ]
    said = [_failure(chosen, failed)] if failed else []
    gaps = {row[0]: sizes[f"{row[0]} gap"] for row in rows}
    said += _advice(asked, chosen, rows, gaps) if rows else []
    if asked.unread:
        said.append(
            f"Nobody subscribes to {listed(asked.unread, 3)}:"
            f" {counted(sum(asked.unread.values()), 'partition')} that no number here counts."
        )
    if costs:
        said += taken_for(asked, chosen)
    if rows and asked.topics and not asked.equal:
        said.append(
            "Members subscribe differently: one more is taken to read what most read, and those that"
            " leave take what they alone read with them."
        )
    note = f"ids of members to come{' and who leaves' * (not asked.static)} drawn {count} times"
    if asked.static:
        note += "; the static member of the highest number leaves first"
    if costs:
        note += f"; unowned: timeline, {len(pauses.SEEDS)} starts"
    table = Table("replicas", f"Members under {chosen.name}", COLUMNS, rows, note)
    many = f"with more than {MOST_PAUSES} members"
    why = "for this group and strategy" if played or not sizes else many
    unknown = [] if costs or not rows else [f"pauses: not played in simulated time {why}"]
    inferred = told.get("inferred", [])
    return Report(title(told), inferred, said, [table], unknown=unknown)


def _stairs(
    asked: Subject, strategy: Strategy, draw: random.Random, up_to: int, failed: dict[str, str]
) -> dict[str, float]:
    """By number of members and name: the numbers of the step that leads there. At what the strategy
    fails, and how, is noted in ``failed``; beyond it nothing is played."""
    first = switched(asked, strategy) or [("a rebalance", asked.group)]
    found: dict[str, float] = {}
    up: list[Event] = []
    group = asked.group
    for n in range(asked.members + 1, up_to + 1):
        group = joined(asked, group, strategy, draw)
        up.append((str(n), group))
    down: list[Event] = []
    group = asked.group
    for n in range(asked.members - 1, 0, -1):
        group = events.leave(group, [leaver(group, draw)])
        down.append((str(n), group))
    for way in (up, down):
        ahead = [*first, *way]
        for (word, _), step in zip(ahead, begun(asked, ahead, strategy)[1:], strict=False):
            try:
                if step.error is not None:
                    raise AssignlabError(f"{strategy.name}: {step.error}")
                told = numbers(step)
            except AssignlabError as error:
                failed.setdefault(word, str(error).removeprefix(f"{strategy.name}: "))
                break
            if word == first[0][0]:
                word, told = (
                    str(asked.members),
                    {k: told[k] for k in ("fullest", "emptiest", "gap", "idle")},
                )
            found |= {f"{word} {name}": value for name, value in told.items()}
    return found


def _failure(strategy: Strategy, failed: dict[str, str]) -> str:
    """Where a strategy fails: at the next rebalance, or with more or fewer members."""
    word, why = next(iter(failed.items()))
    if not word.isdecimal():
        return f"Beware: {strategy.name} fails at {word}: {why}. No number of members is shown."
    sizes = counted(listed(sorted(failed, key=int)), "member")
    return f"Beware: {strategy.name} can fail with {sizes}: {why}. Nothing is shown beyond."


def _advice(
    asked: Subject, strategy: Strategy, rows: list[tuple], gaps: dict[int, Range]
) -> list[str]:
    """``gaps``: by the number of members, between the fullest and the emptiest of one draw."""
    if not asked.partitions:
        return ["The topics that members read have no partitions: nobody has anything to read."]
    even = [n for n, gap in gaps.items() if not gap.high]
    idle = [row[0] for row in rows if row[3].low > 0]
    counts = list(asked.topics.values())
    said = [
        f"Under {strategy.name} every member holds the same number with "
        f"{counted(listed(map(str, even)), 'member')}."
        if even
        else f"Under {strategy.name} no number of members here gives everybody the same."
    ]
    if idle:
        said.append(f"From {counted(min(idle), 'member')} on somebody has nothing.")
    divided = any(row[8] and row[0] > 1 for row in rows)  # a single member has all that there is
    if not divided or strategy.membership != "coordinator":  # KEDA's is a setting for Kafka
        return said
    wrong = [row for row in rows if row[8] and gaps[row[0]].high]
    if wrong:
        row = max(wrong, key=lambda row: gaps[row[0]].high)
        total = " + ".join(map(str, counts)) if len(counts) <= 6 else f"{len(counts)} topics"
        said.append(
            f"KEDA's ensureEvenDistributionOfPartitions takes the divisors of the sum over topics"
            f" ({total} = {asked.partitions}); it is wrong here. Under {strategy.name} it is uneven with"
            f" {listed(str(r[0]) for r in wrong)}; with {counted(row[0], 'member')} the fullest has {row[1]}"
            f" and the emptiest {row[2]}."
        )
    else:
        said.append(
            "KEDA's ensureEvenDistributionOfPartitions (divisors of the sum over topics) is right here:"
            " every divisor in the table is even."
        )
    return said
