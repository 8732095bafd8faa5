"""Random histories of a producer, to be asked of the original and of ours, and the comparison.

A history is a JSON object: ``partitioner``, ``seed`` (of the draws, unsigned 64 bits, as text),
``topics`` (``name``, ``partitions``, ``available``), ``batch_size`` (built-in only) and ``steps``:

- ``["send", topic, key, explicit, new_batch, full_before, full_after, size]``, key as hex or null,
- ``["available", topic, [partitions with a leader, in order]]``,
- ``["loads", topic, [waiting batches] or null, [partitions], how many are not excluded]``,
- ``["refresh"]``: Kafka 0.8 forgets its partitions for records without a key.

``built-in-racks`` is the built-in partitioner with ``racks``: per topic and partition, the leader's
rack; the producer is in rack "a".

A history of the producer's buffer (``partitioner`` is ``accumulator``) has ``accumulator``
(settings), ``partitions`` of its one topic, and steps ``["append", bytes of the value]``,
``["ready"]``, ``["drain", partition]`` and ``["latency", partition, now, 1 where it can drain]``.

The answer is ``{"partitions": [...], "random": state of the generator afterwards}``, or
``{"error": class of the exception}``; a partition is null where the original drew by itself.
"""

import random
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from assignlab import producers
from assignlab.errors import OriginalError
from assignlab.producers import accumulator, kafka_built_in
from assignlab.producers.draws import generator, scrambled
from assignlab.producers.kafka_scala import refreshed
from assignlab.producers.partitioner import Partitioner, State, fresh, topics

History = dict[str, Any]
WORDS = ("orders", "payments", "clicks", "users", "Müller", "用户", "событие", "a", "the", "of",
         "zebra", "£", "0", "user-1", "user-2")  # fmt: skip
SINGLE_TOPIC = ("rocketmq", "metaq", "sarama-round-robin")


def key_pool(count: int, seed: int) -> list[bytes]:
    """Keys of many lengths and kinds: words, numbers, UUIDs, none at all; all of them UTF-8."""
    made = random.Random(seed)
    pool = [b"", *(word.encode() for word in WORDS)]
    while len(pool) < count:
        kind = made.random()
        if kind < 0.3:
            pool.append(str(made.randrange(10 ** made.randint(1, 12))).encode())
        elif kind < 0.5:
            pool.append(f"{made.getrandbits(32):08x}-{made.getrandbits(16):04x}".encode())
        elif kind < 0.9:
            pool.append(bytes(made.randrange(32, 127) for _ in range(made.randrange(1, 40))))
        else:
            points = [made.randrange(0x100, 0xD7FF) for _ in range(made.randrange(1, 12))]
            pool.append("".join(map(chr, points)).encode())
    return pool


def history(name: str, seed: int, number: int, pool: Sequence[bytes], sends: int = 0) -> History:
    """One history for a partitioner; the same arguments give the same one.

    ``sends``: how many records, drawn between 5 and 45 where it is 0.
    """
    made = random.Random(f"{name} {seed} {number}")
    if name == BUFFER:
        return _buffer_history(made)
    partitioner = producers.get(name.removesuffix(RACKS))
    found: History = {
        "partitioner": name,
        "seed": str(made.getrandbits(47 if partitioner.seeded is scrambled else 64)),
        "topics": [_topic(made, i) for i in range(made.randint(1, 3))],
        "steps": [],
    }
    if name.startswith("built-in"):
        found["batch_size"] = made.choice([1, 50, 200, 1000])
    if name.endswith(RACKS):
        found["racks"] = [
            [made.choice(["a", "b", None]) for _ in range(topic["partitions"])]
            for topic in found["topics"]
        ]
    counts = [topic["partitions"] for topic in found["topics"]]
    for _ in range(sends or made.randint(5, 45)):
        topic = made.randrange(len(counts))
        found["steps"].append(_send(made, partitioner, topic, counts[topic], pool))
        if made.random() < 0.08:
            found["steps"] += _disturbance(made, name, counts)
    if partitioner.explicit_errors and name != "default@0.8.2" and made.random() < 0.05:
        found["steps"].append(["send", 0, None, -1 - made.randrange(3), 0, 0, 0, 0])
    return found


BUFFER = "accumulator"
RACKS = "-racks"


def _topic(made: random.Random, number: int) -> dict[str, Any]:
    partitions = made.choice([1, 2, 3, 5, 8, 12, 31, 100])
    return {
        "name": f"t{number}",
        "partitions": partitions,
        "available": _available(made, partitions),
    }


def _available(made: random.Random, partitions: int) -> list[int]:
    kind = made.random()
    if kind < 0.5:
        return list(range(partitions))
    some = made.sample(range(partitions), made.randint(0, partitions))
    return some if kind < 0.75 else sorted(some)


def _send(made, partitioner: Partitioner, topic: int, partitions: int, pool) -> list:
    needs_key = partitioner.name == "rocketmq-hash"
    key = pool[made.randrange(len(pool))].hex() if made.random() < 0.5 or needs_key else None
    explicit = None
    if partitioner.explicit_errors and made.random() < 0.1:
        explicit = made.randrange(partitions)
    flags = [int(made.random() < chance) for chance in (0.3, 0.4, 0.4)]
    return ["send", topic, key, explicit, *flags, made.choice([0, 1, 20, 70, 300])]


def _disturbance(made, name: str, counts: list[int]) -> list[list]:
    topic = made.randrange(len(counts))
    if name.startswith(SINGLE_TOPIC):
        return []
    if name.startswith("scala") and made.random() < 0.5:
        return [["refresh"]]
    if name.startswith("built-in") and made.random() < 0.7:
        ids = made.sample(range(counts[topic]), made.randint(1, counts[topic]))
        queues = [made.choice([0, 0, 1, 3, 9]) for _ in ids]
        if made.random() < 0.1:
            return [["loads", topic, None, None, 0]]
        return [["loads", topic, queues, ids, made.randint(0, len(ids))]]
    return [["available", topic, _available(made, counts[topic])]]


def _buffer_history(made: random.Random) -> History:
    partitions = made.choice([1, 2, 3, 5, 8])
    steps: list[list] = []
    now = 0
    for _ in range(made.randint(20, 90)):
        kind = made.random()
        if kind < 0.62:
            steps.append(["append", made.choice([0, 10, 30, 60, 100, 200, 400])])
        elif kind < 0.77:
            steps.append(["ready"])
        elif kind < 0.9:
            steps.append(["drain", made.randrange(partitions)])
        else:
            now += made.randrange(60)
            steps.append(["latency", made.randrange(partitions), now, int(made.random() < 0.4)])
    settings = {
        "batch.size": str(made.choice([100, 300, 1000])),
        "partitioner.availability.timeout.ms": made.choice(["0", "0", "5", "50"]),
        "linger.ms": "0",
        "enable.idempotence": "false",
    }
    return {"partitioner": BUFFER, "accumulator": settings, "partitions": partitions,
            "seed": str(made.getrandbits(64)), "steps": steps}  # fmt: skip


def _play_buffer(of: History) -> History:
    kinds = ("append", "ready", "drain", "latency")
    steps = [[kinds.index(step[0]), *step[1:], 0, 0, 0][:4] for step in of["steps"]]
    settings = of["accumulator"]
    chosen, state = accumulator.partitions_of(
        steps,
        of["partitions"],
        int(settings["batch.size"]),
        int(settings["partitioner.availability.timeout.ms"]),
        fresh(topics([of["partitions"]]), generator(int(of["seed"]))),
    )
    return {"partitions": chosen.tolist(), "random": str(int(state.random[0]))}


def our_answer(of: History) -> History:
    name = of["partitioner"]
    if name == BUFFER:
        return _play_buffer(of)
    chosen_by = producers.get(name.removesuffix(RACKS))
    if "batch_size" in of:
        chosen_by = kafka_built_in.partitioner(of["batch_size"])
    available = [topic["available"] for topic in of["topics"]]
    counts = [topic["partitions"] for topic in of["topics"]]
    here = [np.array([rack == "a" for rack in racks]) for racks in of.get("racks", ())]
    state = chosen_by.start(topics(counts, available), int(of["seed"]))
    answered: list[int] = []
    try:
        for kind, steps in groupby(of["steps"], lambda step: step[0]):
            if kind == "send":
                known = topics(counts, available)
                known = kafka_built_in.near(known, here) if here else known
                chosen, state = _send_all(chosen_by, steps, known, state)
                answered += chosen
                continue
            for _, *values in steps:
                if kind == "available":
                    available[values[0]] = values[1]
                elif kind == "loads":
                    topic, queues, ids, length = values
                    in_rack = here[topic][ids] if here and ids is not None else None
                    state = kafka_built_in.with_loads(state, topic, queues, ids, length, in_rack)
                else:
                    state = refreshed(state)
    except OriginalError as thrown:
        return {"error": thrown.original}
    return {"partitions": answered, "random": str(int(state.random[0]))}


def _send_all(chosen_by, steps, of, state: State) -> tuple[list[int], State]:
    _, topic, key, explicit, new_batch, before, after, size = zip(*steps, strict=True)
    sent = producers.records(
        [None if k is None else bytes.fromhex(k) for k in key],
        topics=np.array(topic), explicit=explicit, new_batch=np.array(new_batch, bool),
        full_before=np.array(before, bool), full_after=np.array(after, bool), sizes=np.array(size),
    )  # fmt: skip
    chosen, state = chosen_by.choose(sent, of, state)
    return chosen.tolist(), state


def same(original: History, ours: History, of: History) -> bool:
    """Whether the answers agree: every partition, the exception, and how often was drawn.

    Where the original drew by itself, ours has to be a partition that a draw could give.
    """
    if "error" in original:
        return original["error"] == ours.get("error")
    if "error" in ours or len(original["partitions"]) != len(ours["partitions"]):
        return False
    if "random" in original and original["random"] != ours["random"]:
        return False
    if None not in original["partitions"]:
        return original["partitions"] == ours["partitions"]
    pairs = zip(original["partitions"], ours["partitions"], drawable(of), strict=True)
    return all(mine in may if theirs is None else theirs == mine for theirs, mine, may in pairs)


def drawable(of: History) -> list[list[int]]:
    """For every send the partitions that a draw could give: the available ones, or all."""
    available = [topic["available"] for topic in of["topics"]]
    found = []
    for step in of["steps"]:
        if step[0] == "available":
            available[step[1]] = step[2]
        elif step[0] == "send":
            everything = list(range(of["topics"][step[1]]["partitions"]))
            by_availability = (
                of["partitioner"] in ("aiokafka", "kafka-python") and available[step[1]]
            )
            found.append(available[step[1]] if by_availability else everything)
    return found
