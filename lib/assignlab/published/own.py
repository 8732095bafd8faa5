"""An assignor of one's own in ten lines: the next partition goes to the reader that has least.

A file like this one in ``assignlab/assignors/<system>`` with a ``STRATEGY`` beside it is known
everywhere by its name (CONTRIBUTING.md, "A strategy").
"""

import numpy as np

from assignlab.group.assignment import Assignment, by_member, code
from assignlab.group.model import Group, subscriptions_by_topic


def assign(group: Group) -> Assignment:
    """Every partition, topic by topic, to whoever reads the topic and has least so far.

    >>> from assignlab.group.plain import group
    >>> assign(group({"t0": 1, "t1": 2, "t2": 3}, {"c0": ["t0"], "c1": ["t0", "t1"],
    ...              "c2": ["t0", "t1", "t2"]})).sizes.tolist()
    [1, 1, 4]
    """
    reads = group.prepared(subscriptions_by_topic)[group.members.subscription]
    sizes, dealt = np.zeros(len(group.members)), []
    for topic, partitions in enumerate(group.topics.partitions):
        readers = np.flatnonzero(reads[:, topic])
        for partition in range(partitions if readers.size else 0):
            owner = readers[sizes[readers].argmin()]
            sizes[owner] += 1
            dealt.append((owner, code(topic, partition)))
    owners, codes = np.array(dealt, dtype=np.int64).reshape(-1, 2).T
    return Assignment(*by_member(owners, codes, len(group.members)))
