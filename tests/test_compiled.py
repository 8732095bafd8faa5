"""Steps are linked with the numba that is installed, and compiled by a numba that nobody has tried."""

import os
import platform
import subprocess
import sys
from dataclasses import replace
from typing import NamedTuple

import numba
import numpy as np
import pytest
from llvmlite import ir

from assignlab import assignors, warm
from assignlab.assignors.parts.holdings import record
from assignlab.compiled import StepCompiler, as_python, inner, leaf, linked, njit
from assignlab.compiled.lowered import Builder, leave_out_unread
from assignlab.compiled.sources import below

COMPILED_ANEW = """
import numba

numba.version_info = numba.version_info._replace(short={version})

import numpy as np

from assignlab import compiled
from assignlab.jvm.hash_map import hash_map_order

print(compiled.StepCompiler.__module__, *hash_map_order(np.array([33, 1, 17, 2, 16])))
"""
"""The table has 16 slots: 16 comes to slot 0, then 33, 1 and 17 to slot 1, then 2."""


COMPILED_ONCE = """
import numpy as np

from assignlab import compiled
from assignlab.jvm.hash_map import hash_map_order

compiled.tell_compiling(print, 0)
for _ in range(2):
    hash_map_order(np.array([1, 2]))
"""


@pytest.mark.slow
def test_compiling_is_told_once_and_not_where_it_is_done(tmp_path):
    for lines in (1, 0):
        told = subprocess.run(
            [sys.executable, "-c", COMPILED_ONCE],
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert told.stdout.count("assignlab warm") == told.stdout.count("\n") == lines


SORTED = """
import numpy as np

from assignlab.compiled import njit

@njit
def before(number):
    return number

for kind in {kinds}:  # each is compiled apart, and counts
    before(kind)

@njit
def ordered(values):
    return np.{sort}(values)
"""


@pytest.mark.slow
def test_code_of_two_processes_is_not_taken_for_each_other(tmp_path):
    """In both numba's quicksort has one name, and would be the seventh function."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    values = "np.array([3, 1, 2])"
    for name, kinds in ("sort", "()"), ("argsort", "(0, 0.5, True)"):
        (tmp_path / f"by_{name}.py").write_text(SORTED.format(sort=name, kinds=kinds))
        compiled = f"import numpy as np, by_{name}; by_{name}.ordered({values})"
        subprocess.run([sys.executable, "-c", compiled], env=env, check=True)
    both = f"import numpy as np, by_sort, by_argsort; v = {values}; "
    both += "print(by_sort.ordered(v), by_argsort.ordered(v))"
    told = subprocess.run([sys.executable, "-c", both], env=env, check=True, capture_output=True)
    assert told.stdout.decode().strip() == "[1 2 3] [1 2 0]"


def test_the_pinned_numba_is_one_that_steps_are_linked_with():
    assert StepCompiler is linked.StepCompiler


def test_a_change_in_how_steps_are_linked_compiles_anew():
    assert "assignlab.compiled.linked" in below("assignlab.jvm.hash_map")


@pytest.mark.slow
@pytest.mark.parametrize(
    "version, compiler",
    [((0, 68), "assignlab.compiled.linked"), ((0, 63), "numba.core.compiler"), ((9, 0), "numba.core.compiler")],
)  # fmt: skip
def test_both_ways_to_compile_give_the_same(version, compiler, tmp_path_factory):
    """What is compiled in one way serves all numbas that compile so."""
    folder = tmp_path_factory.getbasetemp() / compiler
    told = subprocess.run(
        [sys.executable, "-c", COMPILED_ANEW.format(version=version)],
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.split() == [compiler, "4", "0", "1", "2", "3"]


def test_a_strategy_that_cannot_be_compiled_is_told_with_the_reason(monkeypatch, capsys):
    @njit
    def misspelt(codes):
        return codes.sise

    known = assignors.get
    broken = replace(known("range"), name="broken", assign=lambda group: misspelt(np.arange(3)))
    monkeypatch.setattr(assignors, "get", lambda name: broken if name == "broken" else known(name))
    assert warm.timed(["broken", "scala-roundrobin"]) == ["broken"]
    told = capsys.readouterr().err
    assert "broken failed: TypingError" in told and "scala-roundrobin failed" not in told


class Pair(NamedTuple):
    left: np.ndarray
    right: np.ndarray


@leaf
def turned(pair, times):
    for _ in range(times):
        pair = Pair(pair.right, pair.left)
    return pair.left[0]


@inner
def grown(pair, most):
    """Arrays set once, in a branch, in a loop, and twice."""
    met = np.empty(most, dtype=np.int64)
    last = pair.left
    for k in range(most):
        own = np.full(k + 1, turned(pair, k))
        if k % 3 == 0:
            last = own
        elif k % 3 == 1:
            pair = Pair(last, own)
        met[k] = own.sum() + pair.right[0] + last.size
    return Pair(met, last)


@njit
def walked(left, right, most):
    found = grown(Pair(left, right), most)
    return found.left, found.right


def test_tuples_of_arrays_are_what_python_makes_of_them():
    given = np.array([3, 1]), np.array([5])
    for most in range(8):
        compiled, plain = walked(*given, most), walked.py_func(*given, most)
        assert [each.tolist() for each in compiled] == [each.tolist() for each in plain]


def test_what_was_put_into_a_struct_is_not_taken_out_of_it():
    i64, pair = ir.IntType(64), ir.LiteralStructType([ir.IntType(64)] * 2)
    function = ir.Function(ir.Module(), ir.FunctionType(i64, [i64, pair]), "f")
    number, outer = function.args[0], ir.LiteralStructType([pair, i64])
    builder = Builder(function.append_basic_block())
    inside = builder.insert_value(function.args[1], number, 0)
    whole = builder.insert_value(ir.Constant(outer, ir.Undefined), inside, 0)
    whole = builder.insert_value(whole, number, [0, 1])
    assert builder.extract_value(whole, [0, 0]) is builder.extract_value(whole, [0, 1]) is number
    assert builder.extract_value(whole, 0).operands == [whole]  # two parts of it are set apart
    unread = builder.extract_value(inside, 1)
    builder.ret(builder.extract_value(builder.insert_value(inside, number, 0), 1))
    leave_out_unread(function)
    written = function.blocks[0].instructions
    assert [each.opname for each in written] == ["extractvalue", "ret"] and unread not in written


def test_leaf_returns_no_arrays():
    """Nobody would count who holds them: memory that is in use would be given back."""

    @leaf
    def passed_on(codes):
        return codes, codes.size

    @numba.njit
    def first(codes):
        return passed_on(codes)[0][0]

    with pytest.raises(Exception, match="returns arrays"):
        first(np.arange(3))


def test_constants_have_no_code_of_their_own():
    @njit
    def doubled(number):
        return 2 * number

    @numba.njit
    def of_both(number):
        return doubled(16) + doubled(number)

    assert of_both(1) == 34
    assert len(doubled.signatures) == 1


NUMBAS_OWN = """
import numba
import numpy as np

from assignlab.compiled import inner, njit


@inner
def lightest_first(loads):
    return np.argsort(loads, kind="mergesort")


@njit
def first(n):
    return lightest_first(-np.arange(n * 1.0))[0] + np.zeros(n).size


@numba.njit
def last(n):
    return np.argsort(np.zeros(n) - np.arange(n), kind="mergesort")[-1] + np.full(n, 2.0).sum()


@njit
def both(n):
    return first(n) + last(n)


print({order})
"""
"""A strategy's function and one of a user's own, that call the same functions of numba's."""


@pytest.mark.slow
@pytest.mark.parametrize("order", ["first(5), last(5), both(5)", "both(5), last(5), first(5)"])
def test_what_numba_has_compiled_as_a_step_serves_others_too(order, tmp_path):
    script = tmp_path / "own.py"
    script.write_text(NUMBAS_OWN.format(order=order))
    expected = {"first(5)": 9.0, "last(5)": 10.0, "both(5)": 19.0}
    for _ in "compiled", "read from the disk":
        told = subprocess.run(
            [sys.executable, str(script)], capture_output=True, text=True, check=True
        )
        assert list(map(float, told.stdout.split())) == [expected[c] for c in order.split(", ")]


CALLED_BY_BOTH = """
import numpy as np

from assignlab.compiled import inner, njit


@inner
def step(n):
    return np.arange(n) + np.full(n, 2)


@njit
def entry(n):
    return np.full(n, 1)


@inner
def sum_of_entry(n):
    return entry(n).sum()


@njit
def both(n):
    return step(n).sum() + sum_of_entry(n)


print(both(4))
"""
"""What ``np.full`` calls is inlined in the entry, and called by ``np.arange`` in the step."""


@pytest.mark.slow
def test_a_step_may_call_what_an_entry_has_inlined(tmp_path):
    script = tmp_path / "called.py"
    script.write_text(CALLED_BY_BOTH)
    told = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert told.stdout.split() == ["18"], told.stderr


BELOW = """
from assignlab.compiled import njit


@njit
def tripled(numbers):
    return 3 * numbers.sum()
"""

ABOVE = """
from assignlab.compiled import inner, njit
from below import tripled


@inner
def step(numbers):
    return tripled(numbers) + 1


@njit
def above(numbers):
    return step(numbers) + tripled(numbers)
"""

ASKED = """
import gc
import sys
from importlib import reload

import numpy as np

import above

print(above.above(np.arange(4)), len(above.above.stats.cache_hits))
(result,) = above.above.overloads.values()
print(sum("tripled" in f.name for f in result.library._final_module.functions if not f.is_declaration))
if "reload" in sys.argv:
    import below

    old = above.above
    source = open(below.__file__).read()
    open(below.__file__, "w").write(source.replace("3 * ", "-5 * "))
    reload(below)
    print(reload(above).above(np.arange(4)))
    gc.collect()
    print(old(np.arange(4)))
"""


@pytest.mark.slow
def test_an_entry_is_compiled_once_and_called_by_others(tmp_path):
    for name, source in ("below", BELOW), ("above", ABOVE), ("asked", ASKED):
        (tmp_path / f"{name}.py").write_text(source)

    def asked(*arguments):
        told = subprocess.run(
            [sys.executable, str(tmp_path / "asked.py"), *arguments], capture_output=True, text=True
        )
        assert told.returncode == 0, told.stderr
        return told.stdout.split()

    def forget(name):
        for file in (tmp_path / "__pycache__").glob(f"{name}*.nb?"):
            file.unlink()

    assert asked() == ["37", "0", "0"]
    assert asked() == ["37", "1", "0"]
    forget("below")  # compiled anew, it has the symbol that is called
    assert asked() == ["37", "1", "0"]
    forget("above")
    assert asked() == ["37", "0", "0"]
    assert asked("reload") == ["37", "1", "0", "-59", "37"]
    assert asked() == ["-59", "0", "0"]


OTHERS = """
import numba
import numpy as np

from below import tripled


@numba.njit(cache=True)
def tripled_twice(numbers):
    return tripled(numbers) + tripled(numbers)


print(tripled_twice(np.arange(4)), len(tripled_twice.stats.cache_hits))
"""


@pytest.mark.slow
def test_an_entry_is_called_by_what_numba_itself_compiles_and_keeps(tmp_path):
    (tmp_path / "below.py").write_text(BELOW)
    (tmp_path / "others.py").write_text(OTHERS)

    def printed():
        told = subprocess.run(
            [sys.executable, str(tmp_path / "others.py")], capture_output=True, text=True
        )
        assert told.returncode == 0, told.stderr
        return told.stdout.split()

    assert printed() == ["36", "0"]  # both compiled
    for kept in (tmp_path / "__pycache__").glob("others*.nb?"):
        kept.unlink()
    assert printed() == ["36", "0"]  # the entry comes from the disk
    assert printed() == ["36", "1"]  # both do


RETURNED = """
import numba
import numpy as np

from assignlab.compiled import njit


def given(numbers, name):
    return numbers, numbers[1:], np.zeros((2, 3), np.bool_), name


numbers = np.arange(3, dtype=np.int32)
fixed = np.arange(2.0)
fixed.flags.writeable = False
for compiled in njit(given), numba.njit(given):
    for asked in numbers, fixed:
        back, rest, made, name = compiled(asked, "x")
        assert back is asked and name == "x"
        assert {type(back), type(rest), type(made)} == {np.ndarray}
        assert rest.base is not None and rest.tolist() == asked[1:].tolist()
        assert rest.flags.writeable == asked.flags.writeable and rest.dtype == asked.dtype
        assert made.shape == (2, 3) and made.dtype == np.bool_ and not made.any()
print("as they were")
"""


@pytest.mark.slow
def test_arrays_come_back_as_they_were(tmp_path):
    script = tmp_path / "returned.py"
    script.write_text(RETURNED)
    for _ in "compiled", "read from the disk":
        told = subprocess.run(
            [sys.executable, str(script)], capture_output=True, text=True, check=False
        )
        assert told.stdout.strip() == "as they were", told.stderr


def test_as_python_nothing_is_compiled_and_afterwards_it_is():
    @njit
    def twice(n):
        return 2 * n

    with as_python():
        assert twice(2) == 4 and not twice.signatures
    assert twice(2) == 4 and len(twice.signatures) == 1
    with as_python():
        assert twice(np.arange(2)).tolist() == [0, 2] and len(twice.signatures) == 1


def test_as_python_fields_of_what_compiled_code_returned_are_attributes():
    kind = record("code", "taker")

    @njit
    def noted(n):
        return np.full(n, 7), np.zeros(n, kind)

    @njit
    def takers(n, log):
        return [n[0] + move.taker for move in log[1]]

    log = noted(2)
    with as_python():
        assert takers(log[0], log) == [7, 7]


AS_PYTHON = """
import sys

import numpy as np

from assignlab.compiled import as_python
from assignlab.group.model import first_numbers

with as_python(sys.argv[1] != "compiled", until_s=float(sys.argv[2])):
    for topics in map(int, sys.argv[3:]):
        first_numbers(np.ones(topics, dtype=np.int64))
        print(len(first_numbers.signatures))
"""


@pytest.mark.slow
def test_as_python_what_takes_long_is_compiled_and_what_is_in_the_cache_is_loaded(tmp_path):
    def compiled(how, until_s, *topics):
        told = subprocess.run(
            [sys.executable, "-c", AS_PYTHON, how, until_s, *topics], check=True, text=True,
            capture_output=True, env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        )  # fmt: skip
        return told.stdout.split()

    assert compiled("python", "60", "2", "2") == ["0", "0"]
    assert compiled("python", "0.01", "2", "1000000", "2") == ["0", "0", "1"]
    assert compiled("python", "60", "2") == ["1"]  # by now it is in the cache
    assert compiled("python", "inf", "2") == ["0"]
    assert compiled("compiled", "60", "2") == ["1"]


LARGE = """
import resource

from assignlab import assignors
from assignlab.group.plain import group

large = group({"t": 10_000_000}, {"C0": ["t"], "C1": ["t"]})
assign = assignors.get("range").assign


def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    assign(large)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


print(faults(), faults(), faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_memory_of_large_answers_is_used_again():
    """An array of ten million codes has 20,000 pages of 4 kB."""
    told = subprocess.run(
        [sys.executable, "-c", LARGE], check=True, text=True, capture_output=True
    )  # fmt: skip
    first, _, third = map(int, told.stdout.split())
    assert first > 20_000 and third < 1_000


@pytest.mark.slow
def test_what_others_compile_with_numba_is_what_it_was():
    @numba.jit(forceobj=True, looplift=False)
    def as_words(numbers):
        words = []
        for number in numbers:
            words.append(str(number) if number else {"none": number})
        return words

    @numba.njit
    def odd(below):
        for number in range(below):
            if number % 2:
                yield number

    @numba.njit
    def sum_of_odd(below):
        total = 0
        with numba.objmode(total="int64"):
            for number in range(below):
                if number % 2:
                    total += int(str(number))
        return total

    assert as_words([0, 1, 2]) == [{"none": 0}, "1", "2"]
    assert list(odd(7)) == [1, 3, 5]
    assert sum_of_odd(7) == 9
