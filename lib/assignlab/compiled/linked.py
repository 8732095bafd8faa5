"""Steps that are linked into what calls them, and not compiled by themselves.

Numba optimises every function and makes machine code of it, and does so once more inside each
function that calls it. Nothing but compiled functions calls a step of a strategy, so its own machine
code would never run. Here a step stays as numba wrote it down for LLVM; the function that Python
calls, an entry, links all its steps, and is optimised and compiled once. So is what numba itself
has made of steps, ``np.empty`` for one. An entry that another calls is not linked into it: it is there,
or comes from the disk, and is called by its symbol.

This is numba's way to change its pipeline (a compiler with a pass of one's own), but what the pass
works on is numba's inside. :mod:`assignlab.compiled` uses it with the versions that it was tried with.
"""

import hashlib
from contextlib import suppress
from importlib import import_module
from typing import NamedTuple

from llvmlite.binding import parse_assembly
from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.itanium_mangler import prepend_namespace
from numba.core.runtime.nrt import rtsys
from numba.core.typed_passes import NativeLowering

from assignlab.compiled.lowered import Lowering
from assignlab.compiled.quick import QuickFlags
from assignlab.compiled.sources import digest


class Library(JITCodeLibrary):
    """Code that is optimised where all is linked, and not function by function before."""

    def _optimize_functions(self, ll_module):
        """Only what numba does beside it."""
        ll_module.data_layout = self._codegen._data_layout


class StepLibrary(Library):
    """The code of a step; those that it calls are linked where it is."""

    def finalize(self):
        """Leave everything to the entry."""
        self._finalized = True

    def module(self):
        """The code of this step alone."""
        return super()._get_module_for_linking()

    def _get_module_for_linking(self):
        """The code with all that it calls, for functions that do not ask further."""
        link(self)
        return super()._get_module_for_linking()


class EntryLibrary(Library):
    """The code of an entry, with all its steps."""

    entry: "Entry | None" = None

    def finalize(self):
        """Link, optimise and compile."""
        link(self)
        super().finalize()

    def serialize_using_object_code(self):
        """What the cache keeps: the machine code and, in the place of what numba keeps to be linked,
        the names by which other code and Python call it."""
        if not self.entry:
            return super().serialize_using_object_code()
        symbol = self.entry.symbol
        function = self._final_module.get_function(symbol)
        returned, _, arguments = str(function.global_value_type).partition(" ")
        names = parse_assembly(
            f'declare {returned} @"{symbol}" {arguments}\n'
            f'define internal void @"{prepend_namespace(symbol, "cpython")}"() {{ unreachable }}'
        )
        return self.name, "object", (self._get_compiled_object(), names.as_bitcode())


class Entry(NamedTuple):
    """An entry that another calls; machine code that comes from the disk has it loaded first."""

    module: str
    name: str
    argument_types: tuple
    symbol: str

    def __call__(self):
        """Load or compile it; raises ``OtherSymbol`` if that is not what was called."""
        compiled = getattr(import_module(self.module), self.name)
        compiled.compile(self.argument_types)
        if compiled.overloads[self.argument_types].fndesc.mangled_name != self.symbol:
            raise OtherSymbol(self.symbol)


class OtherSymbol(Exception):
    """What machine code from the disk calls has changed since."""


def call_by_symbol(compiled) -> None:
    """Have other entries call the machine code of ``compiled``, a function that can be imported.

    Its symbol is the same in every process, since the code of those that call it is kept.
    """
    function, add = compiled.py_func, compiled.add_overload
    name = function.__module__, function.__qualname__
    text = "\0".join((*name, digest(function.__module__)))
    NUMBERS[function] = int(hashlib.sha256(text.encode()).hexdigest()[:12], 16)

    def add_overload(result):
        arguments = tuple(result.signature.args)
        result.library.entry = Entry(*name, arguments, result.fndesc.mangled_name)
        result.library._reload_init.add(result.library.entry)  # for callers that numba links
        add(result)

    compiled.add_overload = add_overload


def load_what_fits(cache) -> None:
    """Have ``cache`` load machine code only together with the entries that it calls, and without what
    numba needs to compile: a tenth of what a command takes that does not."""
    load, guarded = cache._load_overload, cache._guard_against_spurious_io_errors

    def load_overload(signature, context):
        rtsys.initialize(context)
        with suppress(OtherSymbol), guarded():
            return load(signature, context)

    cache.load_overload = load_overload


NUMBERS: dict = {}
"""Function -> the number that makes its symbol."""


def link(library: JITCodeLibrary) -> None:
    """Link all steps that a library calls, and those that they call, each once; then the entries
    that have no symbol of their own.

    LLVM leaves out what nothing calls so far. An entry has inlined, in its copy of a step, what the
    step calls: if that copy came first, what another step calls, too, would be left out for good.
    """
    waiting, linked, entries = library._linking_libraries, set(), {}
    library._linking_libraries = []
    while waiting:
        each = waiting.pop()
        if entry := getattr(each, "entry", None):
            library._reload_init.add(entry)
        elif not isinstance(each, StepLibrary):
            entries[each] = None
        elif each not in linked:
            linked.add(each)
            waiting += each._linking_libraries
            link_in(library, each, each.module())
    for each in entries:
        link_in(library, each, each._get_module_for_linking())


def link_in(library: JITCodeLibrary, other: JITCodeLibrary, module) -> None:
    """Link the module of another library."""
    library._reload_init.update(other._reload_init)
    library._final_module.link_in(module, preserve=True)
    library._shared_module = None


@register_pass(mutates_CFG=True, analysis_only=False)
class StepLowering(NativeLowering):
    """Numba's lowering, into a :class:`StepLibrary`."""

    _name = "step_lowering"
    lowering_class = Lowering

    def run_pass(self, state):
        """Lower the function of ``state`` and make it known to its callers, without machine code.

        Raises ``TypeError`` for a leaf that returns arrays: it does not count who holds them.
        """
        returned = state.targetctx.data_model_manager[state.return_type]
        if not state.targetctx.enable_nrt and returned.contains_nrt_meminfo():
            raise TypeError(f"{state.func_id.func_qualname} returns arrays: it is inner, no leaf")
        state.library = StepLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = state.flags.no_cpython_wrapper = True
        super().run_pass(state)
        lowered = state["cr"]
        # Callers know a step by its entry from Python, so it has one, which leads nowhere.
        entry = _dynfunc.make_function(
            lowered.fndesc.lookup_module(), lowered.fndesc.qualname, "", 0, lowered.env, ()
        )
        state.targetctx.insert_user_function(entry, lowered.fndesc, [state.library])
        state["cr"] = lowered._replace(cfunc=entry)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class EntryLowering(NativeLowering):
    """Numba's lowering, into an :class:`EntryLibrary`."""

    _name = "entry_lowering"
    lowering_class = Lowering

    def run_pass(self, state):
        """Lower and compile the function of ``state``, so that it can be cached."""
        state.library = EntryLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super().run_pass(state)


class StepCompiler(CompilerBase):
    """Numba's pipeline, with :class:`StepLowering` in the place of its lowering."""

    def __init__(self, *of):
        super().__init__(*of)
        self.state.flags = QuickFlags(self.state.flags)
        # Numba takes functions of other options for others, and would compile what they call again.
        self.state.flags.nrt = True

    def define_pipelines(self):
        """The one pipeline."""
        return [pipeline(self.state, StepLowering)]


class EntryCompiler(CompilerBase):
    """Numba's pipeline, with :class:`EntryLowering` in the place of its lowering."""

    running = 0
    """How many are compiled at the moment, one inside the other; numba has one lock for all."""

    def __init__(self, *of):
        super().__init__(*of)
        self.state.flags = QuickFlags(self.state.flags)

    def define_pipelines(self):
        """The one pipeline."""
        function = self.state.func_id
        if function.func in NUMBERS:
            function.unique_id = NUMBERS[function.func]
            function.unique_name = f"{function.func_qualname}${function.unique_id}"
        return [pipeline(self.state, EntryLowering)]

    def compile_extra(self, func):
        """Compile; what numba has functions of its own for are steps meanwhile."""
        EntryCompiler.running += 1
        try:
            return super().compile_extra(func)
        finally:
            EntryCompiler.running -= 1


def pipeline(state, lowering):
    """Numba's passes, with ``lowering`` in the place of its own."""
    passes = DefaultPassBuilder.define_nopython_pipeline(state)
    passes.add_pass_after(lowering, NativeLowering)
    passes.passes = [each for each in passes.passes if each[0] is not NativeLowering]
    passes.finalize()
    return passes


def with_steps(define_pipelines):
    """Numba's own choice of a pipeline, but for its own functions inside of an entry."""

    def chosen(self):
        if EntryCompiler.running and self.state.func_id.modname.startswith("numba."):
            return [pipeline(self.state, StepLowering)]
        return define_pipelines(self)

    return chosen


Compiler.define_pipelines = with_steps(Compiler.define_pipelines)
