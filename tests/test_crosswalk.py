"""docs/crosswalk.md names files and what stands in them: all of it must be there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "crosswalk.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([\w/]+\.py):(\w+)`", PAGE)))


def test_every_article_has_its_table():
    tables = PAGE.split("\n## ")[1:]
    assert {number for table in tables for number in re.findall(r"\b00\d\b", table)} == {
        "000",
        "001",
        "002",
        "003",
        "004",
    }
    assert all(re.search(r"`[\w/]+\.py:\w+`", table) for table in tables)


@pytest.mark.parametrize(("file", "name"), NAMED, ids=lambda part: part)
def test_what_is_named_is_there(file, name):
    source = (ROOT / "lib" / "assignlab" / file).read_text(encoding="utf-8")
    assert re.search(rf"\b{name}\b", source), f"{file} knows no {name}"


def test_every_row_names_something_or_says_why_not():
    rows = [line for line in PAGE.splitlines() if line.startswith("| ")]
    left = [row.split(" | ")[1] for row in rows if not row.startswith("| article")]
    assert not [cell for cell in left if "`" not in cell and not cell.startswith("none: ")]
