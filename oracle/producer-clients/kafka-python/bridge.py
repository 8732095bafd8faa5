"""kafka-python's DefaultPartitioner. JSON lines as the others; null where it drew."""

import json
import sys

from kafka.partitioner import DefaultPartitioner

CALLS = 40


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


def chosen(partitioner, topic, key, cluster):
    answers = {
        partitioner.partition(topic, key, key, None, None, cluster)
        for _ in range(CALLS if key is None else 2)
    }
    return answers.pop() if len(answers) == 1 else None


for line in sys.stdin:
    history = json.loads(line)
    if history["partitioner"] != "kafka-python":
        print(json.dumps({"error": f"BadDocument: no partitioner {history['partitioner']}"}))
        continue
    topics = {topic["name"]: dict(topic) for topic in history["topics"]}
    names = list(topics)
    partitions = []
    for step in history["steps"]:
        if step[0] == "available":
            topics[names[step[1]]]["available"] = step[2]
        else:
            key = None if step[2] is None else bytes.fromhex(step[2])
            partitions.append(chosen(DefaultPartitioner(), names[step[1]], key, Cluster(topics)))
    print(json.dumps({"partitions": partitions}))
