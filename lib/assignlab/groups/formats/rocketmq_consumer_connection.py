"""RocketMQ's ``mqadmin consumerConnection -g GROUP``: clients and what they subscribe to.

    #ClientId            #ClientAddr      #Language  #Version
    127.0.0.1@12#34      127.0.0.1:51000  JAVA       V5_3_3

    Below is subscription:
    #Topic               #SubExpression
    %RETRY%billing       *
    orders               *

    ConsumeType: CONSUME_PASSIVELY
    MessageModel: CLUSTERING
    ConsumeFromWhere: CONSUME_FROM_LAST_OFFSET

All clients of a group subscribe alike. The group stands in the name of its retry topic.
"""

import re
from collections.abc import Iterator

from assignlab.groups.format import LineFormat
from assignlab.groups.formats.rocketmq_consumer_progress import RETRY
from assignlab.groups.lines import own_lines
from assignlab.groups.rows import GroupRow, MemberRow, Row
from assignlab.groups.text import Text

CLIENT = re.compile(r"\s*(?P<client>\S+)\s+\S+:\d+\s+[A-Z_]+\s+\S+\s*|\s*Below is subscription:\s*")
SUBSCRIPTION = re.compile(
    r"\s*(?:#Topic\s+#SubExpression\s*|ConsumeType: \w+\s*|MessageModel: (?P<model>\w+)\s*"
    r"|(?P<last>ConsumeFromWhere: .*)|(?P<topic>[%|a-zA-Z0-9_-]+)\s+\S.*)"
)


def read(text: Text) -> Iterator[Row]:
    """The group and its clients; its retry topic names it."""
    text.skip_line()
    clients = _found(text, CLIENT, "client", "a client and its address, or Below is subscription:")
    topics = _found(text, SUBSCRIPTION, "topic", "a topic and its expression, or a setting")
    retry = [topic for topic in topics if topic.startswith(RETRY)]
    group = retry[0].removeprefix(RETRY) if retry else text.group
    yield GroupRow(group, protocol="rocketmq", members=len(clients), topics=tuple(topics) or None)
    for client in clients:
        yield MemberRow(group, client, host=client.split("@")[0])


def _found(text: Text, line: re.Pattern, name: str, expected: str) -> list[str]:
    """The names in the lines up to the one that ends this part."""
    found = []
    for match in own_lines(text, line.fullmatch, lambda: text.unexpected(expected)):
        groups = match.groupdict()
        if groups.get("model") == "BROADCASTING":
            raise text.error("a broadcasting group shares nothing: every client reads all queues")
        if groups[name]:
            found.append(groups[name])
        elif groups.get("last") or match[0].lstrip().startswith("Below"):
            text.skip_line()
            break
    return found


FORMAT = LineFormat(
    "mqadmin consumerConnection", re.compile(r"\s*#ClientId\s+#ClientAddr\s+#Language\s+#Version\s*$"), read,
    source="ConsumerConnectionSubCommand of RocketMQ 5.3",
)  # fmt: skip
