"""How assignlab compiles: one decorator, one cache.

A strategy is sequential code over integer arrays. ``njit`` compiles it on first use and keeps the
machine code on disk; with ``NUMBA_DISABLE_JIT=1`` the same source runs as plain Python.
The cache lies beside the source. Where that folder cannot be written (a read-only installation, a
zip on a Spark executor) it lies in the user's cache folder instead, closed to others: numba
unpickles what it finds there.

Machine code of many processes comes together from the disk. Numba tells functions of one name apart by
a number that every process counts from 1: so ``np.sort`` of one could be taken for ``np.argsort`` of
another, whose inner functions have the same name. Here every process counts from a number of its own.

Machine code holds the steps that a function calls, too. Numba looks only at the function's own file to tell
whether the code on disk is still right; here a change in any file of the library that this one
imports makes it compile anew.

For a few small groups the source as plain Python is faster than to compile it, and even than to load the
machine code: :func:`as_python`.
"""

import math
import os
import secrets
import time
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import count
from pathlib import Path

from assignlab.compiled.sources import digest
from assignlab.local.private import cache_folder

if "NUMBA_CACHE_DIR" not in os.environ and not os.access(Path(__file__).parents[1], os.W_OK):
    os.environ["NUMBA_CACHE_DIR"] = os.path.join(cache_folder(), "numba")

import numba
import numpy as np
from numba.core import event, types
from numba.core.bytecode import FunctionIdentity
from numba.extending import register_jitable

if (0, 64) <= numba.version_info.short <= (0, 68):  # the oldest and newest it was tried with
    from assignlab.compiled.linked import (
        EntryCompiler,
        StepCompiler,
        call_by_symbol,
        load_what_fits,
    )
else:
    from numba.core.compiler import Compiler as EntryCompiler
    from numba.core.compiler import Compiler as StepCompiler

    def call_by_symbol(compiled):
        """Numba links what a function calls into it."""

    load_what_fits = call_by_symbol


def _count_apart():
    FunctionIdentity._unique_ids = count(secrets.randbits(48))


_count_apart()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_apart)

OPTIONS = dict(nogil=True, no_cfunc_wrapper=True)
STEP = dict(**OPTIONS, no_cpython_wrapper=False, pipeline_class=StepCompiler)
"""The same options as those of the functions that call it: numba takes functions of other options for
others, and would compile what they call once more."""


def njit(function):
    """Compile ``function`` with numba, cached on disk, without the interpreter lock."""
    name = f"{function.__module__}.{function.__qualname__}"
    importable = "<locals>" not in name and not name.startswith("__main__.")
    again = importable and name in _IMPORTED  # its module was reloaded: for this process alone
    _IMPORTED.add(name)
    options = dict(**OPTIONS, _nrt=True, cache=not again, pipeline_class=EntryCompiler)
    compiled = numba.njit(**options)(function)
    cache = getattr(compiled, "_cache", None)
    if hasattr(cache, "_cache_file"):  # not there under NUMBA_DISABLE_JIT
        # The version is compared before anything is unpickled, which an older source may prevent.
        file = cache._cache_file
        file._version = f"{file._version} {digest(function.__module__)}"
        _forget_constants(compiled)
        load_what_fits(cache)
        if importable:
            call_by_symbol(compiled)
        _run_as_python_where_asked(compiled, cache)
    return compiled


_IMPORTED: set[str] = set()
"""The functions that :func:`njit` was asked to compile so far."""

_as_python: ContextVar[float] = ContextVar("as_python", default=0.0)
"""For how many seconds a function runs as plain Python before it is compiled."""


@contextmanager
def as_python(asked: bool = True, until_s: float = math.inf):
    """While the block runs, what this process has neither compiled nor loaded runs as plain Python,
    if that is ``asked``.

    ``until_s``: a function that has taken so many seconds like that is compiled after all, and one
    whose machine code is in the cache is loaded at once: for what is called often, nobody knows how
    often.
    """
    token = _as_python.set(until_s if asked else 0.0)
    try:
        yield
    finally:
        _as_python.reset(token)


def _run_as_python_where_asked(compiled, cache):
    """Numba calls what its compiler returns; here that may be the source itself."""
    compile_for = compiled._compile_for_args
    spent, looked = 0.0, False

    def choose(*args, **kws):
        nonlocal looked
        until_s = _as_python.get()
        if until_s <= spent:
            return compile_for(*args, **kws)
        if until_s < math.inf and not looked:
            looked = True
            types_of = tuple(map(compiled.typeof_pyval, args))
            key = cache._index_key(types_of, compiled.targetctx.codegen())
            if key in cache._cache_file._load_index():
                return compile_for(*args, **kws)
        return run

    def run(*args, **kws):
        nonlocal spent
        began = time.perf_counter()
        try:
            return compiled.py_func(*map(_with_attributes, args), **kws)
        finally:
            spent += time.perf_counter() - began

    compiled._compile_for_args = choose


def _with_attributes(value):
    """``value`` as a source reads it: arrays of records that compiled code returned, in tuples too, have
    lost that their fields are attributes."""
    if isinstance(value, np.ndarray) and value.dtype.names:
        return value.view(np.dtype((np.record, value.dtype)))
    if isinstance(value, tuple):
        return getattr(type(value), "_make", tuple)(map(_with_attributes, value))
    return value


def _forget_constants(compiled):
    """Let compiled callers that pass 16, and those that pass a variable, share one machine code."""
    template = compiled.get_call_template
    compiled.get_call_template = lambda args, kws: template(
        tuple(map(types.unliteral, args)), {name: types.unliteral(kws[name]) for name in kws}
    )


def inner(function):
    """Compile ``function`` as a part of the compiled functions that call it, and only so.

    It has neither machine code of its own (:mod:`assignlab.compiled.linked`) nor an entry in the
    cache. Called from Python it runs as plain Python.
    """
    return register_jitable(**STEP, _nrt=True)(function)


def leaf(function):
    """:func:`inner` for steps that make no arrays and return none, neither parts of arrays.

    Numba counts the references to every array that a step takes out of a tuple; in a short step
    that costs more than the step. Here nothing is counted.
    """
    return register_jitable(**STEP, _nrt=False)(function)


class _Patience(event.TimingListener):
    """Says once that compiling has taken so many seconds, functions together."""

    def __init__(self, say, after_s):
        super().__init__()
        self.say, self.after_s = say, after_s

    def on_end(self, event):
        super().on_end(event)
        if self.done and self.duration >= self.after_s and self.say is not None:
            self.say(
                "compiling what this needs, once, for up to a minute "
                "('assignlab warm' does it ahead)"
            )
            self.say = None


@cache
def tell_compiling(say, after_s=3):
    """Have ``say`` called with one line, once, if this process compiles for so many seconds."""
    event.register("numba:compile", _Patience(say, after_s))
