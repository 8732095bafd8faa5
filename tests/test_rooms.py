"""Who may import whom: the table of docs/architecture.md, held against every import."""

import ast
import importlib
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from assignlab import assignors

ROOT = Path(__file__).parents[1]
LIB = ROOT / "lib"
PACKAGE = LIB / "assignlab"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
SYSTEM = "assignors/<system>"
ONLY = {"pyspark": "sweep", "matplotlib": "pictures", "seaborn": "pictures"}
OUTSIDE = {"assignlab", "assignlab.__main__"}
EXCEPT = {"study.py"}
"""Saves what the pictures' room drew."""


def may_touch() -> dict[str, set[str]]:
    """Room -> rooms, from the table."""
    rows = re.search(r"<!-- rooms -->\n(.*?)<!-- /rooms -->", PAGE, re.DOTALL)[1].splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return {room.strip("`"): set(filter(None, touches.split(", "))) for room, _, touches in cells}


def module_name(path: Path) -> str:
    parts = path.relative_to(LIB).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, Path]:
    return {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def imported(path: Path) -> frozenset[str]:
    """Every module that a file imports, inside functions and under TYPE_CHECKING too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            modules_among = whole & set(modules())
            found |= modules_among or {node.module}
    return frozenset(found)


def arrows() -> dict[str, set[str]]:
    """Module -> modules of the package that it imports."""
    return {name: set(imported(path)) & set(modules()) - {name} for name, path in modules().items()}


def room_of(module: str) -> str:
    """The longest row of the table that the module stands in; a system's folder is one of many."""
    inside = module.removeprefix("assignlab").strip(".").split(".")
    rows = may_touch()
    for length in range(len(inside), 0, -1):
        if (room := "/".join(inside[:length])) in rows:
            system = room == "assignors" and len(inside) > 2
            return SYSTEM if system else room
    return inside[0]


def test_no_import_that_the_table_does_not_allow():
    table = may_touch()
    for module, targets in arrows().items():
        if module in OUTSIDE:
            continue
        room = room_of(module)
        for target in targets - {"assignlab"}:
            touched = room_of(target)
            allowed = table.get(room, set())
            assert touched == room or "everything" in allowed or touched in allowed, (
                f"{module} ({room}) imports {target} ({touched}): docs/architecture.md, *The rooms*"
            )


def test_every_arrow_that_the_table_allows_is_there():
    used = {
        (room_of(module), room_of(target)) for module, found in arrows().items() for target in found
    }
    allowed = {(room, touched) for room, touches in may_touch().items() for touched in touches}
    assert {(a, b) for a, b in allowed - used if b != "everything"} == set()


def test_every_module_stands_in_a_room():
    rooms = set(may_touch())
    for module in set(modules()) - OUTSIDE:
        assert room_of(module) in rooms, module


def circle(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_no_imports_go_round_in_a_circle():
    assert circle(arrows()) == []


def test_no_rooms_go_round_in_a_circle():
    assert circle({room: touches - {"everything"} for room, touches in may_touch().items()}) == []


def system_of(module: str) -> str | None:
    inside = module.split(".")[1:]
    return inside[1] if inside[:1] == ["assignors"] and len(inside) > 2 else None


def test_no_system_imports_another():
    for module, targets in arrows().items():
        for target in targets:
            systems = {system_of(module), system_of(target)} - {None, "parts"}
            assert len(systems) < 2 or module == target, (
                f"{module} imports {target}: what several systems need stands in assignors/parts"
            )


def test_every_file_of_a_system_is_a_strategy():
    found = {strategy.assign.__module__ for strategy in assignors.strategies().values()}
    for module, path in modules().items():
        system = system_of(module)
        if system not in (None, "parts") and ".parts" not in module and path.stem != "__init__":
            known = module in found or hasattr(importlib.import_module(module), "STRATEGY")
            assert known, f"{module} is no strategy: it belongs into parts/"


@pytest.mark.parametrize("library", ONLY)
def test_libraries_stay_in_their_room(library):
    for module, path in modules().items():
        names = {name.split(".")[0] for name in imported(path)}
        if library in names and path.name not in EXCEPT:
            assert room_of(module) == ONLY[library], f"{module} imports {library}"


def test_the_picture_shows_every_room_above_what_it_touches():
    picture = re.search(r"<!-- floors -->\n(.*?)<!-- /floors -->", PAGE, re.DOTALL)[1]
    floor = {
        room: number
        for number, line in enumerate(reversed(re.findall(r"^ *\d+  (.*)$", picture, re.MULTILINE)))
        for room in line.split("   ")
    }
    table = may_touch()
    assert set(floor) == set(table)
    for room, touches in table.items():
        for touched in set(table) - {room} if "everything" in touches else touches:
            assert floor[touched] < floor[room], f"{room} touches {touched}"


def test_places_named_on_the_page_exist():
    """``room/file.py:name`` is a function, class or method of that file."""
    for file, name in set(re.findall(r"`([\w/]+\.py)(?::([\w.]+))?`", PAGE)):
        here = [*PACKAGE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
        paths = [path for path in here if path.as_posix().endswith(f"/{file}")]
        assert paths, file
        if name:
            assert any(name in defined(path) for path in paths), f"{file}:{name}"


@cache
def defined(path: Path) -> set[str]:
    """Functions and classes by their names, what stands in a class as ``Class.name``."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    within = {
        f"{c.name}.{node.name}" for c in classes for node in c.body if isinstance(node, kinds)
    }
    return within | {node.name for node in ast.walk(tree) if isinstance(node, kinds)}


def refers(path: Path) -> set[str]:
    """What the texts in a file refer to, as :role:`target`."""
    texts = [
        node.value
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    return {target for text in texts for target in re.findall(r":[a-z]+:`~?([\w.]+)`", text)}


def stands_for_something(target: str, module: str) -> bool:
    """Whether a target names a module or what stands in one; in ``module`` the short way, too."""
    known = vars(importlib.import_module(module))
    if any(target in vars(each) for each in known.values() if isinstance(each, type)):
        return True
    first, *rest = target.split(".")
    while (here := ".".join([first, *rest[:1]])) in modules() and rest:
        first, rest = here, rest[1:]
    found = importlib.import_module(first) if first in modules() else known.get(first)
    for name in rest:
        found = getattr(found, name, None)
    return found is not None


def test_what_a_text_refers_to_is_there():
    assert [
        (module, target)
        for module, path in modules().items()
        for target in sorted(refers(path))
        if not stands_for_something(target, module)
    ] == []


def test_what_the_head_of_a_data_file_refers_to_is_there():
    heads = {
        path.name: re.findall(r"(?m)^#.*?\b(assignlab(?:\.\w+)+)", path.read_text(encoding="utf-8"))
        for path in PACKAGE.rglob("*.yaml")
    }
    assert heads["exhibits.yaml"]
    for name, targets in heads.items():
        for target in targets:
            assert stands_for_something(target, "assignlab"), f"{name}: {target}"
