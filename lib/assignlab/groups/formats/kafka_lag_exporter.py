"""kafka-lag-exporter's metrics: the only ones that have owners.

    kafka_consumergroup_group_lag{cluster_name="c",group="billing",topic="orders",partition="0",
        member_host="/127.0.0.1",consumer_id="m1-cf04...",client_id="m1",} 5.0

(on one line). The three labels of the owner are ``unknown`` where nobody holds the partition.
"""

from collections.abc import Iterator

from assignlab.groups.format import MetricFormat
from assignlab.groups.metrics import Sample, count, label, one_cluster, partition
from assignlab.groups.rows import MemberRow, OffsetRow, OwnerRow, Row

LAG = "kafka_consumergroup_group_lag"
NOBODY = ("", "unknown")


def read(samples: list[Sample]) -> Iterator[Row]:
    """The owner and the lag of every partition."""
    one_cluster(samples, "cluster_name")
    for sample in samples:
        group, topic = label(sample, "group"), label(sample, "topic")
        member = label(sample, "consumer_id")
        owned = member not in NOBODY
        if owned:
            client, host = label(sample, "client_id"), label(sample, "member_host")
            yield MemberRow(group, member, client, host)
        where = group, topic, partition(sample, "partition")
        yield OwnerRow(*where, member if owned else None)
        yield OffsetRow(*where, count(sample))


FORMAT = MetricFormat(
    "kafka-lag-exporter", frozenset({LAG}), read,
    source="kafka-lag-exporter of January 2023, README.md and KafkaClient.scala",
)  # fmt: skip
