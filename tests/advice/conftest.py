"""Groups to ask about."""

import pytest


def document(counts, sizes, strategy="range", **fields):
    """A settled classic group: topics with these counts, every member to all of them.

    ``sizes``: what the members hold, a list of ``topic-partition`` words each.
    """
    topics = [{"name": name, "partitions": count} for name, count in counts.items()]
    members = [
        {
            "id": f"c{number}-00000000-0000-4000-8000-00000000000{number}",
            "topics": list(counts),
            "owned": [[word.rpartition("-")[0], int(word.rpartition("-")[2])] for word in words],
            "generation": 1,
            "sub_generation": 1,
        }
        for number, words in enumerate(sizes)
    ]
    found = {"strategy": strategy, "topics": topics, "members": members, "inferred": []}
    return {"group": "billing", "state": "Stable"} | found | fields


@pytest.fixture
def range_3_5():
    """Topics of 3 and 5 partitions on 4 members under range: 3/2/2/1."""
    held = [["a-0", "b-0", "b-1"], ["a-1", "b-2"], ["a-2", "b-3"], ["b-4"]]
    return document({"a": 3, "b": 5}, held)
