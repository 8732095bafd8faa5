"""Burrow's metrics: lag alone.

burrow_kafka_consumer_partition_lag{cluster="c",consumer_group="billing",partition="0",topic="orders"} 5
"""

from collections.abc import Iterator

from assignlab.groups.format import MetricFormat
from assignlab.groups.metrics import Sample, count, label, one_cluster, partition
from assignlab.groups.rows import OffsetRow, Row

LAG = "burrow_kafka_consumer_partition_lag"


def read(samples: list[Sample]) -> Iterator[Row]:
    """The lag of every partition; nobody owns any."""
    one_cluster(samples, "cluster")
    for sample in samples:
        where = label(sample, "topic"), partition(sample, "partition")
        yield OffsetRow(label(sample, "consumer_group"), *where, count(sample))


FORMAT = MetricFormat("Burrow's metrics", frozenset({LAG}), read,
                      source="Burrow of October 2025, httpserver/prometheus.go")  # fmt: skip
