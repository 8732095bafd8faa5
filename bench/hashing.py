"""murmur2 beside Java's: ``python bench/hashing.py [--keys N] [--length L] [--repeat R]``.

The same keys on both sides, made from one seed; one thread each, in one run. Compared first: sum
and exclusive or of all hashes with those that kafka-clients' ``Utils.murmur2`` gives. Then the
median round of each, and the ratio. Ours reads one flat array and writes an array of hashes; Java
reads an array of arrays, as its producer holds keys, and writes the same. Needs Java and Maven;
``--alone`` does without and compares nothing.
"""

import argparse
import statistics
import sys
import time

import numpy as np
from arguments import whole

from assignlab.producers import hashes
from assignlab.proof.originals import Original
from assignlab.proof.partitioner_originals import JAVA_OPTIONS, KAFKA

RELEASE = "4.4.0"
SEED = 20261121


def made_keys(count: int, length: int) -> hashes.Keys:
    """Keys whose bytes, one behind the other, are SplitMix64's outputs, little-endian."""
    with np.errstate(over="ignore"):
        steps = np.arange(1, -(-count * length // 8) + 1, dtype=np.uint64)
        z = np.uint64(SEED) + steps * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    data = z.astype("<u8").view(np.uint8)[: count * length]
    return hashes.Keys(data, np.arange(count + 1) * length, np.zeros(count, bool))


def seconds(function, keys: hashes.Keys, repeat: int) -> float:
    """Median seconds of a call, after one that compiles."""
    function(keys)
    taken = []
    for _ in range(repeat):
        began = time.perf_counter()
        function(keys)
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def main() -> int:
    """0 if the hashes were equal."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keys", type=whole(), default=1_000_000)
    parser.add_argument("--length", type=whole(), default=16)
    parser.add_argument("--repeat", type=whole(), default=11)
    parser.add_argument("--alone", action="store_true")
    chosen = parser.parse_args()
    keys = made_keys(chosen.keys, chosen.length)
    same, java = True, None
    if not chosen.alone:
        with Original(KAFKA, RELEASE, (*JAVA_OPTIONS[1:], "-Xmx4g")) as original:
            answer = original.ask({
                "hash": "murmur2", "keys": chosen.keys, "length": chosen.length, "seed": SEED,
                "warmup": 5, "repeat": chosen.repeat,
            })  # fmt: skip
        ours = hashes.murmur2(keys)
        same = answer["sum"] == int(ours.sum(dtype=np.int64))
        same &= answer["xor"] == int(np.bitwise_xor.reduce(ours))
        java = statistics.median(answer["nanos"]) / 1e9
        print(
            f"{chosen.keys} keys of {chosen.length} bytes, one thread each: sum and exclusive or "
            f"of all hashes {'equal' if same else 'DIFFERENT'} (kafka-clients {RELEASE})"
        )
    for function in (hashes.murmur2, hashes.crc32, hashes.fnv1a):
        name = function.__name__
        taken = seconds(function, keys, chosen.repeat)
        line = f"{name:8} {chosen.keys / taken / 1e6:7.1f} million keys a second"
        if java is not None and name == "murmur2":
            line += f"; Java {chosen.keys / java / 1e6:.1f}; ratio Java / ours {java / taken:.2f}"
        print(line)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
