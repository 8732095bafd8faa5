"""Strategies of Kafka's group coordinator (KIP-848, KIP-932)."""
