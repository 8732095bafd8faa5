"""What is measured of a rebalance, as columns: name, type, unit, meaning."""

from typing import NamedTuple


class Column(NamedTuple):
    """A column of the records: ``type`` is ``string``, ``int64``, ``float64`` or ``bool``."""

    name: str
    type: str
    unit: str
    meaning: str


EVENNESS = (
    Column("members_now", "int64", "members", "members after the event"),
    Column("topics_now", "int64", "topics", "topics with partitions and a subscriber"),
    Column("partitions_now", "int64", "partitions", "partitions of those topics"),
    Column("largest", "int64", "partitions", "partitions of the fullest member"),
    Column("smallest", "int64", "partitions", "partitions of the emptiest member"),
    Column("count_gap", "int64", "partitions", "largest - smallest"),
    Column("idle", "int64", "members", "members without any partition"),
    Column("balance_score", "int64", "partitions", "sum of |n_i - n_j| over pairs of members"),
    Column("balance_score_int", "int64", "partitions", "the same in a Java int, which wraps"),
    Column("topic_gap", "int64", "partitions", "max over topics of max - min inside the topic"),
    Column("uneven_topics", "int64", "topics", "topics with P mod subscribers != 0"),
)
MOVES = (
    Column("unassigned", "int64", "partitions", "partitions_now without an owner"),
    Column("doubled", "int64", "partitions", "partitions with more than one owner"),
    Column("invalid", "int64", "pairs", "assigned, though no partition, not subscribed, or twice"),
    Column("held", "int64", "pairs", "(member, partition) pairs before the event"),
    Column("stayed", "int64", "pairs", "of held: the same member has it afterwards"),
    Column("owner_left", "int64", "pairs", "of held: the member left the group"),
    Column("unsubscribed", "int64", "pairs", "of held: the member no longer subscribes"),
    Column("gone", "int64", "pairs", "of held: the cluster no longer has the partition"),
    Column("by_choice", "int64", "pairs", "of held: taken from a member that could have kept it"),
    Column("forced", "int64", "pairs", "owner_left + unsubscribed"),
    Column("received", "int64", "pairs", "pairs afterwards that were not held before"),
    Column("assigned", "int64", "pairs", "of received: nobody held the partition before"),
    Column("revoked_kept", "int64", "pairs", "of stayed: given up during the rebalance"),
    Column("interrupted", "int64", "pairs", "forced + by_choice + revoked_kept"),
)
FEWEST = (
    Column("fewest", "int64", "pairs", "fewest moves by choice to be even; null if not proven"),
    Column("needed", "int64", "pairs", "of by_choice: fewest to be as even; null if not proven"),
    Column("avoidable", "int64", "pairs", "by_choice - needed; null if not proven"),
)
RATIOS = (
    Column("max_over_mean", "float64", "ratio", "largest over the mean; null without partitions"),
    Column("floor", "float64", "ratio", "ceil(P / C) / (P / C), the least max_over_mean"),
    Column("variation", "float64", "ratio", "standard deviation over mean"),
    Column("gini", "float64", "ratio", "Gini coefficient, 0 is even"),
    Column("jain", "float64", "ratio", "Jain's fairness index, 1 is even"),
    Column("topic_gap_mean", "float64", "partitions", "mean over topics of max - min inside"),
)
METRICS = EVENNESS + MOVES + FEWEST + RATIOS
"""What :func:`assignlab.replay.metrics.measure` returns, in order."""

BESIDE_OPTIMUM = (
    Column("sum_of_squares", "int64", "partitions²", "sizes of members squared and added"),
    Column("least_squares", "int64", "partitions²", "the least sum_of_squares of any assignment"),
    Column("least_max_over_mean", "float64", "ratio", "max_over_mean of the optimum"),
    Column("least_idle", "int64", "members", "members without any partition in the optimum"),
    Column("least_moves", "int64", "partitions", "fewest moves that go with least_squares"),
    Column("gap_regret", "int64", "partitions", "count_gap - that of the optimum"),
    Column("moves_regret", "int64", "partitions", "moves - fewest of any assignment as even"),
)
"""What :func:`assignlab.replay.beside.measure` adds, in order: the answer beside the optimum,
proven. The last two are null unless every partition has one owner that subscribes to its topic."""
