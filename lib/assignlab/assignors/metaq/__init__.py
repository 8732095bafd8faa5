"""Strategies of MetaQ (Metamorphosis)."""
