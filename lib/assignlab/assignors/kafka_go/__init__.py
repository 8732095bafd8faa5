"""Strategies of segmentio/kafka-go (Go)."""
