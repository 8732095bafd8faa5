"""The orders of Java's maps that assignors walk: all at once as one map after the other."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignlab.assignors.parts import orders
from assignlab.group.plain import group
from assignlab.jvm.hash_map import hash_map_order

OF_ONE_HASH = ["".join(word) for word in product(("Aa", "BB"), repeat=4)]
"""Names of one hash code: nine of them in a map make a tree, or make it grow."""


def names(longest):
    plain = st.text("abz-.0189", min_size=1, max_size=6)
    return st.lists(plain | st.sampled_from(OF_ONE_HASH), min_size=1, max_size=longest, unique=True)


@st.composite
def groups(draw):
    topics = draw(names(30))
    subscriptions = st.lists(st.sampled_from(topics), unique=True)
    return group(
        {topic: draw(st.integers(0, 3)) for topic in topics},
        {member: draw(subscriptions) for member in draw(names(30))},
    )


def put(keys, known):
    """The keys after they were put into a map."""
    return keys[hash_map_order(known.hashes[keys], rank=known.rank[keys])]


def one_after_the_other(g):
    """The :class:`Walks` of a group, in Python."""
    members, topics = g.members, g.topics
    by_hash = put(np.arange(len(members)), members.names)
    met = dict.fromkeys(t for m in by_hash for t in members.topics_of(m).tolist())
    subscribed = put(np.array(list(met), dtype=np.int64), topics.names)
    there = put(subscribed[topics.partitions[subscribed] > 0], topics.names)
    by_name = sorted(there, key=lambda t: topics.names.rank[t])
    return orders.Walks(put(by_hash, members.names), subscribed, there, by_name)


def same_walks(g):
    for at_once, one in zip(orders.walks(g), one_after_the_other(g), strict=True):
        assert at_once.tolist() == list(one)


@settings(deadline=None)
@given(g=groups())
def test_all_walks_at_once_are_those_of_one_map_after_the_other(g):
    same_walks(g)


@pytest.mark.parametrize("crowded", ["members", "topics", "neither"])
def test_walks_of_crowded_and_of_other_maps(crowded):
    plain = [f"c{k}" for k in range(16)]
    topics = dict.fromkeys(OF_ONE_HASH if crowded == "topics" else plain, 2)
    ids = OF_ONE_HASH if crowded == "members" else plain
    same_walks(group(topics, {key: list(topics) for key in ids}))


@settings(max_examples=50, deadline=None)
@given(groups(), st.randoms(use_true_random=False))
def test_subscribers_are_the_same_looked_up_by_name_or_by_kind_of_topics(the_group, random):
    order = np.arange(len(the_group.members))
    random.shuffle(order)
    order = order[: random.randint(1, order.size)]
    by_name = orders.subscribers(the_group, order)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(orders, "MANY", 0)
        by_kind = orders.subscribers(the_group, order)
    assert [side.tolist() for side in by_name] == [side.tolist() for side in by_kind]
