"""A table as a picture: one tile per cell, its text inside, darker where the number is larger."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

DARKEST = 0.62
"""Grey of the largest number; black text stays readable on it."""


def tiles(
    shade: pd.DataFrame, ax: Axes, text: pd.DataFrame | None = None, order: Callable = np.sqrt
) -> Axes:
    """Draw ``shade`` (numbers of 0 and more) as tiles, one row and column as in the frame.

    ``text``: what stands in the tiles, of the same shape; the numbers themselves unless given, none
    for 0. ``order`` bends the scale: with the square root, small numbers are told from none.
    """
    values = order(shade.to_numpy(dtype=float))
    top = values.max() or 1.0
    for row in range(values.shape[0]):
        for column in range(values.shape[1]):
            grey = 1 - (1 - DARKEST) * values[row, column] / top
            ax.add_patch(
                _square(column, row, facecolor=str(round(grey, 3)), edgecolor="#888888", lw=0.8)
            )
            cell = shade.iat[row, column] if text is None else text.iat[row, column]
            if cell:
                ax.text(
                    column + 0.5, row + 0.5, str(cell), ha="center", va="center", fontsize="small"
                )
    ax.set_xlim(0, values.shape[1])
    ax.set_ylim(values.shape[0], 0)
    ax.set_xticks(np.arange(values.shape[1]) + 0.5, list(shade.columns), fontsize="small")
    ax.set_yticks(np.arange(values.shape[0]) + 0.5, list(shade.index), fontsize="small")
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.grid(visible=False)
    for side in ax.spines.values():
        side.set_visible(False)
    return ax


def _square(x: float, y: float, **look):
    from matplotlib.patches import Rectangle

    return Rectangle((x, y), 1, 1, **look)
