"""A group from plain names: the short way for examples and notebooks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from assignlab.errors import DocumentError, shown
from assignlab.group.model import NO_METADATA, Group


def group(
    topics: Mapping[str, int | None],
    members: Mapping[str, Sequence[str]],
    owned: Mapping[str, Sequence[tuple[str, int]]] | None = None,
    generation: int | None = None,
    instances: Mapping[str, str] | None = None,
    racks: Mapping[str, str] | None = None,
    streams: int | None = None,
    weights: Mapping[str, Sequence[float]] | None = None,
) -> Group:
    """A group from plain names: the short way for examples and notebooks.

    ``topics``: partition count by topic, None for a topic that the cluster does not have;
    ``members``: subscribed topics by member, in the coordinator's order; ``owned``, ``instances``,
    ``racks``: claims, instance id, rack by member; ``generation`` of all claims; ``streams``:
    threads of every consumer (Kafka 0.8); ``weights``: by topic, one number for each partition.
    Raises :class:`~assignlab.errors.DocumentError`, which names the field and the reason.

    >>> g = group({"t0": 3}, {"C0": ["t0"], "C1": ["t0"]})
    >>> g
    Group(members=2, topics=1, partitions=3, claimed=0)
    """
    from assignlab.group.document import parse

    owned, instances = owned or {}, instances or {}
    racks, weights = racks or {}, weights or {}
    given: dict[str, Any] = {"topics": topics, "members": members, "weights": weights}
    given |= {"owned": owned, "instances": instances, "racks": racks}
    for name, mapping in given.items():
        if not isinstance(mapping, Mapping):
            raise DocumentError(name, f"expected a mapping by name, got {shown(mapping)}")
        kind, known = ("topic", topics) if name == "weights" else ("member", members)
        free = name in ("topics", "members", "owned")  # an earlier answer names members that left
        if not free and (unknown := set(mapping) - set(known)):
            raise DocumentError(name, f"there is no {kind} {shown(min(unknown, key=str))}")
    for member, names in members.items():
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise DocumentError(f"topics of {member!r}", f"expected a list, got {shown(names)}")
    lists = {
        name: _plain(list(each) if isinstance(each, Iterable) else each)
        for name, each in weights.items()
    }
    made = parse(
        {
            "topics": [
                {
                    "name": name,
                    "partitions": _plain(0 if count is None else count),
                    "weights": lists.get(name),
                }
                for name, count in topics.items()
            ],
            "members": [
                {
                    "id": member,
                    "topics": list(names),
                    "owned": _plain(owned.get(member)),
                    "generation": _plain(generation),
                    "sub_generation": _plain(generation),
                    "instance": instances.get(member),
                    "rack": racks.get(member),
                    "streams": _plain(streams),
                }
                for member, names in members.items()
            ],
        }
    )
    partitions = made.topics.partitions.copy()
    gone = [topic for topic, count in enumerate(topics.values()) if count is None]
    partitions[gone] = NO_METADATA
    return made.with_topics(replace(made.topics, partitions=partitions))


def _plain(given: Any) -> Any:
    """NumPy's numbers as Python's, in lists too; what is neither is left to the check of documents."""
    if isinstance(given, np.generic | np.ndarray):
        return given.tolist()
    return [_plain(one) for one in given] if isinstance(given, list | tuple) else given
