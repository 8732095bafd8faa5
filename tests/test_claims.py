"""docs/README.md: every place that is said to show a statement of the articles is there."""

import json
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
CITED = re.compile(r"\[\d\d\]\(\.\./notebooks/([\w.]+)\.ipynb\)(.*?)(?=\[\d\d\]\(|$)")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and re.search(r"\((?:00\d[^)]*)\)", line)
]


@cache
def notebook(name: str) -> tuple[set[str], set[str], str]:
    """Its headings, the names of its results, and all its text."""
    found = json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))
    text = "\n".join("".join(cell["source"]) for cell in found["cells"])
    headings = {line.lstrip("# ") for line in text.splitlines() if re.match("##+ ", line)}
    return headings, set(found["metadata"]["assignlab"]["results"]), text


def places(shown_in: str) -> list[tuple[str, str, str]]:
    """(notebook, heading, result) of a cell of the table; one of the two is empty."""
    return [
        (name, heading, result)
        for name, told in CITED.findall(shown_in)
        for heading, result in re.findall(r"\*([^*]+)\*|`([a-z0-9_]+)`", told)
    ]


@pytest.mark.parametrize(("statement", "shown_in"), [row[:2] for row in ROWS])
def test_every_place_that_shows_a_statement_is_there(statement, shown_in):
    for name, heading, result in places(shown_in):
        headings, results, text = notebook(name)
        if heading:
            assert any(known.startswith(heading) for known in headings) or heading in text, heading
        else:
            assert result in results, f"{statement}: {name} has no result {result}"
    for page in re.findall(r"\]\((\w+\.md)\)", shown_in):
        assert (ROOT / "docs" / page).is_file()
    for path in re.findall(r"`(lib/[\w/.]+)`", shown_in):
        assert (ROOT / path).is_file()
    assert places(shown_in) or ".md)" in shown_in or "`lib/" in shown_in or "the same" in shown_in


def test_all_five_articles_are_listed_and_cited():
    listed = re.findall(r"^\| (00\d) \| \S+", PAGE, re.MULTILINE)
    assert listed == ["000", "001", "002", "003", "004"]
    assert {number for row in ROWS for number in re.findall(r"00\d", row[0])} == set(listed)
    assert len(ROWS) >= 45
