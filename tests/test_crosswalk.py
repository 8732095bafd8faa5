"""docs/crosswalk.md names files and what stands in them: all of it must be there; and every name of the articles."""

import ast
import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "crosswalk.md").read_text(encoding="utf-8")
TABLES = PAGE.split("\n## ")[1:]
NAMES = yaml.safe_load((ROOT / "tests" / "data" / "article_names.yaml").read_text(encoding="utf-8"))
NAMED = sorted(set(re.findall(r"`([\w/]+\.py):(\w+)`", PAGE)))


def test_every_article_has_its_table():
    assert {number for table in TABLES for number in re.findall(r"\b00\d\b", table)} == {
        "000",
        "001",
        "002",
        "003",
        "004",
    }
    assert all(re.search(r"`[\w/]+\.py:\w+`", table) for table in TABLES)


@pytest.mark.parametrize(("file", "name"), NAMED, ids=lambda part: part)
def test_what_is_named_is_there(file, name):
    tree = ast.parse((ROOT / "lib" / "assignlab" / file).read_text(encoding="utf-8"))
    names = {getattr(each, of, None) for each in ast.walk(tree) for of in ("name", "id", "attr")}
    assert name in names, f"{file} knows no {name}"


def test_every_row_names_something_or_says_why_not():
    rows = [line for line in PAGE.splitlines() if line.startswith("| ")]
    left = [row.split(" | ")[1] for row in rows if not row.startswith("| article")]
    assert not [cell for cell in left if "`" not in cell and not cell.startswith("none: ")]


def named_of(article):
    """The names that the left cells of an article's tables explain; a cell's prose explains none."""
    rows = [
        line for table in TABLES if article in table.split("\n")[0] for line in table.splitlines()
    ]
    parts = [
        part for row in rows if row.startswith("| ") for part in row[2:].split(" | ")[0].split(", ")
    ]
    return {name for part in parts if re.fullmatch(r"[`\w.]+( ?\(.*\))?`?", part)
            for name in re.findall(r"\w+", part)}  # fmt: skip


@pytest.mark.parametrize("article", NAMES)
def test_every_name_that_an_article_prints_has_a_row(article):
    printed = NAMES[article].split()
    assert len(printed) > 10
    assert [name for name in printed if name not in named_of(article)] == []
