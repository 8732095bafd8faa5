"""Steps that are linked into what calls them, and not compiled by themselves.

Numba optimises every function and makes machine code of it, and does so once more inside each
function that calls it. Nothing but compiled functions calls a step of a strategy, so its own machine
code would never run. Here a step stays as numba wrote it down for LLVM; the function that Python
calls links all its steps, and is optimised and compiled once. All strategies are compiled in three
quarters of the time.

This is numba's way to change its pipeline (a compiler with a pass of one's own), but what the pass
works on is numba's inside. :mod:`assignlab.compiled` uses it with the versions that it was tried with.
"""

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


class StepLibrary(JITCodeLibrary):
    """The code of a step and of the steps that it calls."""

    def _optimize_functions(self, ll_module):
        """Leave that, too, to the function that Python calls: it optimises all that it links."""
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self):
        """Link, and leave the rest to the function that Python calls."""
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class StepLowering(NativeLowering):
    """Numba's lowering, into a :class:`StepLibrary`."""

    _name = "step_lowering"

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


class StepFlags(Flags):
    """Numba's options. It compares all of them for every call that it types, here what is set first."""

    HASH = hash(Flags())

    def __hash__(self):
        return self.HASH

    def __eq__(self, other):
        return self._values == other._values or super().__eq__(other)


class StepCompiler(CompilerBase):
    """Numba's pipeline, with :class:`StepLowering` in the place of its lowering."""

    def __init__(self, *of):
        super().__init__(*of)
        self.state.flags = StepFlags(self.state.flags)
        # Numba takes functions of other options for others, and would compile what they call again.
        self.state.flags.nrt = True

    def define_pipelines(self):
        """The one pipeline."""
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        pipeline.add_pass_after(StepLowering, NativeLowering)
        pipeline.passes = [each for each in pipeline.passes if each[0] is not NativeLowering]
        pipeline.finalize()
        return [pipeline]
