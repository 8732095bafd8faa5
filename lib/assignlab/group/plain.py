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

    lists = {name: list(each) for name, each in (weights or {}).items()}
    if unknown := lists.keys() - topics.keys():
        raise DocumentError("weights", f"there is no topic {min(unknown)!r}")
    return parse(
        {
            "topics": [
                {"name": name, "partitions": count, "weights": lists.get(name)}
                for name, count in topics.items()
            ],
            "members": [
                {
                    "id": member,
                    "topics": list(names),
                    "owned": (owned or {}).get(member),
                    "generation": generation,
                    "sub_generation": generation,
                    "instance": (instances or {}).get(member),
                    "rack": (racks or {}).get(member),
                    "streams": streams,
                }
                for member, names in members.items()
            ],
        }
    )
