"""Strategies of kafka-python."""
