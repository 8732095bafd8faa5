"""A strategy is one file: written into a copy of the project, everything finds it there."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from assignlab import assignors
from assignlab.pictures import charts

ROOT = Path(__file__).parents[2]
FILE = '''"""``first-come``: every topic goes to its first subscriber.

>>> from assignlab.group.document import lists
>>> from assignlab.group.plain import group
>>> g = group({"t": 2}, {"a": ["t"], "b": ["t"]})
>>> lists(g, assign(g))
{'a': [['t', 0], ['t', 1]], 'b': []}
"""

import numpy as np

from assignlab.assignors.strategy import Strategy
from assignlab.group.assignment import Assignment, code


def assign(group):
    """All partitions of a topic for the first who asks for it."""
    lists = [[] for _ in range(len(group.members))]
    for topic, partitions in enumerate(group.topics.partitions.tolist()):
        for member, given in enumerate(lists):
            if topic in group.members.topics_of(member):
                given += [code(topic, number) for number in range(max(partitions, 0))]
                break
    return Assignment(np.cumsum([0, *map(len, lists)]), np.array(sum(lists, []), dtype=np.int64))


STRATEGY = Strategy(
    name="first-come",
    system="Nobody's",
    first="1.0",
    last="2.1",
    protocol="eager",
    source="this test",
    look=("blue", "d", "dotted"),
    assign=assign,
)
'''
REASONS = """    exceptions={"vectors": "there is no original", "promises": "it is not fair"},
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The project with one strategy more."""
    root = tmp_path_factory.mktemp("copy")
    for folder in ("lib", "tests", "docs", "notebooks"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("golden"))
    for file in ("README.md", "pyproject.toml"):
        shutil.copy(ROOT / file, root)
    (root / "tests" / "golden").symlink_to(ROOT / "tests" / "golden")
    system = root / "lib" / "assignlab" / "assignors" / "nobody"
    system.mkdir()
    (system / "__init__.py").touch()
    (system / "first_come.py").write_text(FILE)
    return root


def run(copy, *command):
    """(exit code, output) of a Python command in the copy."""
    done = subprocess.run(
        [sys.executable, *command],
        cwd=copy,
        env=os.environ | {"PYTHONPATH": str(copy / "lib"), "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def contract(copy, which):
    return run(copy, "-m", "pytest", "tests/assignors/test_contract.py", "-k", which)


@pytest.mark.slow
def test_everything_finds_a_new_strategy(copy):
    code, listed = run(copy, "-m", "assignlab", "strategies", "--format", "json")
    [row] = [row for row in json.loads(listed) if row["name"] == "first-come"]
    assert (row["versions"], row["sticky"]) == ("1.0 to 2.1", "no")

    code, told = run(copy, "docs/tables.py")
    assert code == 0 and "docs: README.md written" in told
    assert "| first-come " in (copy / "README.md").read_text(encoding="utf-8")

    code, told = contract(copy, "first-come and not reason")
    assert code == 0 and "failed" not in told, told


@pytest.mark.slow
def test_what_a_new_strategy_lacks_is_told_with_the_line_to_add(copy):
    file = copy / "lib" / "assignlab" / "assignors" / "nobody" / "first_come.py"
    code, told = contract(copy, "first-come and reason")
    assert code == 1 and "2 failed" in told, told
    assert "`assignlab proof golden first-come`" in told
    assert f'there are none in {file}: exceptions={{"vectors": "..."}}' in told
    assert "first-come promises nothing of its own" in told
    assert 'promises=("...",)' in told and 'exceptions={"promises": "..."}' in told
    file.write_text(FILE.replace("    assign=assign,\n", REASONS + "    assign=assign,\n"))
    code, told = contract(copy, "first-come and reason")
    assert code == 0, told


LOOKS = """
import json
from assignlab import assignors
from assignlab.pictures import charts
print(json.dumps({name: charts.look(name) for name in assignors.names()}))
"""


@pytest.mark.slow
def test_a_new_strategy_changes_the_look_of_no_other(copy):
    _, told = run(copy, "-c", LOOKS)
    looks = json.loads(told)
    assert looks.pop("first-come")["marker"] == "d"
    assert looks == json.loads(json.dumps({name: charts.look(name) for name in assignors.names()}))
