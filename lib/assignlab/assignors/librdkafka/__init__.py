"""Strategies of librdkafka (C) and the clients built on it."""
