"""Strategies of sarama (Go)."""
