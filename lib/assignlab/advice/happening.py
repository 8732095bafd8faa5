"""What may happen to a group, by name. Imports little: help lists it."""

EVENTS = (
    "a rebalance", "switch", "a member more", "a member less", "a crash", "a rollout",
    "a rollout with surge", "a topic more", "twice the partitions",
)  # fmt: skip
"""Events; "a rebalance": of the group as it stands; "switch": the change to the strategy itself."""
MIGRATIONS = {"two bounces": "cooperative-sticky", "KIP-848": "server-uniform"}
"""Rolling changes of protocol, and the strategy that they lead to."""
NAMES = (*EVENTS, *MIGRATIONS)
UP_TO = 12
"""So many members any group may be asked about: what ``--up-to`` is where nobody says it."""
