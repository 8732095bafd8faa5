"""Your own group: what tools print about consumer groups, read into group documents.

``read`` takes the texts, ``formats/`` has one file per format, ``inference`` fills in what no text
has and says so, ``show`` tells what a document has. ``live`` asks a cluster instead.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any

from assignlab.errors import AssignlabError, GroupError, refuse_unknown
from assignlab.groups.inference import document
from assignlab.groups.live import Live
from assignlab.groups.reading import rows_of
from assignlab.groups.rows import DocumentRow, Row
from assignlab.groups.seen import NO_GROUP, gather
from assignlab.groups.text import open_text


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
    rows = list(chain.from_iterable(texts))
    read_whole = [row.document for row in rows if isinstance(row, DocumentRow)]
    cluster = gather(texts)
    names = [*(whole.get("group") or NO_GROUP for whole in read_whole), *cluster.groups]
    if not rows:
        raise AssignlabError(
            "the text has no row: the group has no members, or there is none of that name"
            " (kafka-consumer-groups says which, here or on stderr)"
        )
    if not names:
        raise AssignlabError(
            "no text describes a group: topics and lists of groups add to others"
            " (add kafka-consumer-groups --describe --group NAME)"
        )
    refuse_unknown("group", only, sorted(names))
    groups = [
        {**whole, "inferred": whole.get("inferred") or []}
        for whole in read_whole
        if not only or (whole.get("group") or NO_GROUP) in only
    ]
    for name, seen in cluster.groups.items():
        if only and name not in only:
            continue
        try:
            groups.append(document(seen, cluster.topics))
        except GroupError as error:
            if refused is None:
                raise
            refused.append(error)
    return groups
