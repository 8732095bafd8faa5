"""From what texts say to group documents: what no text has is inferred here, and said.

No tool prints what a member subscribes to, its generation, or the order in which the coordinator
hands members over. Every function below that fills such a gap says so in a sentence that begins
with what it is about; the document carries these sentences as ``inferred``.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from assignlab.errors import GroupError
from assignlab.groups.rows import MemberRow, TopicRow
from assignlab.groups.seen import Partition, Seen
from assignlab.groups.states import MOVING, WARNED
from assignlab.groups.text import printable
from assignlab.releases import CAME_WITH
from assignlab.words import counted

ROCKETMQ = "rocketmq-avg"
BY_TOPIC = ("range", "server-range", ROCKETMQ)
"""Of the strategies that texts tell of, those that deal every topic by itself."""
KAFKA_GO = "(github.com/segmentio/kafka-go)"
"""Stands in ids of kafka-go's clients, whose round robin begins every topic at the first member, and so
deals it by itself, too."""
GENERATION = 1
OF_KAFKAJS = {"RoundRobinAssigner": "kafkajs-roundrobin"}
"""The names of other clients' assignors, where they are not those of Java's."""
TWO_MOMENTS = "the texts are of two moments"
"""Said where texts contradict each other."""
UNKNOWN = "~unknown-"
"""Begins the ids of members that are merely counted. They sort last: where a strategy deals in the order
of ids, members without a partition are the last."""
MOST_UNKNOWN = 100_000
"""So many members that texts merely count get ids that are made up."""

Say = Callable[[str], None]
Holdings = dict[str, list[Partition]]

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
KAFKA_UUID = re.compile(r"[A-Za-z0-9+/_-]{22}")
"""A member id of KIP-848's clients; those of the classic protocol end in a UUID with dashes."""


def document(seen: Seen, cluster: dict[str, TopicRow]) -> dict[str, Any]:
    """The group document of one group. ``cluster``: the topics that the texts tell of, by name.

    Beside what assignors see it has, where known, ``group``, ``state``, ``assignor`` (the strategy
    as the text names it), ``idle`` (members without a partition, where the text only counts them)
    and per member ``client``, ``host`` and ``partitions`` (how many it holds, where the text only
    counts them); and always ``inferred``. ``owned`` is None where the text tells it of others alone.
    """
    inferred: list[str] = []
    say = inferred.append
    if not seen.name:
        say("group: the text does not name it")
    states = _states(seen)
    state = next(iter(states), None)
    for what, told in (("state", states), ("strategy", list(dict.fromkeys(seen.assignors)))):
        if len(told) > 1:
            named = " and ".join(map(printable, told))
            say(f"{what}: {named} are told, the first counts; {TWO_MOMENTS}")
    members = _members(seen, say)
    if state in ("Empty", "Dead") and members:
        say(f"state: {state}, and members are named: {TWO_MOMENTS}")
    protocol = _protocol(seen, members, say)
    holdings = _holdings(seen, members, say)
    strategy = _strategy(seen, protocol, say)
    settled = state in (None, "Stable")
    if settled:
        _refuse_two_owners(seen, strategy)
    equal = not settled or _on_its_way(seen) or _could_be_equal(holdings, strategy, members)
    subscribed = _subscriptions(seen, members, holdings, equal, say)
    topics = _topics(seen, cluster, protocol, subscribed, say)
    entries = [
        _without_gaps(
            id=member.member,
            instance=member.instance,
            rack=member.rack,
            topics=subscribed[member.member],
            owned=_claim(holdings, member, settled),
            client=member.client,
            host=member.host,
            partitions=member.partitions if holdings is None else None,
        )
        | ({} if holdings is None or member.member in holdings else {"owned": None})
        for member in members
    ]
    _add_generations(entries, members, protocol, say)
    _say_what_no_text_has(members, topics, holdings, say)
    return _without_gaps(
        group=seen.name or None,
        state=state,
        assignor=seen.assignor,
        strategy=strategy,
        idle=seen.idle if holdings is None else None,
        topics=topics,
        members=entries,
        inferred=inferred,
    )


def _without_gaps(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _states(seen: Seen) -> list[str]:
    """The different states that texts name, first that which counts: of the text that has the owners, if it
    warns of a rebalance. Another text may name the state that it warns of."""
    named = [state for state in dict.fromkeys(seen.states) if state != WARNED]
    if WARNED not in seen.states:
        return named
    moving = [state for state in named if state in MOVING] or [WARNED]
    return list(dict.fromkeys([*moving, *named]))


def _members(seen: Seen, say: Say) -> list[MemberRow]:
    """Those with names, those known by their hosts alone, and those that were merely counted."""
    members = list(seen.members.values())
    hosts = [] if members else dict.fromkeys(seen.hosts.values())
    members += [MemberRow(seen.name, host, host=host) for host in hosts]
    if hosts:
        say("members: the text has hosts; consumers on one host appear as one member")
    missing = 0 if seen.whole else max(0, (seen.count or 0) - len(members))
    if missing > MOST_UNKNOWN:
        raise GroupError(seen.name, f"{seen.count} members are counted, more than any group has")
    members += [MemberRow(seen.name, f"{UNKNOWN}{i}") for i in range(1, missing + 1)]
    if missing:
        ids = f"the id {UNKNOWN}1 is" if missing == 1 else f"the ids {UNKNOWN}1 to -{missing} are"
        known = any(seen.owners.values()) and not seen.partial
        holding = ", and to hold nothing if the texts are whole and of one moment" * known
        say(f"members: {seen.count} are counted; {ids} made up{holding}")
    if others := [n for n in seen.counts if n != len(members)]:
        named = "counted by another" if missing else "named"
        say(f"members: {others[0]} are counted and {len(members)} {named}: {TWO_MOMENTS}")
    elif not members and seen.count is None:
        say("members: the text has none")
    elif seen.count is None and all(member.partitions is None for member in members):
        say("members: as listed; the text may leave out some that hold nothing")
    return members


def _protocol(seen: Seen, members: list[MemberRow], say: Say) -> str:
    if seen.protocol is not None:
        return seen.protocol
    if seen.assignor == "uniform":
        return "consumer"
    if members and all(KAFKA_UUID.fullmatch(member.member) for member in members):
        say("protocol: KIP-848, since the member ids look like it")
        return "consumer"
    if f"server-{seen.assignor}" in CAME_WITH and not seen.members:
        say("protocol: classic; without member ids the text does not tell it from KIP-848")
    return "classic"


def _strategy(seen: Seen, protocol: str, say: Say) -> str | None:
    if protocol == "rocketmq":
        say(f"strategy: {ROCKETMQ}, the client's default; no command prints it")
        return ROCKETMQ
    if seen.assignor is None:
        hint = "" if seen.states else " (kafka-consumer-groups --describe --state does)"
        say(f"strategy: none; the text names none{hint}")
        return None
    if seen.assignor in OF_KAFKAJS:
        say(
            f"strategy: {OF_KAFKAJS[seen.assignor]}, by its name; the text has neither client nor release"
        )
        return OF_KAFKAJS[seen.assignor]
    name = f"server-{seen.assignor}" if protocol == "consumer" else seen.assignor
    if name not in CAME_WITH:
        say(f"strategy: none; the lab has none that is called {printable(seen.assignor)}")
        return None
    who = "coordinator" if protocol == "consumer" else "Java client"
    say(f"strategy: {name} of the newest {who}; the text has neither client nor release")
    return name


def _holdings(seen: Seen, members: list[MemberRow], say: Say) -> Holdings | None:
    """What every member holds (KIP-848: is to hold); None where no text says it."""
    owners = _owners(seen, members)
    if owners is None or (not owners and any(m.partitions != 0 for m in members)):
        if members:
            say("owned: nothing; the text does not say who holds what")
        return None
    told = [m.member for m in members if m.member in seen.members or seen.hosts or not seen.partial]
    holdings: Holdings = {name: [] for name in told}
    for partition, names in owners.items():
        for name in names:
            holdings[name].append(partition)
        if len(names) > 1:
            say(f"owned: {_name(partition)} is claimed by {_some(names)}")
    for member in members:
        held = len(holdings.get(member.member, ()))
        if member.partitions not in (None, held):
            say(
                f"owned: {counted(held, 'partition')} of {_some([member.member])}; it has {member.partitions}"
            )
    targets: Holdings = {
        m.member: [(t, None, n) for t, n in m.target] for m in members if m.target is not None
    }
    if any(set(target) != set(holdings[m]) for m, target in targets.items()):
        say("owned: the target, which the coordinator's assignor sees; members still hold others")
    _say_who_waits(holdings, targets, say)
    return holdings | targets


def _say_who_waits(holdings: Holdings, targets: Holdings, say: Say) -> None:
    """Who has yet to give up what, and for whom; of many, the first three."""
    waiting: dict[Partition, str] = {}
    late: Holdings = {}
    for m, target in targets.items():
        held, wanted = set(holdings[m]), set(target)
        waiting |= {p: m for p in target if p not in held}
        late[m] = [p for p in holdings[m] if p not in wanted]
    for member in [m for m, given_up in late.items() if given_up][:3]:
        names = [_name(partition) for partition in late[member]]
        others = list(dict.fromkeys(waiting[p] for p in late[member] if p in waiting))
        verb = "waits" if len(others) == 1 else "wait"
        say(
            f"owned: {_some([member])} has yet to give up {_some(names)}"
            + (f", for which {_some(others)} {verb}" if others else "")
        )


def _refuse_two_owners(seen: Seen, strategy: str | None) -> None:
    """A settled group has one owner of a partition, unless its assignor is an unknown one."""
    for partition, owners in seen.owners.items():
        texts = set(owners.values())
        if len(owners) > 1 and (strategy is not None or len(texts) > 1):
            named = [printable(owner) for owner in owners]
            raise GroupError(
                seen.name,
                f"{_name(partition)} is held by {named[0]} and by {named[1]}:"
                f" the {'texts are' if len(texts) > 1 else 'text is'} of two moments; give what was"
                " printed at one (group show --then compares two)",
            )


def _owners(seen: Seen, members: list[MemberRow]) -> dict[Partition, list[str]] | None:
    """Who holds each partition; None where members share what a text has instead: a host, or a
    client and its host."""
    on_host: dict[str | None, list[str]] = {}
    for member in members:
        for place in (member.host, f"{member.client}@{member.host}"):
            on_host.setdefault(place, []).append(member.member)
    owners: dict[Partition, list[str]] = {}
    for partition, told in seen.owners.items():
        names: list[str] = [*told]
        if not names and partition in seen.hosts:
            names = on_host.get(seen.hosts[partition], [])
            if len(names) != 1:
                return None
        owners[partition] = names
    return owners


def _subscriptions(
    seen: Seen, members: list[MemberRow], holdings: Holdings | None, equal: bool, say: Say
) -> dict[str, list[str]]:
    """What each member subscribes to: as the text says it, or else all that anybody holds.

    Where sizes rule out that all subscribe alike (not ``equal``), a member subscribes to what it
    holds; an idle one to what others of its client id hold, or else to everything.
    """
    said = {m.member: seen.topics if m.topics is None else m.topics for m in members}
    own = {m: list(dict.fromkeys(p[0] for p in held)) for m, held in (holdings or {}).items()}
    listed = list(dict.fromkeys(p[0] for p in seen.lags))
    every = list(dict.fromkeys(topic for topics in own.values() for topic in topics)) or listed
    if None in said.values():
        say(
            "subscriptions: none; the text names no topic"
            if not every
            else f"subscriptions: every member to {_some(every)}"
            if equal
            else "subscriptions: members to what they hold, idle ones to what others of their client id"
            " hold or else to everything; if all subscribed alike, they would hold other numbers of"
            " partitions"
        )
        if left := [topic for topic in listed if topic not in every]:
            say(f"subscriptions: nobody to {_some(left)}, of which only offsets are left")
    alike: dict[str, dict[str, None]] = {}
    for member in members:
        alike.setdefault(_family(member), {}).update(dict.fromkeys(own.get(member.member, ())))
    guess = {
        m.member: every if equal else own.get(m.member) or [*alike[_family(m)]] or every
        for m in members
    }
    return {m: list(dict.fromkeys(guess[m] if t is None else t)) for m, t in said.items()}


def _family(member: MemberRow) -> str:
    """What clients of one application share: the client id, or the member's, less its numbers."""
    name = member.client or UUID.sub("", member.member)
    return re.sub(r"[-_.]?\d*[-_.]?$", "", name)


def _on_its_way(seen: Seen) -> bool:
    """Whether a partition has no owner of a topic of which somebody holds others: as between the two
    rebalances of a cooperative group, numbers of partitions then tell nothing of subscriptions."""
    owned = {partition[0] for partition, owners in seen.owners.items() if owners}
    return any(p[0] in owned and not seen.owners.get(p) for p in (*seen.owners, *seen.lags))


def _could_be_equal(
    holdings: Holdings | None, strategy: str | None, members: list[MemberRow]
) -> bool:
    """Whether equal subscriptions would give these numbers of partitions.

    Those of ``BY_TOPIC`` give out each topic evenly, others the whole; of an unknown one either will do.
    """
    counts = [Counter(topic for topic, *_ in held) for held in (holdings or {}).values()]
    if not any(counts):
        return True
    together = _within_one([count.total() for count in counts])
    apart = all(_within_one([count[t] for count in counts]) for t in set().union(*counts))
    if strategy in BY_TOPIC or all(KAFKA_GO in f"{one.member} {one.client}" for one in members):
        return apart
    return together or (apart and strategy is None)


def _within_one(sizes: list[int]) -> bool:
    return max(sizes) - min(sizes) <= 1


def _topics(
    seen: Seen, cluster: dict[str, TopicRow], protocol: str, subscribed: dict, say: Say
) -> list[dict[str, Any]]:
    partitions: dict[str, dict[Partition, None]] = {}
    targets = [(t, None, n) for member in seen.members.values() for t, n in member.target or ()]
    for partition in (*seen.owners, *seen.lags, *targets):
        partitions.setdefault(partition[0], {})[partition] = None
    names = dict.fromkeys((*partitions, *(topic for own in subscribed.values() for topic in own)))
    rows = [cluster.get(name, TopicRow(name)) for name in names]
    entries = [_topic(row, list(partitions.get(row.topic, ()))) for row in rows]
    if unknown := [entry["name"] for entry in entries if len(entry) == 1]:
        say(
            f"topics: without {_some(unknown)}; the text does not say how many partitions they have"
        )
    entries = [entry for entry in entries if len(entry) > 1]
    told = {row.topic for row in rows if row.partitions is not None}
    held = [p for p in seen.owners if seen.owners[p] or p in seen.hosts] + targets
    highest: dict[str, int] = {}
    for topic, _, number in held:
        highest[topic] = max(highest.get(topic, -1), number)
    for entry in entries:
        most = highest.get(entry["name"], -1)
        if entry.get("partitions", most + 1) <= most:
            say(
                f"partitions: {entry['name']} has {entry['partitions']} by one text, in another its number"
                f" {most} is held: {TWO_MOMENTS}, or of two clusters"
            )
            entry["partitions"] = most + 1
            entry.pop("racks", None)
    for row in rows:
        if row.other is not None:
            say(
                f"partitions: {row.topic} has {row.partitions} by one text, {row.other} by another:"
                f" {TWO_MOMENTS}, or of two clusters"
            )
    if guessed := [entry["name"] for entry in entries if entry["name"] not in told]:
        say(f"partitions: as many of {_some(guessed)} as the highest number tells")
    if protocol == "consumer" and any("id" not in entry for entry in entries):
        say("topic ids: made from the names (kafka-topics --describe has them)")
    _add_weights(entries, seen, say)
    for entry in entries:
        count = entry.get("partitions", 0)
        if 0 < count <= len(seen.ends):
            ends = [seen.ends.get((entry["name"], None, i)) for i in range(count)]
            if None not in ends:
                entry["ends"] = ends
    return entries


def _topic(row: TopicRow, partitions: list[Partition]) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": row.topic}
    brokers: dict[str, int] = {}
    for _, broker, number in partitions:
        if broker is not None:
            brokers[broker] = max(brokers.get(broker, 0), number + 1)
    seen = [-1 if row.highest is None else row.highest, *(number for _, _, number in partitions)]
    if brokers:
        entry["brokers"] = [[broker, count] for broker, count in brokers.items()]
    elif row.partitions is not None or max(seen) >= 0:
        entry["partitions"] = max(seen) + 1 if row.partitions is None else row.partitions
    if row.id is not None:
        entry["id"] = row.id
    if row.racks is not None:
        entry["racks"] = [list(replicas) for replicas in row.racks]
    return entry


def _add_weights(entries: list[dict[str, Any]], seen: Seen, say: Say) -> None:
    """The lag as the partitions' weights, if it is there for all of them."""
    lags = {entry["name"]: _lags(entry, seen) for entry in entries}
    missing = [name for name, known in lags.items() if known is None]
    if seen.lags and not missing:
        for entry in entries:
            entry["weights"] = lags[entry["name"]]
        below = sum(lag is not None and lag < 0 for lag in seen.lags.values())
        say(
            "weights: the lag, in records"
            + f"; {below} below 0, taken for 0" * bool(below)
            + f"; {seen.two_lags} told twice, the first counts" * bool(seen.two_lags)
        )
    elif seen.lags:
        say(f"weights: none; the text lacks lags of {_some(missing)}")


def _lags(entry: dict[str, Any], seen: Seen) -> list[int] | None:
    """The lag of every partition of a topic; None where one is missing."""
    queues = entry.get("brokers", [[None, entry.get("partitions")]])
    if sum(count for _, count in queues) > len(seen.lags):
        return None
    partitions = [(entry["name"], broker, i) for broker, count in queues for i in range(count)]
    lags = [lag for p in partitions if (lag := seen.lags.get(p)) is not None]
    return [max(0, lag) for lag in lags] if len(lags) == len(partitions) else None


def _claim(holdings: Holdings | None, member: MemberRow, settled: bool) -> list[list] | None:
    """The claim; a member without a partition may only have joined while the group rebalances."""
    held = (holdings or {}).get(member.member)
    if held is None or not (held or settled):
        return None
    return [[t, number if broker is None else f"{broker}-{number}"] for t, broker, number in held]


def _add_generations(
    entries: list[dict[str, Any]], members: list[MemberRow], protocol: str, say: Say
) -> None:
    claiming = [(e, m) for e, m in zip(entries, members, strict=True) if e.get("owned") is not None]
    if protocol == "consumer":
        for entry, member in claiming:
            if member.epoch is not None:
                entry["generation"] = member.epoch
    elif protocol == "classic":
        for entry, _ in claiming:
            entry["generation"] = entry["sub_generation"] = GENERATION
        if claiming:
            say(f"generations: {GENERATION} for every claim; no text has them")


def _say_what_no_text_has(
    members: list[MemberRow], topics: list[dict[str, Any]], holdings: Holdings | None, say: Say
) -> None:
    if members:
        claims = ", claims by number" if holdings else ""
        say(f"order: members as the text lists them{claims}; the coordinator's own is not printed")
        of_members = all(member.rack is not None for member in members)
        of_replicas = bool(topics) and all("racks" in topic for topic in topics)
        if not of_members and not of_replicas:
            say("racks: none, neither of members nor of replicas")
        elif not of_members or not of_replicas:
            say(f"racks: none of some {'replicas' if of_members else 'members'}")


def _name(partition: Partition) -> str:
    topic, broker, number = partition
    return f"{topic}-{number}" if broker is None else f"{topic} {broker}-{number}"


def _some(names: Iterable[str]) -> str:
    """The names, at most three of them.

    >>> _some(["a", "b"]), _some(["a", "b", "c", "d", "e"]), _some([])
    ('a, b', 'a, b, c and 2 more', 'nothing')
    """
    names = [printable(name) for name in names]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more if names else "nothing"
