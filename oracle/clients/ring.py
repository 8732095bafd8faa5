"""What the bridges of the Python clients share: lines in, lines out, and a ring of processes.

Sticky assignors take partitions out of sets whose order follows Python's hash seed, so one process
always gives the same answer and another process may give another. Documents for them therefore go
round a ring of processes with seeds 1 to 16: whoever asks twice asks two of them. Whoever has asked
all of them and asks once more is answered by a new process, with the next seed.
"""

import itertools
import json
import os
import subprocess
import sys

SEEDS = range(1, 17)
ONE = "--one"
"""What a bridge is started with to be one process, with the hash seed that it has."""


def go_round(bridge, sticky):
    """Pass every line to a process of the bridge, those for ``sticky`` strategies to the next each time."""
    started = {}
    turn = itertools.cycle(SEEDS)
    before, repeated = None, 0
    for line in sys.stdin.buffer:
        in_turn = json.loads(line).get("strategy") in sticky
        repeated = repeated + 1 if line == before else 0
        before = line
        if in_turn and repeated >= len(SEEDS):
            with process(bridge, SEEDS.start + repeated) as newcomer:
                ask(newcomer, line)
            continue
        seed = next(turn) if in_turn else SEEDS.start
        if seed not in started:
            started[seed] = process(bridge, seed)
        ask(started[seed], line)


def process(bridge, seed):
    """A process of its own, with that hash seed."""
    return subprocess.Popen(
        [sys.executable, bridge, ONE],
        env=os.environ | {"PYTHONHASHSEED": str(seed)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def ask(asked, line):
    """Pass a line to a process, and its answer on; if that process has ended, so does the ring."""
    asked.stdin.write(line)
    asked.stdin.flush()
    said = asked.stdout.readline()
    if not said:
        sys.exit(asked.wait() or 1)
    say(said)


def answer_all(answer):
    """Answer every line in this process: ``answer``, from a document to a reply."""
    for line in sys.stdin.buffer:
        try:
            reply = answer(json.loads(line))
        except Exception as thrown:
            reply = {"error": f"{type(thrown).__name__}: {thrown}"}
        say(json.dumps(reply, ensure_ascii=False).encode() + b"\n")


def say(line):
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def runs(owned):
    """(topic, partitions) of every run of one topic, as the wire has them, of pairs (topic, partition)."""
    return [
        (topic, [partition for _, partition in run])
        for topic, run in itertools.groupby(owned or [], key=lambda pair: pair[0])
    ]


class BadDocument(Exception):
    """The original was not asked."""


class Cluster:
    """The part of ClusterMetadata that assignors ask: what a leader knows, the topics that somebody
    subscribes to."""

    def __init__(self, document):
        read = {name for member in document.get("members", []) for name in member["topics"]}
        topics = document.get("topics", [])
        self.partitions = {t["name"]: t["partitions"] for t in topics if t["name"] in read}

    def topics(self):
        return set(self.partitions)

    def partitions_for_topic(self, topic):
        return set(range(self.partitions[topic])) if topic in self.partitions else None
