"""kafka-python's DefaultPartitioner. JSON lines as the others; null where it drew."""

import sys
from pathlib import Path

from kafka.partitioner import DefaultPartitioner

sys.path.insert(0, str(Path(__file__).parents[1]))
import drawing


class Cluster:
    """What the partitioner asks of its cluster."""

    def __init__(self, topics):
        self.known = topics

    def topics(self):
        return set(self.known)

    def partitions_for_topic(self, topic):
        return set(range(self.known[topic]["partitions"]))

    def available_partitions_for_topic(self, topic):
        return set(self.known[topic]["available"])


def choose(topics, name, key):
    return DefaultPartitioner().partition(name, key, key, None, None, Cluster(topics))


drawing.answer_all("kafka-python", choose)
