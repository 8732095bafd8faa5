"""The states of a group, however a tool spells them."""

STATES = (
    "PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty", "Assigning", "Reconciling",
)  # fmt: skip

WARNED = "Rebalancing"
"""What kafka-consumer-groups warns of, where it names no state."""
MOVING = {*STATES, WARNED} - {"Stable", "Empty", "Dead"}
"""The states of a group in the midst of a rebalance."""


def state_named(name: str | None) -> str | None:
    """Kafka's own spelling of a state; None for one that is not known.

    >>> state_named("PREPARING_REBALANCE"), state_named("ConsumerGroupState.STABLE")
    ('PreparingRebalance', 'Stable')
    """
    letters = (name or "").rpartition(".")[2].replace("_", "").lower()
    return next((state for state in STATES if state.lower() == letters), None)
