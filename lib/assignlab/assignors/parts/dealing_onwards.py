"""Dealing partitions that stand in an order of their own."""

from assignlab.assignors.parts.dealing import deal_in_order as deal

__all__ = ["deal"]
