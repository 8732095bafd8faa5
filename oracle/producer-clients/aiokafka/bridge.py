"""aiokafka's DefaultPartitioner. JSON lines as the others; null where it drew."""

import json
import sys

from aiokafka.partitioner import DefaultPartitioner

CALLS = 40


def chosen(topic, key):
    answers = {
        DefaultPartitioner()(key, list(range(topic["partitions"])), topic["available"])
        for _ in range(CALLS if key is None else 2)
    }
    return answers.pop() if len(answers) == 1 else None


for line in sys.stdin:
    history = json.loads(line)
    if history["partitioner"] != "aiokafka":
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
            partitions.append(chosen(topics[names[step[1]]], key))
    print(json.dumps({"partitions": partitions}))
