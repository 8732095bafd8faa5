"""Why a group is as uneven as it is: the law of its strategy, in one sentence."""

from assignlab.advice.subject import Subject
from assignlab.groups.show import count
from assignlab.optimum import optimum
from assignlab.replay.metrics import subscribers, uneven_topics

PER_TOPIC = ("range", "avg", "avg-by-circle")
"""Kinds of strategies that deal every topic by itself."""
IN_TURN = ("roundrobin",)


def law(subject: Subject) -> str:
    """The sentence; numbers in it are counted in the group, not taken from the law."""
    known = subject.group.prepared(subscribers)
    sizes = subject.held.sizes
    gap, total = int(sizes.max() - sizes.min()), subject.partitions
    idle = int((sizes == 0).sum())
    if int(sizes.sum()) < total:
        return (
            f"{total - int(sizes.sum())} of {total} partitions have no owner, so the sizes are not"
            " those of a settled group."
        )
    if total < subject.members:
        return (
            f"There are {total} partitions for {subject.members} members: as many as"
            f" {subject.members - total} have to go without under any strategy; {idle} do now."
        )
    own = subject.strategy
    if own is not None and own.kind in PER_TOPIC:
        uneven = int(uneven_topics(known.partitions, known.subscribers))
        return _per_topic(subject, own.name, gap, idle, uneven)
    least = _least_gap(subject)
    if not subject.equal:
        return (
            f"Members subscribe to different topics: no assignment has a smaller gap than {least},"
            f" this one has {gap}."
        )
    each, more = divmod(total, subject.members)
    even = (
        f"{count(total, 'partition')} over {count(subject.members, 'member')} are {each} each"
        f"{f' and one more for {more} of them' if more else ''}: the least gap is {least}"
    )
    if own is None:
        return f"{even}, this group has {gap}."
    if gap == least:
        deals = "deals all topics in one turn" if own.kind in IN_TURN else "evens out the whole"
        return f"{own.name} {deals}; {even}, and so it is here."
    return f"{even}, and {own.name} keeps it; the gap of {gap} comes from elsewhere."


def _per_topic(subject: Subject, name: str, gap: int, idle: int, uneven: int) -> str:
    topics = len(subject.document["topics"])
    nothing = f" ({idle} have nothing)" if idle else ""
    if uneven == 0:
        return (
            f"{name} deals every topic by itself, and each of the {topics} divides evenly: the gap is"
            f" {gap}{nothing}."
        )
    many = (
        f"{uneven} of {topics} topics do not divide" if topics > 1 else "the topic does not divide"
    )
    return (
        f"{name} deals every topic by itself; {many} by the number of subscribers, and each such topic"
        f" gives the same first members one more, so the gap is at most {uneven}: here it is"
        f" {gap}{nothing}, where the least possible is {_least_gap(subject)}."
    )


def _least_gap(subject: Subject) -> int:
    if subject.equal:
        return int(subject.partitions % subject.members > 0)
    sizes = optimum(subject.group).assignment.sizes
    return int(sizes.max() - sizes.min())
