"""Slices in compiled code."""

from assignlab.compiled import leaf


@leaf
def copy_into(target, at, source):
    """``target[at : at + source.size] = source``.

    Compiled, that statement brings in the text of its error, which takes three seconds to compile.
    """
    for k in range(source.size):
        target[at + k] = source[k]
