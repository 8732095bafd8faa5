"""Why a group is as uneven as it is: the law of its strategy, in one sentence."""

from itertools import pairwise

from assignlab.advice.subject import Subject
from assignlab.assignors.strategy import Strategy
from assignlab.optimum import optimum
from assignlab.optimum.answers import gap
from assignlab.replay.metrics import subscribers, uneven_topics
from assignlab.words import counted

FROM_THE_FIRST = {"cut_alike", "blocks", "client_blocks", "round_the_clients", "thread_blocks"}
PER_TOPIC = {"even_topics"} | FROM_THE_FIRST
"""What strategies promise that deal every topic by itself; and, of these, each from the same member."""
EVEN = {"floor_and_ceiling", "even_threads", "even_threads_if_alike"}
"""What strategies promise that give equal subscribers equally many partitions, or one more."""


def law(subject: Subject) -> str:
    """The sentence; numbers in it are counted in the group, not taken from the law."""
    known = subject.group.prepared(subscribers)
    now, total = subject.evenness, subject.partitions
    gap, idle = now["fullest"] - now["emptiest"], now["idle"]
    if free := subject.unowned:
        return (
            f"{free} of {counted(total, 'partition')} {'has' if free == 1 else 'have'} no owner, so the"
            " sizes are not those of a settled group."
        )
    if subject.astray:
        return (
            f"{counted(subject.astray, 'partition')} held that {'is' if subject.astray == 1 else 'are'} not"
            " there, held by another, too, or of a topic to which the holder does not subscribe: the sizes"
            " are not those of a settled group."
        )
    if without := least_idle(subject):
        unlike = "" if subject.equal or not total else ", which subscribe to different topics"
        return (
            f"{counted(total, 'partition')} for {counted(subject.members, 'member')}{unlike}: any strategy"
            f" leaves at least {without} without; now it is {idle}."
        )
    own = subject.strategy
    by_topic = own is not None and bool(PER_TOPIC & {*own.promises})
    if own is not None and by_topic and subject.equal:
        uneven = int(uneven_topics(known.partitions, known.subscribers))
        return _per_topic(subject, own, gap, idle, uneven)
    least = _least_gap(subject)
    if not subject.equal:
        deals = f", and {own.name} deals every topic by itself" if own and by_topic else ""
        return (
            f"Members subscribe to different topics{deals}: no assignment has a smaller gap than"
            f" {least}, this one has {gap}.{_apart(subject)}"
        )
    each, more = divmod(total, subject.members)
    even = (
        f"{counted(total, 'partition')} over {counted(subject.members, 'member')}: {each} each"
        f"{f' and one more for {more} of them' if more else ''}, the least gap is {least}"
    )
    if own is None:
        return f"{even}, this group has {gap}."
    if not EVEN & {*own.promises}:
        return f"{even}, which {own.name} does not promise; here it is {gap}."
    if gap == least:
        deals = (
            "deals all topics in one turn" if "roundrobin" in own.base else "evens out the whole"
        )
        return f"{own.name} {deals}; {even}, and so it is here."
    return f"{even}, and {own.name} keeps it; the gap of {gap} comes from elsewhere."


def _per_topic(subject: Subject, own: Strategy, gap: int, idle: int, uneven: int) -> str:
    name, from_the_first = own.name, FROM_THE_FIRST & {*own.promises}
    favoured = own.favours or ("the same first members" if from_the_first else "some members")
    topics = len(subject.topics)
    nothing = f" ({idle} {'has' if idle == 1 else 'have'} nothing)" if idle else ""
    if gap > uneven:
        return (
            f"{name} deals every topic by itself, which leaves a gap of at most {uneven}; the gap of"
            f" {gap}{nothing} comes from elsewhere."
        )
    if uneven == 0:
        all_of_them = f"each of the {topics}" if topics > 1 else "the only one"
        return (
            f"{name} deals every topic by itself, and {all_of_them} divides evenly: the gap is"
            f" {gap}{nothing}."
        )
    do = "does" if uneven == 1 else "do"
    many = (
        f"{uneven} of {topics} topics {do} not divide"
        if topics > 1
        else "the topic does not divide"
    )
    return (
        f"{name} deals every topic by itself; {many} by the number of subscribers, and each such topic"
        f" gives {favoured} one more, so the gap is at most {uneven}: here it is"
        f" {gap}{nothing}, where the least possible is {_least_gap(subject)}."
    )


def _apart(subject: Subject) -> str:
    """Whether the members fall into sets that share no topic."""
    members = subject.group.members
    sets: list[set[int]] = []
    for begin, end in pairwise(members.offsets.tolist()):
        read = set(members.topics[begin:end].tolist())
        others = [topics for topics in sets if not topics & read]
        sets = [*others, read.union(*(topics for topics in sets if topics & read))]
    if len(sets) == 1:
        return ""
    return (
        f" {len(sets)} sets of members have no topic in common, as applications have that share a"
        " group.id: a rebalance of one is a rebalance of all, and a group.id for each parts them."
    )


def least_idle(subject: Subject) -> int:
    """How many members no assignment has anything for."""
    if subject.equal:
        return max(0, subject.members - subject.partitions)
    return int((optimum(subject.group).assignment.sizes == 0).sum())


def _least_gap(subject: Subject) -> int:
    if subject.equal:
        return int(subject.partitions % subject.members > 0)
    return gap(optimum(subject.group).assignment.sizes)
