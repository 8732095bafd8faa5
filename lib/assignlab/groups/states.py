"""The states of a group, however a tool spells them."""

STATES = (
    "PreparingRebalance",
    "CompletingRebalance",
    "Stable",
    "Dead",
    "Empty",
    "Assigning",
    "Reconciling",
)


def state_named(name: str | None) -> str | None:
    """Kafka's own spelling of a state; None for one that is not known.

    >>> state_named("PREPARING_REBALANCE"), state_named("ConsumerGroupState.STABLE")
    ('PreparingRebalance', 'Stable')
    """
    letters = (name or "").rpartition(".")[2].replace("_", "").lower()
    return next((state for state in STATES if state.lower() == letters), None)
