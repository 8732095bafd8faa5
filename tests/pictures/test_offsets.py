"""Offsets over time, with who owns the partition."""

import matplotlib.pyplot as plt

from assignlab import timeline
from assignlab.pictures import offsets


def test_the_owner_may_be_one_of_more_members_than_there_are_colours():
    story = timeline.Scenario(
        [timeline.Topic("t", 9, rate=10)],
        [timeline.Member(f"m{number}") for number in range(9)],
        duration_ms=20_000,
        watch=[("t", 8)],
    )
    ax = offsets.offsets(timeline.run(story), plt.figure().subplots(), 0, 20)
    assert "owner m8" in [text.get_text() for text in ax.texts]
