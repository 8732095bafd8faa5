from assignlab.assignment import Assignment
from assignlab.assignors.kafka.sticky import assign_sticky
from assignlab.group import Group
from assignlab.strategy import Strategy
def assign(group: Group) -> Assignment:
    return assign_sticky(group, True)


STRATEGY = Strategy(
    name="cooperative-sticky",
    system="Kafka consumer",
    first="3.7.1",
    last="4.4.0",
    protocol="cooperative",
    sticky=True,
    source="org.apache.kafka.clients.consumer.CooperativeStickyAssignor (kafka-clients 4.4.0)",
    assign=assign,
    generations=("sub_generation",),
)
