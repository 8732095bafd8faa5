"""Strategies of Kafka 0.8's Scala consumer."""
