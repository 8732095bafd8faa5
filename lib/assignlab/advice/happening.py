"""What may happen to a group, by name. Imports little: help lists it."""

PAUSES = {
    "a rebalance": "",
    "switch": "",
    "a member more": "member more",
    "a member less": "member less",
    "a crash": "crash",
    "a rollout": "rollout",
    "a rollout with surge": "rollout with surge",
    "a topic more": "topic more",
    "twice the partitions": "partitions added",
}
"""Event -> what simulated time calls it; "a rebalance": of the group as it stands; "switch": the
change to the strategy itself."""
MIGRATIONS = {"two bounces": "cooperative-sticky", "KIP-848": "server-uniform"}
"""Rolling changes of protocol, and the strategy that they lead to."""
NAMES = (*PAUSES, *MIGRATIONS)
UP_TO = 12
"""So many members any group may be asked about: what ``--up-to`` is where nobody says it."""
