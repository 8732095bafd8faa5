"""Steps are linked with the numba that is installed, and compiled by a numba that nobody has tried."""

import os
import subprocess
import sys

import pytest

from assignlab import linked
from assignlab.compiled import StepCompiler, below

COMPILED_ANEW = """
import numba

numba.version_info = numba.version_info._replace(short={version})

import numpy as np

from assignlab import compiled
from assignlab.jvm.hash_map import hash_map_order

print(compiled.StepCompiler.__module__, *hash_map_order(np.array([33, 1, 17, 2, 16])))
"""
"""The table has 16 slots: 16 comes to slot 0, then 33, 1 and 17 to slot 1, then 2."""


def test_the_pinned_numba_is_one_that_steps_are_linked_with():
    assert StepCompiler is linked.StepCompiler


def test_a_change_in_how_steps_are_linked_compiles_anew():
    assert "assignlab.linked" in below("assignlab.jvm.hash_map")


@pytest.mark.parametrize(
    "version, compiler",
    [((0, 68), "assignlab.linked"), ((0, 63), "numba.core.compiler"), ((9, 0), "numba.core.compiler")],
)  # fmt: skip
def test_both_ways_to_compile_give_the_same(version, compiler, tmp_path):
    told = subprocess.run(
        [sys.executable, "-c", COMPILED_ANEW.format(version=version)],
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.split() == [compiler, "4", "0", "1", "2", "3"]
