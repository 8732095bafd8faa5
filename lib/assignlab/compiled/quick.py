"""What numba asks over and over while it compiles, answered once or in fewer steps.

Like :mod:`assignlab.compiled.linked`, which uses it, this works on numba's inside. What is compiled
stays the same.
"""

from numba.core import ir, types
from numba.core.boxing import box_array
from numba.core.compiler import Flags
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.pythonapi import _boxers
from numba.core.targetconfig import ConfigStack
from numba.core.transforms import canonicalize_cfg


class QuickFlags(Flags):
    """Numba's options. It compares all of them for every call that it types, here those that are set."""

    HASH = hash(Flags())

    def __hash__(self):
        return self.HASH

    def __eq__(self, other):
        mine, others = self._values, other._values
        if mine == others:
            return True
        return all(
            getattr(self, name) == getattr(other, name) for name in mine.keys() | others.keys()
        )


def found_once(get_call_type):
    """Numba's search for what a function does with arguments of such types, once and not for every call.

    What is found stands as long as nobody adds to what the function can do.
    """

    def found(self, context, args, kws):
        known = self.__dict__.setdefault("found", {})
        key = tuple(args), tuple(kws.items()), len(self.templates), ConfigStack.top_or_none()
        if key not in known:
            known[key] = get_call_type(self, context, args, kws)
        return known[key]

    return found


types.Function.get_call_type = found_once(types.Function.get_call_type)


def look_only_where_asked(run):
    """Numba's look at a function after each pass, without what is alive where a block begins.

    That takes longest, and only generators and code that works on Python's objects read it; the latter
    has the ends of variables written down, too.
    """

    def look(self, emit_dels=False, extend_lifetimes=False):
        function = self.func_ir
        if emit_dels or function.is_generator:
            return run(self, emit_dels, extend_lifetimes)
        function.blocks = canonicalize_cfg(function.blocks)
        function.variable_lifetime = VariableLifetime(function.blocks)
        function.generator_info = None

    return look


PostProcessor.run = look_only_where_asked(PostProcessor.run)


def variables(self, value) -> list[ir.Var]:
    """The variables in a part of an instruction; most parts are a name or a place in the source."""
    if isinstance(value, ir.Var):
        return [value]
    if isinstance(value, ir.Inst):
        return value.list_vars()
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return []
    found = []
    for part in value:
        if type(part) is ir.Var:
            found.append(part)
        elif type(part) not in NO_VARIABLES:
            found += variables(self, part)
    return found


NO_VARIABLES = {str, int, bool, type(None), ir.Loc}

ir.Inst._rec_list_vars = variables


def box_array_of_known_class(typ, value, context):
    """Make Python's array of a compiled one.

    Numba unpickles the class of arrays for each of them, which takes longer than all else; here it
    is looked up where numba has their dtype.
    """
    known = context.env_manager.read_const(context.env_manager.add_const(typ.box_type))
    context.pyapi.unserialize = lambda pickled: known
    made = box_array(typ, value, context)
    del context.pyapi.unserialize
    return made


_boxers.functions[types.Array] = box_array_of_known_class
