"""Strategies of kafkajs (JavaScript)."""
