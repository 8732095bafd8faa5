"""Worked examples as pictures: who owns what before and after, panel by panel."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from assignlab.group.assignment import Assignment
from assignlab.group.model import Group
from assignlab.pictures import charts


def picture(
    panels: Mapping[str, tuple[Group, Assignment] | tuple[Group, Assignment, Assignment]],
    members: Sequence[str] = (),
) -> Figure:
    """Who owns what, one panel per entry: title -> (group, after) or (group, after, before).

    A member has one colour in all panels. Of more than :data:`charts.MOST_TOLD` members lanes are
    thinner, and not every one is named. ``members``: those told of beside the picture, whose
    colours count as taken.
    """
    colors = charts.member_colors([members, *(g.members.names for g, *_ in panels.values())])
    widest = max(int(np.maximum(g.topics.partitions, 0).sum()) for g, *_ in panels.values())
    titles = 0.085 * max(len(line) for title in panels for line in title.splitlines())
    width = min(max(1.6 + 0.42 * widest, titles), 5)
    tallest = max(len(g.members) for g, *_ in panels.values())
    columns = min(len(panels), 2)
    rows = -(-len(panels) // columns)
    size = width * columns, (1.3 + 0.42 * min(tallest, charts.MOST_TOLD)) * rows
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    for ax in axes.flat[len(panels) :]:
        ax.remove()
    for ax, (title, (group, after, *before)) in zip(axes.flat, panels.items(), strict=False):
        charts.ownership(group, after, ax, *before, colors=colors)
        ax.set_title(title, fontsize="medium")
    return figure
