"""Exact partition-assignment strategies of message queues, and their study."""

__version__ = "0.1.0"
