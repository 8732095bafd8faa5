"""aiokafka's DefaultPartitioner. JSON lines as the others; null where it drew."""

import sys
from pathlib import Path

from aiokafka.partitioner import DefaultPartitioner

sys.path.insert(0, str(Path(__file__).parents[1]))
import drawing


def choose(topics, name, key):
    everything = list(range(topics[name]["partitions"]))
    return DefaultPartitioner()(key, everything, topics[name]["available"])


drawing.answer_all("aiokafka", choose)
