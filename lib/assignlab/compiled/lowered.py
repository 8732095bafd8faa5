"""How a function is written down for LLVM, without numba's detours for tuples of many arrays.

Numba keeps a variable that several blocks read on the stack, and passes a named tuple of twenty
arrays as 140 numbers: for every call it reads the tuple and takes it apart, and what is called puts
it together again. LLVM finds out that nothing was to be done. Here a variable that is set once, before
all that reads it, is what it was set to; what was put into a struct is not taken out of it again;
and what nobody reads is left out. For ``sticky`` LLVM reads half as much.

Like :mod:`assignlab.compiled.linked`, which uses it, this works on numba's inside.
"""

from llvmlite.ir import Function, IRBuilder
from llvmlite.ir.instructions import CallInstr, ExtractValue, InsertValue, PhiInstr
from numba.core import ir
from numba.core.analysis import compute_cfg_from_blocks, compute_use_defs, must_use_alloca
from numba.core.lowering import Lower

PARTS = InsertValue, ExtractValue


class Builder(IRBuilder):
    """LLVM's builder; an element that was put into a struct is that element."""

    def extract_value(self, agg, idx, name=""):
        """The element at ``idx``, a number or one for each level of ``agg``."""
        path = [idx] if isinstance(idx, int) else list(idx)
        while path and isinstance(agg, InsertValue):
            whole, element = agg.operands
            at = list(agg.indices)
            if path[: len(at)] == at:
                agg, path = element, path[len(at) :]
            elif at[: len(path)] == path:  # only a part of what is asked for
                break
            else:
                agg = whole
        return super().extract_value(agg, path, name) if path else agg


class Lowering(Lower):
    """Numba's lowering; on the stack stands only what is set twice, or counted."""

    def _find_singly_assigned_variable(self):
        """Numba's table of variables without a place on the stack, and ours of those that are read
        from none: set once, in a block through which every way leads to those that read it."""
        blocks = self.func_ir.blocks
        self._values, self._read_directly = {}, set()
        if self.func_ir.func_id.is_generator:
            return super()._find_singly_assigned_variable()
        set_in, read_in = {}, {}
        for label, block in blocks.items():
            for assignment in block.find_insts(ir.Assign):
                set_in.setdefault(assignment.target.name, []).append(label)
        for label, names in compute_use_defs(blocks).usemap.items():
            for name in names:
                read_in.setdefault(name, []).append(label)
        above = compute_cfg_from_blocks(blocks).dominators()
        self._blk_local_varmap, self._singly_assigned_vars = {}, set()
        for name in set_in.keys() - must_use_alloca(blocks):
            first, *more = set_in[name]
            readers = read_in.get(name, ())
            # Blocks are written down in the order of their labels.
            if more or not all(first < label and first in above[label] for label in readers):
                continue
            counted = readers and self._counted(name)
            (self._read_directly if counted else self._singly_assigned_vars).add(name)

    def _counted(self, name):
        """Whether it is counted who holds the arrays of a variable."""
        if not self.context.enable_nrt:  # a leaf
            return False
        return self.context.data_model_manager[self.typeof(name)].contains_nrt_meminfo()

    def setup_function(self, fndesc):
        """Begin the function, with :class:`Builder`."""
        super().setup_function(fndesc)
        self.builder = Builder(self.entry_block)
        self.call_helper = self.call_conv.init_call_helper(self.builder)

    def lower_function_body(self):
        """Write all blocks, and leave out what nobody reads; returns the end of the first."""
        end = super().lower_function_body()
        leave_out_unread(self.function)
        return end

    def storevar(self, value, name, argidx=None):
        """Set a variable; what is counted has its place, so that it can be given back."""
        super().storevar(value, name, argidx)
        if name in self._read_directly:
            self._values[name] = value

    def loadvar(self, name):
        """The value of a variable."""
        return self._values[name] if name in self._values else super().loadvar(name)

    def delvar(self, name):
        """The last that read a variable has done so."""
        if self._counted(name):
            super().delvar(name)


def leave_out_unread(function: Function) -> None:
    """Leave out the structs of a function that nobody reads, and what only they read."""
    written = [each for block in function.blocks for each in block.instructions]
    waiting = [each for each in written if not isinstance(each, PARTS)]
    read = set()
    while waiting:
        reader = waiting.pop()
        values = list(reader.operands)
        if isinstance(reader, CallInstr):
            values.append(reader.callee)
        elif isinstance(reader, PhiInstr):
            values += [value for value, _ in reader.incomings]
        for value in values:
            if isinstance(value, PARTS) and id(value) not in read:
                read.add(id(value))
                waiting.append(value)
    for block in function.blocks:
        block.instructions[:] = [
            each for each in block.instructions if not isinstance(each, PARTS) or id(each) in read
        ]
