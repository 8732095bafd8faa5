"""The README's tables say what the project has; its links lead somewhere; its examples run."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from assignlab import assignors, groups
from assignlab.assignors.answer import answer
from assignlab.cli import main as cli
from assignlab.errors import UnknownRelease

ROOT = Path(__file__).parents[1]
spec = importlib.util.spec_from_file_location("tables", ROOT / "docs" / "tables.py")
tables = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tables)
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", sorted({page for page, _ in tables.GENERATED}))
def test_tables_are_what_the_code_says(page):
    """``make docs`` writes them."""
    assert tables.renewed(page) == (ROOT / page).read_text(encoding="utf-8"), "make docs"


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "CHANGELOG.md",
        "docs/architecture.md",
        "docs/notebooks.md",
        "notebooks/README.md",
    ],
)
def test_links_lead_to_files(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / page).parent.joinpath(target).exists(), target


def test_the_opening_of_the_readme_names_every_client():
    opening = README.partition("\n## ")[0].lower()
    clients = {s.system for s in assignors.strategies().values() if s.client_id}
    assert clients and [client for client in clients if client not in opening] == []


def test_the_group_in_the_readme_is_answered_as_printed():
    asked = re.search(r"echo '(.*?)' \|", README, re.DOTALL)[1].replace("\n", "")
    printed = re.search(r'^\{"assignment".*$', README, re.MULTILINE)[0]
    assert answer(json.loads(asked)) == json.loads(printed)


def test_the_release_that_the_readme_calls_refused_is():
    name, release = re.search(r"nobody asked \((\S+) of ([\d.]+)", README).groups()
    with pytest.raises(UnknownRelease):
        assignors.get(f"{name}@{release}")


def test_what_sets_up_can_be_pasted_into_zsh():
    """Which passes a comment on as arguments, unless interactive_comments is set."""
    set_up = README.partition("## Your own group")[0]
    blocks = re.findall(r"^```\n(.*?)^```", set_up, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 2 and not any("#" in block for block in blocks)


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_what_the_readme_pastes_is_read(shell, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    recorded = ROOT / "tests" / "data" / "groups" / "kafka-4.3.0"
    tool = tmp_path / "kafka-consumer-groups.sh"
    tool.write_text(
        "#!/bin/sh\n"
        'test "$1 $2 $3 $4 $5" = "--bootstrap-server HOST:PORT --describe --group orders" || exit 1\n'
        f'if test "$6" = --state; then cat "{recorded}/classic-state.txt"'
        f'; else cat "{recorded}/classic-describe.txt"; fi\n'
    )
    tool.chmod(0o755)
    pasted = re.search(r"^\$ describe\(\).*?> orders\.txt$", README, re.DOTALL | re.MULTILINE)[0]
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    lines = pasted.replace("$ describe()", "describe()").replace("\n$ ", "\n")
    subprocess.run([shell, "-euc", lines], cwd=tmp_path, env=environment, check=True)
    [group] = groups.read(tmp_path / "orders.txt")
    assert group["strategy"] == "range" and len(group["members"]) == 3


def test_contributing_names_files_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:lib|tests|docs|params|oracle|notebooks)/[\w./-]*)`", text)
    assert len(named) > 20
    for path in named:
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize(
    "words",
    sorted(
        set(
            re.findall(
                r"`assignlab ([^`]+)`", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
            )
        )
    ),
)
def test_contributing_gives_commands_that_exist(words):
    command, name, left = cli, "assignlab", words.split()
    while isinstance(command, click.Group):
        name, command, left = command.resolve_command(click.Context(command), left)
    assert command.make_context(name, list(left)).command is command  # or a UsageError
