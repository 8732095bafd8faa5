"""Strategies of Kafka's Java consumer (kafka-clients)."""
