"""KIP-794's measurement with one slow broker, beside :mod:`assignlab.producers.delivery`.

Published with the proposal (Apache Kafka wiki, page 191336857, versions 17 and 18, test series 1):
three brokers on one machine, one topic with a partition on each, a sleep of 20 ms before every
produce response of one of them; 122,880 records of 512 bytes at 2048 a second, the producer's
settings otherwise as they were (``linger.ms`` 0, which is 5 since 4.0). The measured code was older
than release 3.3, where the switch began to wait for a full batch (KAFKA-14156); the model plays
both.
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np
import pandas as pd

from assignlab.local.project import cores
from assignlab.producers.delivery import Delivery, Setting, deliver

RECORDS, RATE, VALUE_BYTES, SLEEP_MS = 122_880, 2048.0, 512, 20.0
MEGABYTE = 1024 * 1024

CONFIGURATIONS = {
    "DefaultPartitioner of 2.4": dict(partitioner="default@2.4"),
    "built-in, adaptive off": dict(partitioner="built-in", adaptive=False),
    "built-in": dict(partitioner="built-in"),
    "built-in, availability timeout 5 ms": dict(partitioner="built-in", availability_timeout_ms=5),
}
"""The page leaves out what the last row sets; that it is the timeout, and its value, are ours."""

PUBLISHED = {  # MB/s, average, 99 % and 99.9 % latency in ms
    "DefaultPartitioner of 2.4": (0.84, 4072.74, 10992.0, 11214.0),
    "built-in, adaptive off": (1.0, 49.92, 214.0, 422.0),
    "built-in": (1.0, 40.06, 154.0, 220.0),
    "built-in, availability timeout 5 ms": (1.0, 36.29, 150.0, 184.0),
}


def delivery_of(
    configuration: str,
    response_ms: float,
    records: int = RECORDS,
    seed: int = 0,
    waits: bool = True,
) -> Delivery:
    """One configuration in the model; every broker takes ``response_ms``, one the sleep too.

    ``waits``: whether the switch of the built-in partitioner waits for a full batch.
    """
    brokers = (response_ms + SLEEP_MS, response_ms, response_ms)
    setting = Setting(
        records=records, rate=RATE, value_bytes=VALUE_BYTES, response_ms=brokers,
        waits=waits, **CONFIGURATIONS[configuration],
    )  # fmt: skip
    return deliver(setting, seed)


def beside_published(
    response_ms: Iterable[float], records: int = RECORDS, seeds: Sequence[int] = (0,)
) -> pd.DataFrame:
    """One row per configuration and response time: published figures and the model's.

    Means over the seeds. ``mb_s`` in 2^20 bytes a second; ``average``, ``p99``, ``p999`` in ms;
    ``slow_share``: the slow broker's share of the records; ``at_once_...``: average and share where
    the switch does not wait for a full batch, as in the measured code.
    """
    rows = []
    points = list(product(response_ms, PUBLISHED))
    asked = [(name, ms, records, s, w) for ms, name in points for w in (True, False) for s in seeds]
    with ThreadPoolExecutor(cores()) as pool:  # the model runs without the interpreter's lock
        played = pool.map(lambda arguments: delivery_of(*arguments), asked)
        for ms, name in points:
            found, at_once = ([next(played) for _ in seeds] for _ in range(2))
            published = PUBLISHED[name]
            latencies = [one.latency_ms for one in found]
            rows.append({
                "configuration": name,
                "response_ms": ms,
                "published_mb_s": published[0],
                "mb_s": np.mean([o.records_per_second for o in found]) * VALUE_BYTES / MEGABYTE,
                "published_average": published[1],
                "average": np.mean([latency.mean() for latency in latencies]),
                "published_p99": published[2],
                "p99": np.mean([np.quantile(latency, 0.99) for latency in latencies]),
                "published_p999": published[3],
                "p999": np.mean([np.quantile(latency, 0.999) for latency in latencies]),
                "slow_share": np.mean([one.shares[0] for one in found]),
                "at_once_average": np.mean([one.latency_ms.mean() for one in at_once]),
                "at_once_slow_share": np.mean([one.shares[0] for one in at_once]),
            })  # fmt: skip
    return pd.DataFrame(rows)


def latencies(response_ms: float, records: int = RECORDS, seed: int = 0) -> pd.DataFrame:
    """Latency quantiles of each configuration: ``configuration``, ``share`` (0 to 1), ``ms``."""
    shares = np.concatenate((np.linspace(0.01, 0.99, 99), [0.995, 0.999]))
    frames = []
    for name in CONFIGURATIONS:
        ms = np.quantile(delivery_of(name, response_ms, records, seed).latency_ms, shares)
        frames.append(pd.DataFrame({"configuration": name, "share": shares, "ms": ms}))
    return pd.concat(frames, ignore_index=True)
