"""Seeded groups, what happens to them, and every strategy's answers, measured."""

from assignlab.replay import history  # its events register themselves

__all__ = ["history"]
