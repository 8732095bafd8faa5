"""Several integer arrays in one.

To hand a compiled function an array costs as much as assigning ten partitions, and every function of
a strategy wants a dozen that only depend on names and subscriptions. So these travel in one array,
made once for each set of names, and are views of it inside.
"""

import numpy as np

from assignlab.compiled import inner


def pack(arrays) -> np.ndarray:
    """One int64 array: where each of the ``arrays`` begins, where the last ends, and all of them."""
    arrays = [np.asarray(array, dtype=np.int64) for array in arrays]
    ends = np.cumsum([len(arrays) + 1] + [array.size for array in arrays], dtype=np.int64)
    return np.concatenate([ends, *arrays])


@inner
def part(packed, i):
    """The i-th of the packed arrays, a view."""
    return packed[packed[i] : packed[i + 1]]
