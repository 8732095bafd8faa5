"""Strategies of aiokafka, the client for asyncio."""
