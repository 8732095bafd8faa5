"""kminion's metrics: strategy, state, lag and numbers of members, no owners.

    kminion_kafka_consumer_group_info{coordinator_id="0",group_id="billing",protocol="range",
        protocol_type="consumer",state="Stable"} 1
    kminion_kafka_consumer_group_members{group_id="billing"} 4
    kminion_kafka_consumer_group_empty_members{group_id="billing"} 1
    kminion_kafka_consumer_group_topic_partition_lag{group_id="billing",partition_id="0",topic_name="orders"} 5
    kminion_kafka_topic_info{cleanup_policy="delete",partition_count="3",replication_factor="1",topic_name="orders"} 1

(each on one line).
"""

from collections.abc import Iterator

from assignlab.groups.format import MetricFormat
from assignlab.groups.metrics import Sample, count, label, one_cluster, partition
from assignlab.groups.rows import GroupRow, OffsetRow, Row, TopicRow
from assignlab.groups.states import state_named

PREFIX = "kminion_kafka_"
INFO = PREFIX + "consumer_group_info"
MEMBERS = PREFIX + "consumer_group_members"
IDLE = PREFIX + "consumer_group_empty_members"
LAG = PREFIX + "consumer_group_topic_partition_lag"
TOPIC = PREFIX + "topic_info"


def read(samples: list[Sample]) -> Iterator[Row]:
    """Groups, partitions of topics, lag of partitions; nobody owns any."""
    one_cluster(samples, "cluster", "cluster_id")
    for sample in samples:
        if sample.name == TOPIC:
            yield TopicRow(label(sample, "topic_name"), partition(sample, "partition_count"))
            continue
        group = label(sample, "group_id")
        if sample.name == INFO:
            state, assignor = label(sample, "state"), label(sample, "protocol")
            yield GroupRow(group, state=state_named(state), assignor=assignor or None)
        elif sample.name == MEMBERS:
            yield GroupRow(group, members=count(sample))
        elif sample.name == IDLE:
            yield GroupRow(group, idle=count(sample))
        else:
            where = label(sample, "topic_name"), partition(sample, "partition_id")
            yield OffsetRow(group, *where, count(sample))


FORMAT = MetricFormat(
    "kminion", frozenset({INFO, MEMBERS, IDLE, LAG, TOPIC}), read,
    source="kminion of August 2026, docs/metrics.md and collect_consumer_groups.go",
)  # fmt: skip
