"""The README's tables say what the project has; its links lead somewhere; its examples run."""

import json
import re
from pathlib import Path

import pytest
from assignlab import assignors
from assignlab.document import answer

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def between(name: str) -> str:
    return re.search(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", README, re.DOTALL)[1].strip()


def notebook_table() -> str:
    lines = ["| notebook | question |", "|---|---|"]
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        first = "".join(json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"])
        question = first.splitlines()[0].removeprefix("# ")
        lines.append(f"| [{path.stem}](notebooks/{path.name}) | {question} |")
    return "\n".join(lines)


def test_the_strategy_table_is_what_the_command_prints():
    assert between("strategies") == assignors.table("markdown")


def test_the_notebook_table_lists_every_notebook_with_its_question():
    assert between("notebooks") == notebook_table()


@pytest.mark.parametrize("page", ["README.md", "docs/architecture.md", "docs/notebooks.md"])
def test_links_lead_to_files(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / page).parent.joinpath(target).exists(), target


def test_the_group_in_the_readme_is_answered_as_printed():
    asked = re.search(r"echo '(.*?)' \|", README, re.DOTALL)[1].replace("\n", "")
    printed = re.search(r'^\{"assignment".*$', README, re.MULTILINE)[0]
    assert answer(json.loads(asked)) == json.loads(printed)


def test_the_architecture_page_names_only_rooms_that_exist():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for name in set(re.findall(r"`(\w+\.py)`", page)):
        assert list((ROOT / "lib" / "assignlab").rglob(name)), name
