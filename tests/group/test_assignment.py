"""Assignments show themselves by names, in a shell and in a notebook."""

import platform
import subprocess
import sys

import pytest

from assignlab import assignors
from assignlab.group import group
from assignlab.group.assignment import LINE, MEMBERS_SHOWN, Assignment


def test_long_assignments_are_cut_at_members_and_at_lines():
    topics = {f"topic{i}": 30 for i in range(4)}
    many = group(topics, {f"c{i}": list(topics) for i in range(MEMBERS_SHOWN + 5)})
    shown = repr(assignors.get("range").assign(many)).splitlines()
    assert shown[0] == f"120 partitions of 25 members, the first {MEMBERS_SHOWN}:"
    assert len(shown) == 1 + MEMBERS_SHOWN and max(map(len, shown)) <= LINE
    one = repr(assignors.get("sticky@3.5").assign(group(topics, {"c": list(topics)})))
    assert one.endswith(" ...") and len(one.splitlines()[1]) <= LINE


def test_a_member_whose_name_takes_the_line_shows_no_more_than_that_it_has_some():
    long, none = "m" * 2 * LINE, "n" * 2 * LINE
    given = Assignment.from_lists([range(1000), []])
    given.group = group({"t": 1000}, {long: ["t"], none: []})
    assert repr(given).splitlines()[1:] == [f"{long}  1000   ...", f"{none}     0"]


def test_names_are_text_and_nobody_is_a_member():
    odd = group({"t&": 1}, {"<b>": ["t&"]})
    page = assignors.get("roundrobin").assign(odd)._repr_html_()
    assert "&lt;b&gt;" in page and "t&amp;-0" in page and "<b>" not in page
    assert repr(assignors.get("range").assign(group({}, {}))) == "0 partitions of 0 members"


FAULTS = """
import resource, sys
from assignlab import assignors
from assignlab.group.plain import group

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    assignors.get("range").assign(group({"t": int(sys.argv[1])}, {"c": ["t"]}))
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults()
print(*[faults() for _ in range(3)])
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs the C library of GNU")
def test_the_memory_of_a_large_group_is_kept_for_the_next():
    run = [sys.executable, "-c", FAULTS, str(8_000_000)]
    told = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    assert max(map(int, told.split())) < 8_000_000 * 8 // 4096, told
