"""Strategies of Apache RocketMQ."""
