"""What racks do for a group: who can read from its own rack, now and under strategies."""

from collections import defaultdict

from assignlab import assignors
from assignlab.advice.alike import releases
from assignlab.advice.clients import client_of, lacks
from assignlab.advice.report import Table
from assignlab.advice.subject import CLASSIC, SERVER, Subject
from assignlab.assignors.strategy import Strategy
from assignlab.errors import AssignlabError
from assignlab.group.assignment import Assignment, partition_of, topic_of
from assignlab.group.model import Group
from assignlab.replay.rebalance import settled
from assignlab.words import counted

COLUMNS = ("strategy", "releases", "in own rack", "fullest", "emptiest")


def racks(subject: Subject) -> tuple[list[str], list[Table]]:
    """(sentences, tables); none of them where members or replicas have no racks.

    The strategies are those of the members' client, Java's where none is known, and the coordinator's
    if it has them. Releases of one strategy that leave the group alike share a row. Sticky ones keep
    what is held.
    """
    group = subject.group
    if group.members.racks is None or group.topics.racks is None:
        return [], []
    now = near(group, subject.held)
    said = (
        f"{now} of {counted(subject.held.codes.size, 'partition')} {'has' if now == 1 else 'have'} a"
        " replica in the rack of the owner, who reads from there where the brokers'"
        " replica.selector.class allows it (KIP-392), else from the leader."
    )
    alike: dict[tuple, list[Strategy]] = defaultdict(list)
    systems = client_of(subject) or CLASSIC, SERVER
    asked = [
        strategy
        for strategy in assignors.strategies().values()
        if strategy.system in systems and not strategy.shares and not lacks(subject, strategy)
    ]
    for strategy in asked:
        try:
            given = settled(group, strategy)
        except AssignlabError:
            continue
        sizes = given.sizes
        row = strategy.base, near(group, given), int(sizes.max()), int(sizes.min())
        alike[row].append(strategy)
    rows = [(base, releases(found, asked), *rest) for (base, *rest), found in alike.items()]
    return [said], [Table("racks", "Owners' racks under strategies", COLUMNS, rows)]


def near(group: Group, given: Assignment) -> int:
    """How many partitions have a replica in the rack of their owner."""
    of_members, of_topics = group.members.racks or (), group.topics.racks or ()
    columns = given.owners, topic_of(given.codes), partition_of(given.codes)
    count = 0
    for member, topic, number in zip(*(column.tolist() for column in columns), strict=True):
        rack, replicas = of_members[member], of_topics[topic] or ()
        count += rack is not None and number < len(replicas) and rack in replicas[number]
    return count
