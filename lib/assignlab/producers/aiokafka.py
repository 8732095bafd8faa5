"""aiokafka's DefaultPartitioner: murmur2 as Java's producer; without a key any available one.

Its draws are Python's ``random.choice`` and are not reproduced.
"""

from assignlab.producers.kafka_python import run
from assignlab.producers.partitioner import Partitioner

PARTITIONERS = (
    Partitioner(
        name="aiokafka",
        client="aiokafka",
        first="0.14.0",
        source="aiokafka.partitioner.DefaultPartitioner (aiokafka 0.14.0)",
        rule="murmur2 of the key; without one, a draw over available partitions",
        run=run,
        exact_draws=False,
    ),
)
