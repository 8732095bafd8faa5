"""The words of the pages: one per thing, what it means, which columns carry it, where sources stand.

Pages show words and keep the columns' names for the files; ``docs/glossary.md`` is written from here.
"""

import html
import numbers
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple


class Term(NamedTuple):
    """A word of the pages. ``columns``: column of a table -> its heading."""

    word: str
    meaning: str
    columns: Mapping[str, str] = MappingProxyType({})


TERMS = (
    Term("group", "consumers that share topics: every partition is read by one of them"),
    Term("member", "a consumer in its group; the group has m members",
         {"members": "members", "members_now": "members", "idle": "idle members"}),
    Term("partition", "a part of a topic; 'partitions' alone are those of all topics, else they "
         "are 'a topic'",
         {"partitions": "partitions", "partitions_per_topic": "partitions a topic",
          "each": "partitions a topic", "partitions_now": "partitions"}),
    Term("strategy", "who gets which partition: an assignor, by the name `assignlab strategies` "
         "lists"),
    Term("server-uniform, server-range", "this lab's names for the coordinator's `uniform` and "
         "`range` of KIP-848: members with group.protocol=consumer ask for one by "
         "group.remote.assignor, brokers list them in group.consumer.assignors"),
    Term("@release", "the strategy as that release of its system has it; without it, the newest"),
    Term("gap", "partitions of the fullest member minus those of the emptiest",
         {"count_gap": "gap", "count_gap_low": "gap, 5 %", "count_gap_high": "gap, 95 %",
          "optimum_gap": "gap of the optimum", "widest_gap": "widest gap"}),
    Term("fullest / mean", "partitions of the fullest member over the mean; 1 is even",
         {"max_over_mean": "fullest / mean", "max_over_mean_low": "fullest / mean, 5 %",
          "max_over_mean_high": "fullest / mean, 95 %",
          "optimum_ratio": "fullest / mean of the optimum"}),
    Term("floor", "the least 'fullest / mean' with equal subscriptions: ceil(P / m) over P / m",
         {"floor": "floor"}),
    Term("uneven topics", "topics whose partitions the number of members does not divide",
         {"uneven_topics": "uneven topics"}),
    Term("load", "the weights of a member's partitions, summed; its bound is what no assignment is "
         "below",
         {"load_max_over_mean": "most loaded / mean", "load_max_over_mean_bound": "bound of it",
          "load_percent": "above the bound (%)"}),
    Term("claim", "what a member says it owned before, when a new assignment is made"),
    Term("generation", "the number of a group's assignment; every rebalance raises it"),
    Term("rebalance", "the group gets a new assignment, in one or more rounds of joining",
         {"rounds": "rounds"}),
    Term("stayed", "of the partitions that members held before: those that the same member has "
         "afterwards",
         {"stayed": "stayed", "held": "held before"}),
    Term("forced", "partitions whose owner left or no longer subscribes", {"forced": "forced"}),
    Term("by choice", "partitions taken from a member that could have kept them: needed and "
         "avoidable ones",
         {"by_choice": "by choice"}),
    Term("needed", "of 'by choice': as many as any answer that is at least as even must move",
         {"needed": "needed", "fewest": "fewest moves"}),
    Term("avoidable", "of 'by choice': those beyond the needed ones", {"avoidable": "avoidable"}),
    Term("moved", "partitions that were taken from their owner, forced and by choice",
         {"moved": "moved", "moved_percent": "moved (%)"}),
    Term("interrupted", "partitions that nobody reads for a moment: forced, by choice, or given up "
         "and got again",
         {"interrupted": "interrupted", "revoked_kept": "given up, got again"}),
    Term("optimum", "the proven best assignment of the group"),
    Term("regret", "what an answer is worse than the optimum: gap beyond its gap, moves beyond the "
         "needed ones",
         {"gap_regret": "gap regret", "gap_regret_high": "gap regret, most",
          "moves_regret": "moves regret", "moves_regret_high": "moves regret, most",
          "largest_regret": "largest gap regret", "regret_percent": "moves regret (%)"}),
    Term("eager, cooperative, server", "the protocols: give up all before a rebalance; give up "
         "only what goes elsewhere; let the coordinator assign (KIP-848)"),
    Term("two bounces", "the way from an eager strategy to cooperative-sticky: every member "
         "restarts twice, first with both on its list, then with the new one alone"),
    Term("static member", "a member with group.instance.id: it may restart without a rebalance"),
    Term("coordinator", "the broker that keeps a group: who its members are, its generation, its "
         "committed offsets"),
    Term("timeline", "a group played in simulated time: heartbeats, joins, fetches and commits, "
         "each at its moment"),
    Term("exhibit", "the smallest group found that shows a fault of an original"),
    Term("session", "time without a sign of life after which a member is given up"),
    Term("drift", "how much later than due each heartbeat is sent at most, in ms; it adds up from "
         "one to the next, until a rebalance puts all members in step",
         {"drift_ms": "drift (ms)", "heartbeat_drift_ms": "drift (ms)"}),
    Term("partition-seconds without an owner", "for each partition the time in which no member "
         "owned it, summed",
         {"unowned_s": "without an owner (partition-s)",
          "unowned_percent": "without an owner (%)"}),
    Term("delivered again, never delivered", "records that were handed out more than once, or not "
         "at all",
         {"repeated": "delivered again", "lost": "never delivered",
          "repeated_per_1000": "again, per 1,000", "repeated_per_1000_low": "again, least",
          "repeated_per_1000_high": "again, most", "lost_per_1000": "never, per 1,000",
          "aborted": "aborted", "aborted_per_1000": "aborted, per 1,000"}),
    Term("offset", "a record's number in its partition; a partition's next owner reads from the "
         "committed one on"),
    Term("lag", "records in the log that the group has not read yet",
         {"lag_most": "most lag (records)"}),
    Term("5 %, 95 %", "the values that 5 % and 95 % of the groups stay below"),
    Term("a ± b", "the mean of independent draws, and how far its 95 % interval reaches, unless a "
         "caption says otherwise"),
    Term("FULL, STABLE", "events: all partitions are dealt out for the first time; a rebalance "
         "though nothing changed"),
    Term("JOIN_ONE, LEAVE_ONE", "events: a member joins; the last member leaves"),
    Term("JOIN_MANY, LEAVE_MANY", "events: one member in ten, rounded up, joins or leaves"),
    Term("CRASH", "an event: a member is expelled"),
    Term("TOPIC_CREATED, TOPIC_DELETED", "events: a topic appears, or goes with its partitions"),
    Term("PARTITIONS_ADDED", "an event: one topic in ten, rounded up, gains a partition"),
    Term("SUBSCRIBE, UNSUBSCRIBE", "events: a member takes up one more topic, or drops one"),
    Term("HOMOGENEOUS", "all members read all topics",
         {"subscription": "subscriptions", "readers": "subscriptions"}),
    Term("HETEROGENEOUS_NESTED", "five buckets of members at most, as many ranges of topics; "
         "bucket b reads ranges 0 to b"),
    Term("HETEROGENEOUS_DISJOINT", "buckets of members that share no topic"),
    Term("RANDOM", "every member reads every topic with probability one half, and one topic at "
         "least"),
    Term("000, 001, 002, 003, 004", "the five articles that this collection started from: 000 on "
         "Kafka's three assignors; 001 on poll, offsets, generations and rebalances; 002 on "
         "partitions, producers and consumers; 003 on the source of the assignors of Kafka 2.0.1; "
         "004 on MetaQ's two strategies"),
)  # fmt: skip

WHEN = {
    "FULL": "a new group starts",
    "STABLE": "nothing changes",
    "JOIN_ONE": "a member joins",
    "JOIN_MANY": "one member in ten joins",
    "LEAVE_ONE": "the last member leaves",
    "LEAVE_MANY": "one member in ten leaves",
    "CRASH": "a member is expelled",
    "RETURN": "expelled members come back",
    "RESTART": "a member restarts",
    "ROLLING_RESTART": "all members restart in turn",
    "SUBSCRIBE": "a member takes up a topic",
    "UNSUBSCRIBE": "a member drops a topic",
    "TOPIC_CREATED": "a topic appears",
    "TOPIC_DELETED": "a topic is deleted",
    "TOPIC_RECREATED": "a topic is created anew",
    "PARTITIONS_ADDED": "one topic in ten grows",
}
"""Events by the name that parameters have, in the words of the pages: they fit behind "when"."""

UNITS = {"_s": "s", "_ms": "ms", "_percent": "%"}
"""The end of a column's name -> the unit that it says."""
HEADINGS = {column: heading for term in TERMS for column, heading in term.columns.items()}


def heading(column: str) -> str:
    """What a page writes above a column: a name with a blank is in words already.

    >>> heading("count_gap"), heading("moved_after"), heading("settled_s"), heading("time s")
    ('gap', 'moved after', 'settled (s)', 'time s')
    >>> heading("partition of __consumer_offsets")
    'partition of __consumer_offsets'
    """
    if " " in column:
        return column
    for ending, unit in UNITS.items():
        if column not in HEADINGS and column.endswith(ending):
            return f"{column.removesuffix(ending).replace('_', ' ')} ({unit})"
    return HEADINGS.get(column, column.replace("_", " "))


def counted(number: object, thing: str) -> str:
    """So many things; the number may be anything that is written as one.

    >>> counted(1, "member"), counted(3, "member"), counted("1,200", "record")
    ('1 member', '3 members', '1,200 records')
    """
    return f"{number} {thing}{'s' * (str(number) != '1')}"


def spelled_out(text: str) -> str:
    """A text with its events in words, :data:`WHEN`.

    >>> spelled_out("JOIN_ONE"), spelled_out("sticky after LEAVE_ONE, nested"), spelled_out("STABLE_1")
    ('a member joins', 'sticky after the last member leaves, nested', 'STABLE_1')
    """
    return re.sub(r"\b[A-Z_]{4,}\b", lambda name: WHEN.get(name[0], name[0]), text)


def beyond(gap: float, moves: float) -> str:
    """How far an answer is from the optimum, by its gap regret and its moves regret.

    >>> beyond(2, 1), beyond(0, 20), beyond(0, 0)
    ('a gap 2 too wide and 1 move too many', '20 moves too many', 'sizes less even')
    """
    told = [f"a gap {gap:.0f} too wide"] * (gap > 0)
    told += [f"{counted(f'{moves:.0f}', 'move')} too many"] * (moves > 0)
    return " and ".join(told) or "sizes less even"


def span(low: float, high: float) -> str:
    """From the one to the other, in whole numbers; told once where they are written alike.

    >>> span(3.94, 9.01), span(47.3, 47.4), span(0, 0.28), span(27, 1111.4)
    ('4 to 9', '47', '0 to under 1', '27 to 1,111')
    """
    ends = ["under 1" if 0 < end < 1 else f"{end:,.0f}" for end in (low, high)]
    return " to ".join(dict.fromkeys(ends))


def listed(names: Iterable[str], most: int | None = None) -> str:
    """Names in a sentence; ``most``: how many of them, where they are more by two at least.

    >>> listed(["range", "sticky", "uniform"]), listed("abcd", 2), listed([])
    ('range, sticky and uniform', 'a, b and 2 more', 'none')
    """
    some = list(names)
    if most and len(some) > most + 1:
        some = [*some[:most], f"{len(some) - most} more"]
    return " and ".join(filter(None, (", ".join(some[:-1]), *some[-1:]))) or "none"


def first_sentence(text: str) -> tuple[str, str]:
    """(the first sentence of a text, what follows it).

    >>> first_sentence("Not always. At 0.5 it is. Else not."), first_sentence("Yes")
    (('Not always.', 'At 0.5 it is. Else not.'), ('Yes', ''))
    """
    first, *rest = re.split(r"(?<=[.!?])\s+", text, maxsplit=1)
    return first, "".join(rest)


def terms_in(text: str) -> list[Term]:
    """The terms that a text uses, in the glossary's order.

    >>> [term.word for term in terms_in("The gap of static members (004)")][1:]
    ['gap', 'static member', '000, 001, 002, 003, 004']
    >>> terms_in("a lag-based one, 1,000 times, 0.004 s, 5.000")
    []
    """
    return [term for term in TERMS if re.search(_pattern(term), text)]


def _pattern(term: Term) -> str:
    if term.word == "@release":
        return r"\w@\d"
    words: Iterable[str] = term.word.split(", ")
    return "|".join(rf"(?<![\w.,-]){re.escape(word)}s?(?![\w-]|[.,]\w)" for word in words)


WIKI = "https://cwiki.apache.org/confluence/display/KAFKA/"
PROPOSALS = {
    "54": "KIP-54+-+Sticky+Partition+Assignment+Strategy",
    "341": "KIP-341%3A+Update+Sticky+Assignor%27s+User+Data+Protocol",
    "345": "KIP-345%3A+Introduce+static+membership+protocol+to+reduce+consumer+rebalances",
    "392": "KIP-392%3A+Allow+consumers+to+fetch+from+closest+replica",
    "394": "KIP-394%3A+Require+member.id+for+initial+join+group+request",
    "429": "KIP-429%3A+Kafka+Consumer+Incremental+Rebalance+Protocol",
    "480": "KIP-480%3A+Sticky+Partitioner",
    "792": "KIP-792%3A+Add+%22generation%22+field+into+consumer+protocol",
    "794": "KIP-794%3A+Strictly+Uniform+Sticky+Partitioner",
    "848": "KIP-848%3A+The+Next+Generation+of+the+Consumer+Rebalance+Protocol",
    "881": "KIP-881%3A+Rack-aware+Partition+Assignment+for+Kafka+Consumers",
    "932": "KIP-932%3A+Queues+for+Kafka",
}
REPOSITORIES = {
    "aiokafka": "aio-libs/aiokafka", "apache/kafka": "apache/kafka", "astraea": "skiptests/astraea",
    "confluent-kafka-go": "confluentinc/confluent-kafka-go", "franz-go": "twmb/franz-go",
    "kafka-go": "segmentio/kafka-go", "kafka-python": "dpkp/kafka-python",
    "kafkajs": "tulios/kafkajs", "librdkafka": "confluentinc/librdkafka",
    "node-rdkafka": "Blizzard/node-rdkafka", "node-sinek": "nodefluent/node-sinek",
    "RocketMQ": "apache/rocketmq", "rocketmq": "apache/rocketmq",
    "ruby-kafka": "zendesk/ruby-kafka", "sarama": "IBM/sarama",
}  # fmt: skip
CITED = re.compile(
    rf"KIP-(?P<kip>{'|'.join(PROPOSALS)})\b|(?P<issue>(?:KAFKA|SPARK)-\d+)\b"
    rf"|(?<![\w-])(?P<client>{'|'.join(REPOSITORIES)})"
    r"(?:,? (?:issues?|pull request) #?| ?(?:#|(?=\d{4}\b(?!\.))))(?P<number>\d+)\b"
)


def source(cited: re.Match) -> str:
    """The address of what a match of `CITED` names."""
    if cited["kip"]:
        return WIKI + PROPOSALS[cited["kip"]]
    if cited["issue"]:
        return f"https://issues.apache.org/jira/browse/{cited['issue']}"
    return f"https://github.com/{REPOSITORIES[cited['client']]}/issues/{cited['number']}"


def linked(page: str) -> str:
    """The HTML with a link at every issue and proposal that is named outside links and code.

    >>> linked("librdkafka 4783 is not in librdkafka 2.15.1")
    '<a href="https://github.com/confluentinc/librdkafka/issues/4783">librdkafka 4783</a> is not in \
librdkafka 2.15.1'
    >>> linked("confluent-kafka-go issue 622")
    '<a href="https://github.com/confluentinc/confluent-kafka-go/issues/622">\
confluent-kafka-go issue 622</a>'
    >>> linked("<p>See KAFKA-9965.</p> <code>KAFKA-1</code>")
    '<p>See <a href="https://issues.apache.org/jira/browse/KAFKA-9965">KAFKA-9965</a>.</p> \
<code>KAFKA-1</code>'
    """
    inside: list[str] = []
    pieces = re.split(r"(<!--.*?-->|<[^>]+>)", page, flags=re.DOTALL)
    for place, piece in enumerate(pieces):
        tag = re.match(r"<(/?)(a|code|pre|script|style|svg|title)\b", piece)
        if tag and tag[1]:
            inside = inside[: -1 if inside[-1:] == [tag[2]] else None]
        elif tag:
            inside.append(tag[2])
        elif not inside and not piece.startswith("<"):
            pieces[place] = CITED.sub(lambda m: f'<a href="{source(m)}">{m[0]}</a>', piece)
    return "".join(pieces)


NOTEBOOK = re.compile(r"\[([^\]]+)\]\((\d\d_\w+\.ipynb)\)")
"""A link to another notebook, as its text has it: what is read, and the file."""


def linking(text: str) -> str:
    """A text as HTML, with its links to other notebooks.

    >>> linking("Keep < 5: [06 upgrade](06_upgrade.ipynb).")
    'Keep &lt; 5: <a href="06_upgrade.ipynb">06 upgrade</a>.'
    """
    return NOTEBOOK.sub(r'<a href="\2">\1</a>', html.escape(text))


def cell(value) -> str:
    """A value as a table shows it.

    >>> [cell(value) for value in (True, 12345, 1234.5, 0.1234567, -0.0, 1e-7, float("nan"), None, "nan")]
    ['yes', '12,345', '1,234.5', '0.123', '0', '1e-07', '–', '–', 'nan']
    """
    if isinstance(value, str):
        return value
    if value is None or str(value) in ("<NA>", "nan", "NaT"):
        return "–"
    if str(value) in ("True", "False"):
        return "yes" if value else "no"
    if isinstance(value, numbers.Integral):
        return f"{int(value):,}"
    if isinstance(value, numbers.Real):
        value = float(value) + 0.0  # no -0
        rounded = f"{value:,.3f}".rstrip("0").rstrip(".")
        return rounded if value == 0 or rounded not in ("0", "-0") else f"{value:.3g}"
    return str(value)
