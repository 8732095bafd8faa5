"""The published table of R-scores, all twelve packings: ``python bench/landau.py [seeds]``.

D. Landau, X. Andrade, J. G. Barbosa, Kafka consumer group autoscaler (arXiv 2402.06085): partitions whose
speed drifts are packed at every step into as many consumers of one capacity as it takes. The R-score
is the speed of the partitions that change their consumer, in capacities. Published are rows of 501 steps
(landaudiogo/thesis_data, uniform_start.csv), here their means; streams are made as theirs are
(make_sequence.py): whole numbers, from 0 to 100, up or down by at most delta. How many partitions they
had is not told; 200 is what follows from the load. The packings are approximation_algorithms.py's.
"""

import argparse
from collections.abc import Sequence

import numpy as np

CAPACITY, PARTITIONS, STEPS = 100, 200, 501
DELTAS = (0, 5, 10, 15, 20, 25)
PUBLISHED = {
    "mwf": ((0.043, 9.195, 11.786, 12.827, 13.834, 14.995), (112.0, 112.2, 109.1, 111.9, 114.8, 113.5)),
    "mbf": ((0.0, 16.037, 18.880, 19.883, 20.611, 21.478), (112.0, 104.2, 101.0, 103.8, 107.3, 106.3)),
    "mwfp": ((0.372, 16.903, 16.961, 17.204, 17.818, 18.552), (112.0, 112.7, 110.0, 112.4, 114.8, 113.1)),
    "mbfp": ((0.0, 23.095, 24.210, 23.998, 23.798, 24.093), (112.0, 100.6, 98.2, 101.4, 105.2, 104.5)),
    "nfd": ((0.0, 20.543, 21.491, 20.600, 19.897, 19.726), (136.0, 124.2, 121.4, 123.9, 126.9, 125.7)),
    "ffd": ((0.0, 24.043, 25.409, 25.523, 25.726, 26.281), (112.0, 100.5, 98.0, 101.3, 105.0, 104.4)),
    "wfd": ((0.0, 24.123, 25.238, 25.338, 25.473, 26.210), (112.0, 100.6, 98.2, 101.5, 105.1, 104.5)),
    "bfd": ((0.0, 24.157, 25.527, 25.474, 25.799, 26.439), (112.0, 100.4, 97.9, 101.3, 105.0, 104.4)),
    "wf": ((23.133, 25.534, 26.682, 26.884, 27.519, 28.471), (124.6, 113.9, 110.8, 113.7, 117.1, 116.0)),
    "ff": ((24.104, 26.621, 28.304, 28.396, 29.318, 30.358), (119.7, 108.5, 105.5, 108.4, 111.6, 110.8)),
    "bf": ((25.219, 29.611, 30.521, 30.853, 31.509, 32.845), (114.5, 104.1, 101.6, 104.8, 108.5, 107.7)),
    "nf": ((30.184, 31.496, 31.984, 31.477, 31.490, 31.901), (139.7, 128.8, 126.1, 129.4, 132.7, 131.8)),
}  # fmt: skip
"""Packing -> mean R-scores and mean consumers by delta."""


class Packing:
    """Consumers with ``load`` and ``size`` by number, -1 for one that is not there; who ``had`` each
    partition, -1 for nobody; the ``owner`` of each so far."""

    def __init__(self, weights: np.ndarray, had: np.ndarray, rule: str):
        self.weights, self.had, self.rule = weights, had, rule
        self.load = np.full(weights.size + 1, -1)
        self.size = np.zeros(weights.size + 1, dtype=int)
        self.owner = np.full(weights.size, -1)
        self.last = -1

    def fitting(self, p: int) -> int:
        """The consumer that the rule finds for partition p, or -1."""
        there = self.load >= 0
        room = there & ((self.load + self.weights[p] <= CAPACITY) | (self.size == 0))
        if self.rule == "n":
            return self.last if self.last >= 0 and room[self.last] else -1
        if not room.any():
            return -1
        if self.rule == "f":
            return int(room.argmax())
        if self.rule == "b":
            return int(np.where(room, self.load, -1).argmax())
        return int(np.where(room, self.load, CAPACITY + 1).argmin())

    def opened(self, p: int | None = None) -> int:
        """A new consumer: the one that had partition p if it is not there yet, else the first number."""
        number = -1 if p is None else int(self.had[p])
        if number < 0 or self.load[number] >= 0:
            number = int((self.load < 0).argmax())
        return self.there(number)

    def there(self, number: int) -> int:
        """This consumer, made if need be."""
        if self.load[number] < 0:
            self.load[number], self.last = 0, number
        return number

    def give(self, p: int, consumer: int) -> None:
        self.owner[p] = consumer
        self.load[consumer] += self.weights[p]
        self.size[consumer] += 1

    def place(self, p: int) -> None:
        """To the consumer that the rule finds, or to a new one."""
        found = self.fitting(p)
        self.give(p, self.opened(p) if found < 0 else found)


def packed(name: str, weights: np.ndarray, had: np.ndarray, random: np.random.Generator):
    """The consumer of each partition: int[n]."""
    heaviest = np.argsort(-weights, kind="stable")
    if name[0] != "m":
        packing = Packing(weights, had, name[0])
        if packing.rule == "n":
            packing.opened()
        for p in heaviest if name.endswith("d") else random.permutation(weights.size):
            packing.place(p)
        return packing.owner
    packing = Packing(weights, had, name[1])
    key = np.zeros(weights.size + 1)
    for p in heaviest[had[heaviest] >= 0]:
        key[had[p]] = (
            max(key[had[p]], weights[p]) if name.endswith("p") else key[had[p]] + weights[p]
        )
    consumers = np.unique(had[had >= 0])
    for c in consumers[np.argsort(-key[consumers], kind="stable")]:
        mine = list(heaviest[had[heaviest] == c])
        while mine and (found := packing.fitting(mine[-1])) >= 0:  # the lightest first
            packing.give(mine.pop(), found)
        for p in mine:  # the heaviest first
            packing.there(c)
            if packing.size[c] and packing.load[c] + weights[p] > CAPACITY:
                break
            packing.give(p, c)
    for p in heaviest[packing.owner[heaviest] < 0]:
        packing.place(p)
    return packing.owner


def stream(delta: int, seed: int, steps: int = STEPS) -> np.ndarray:
    """Speeds by step and partition: int[steps, partitions]."""
    random = np.random.default_rng([seed, delta])
    rows = [random.integers(0, 101, PARTITIONS)]
    while len(rows) < steps:
        change = random.integers(-delta, delta, PARTITIONS, endpoint=True)
        rows.append(np.clip(rows[-1] + change, 0, 100))
    return np.array(rows)


def means(name: str, speeds: np.ndarray, seed: int = 0) -> tuple[float, float]:
    """(mean R-score, mean consumers) of a packing over a stream; the first step moves nothing."""
    random = np.random.default_rng(seed)
    had = np.full(speeds.shape[1], -1)
    scores, used = [], []
    for weights in speeds:
        owner = packed(name, weights, had, random)
        scores.append(weights[(had >= 0) & (had != owner)].sum() / CAPACITY)
        used.append(np.unique(owner).size)
        had = owner
    return float(np.mean(scores)), float(np.mean(used))


def main(seeds: Sequence[int]) -> None:
    streams = {d: [stream(d, seed) for seed in seeds] for d in DELTAS}
    print(f"| packing | {' | '.join(f'delta {d}' for d in DELTAS)} |")
    print(f"| --- |{' ---: |' * len(DELTAS)}")
    for name, (published, consumers) in PUBLISHED.items():
        cells = []
        for delta, score, number in zip(DELTAS, published, consumers, strict=True):
            found = [means(name, speeds) for speeds in streams[delta]]
            ours, used = np.mean(found, axis=0)
            cells.append(f"{ours:.2f} ({score:.2f}), {used:.0f} ({number:.0f})")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    from arguments import whole

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("seeds", nargs="?", type=whole(), default=1, help="how many are played")
    main(range(parser.parse_args().seeds))
