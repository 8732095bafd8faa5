"""What the programs of the Python clients share: histories in, partitions out, null where one was drawn."""

import json
import sys

CALLS = 40


def answer_all(partitioner, choose):
    """Answer every line. ``choose``: the partition for (topics by name, the topic's name, the key)."""
    for line in sys.stdin:
        history = json.loads(line)
        if history["partitioner"] != partitioner:
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
                times = range(CALLS if key is None else 2)
                answers = {choose(topics, names[step[1]], key) for _ in times}
                partitions.append(answers.pop() if len(answers) == 1 else None)
        print(json.dumps({"partitions": partitions}))
