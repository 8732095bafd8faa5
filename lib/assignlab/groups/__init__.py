"""Your own group: what tools print about consumer groups, read into group documents.

``read`` takes the texts, ``formats/`` has one file per format, ``inference`` fills in what no text
has and says so, ``show`` tells what a document has. ``live`` asks a cluster instead.
"""

from collections.abc import Sequence
from typing import Any

from assignlab.errors import AssignlabError, GroupError, refuse_unknown
from assignlab.group.document import Document
from assignlab.groups.inference import document
from assignlab.groups.live import Live
from assignlab.groups.reading import rows_of
from assignlab.groups.rows import DocumentRow, Row
from assignlab.groups.seen import NO_GROUP, Cluster, Seen, gather
from assignlab.groups.show import partitions_in
from assignlab.groups.text import open_text
from assignlab.words import counted


def read(
    *sources: Any, only: str | Sequence[str] | None = (), refused: list[GroupError] | None = None
) -> list[dict[str, Any]]:
    r"""The group documents of texts that tools print; several together where one lacks something.

    A source is a path, ``-`` for standard input, an open file, a text itself, or a :class:`Live`
    cluster; ``only``: the groups that are meant, names or one name, all if there is none. Each document
    has ``inferred``: what was not in the texts, and what was taken instead. Raises
    :class:`~assignlab.errors.GroupError` for a group of which the texts say what does not go
    together; where there is a list ``refused``, that goes there and the other groups are read.
    Raises :class:`~assignlab.errors.TextError` with line and column where a text is not understood,
    :class:`~assignlab.errors.UnknownName` for a group that is not there, AssignlabError where no
    text describes a group, OSError where a file cannot be read.

    >>> [group] = read('''
    ... GROUP   TOPIC  PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST     CLIENT-ID
    ... billing orders 0         5              10             5   m1-b4ce     /1.2.3.4 m1
    ... billing orders 1         6              11             5   m2-17a2     /1.2.3.5 m2
    ... ''')
    >>> [(member["id"], member["owned"]) for member in group["members"]]
    [('m1-b4ce', [['orders', 0]]), ('m2-17a2', [['orders', 1]])]
    >>> [sentence for sentence in group["inferred"] if sentence.startswith("subscriptions")]
    ['subscriptions: every member to orders']
    """
    texts: list[list[Row]] = []
    only = [only] if isinstance(only, str) else only or ()
    for source in sources:
        if isinstance(source, Live):
            texts.append(list(source.rows()))
            continue
        text = open_text(source)
        if not text.content.strip():
            raise text.error("the text is empty: did the tool fail, and say why on stderr?")
        texts.append(list(rows_of(text)))
    cluster = gather(texts)
    wholes = [row.document for rows in texts for row in rows if isinstance(row, DocumentRow)]
    every: list[tuple[str, Any]] = [(whole.get("group") or NO_GROUP, whole) for whole in wholes]
    documents = {name for name, _ in every if name}
    every += [(name, seen) for name, seen in cluster.groups.items() if name not in documents]
    if not any(texts):
        raise AssignlabError(
            "the text has no row: the group has no members, or there is none of that name"
            " (kafka-consumer-groups says which, here or on stderr)"
        )
    if not every:
        raise AssignlabError(
            "no text describes a group: topics and lists of groups add to others"
            " (add kafka-consumer-groups --describe --group NAME)"
        )
    refuse_unknown("group", only, sorted(name for name, _ in every))
    groups: list[dict[str, Any]] = []
    for name, told in every:
        if only and name not in only:
            continue
        try:
            if isinstance(told, Seen):
                groups.append(document(told, cluster.topics))
            else:
                _refuse_more(told, cluster)
                groups.append({**told, "inferred": told.get("inferred") or []})
        except GroupError as error:
            if refused is None:
                raise
            refused.append(error)
    return groups


def _refuse_more(whole: Document, cluster: Cluster) -> None:
    """GroupError where texts tell of the group of a document, which takes nothing from others, or count the
    partitions of its topics otherwise."""
    name = whole.get("group") or NO_GROUP
    if name and name in cluster.groups:
        raise GroupError(
            name, "a group document tells of it and another text, too: give the one or the other"
        )
    for topic in whole["topics"]:
        count, row = partitions_in(topic), cluster.topics.get(topic["name"])
        if row is not None and row.partitions not in (None, count):
            raise GroupError(
                name,
                f"{topic['name']} has {counted(count, 'partition')} in the group document and"
                f" {row.partitions} in another text: a document takes nothing from others; correct it, or"
                " give the texts that it is from",
            )
