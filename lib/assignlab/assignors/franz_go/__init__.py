"""Strategies of franz-go (Go)."""
