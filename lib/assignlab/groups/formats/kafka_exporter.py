"""kafka_exporter's metrics: lag and numbers of members, no owners.

    kafka_consumergroup_members{consumergroup="billing"} 4
    kafka_consumergroup_lag{consumergroup="billing",partition="0",topic="orders"} 5
    kafka_topic_partitions{topic="orders"} 3

The lag is -1 where nothing was committed.
"""

from collections.abc import Iterator

from assignlab.groups.format import MetricFormat
from assignlab.groups.metrics import Sample, count, label, one_cluster, partition
from assignlab.groups.rows import GroupRow, OffsetRow, Row, TopicRow

MEMBERS = "kafka_consumergroup_members"
LAG = "kafka_consumergroup_lag"
PARTITIONS = "kafka_topic_partitions"


def read(samples: list[Sample]) -> Iterator[Row]:
    """Members of groups, partitions of topics, lag of partitions; nobody owns any."""
    one_cluster(samples, "cluster", "cluster_id")
    for sample in samples:
        if sample.name == MEMBERS:
            yield GroupRow(label(sample, "consumergroup"), members=count(sample))
        elif sample.name == PARTITIONS:
            yield TopicRow(label(sample, "topic"), count(sample))
        else:
            where = label(sample, "topic"), partition(sample, "partition")
            yield OffsetRow(label(sample, "consumergroup"), *where, count(sample))


FORMAT = MetricFormat("kafka_exporter", frozenset({MEMBERS, LAG, PARTITIONS}), read,
                      source="kafka_exporter of January 2026, README.md and kafka_exporter.go")  # fmt: skip
