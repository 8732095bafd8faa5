"""A group from plain names: the short way for examples and notebooks."""

from collections.abc import Mapping, Sequence

from assignlab.errors import DocumentError
from assignlab.group.model import Group


def group(
    topics: Mapping[str, int],
    members: Mapping[str, Sequence[str]],
    owned: Mapping[str, Sequence[tuple[str, int]]] | None = None,
    generation: int | None = None,
    instances: Mapping[str, str] | None = None,
    racks: Mapping[str, str] | None = None,
    streams: int | None = None,
    weights: Mapping[str, Sequence[float]] | None = None,
) -> Group:
    """A group from plain names: the short way for examples and notebooks.

    ``topics``: partition count by topic; ``members``: subscribed topics by member, in the
    coordinator's order; ``owned``: claims by member; ``generation`` of all claims; ``streams``:
    threads of every consumer (Kafka 0.8); ``weights``: by topic, one number for each partition.

    >>> g = group({"t0": 3}, {"C0": ["t0"], "C1": ["t0"]})
    >>> len(g.members), len(g.topics)
    (2, 1)
    """
    from assignlab.group.document import parse

    weights = weights or {}
    if unknown := weights.keys() - topics.keys():
        raise DocumentError("weights", f"there is no topic {min(unknown)!r}")
    return parse(
        {
            "topics": [
                {"name": name, "partitions": count}
                | ({"weights": list(weights[name])} if name in weights else {})
                for name, count in topics.items()
            ],
            "members": [
                {
                    "id": member,
                    "topics": list(names),
                    **({"owned": owned[member]} if owned and member in owned else {}),
                    **(
                        {"generation": generation, "sub_generation": generation}
                        if generation is not None
                        else {}
                    ),
                    **(
                        {"instance": instances[member]} if instances and member in instances else {}
                    ),
                    **({"rack": racks[member]} if racks and member in racks else {}),
                    **({"streams": streams} if streams is not None else {}),
                }
                for member, names in members.items()
            ],
        }
    )
