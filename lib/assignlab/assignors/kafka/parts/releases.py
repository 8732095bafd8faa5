"""The releases whose sticky assignors differ, as numbers: 30502 stands for 3.5.2.

One core serves all releases since 3.0, and its way of reading claims those since 2.5. It is told
for which release it works, and where releases differ it asks whether a change was there already:
``if release >= CONSTRAINED_CORRECTED``.

Source: ``AbstractStickyAssignor`` of kafka-clients 2.5.1, 2.8.2, 3.0.1, 3.3.2, 3.4.1, 3.5.1, 3.5.2,
3.6.2, 3.7.1 and 4.4.0.
"""

LATEST = 2**31
"""Newer than every change."""

CONSTRAINED_CORRECTED = 30701
"""Equal subscriptions: owned partitions are sorted before they are cut (KAFKA-16277); racks no
longer make too many members expect one partition more, or forget who gives up what (KAFKA-15170).
"""
RACKS = 30500
"""Members and partitions have racks (KIP-881)."""
OWNERS_REMEMBERED = 30502
"""A claim that loses against a newer one no longer counts as the claim to compare the next with."""
BALANCE_OF_ONE = 30502
"""A difference of one partition is no imbalance (KAFKA-15106)."""
GENERATIONS_APART = 30401
"""Older generations may claim too, partition by partition (KAFKA-14639); before, only claims of the
newest generation counted."""
GENERATION_SUBSCRIBED = 30400
"""The subscription tells its generation (KIP-792)."""
RIVALS_NOTICED = 20801
"""Equal subscriptions: who claims what another of the newest generation claims, loses it."""
