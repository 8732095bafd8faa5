"""Writes every table and picture of the pages that follows from the code: ``make docs``.

With ``--check`` it changes nothing and names the pages that are out of date.
"""

import importlib.util
import json
import re
import shlex
import sys
from collections.abc import Callable
from graphlib import TopologicalSorter
from pathlib import Path

from click.testing import CliRunner

from assignlab import assignors, producers
from assignlab.cli import main as cli
from assignlab.local.project import outputs
from assignlab.replay.columns import BESIDE_OPTIMUM, METRICS
from assignlab.replay.scenarios import EVENTS
from assignlab.words import TERMS

ROOT = Path(__file__).parents[1]


def strategies() -> str:
    """The strategies and their facts."""
    return assignors.table("markdown")


def notebooks() -> str:
    """The notebooks and their questions."""
    lines = ["| notebook | question |", "|---|---|"]
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        first = "".join(json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"])
        question = first.splitlines()[0].removeprefix("# ")
        lines.append(f"| [{path.stem}](notebooks/{path.name}) | {question} |")
    return "\n".join(lines)


def questions() -> str:
    """The notebooks, their questions and the names of their parameters, for those who open them."""
    lines = ["| notebook | question | parameters |", "|---|---|---|"]
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        question = cells[0]["source"][0].removeprefix("# ").strip()
        [given] = [c["source"] for c in cells if "parameters" in c["metadata"].get("tags", ())]
        names = re.findall(r"^(\w+) = ", "".join(given), re.MULTILINE)
        lines.append(f"| [{path.stem}]({path.name}) | {question} | {', '.join(names)} |")
    return "\n".join(lines)


def events() -> str:
    """The events of a history and what each does."""
    lines = ["| event | what happens |", "|---|---|"]
    for name, happens in EVENTS.items():
        text = " ".join((happens.__doc__ or "").split())
        lines.append(f"| `{name}` | {text} |")
    return "\n".join(lines)


def columns(measured=METRICS) -> str:
    """The columns that are measured."""
    lines = ["| column | unit | meaning |", "|---|---|---|"]
    for column in measured:
        meaning = column.meaning.replace("|", "\\|")
        lines.append(f"| `{column.name}` | {column.unit} | {meaning} |")
    return "\n".join(lines)


def glossary() -> str:
    """The words of the pages."""
    lines = ["| word | what it means | columns of tables |", "|---|---|---|"]
    for term in TERMS:
        names = ", ".join(f"`{column}`" for column in term.columns)
        lines.append(f"| {term.word} | {term.meaning} | {names} |")
    return "\n".join(lines)


def floors() -> str:
    """The rooms, each above those that it touches."""
    touches = _loaded("rooms", ROOT / "tests" / "test_rooms.py").may_touch()
    floor: dict[str, int] = {}
    graph = {r: set(touches) - {r} if "everything" in t else t for r, t in touches.items()}
    for room in TopologicalSorter(graph).static_order():
        floor[room] = max((floor[below] + 1 for below in graph[room]), default=0)
    lines = [
        f"{number:2}  " + "   ".join(sorted(room for room in floor if floor[room] == number))
        for number in range(max(floor.values()), -1, -1)
    ]
    return "\n".join(["```", *lines, "```"])


def _loaded(name: str, path: Path):
    """A file that stands in no package, as a module."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


gallery = _loaded("gallery", ROOT / "docs" / "gallery.py")

GENERATED: dict[tuple[str, str], Callable[[], str]] = {
    ("README.md", "strategies"): strategies,
    ("README.md", "notebooks"): notebooks,
    ("notebooks/README.md", "notebooks"): questions,
    ("docs/architecture.md", "floors"): floors,
    ("docs/glossary.md", "glossary"): glossary,
    ("docs/gallery/README.md", "gallery"): gallery.page,
    ("README.md", "pictures"): gallery.strip,
    ("docs/producers.md", "partitioners"): producers.table,
    ("docs/sweeps.md", "events"): events,
    ("docs/sweeps.md", "columns"): columns,
    ("docs/sweeps.md", "optimum"): lambda: columns(BESIDE_OPTIMUM),
}
"""(page, name of the place) -> what stands there, between ``<!-- name -->`` and ``<!-- /name -->``."""


def renewed(page: str) -> str:
    """The text of a page with every generated part written anew."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for (of, name), write in GENERATED.items():
        if of == page:
            place = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
            part = write()
            text, found = re.subn(
                place, lambda m, part=part: f"{m[1]}{part}\n{m[2]}", text, flags=re.DOTALL
            )
            assert found == 1, f"{page}: {found} places are called {name}"
    return text


CASE = re.compile(r"(?<=^```\n)\$ assignlab (group .*)\n(?:.*\n)*?(?=```$)", re.MULTILINE)
"""A command and its output, as a page shows them."""


def cases(page: str) -> str:
    """The text of a page with the output of its ``assignlab group`` commands as it is now."""

    def answer(found: re.Match) -> str:
        result = CliRunner().invoke(cli, shlex.split(found[1]), terminal_width=200)
        if result.exit_code:
            raise SystemExit(f"docs: {page}: 'assignlab {found[1]}' failed: {result.output}")
        return f"$ assignlab {found[1]}\n{result.stdout.rstrip()}\n"

    return CASE.sub(answer, (ROOT / page).read_text(encoding="utf-8"))


def main() -> int:
    if "--cases" in sys.argv:
        # Needs many strategies compiled: a test of its own looks whether the page is as written.
        (ROOT / CASES).write_text(cases(CASES), encoding="utf-8")
        return 0
    stale = 0
    if not CHECK:
        gallery.renew(outputs() / "study")
    elif other := gallery.stale(outputs() / "study"):
        print(
            f"docs: docs/gallery is not as outputs has it: {', '.join(other)}; make docs takes it over"
        )
    for page in dict.fromkeys(page for page, _ in GENERATED):
        path = ROOT / page
        text = renewed(page)
        if text != path.read_text(encoding="utf-8"):
            stale += 1
            print(f"docs: {page} " + ("is out of date: make docs" if CHECK else "written"))
            if not CHECK:
                path.write_text(text, encoding="utf-8")
    return int(CHECK and stale > 0)


CASES = "docs/your-group.md"
CHECK = "--check" in sys.argv

if __name__ == "__main__":
    sys.exit(main())
