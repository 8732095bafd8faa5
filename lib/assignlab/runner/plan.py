"""Which notebooks run, with which parameters: all of it checked before anything starts.

The study's runs have the values of the notebook and of ``params/<scale>``. What is passed besides
makes a *point*, a run in a folder of its own that is called by the values passed, so that neither
the study's results nor another point's are replaced.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from itertools import product
from pathlib import Path, PurePath

import yaml

from assignlab.errors import UnknownName
from assignlab.local.library import digest, library
from assignlab.local.project import PACKAGES, RUNNING, TABLES_VARIABLE, versions
from assignlab.parameters import declared as parameters
from assignlab.parameters.declared import Mistake, Parameter, known
from assignlab.parameters.strict_yaml import Misread, StrictLoader, shown
from assignlab.runner.shapes import read_shaped, shaped

POINTS = "points"
"""Where runs with values of their own lie, below a scale: a folder per point, in it one per notebook."""
NOTEBOOK_SHAPE = {
    "cells": [{"cell_type": str, "source": str | list, "metadata": dict}],
    "metadata": dict,
}
DECLARED_SHAPE = {"assignlab": {"results": [str]}}


class Refused(ValueError):
    """Nothing was started. ``lines``: one line per mistake, each with what is allowed."""

    def __init__(self, lines: list[str]):
        super().__init__("\n".join(lines))
        self.lines = lines


@dataclass(frozen=True)
class Place:
    """Where a run reads and writes. ``root`` has notebooks/ and params/; ``scale`` names one."""

    root: Path
    outputs: Path
    scale: str

    @property
    def folder(self) -> Path:
        """Where the results at this scale lie, one folder per notebook."""
        return self.outputs / self.scale

    @property
    def running(self) -> Path:
        """Where runs work, each in a folder that is called by its id."""
        return self.folder / RUNNING

    def notebooks(self) -> dict[str, Path]:
        """Name -> file of every notebook of the collection, in the order of their names."""
        return {path.stem: path for path in sorted((self.root / "notebooks").glob("*.ipynb"))}


@dataclass(frozen=True)
class Notebook:
    """What the runner knows of a notebook file without running it."""

    name: str
    path: Path
    title: str
    cells: int
    parameters: dict[str, Parameter]
    results: list[str]


@dataclass(frozen=True)
class Plan:
    """One run: a notebook with checked values. ``inputs``: what else the results depend on.

    ``passed``: those of the values that were passed; none for a run of the study.
    """

    notebook: Notebook
    values: dict
    inputs: dict
    passed: dict

    @property
    def name(self) -> str:
        return self.notebook.name

    @property
    def label(self) -> str:
        """What messages call the run."""
        return " ".join(filter(None, [self.name, point_name(self.passed)]))

    @property
    def path(self) -> PurePath:
        """Where its results lie, below the folder of the scale."""
        if not self.passed:
            return PurePath(self.name)
        return PurePath(POINTS, point_name(self.passed), self.name)


def point_name(passed: dict) -> str:
    """A folder's name for the values passed; two different points never have the same.

    >>> point_name({"members": [4, 8], "skew": 0.5}), point_name({})
    ('members=4+8,skew=0.5', '')
    >>> point_name({"label": "a/b"})
    'label=a-b~2b9e4705'
    """
    items = {name: value if isinstance(value, list) else [value] for name, value in passed.items()}
    text = ",".join(f"{name}={'+'.join(map(str, values))}" for name, values in items.items())
    short = re.sub(r"[^\w.@=,+-]+", "-", text)[:120]
    # A name may have 255 bytes.
    short = short.encode()[:240].decode(errors="ignore")
    told = [str(value) for values in items.values() for value in values]
    if short == text and not any(re.search("[,=+]", item) for item in told):
        return text
    return f"{short}~{hashlib.sha256(json.dumps(passed).encode()).hexdigest()[:8]}"


def plan(place: Place, wanted=(), passed=(), axes: Mapping[str, list] | None = None) -> list[Plan]:
    """The runs asked for, in the collection's order, those of a notebook as its axes turn.

    wanted: notebooks by name, number or file; none means all. passed: (parameter, text) pairs from
    the command line, for those notebooks. axes: parameter -> values, each a text or list of texts
    as from the command line, or a plain value; every combination is a run. Raises `Refused` with
    every mistake found.
    """
    axes = axes or {}
    mistakes = []
    notebooks = []
    for path in _selected(place, wanted):
        try:
            notebooks.append(read_notebook(path))
        except Mistake as mistake:
            mistakes.append(f"{path.stem}: {mistake}")
    names = [*(name for name, _ in passed), *axes]
    mistakes = mistakes or _wrong_names(notebooks, names, bool(wanted))
    plans = []
    for notebook in notebooks:
        own = [name for name in names if name in notebook.parameters]
        if names and not own:
            continue
        values, wrong = _values(place, notebook)
        points, more = _points(notebook, passed, axes)
        wrong += more
        mistakes += [f"{notebook.name}: {line}" for line in wrong]
        if not wrong:
            inputs = _inputs(place, notebook)
            for point in points:
                chosen = values | point
                plans.append(Plan(notebook, chosen, inputs | _sources(notebook, chosen), point))
    if mistakes:
        raise Refused(mistakes)
    return plans


def _points(notebook: Notebook, passed, axes: Mapping[str, list]) -> tuple[list[dict], list[str]]:
    """(every combination of the values passed, mistakes); one of no values where none are."""
    mistakes: list[str] = []
    turning: dict[str, list] = {}
    given = [(name, [text], "-p") for name, text in passed]
    for name, values, option in [*given, *((name, axes[name], "axis") for name in axes)]:
        if name not in notebook.parameters:
            continue
        kind, checked = notebook.parameters[name].kind, []
        for value in values:
            try:
                checked.append(parameters.from_text(kind, value))
            except Mistake as mistake:
                mistakes.append(f"{option} {name}: {mistake}")
        turning[name] = [value for i, value in enumerate(checked) if value not in checked[:i]]
    points = [dict(zip(turning, point, strict=True)) for point in product(*turning.values())]
    return points, mistakes


def read_axes(options, file: Path | None) -> dict[str, list]:
    """The axes of a grid: of options ``name=value,value`` and of a YAML file ``name: [values]``.

    Raises `Refused` where one of them is not understood.
    """
    axes: dict[str, list] = {}
    mistakes = []
    for option in options:
        name, equals, text = option.partition("=")
        values = parameters.words(f"[{text}]")
        if not equals or not isinstance(values, list) or not values:
            mistakes.append(f"--grid {shown(option)}: write NAME=VALUE,VALUE, lists as [4],[8]")
        elif name in axes:
            mistakes.append(f"--grid {name} is given twice")
        else:
            axes[name] = values
    try:
        document = read_parameters(file) if file else {}
    except Mistake as mistake:
        raise Refused([f"{file} {mistake}"]) from None
    for name, values in document.items():
        if not isinstance(values, list) or not values:
            mistakes.append(f"{file}: {name}: {shown(values)} is not a list of values")
        elif name in axes:
            mistakes.append(f"{file}: {name} is a --grid option, too")
        else:
            axes[name] = values
    if mistakes:
        raise Refused(mistakes)
    return axes


def _wrong_names(notebooks: list[Notebook], passed: list[str], chosen: bool) -> list[str]:
    """What is wrong with the names of the parameters that were passed.

    Notebooks that were named (chosen) must all have them; of all notebooks one is enough.
    """
    anywhere = sorted({name for notebook in notebooks for name in notebook.parameters})
    unknown = [
        str(UnknownName("parameter", name, anywhere)) for name in passed if name not in anywhere
    ]
    lacking = [
        f"{notebook.name} has no parameter {name!r}: run it by itself"
        for name in dict.fromkeys(passed)
        for notebook in notebooks
        if chosen and name in anywhere and name not in notebook.parameters
    ]
    twice = [name for name in anywhere if passed.count(name) > 1]
    return unknown + lacking + [f"{name} is given twice" for name in twice]


def _selected(place: Place, wanted) -> list[Path]:
    notebooks = place.notebooks()
    if not notebooks:
        hint = "'assignlab notebooks COPY_TO' copies those of assignlab to a folder to run in"
        raise Refused([f"no notebooks in {place.root / 'notebooks'}: {hint}"])
    chosen, mistakes = set(), []
    for word in wanted:
        stem = Path(word).name.removesuffix(".ipynb")
        found = (
            [stem]
            if stem in notebooks
            else [name for name in notebooks if stem and name.startswith(f"{stem.zfill(2)}_")]
        )
        if _is_another(word, notebooks.get(stem)):
            mistakes.append(
                f"{word} is not one of the notebooks in {place.root / 'notebooks'}: put it there, "
                "or name its project's folder with --project"
            )
        elif len(found) == 1:
            chosen.add(found[0])
        else:
            mistakes.append(str(UnknownName("notebook", word, notebooks)))
    if mistakes:
        raise Refused(mistakes)
    return [path for name, path in notebooks.items() if not wanted or name in chosen]


def _is_another(word: str, known: Path | None) -> bool:
    """Whether a word names a notebook's file that has something else in it than the known one."""
    if not word.endswith(".ipynb") or not parameters.is_file(word):
        return False
    return known is None or Path(word).read_bytes() != known.read_bytes()


def read_notebook(path: Path) -> Notebook:
    """A notebook's declarations. Raises `Mistake` where it does not keep the conventions."""
    document = read_shaped(path, NOTEBOOK_SHAPE)
    if document is None:
        raise Mistake("this file is not a notebook (format 4)")
    cells, metadata = document["cells"], document["metadata"]
    with_tags = [cell for cell in cells if shaped(cell["metadata"], {"tags": [str]})]
    tagged = [cell for cell in with_tags if "parameters" in cell["metadata"]["tags"]]
    if len(tagged) != 1:
        raise Mistake(f"one cell must have the tag 'parameters', {len(tagged)} have it")
    if not shaped(metadata, DECLARED_SHAPE) or not metadata["assignlab"]["results"]:
        raise Mistake('its metadata must declare its results: "assignlab": {"results": [names]}')
    headings = [
        line.lstrip("# ").strip()
        for cell in cells
        if cell["cell_type"] == "markdown"
        for line in "".join(cell["source"]).splitlines()
        if line.startswith("# ")
    ]
    return Notebook(
        name=path.stem,
        path=path,
        title=headings[0] if headings else path.stem,
        cells=len(cells),
        parameters=parameters.declared("".join(tagged[0]["source"])),
        results=metadata["assignlab"]["results"],
    )


def _values(place: Place, notebook: Notebook) -> tuple[dict, list[str]]:
    """(parameter -> value: the notebook's own, then the scale's file; mistakes)."""
    values = {name: parameter.default for name, parameter in notebook.parameters.items()}
    file = f"params/{place.scale}/{notebook.name}.yaml"
    try:
        from_file = read_parameters(place.root / file)
    except Mistake as mistake:
        return values, [f"{file} {mistake}"]
    mistakes = []
    for name, value in from_file.items():
        try:
            known("parameter", name, notebook.parameters)
            values[name] = parameters.check(notebook.parameters[name].kind, value)
        except Mistake as mistake:
            mistakes.append(f"{file}: {name}: {mistake}")
    return values, mistakes


def read_parameters(path: Path) -> dict:
    """What a parameter file holds. Raises `Mistake` where it is no YAML of ``name: value`` lines.

    The file means the same under plain Papermill.
    """
    try:
        document = yaml.load(path.read_text(encoding="utf-8"), StrictLoader)
    except FileNotFoundError:
        raise Mistake("is missing (an empty file means the notebook's own values)") from None
    except OSError as error:
        raise Mistake(f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise Mistake(f"is not UTF-8: byte {error.start + 1} is {error.reason}") from None
    except Misread as error:
        raise Mistake(str(error)) from None
    except yaml.YAMLError as error:
        raise Mistake(f"is not YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise Mistake("is nested too deep") from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise Mistake("must hold 'name: value' lines")
    return document


def _inputs(place: Place, notebook: Notebook) -> dict:
    """All that the results depend on beside the values, as JSON."""
    constraints = place.root / "constraints.txt"
    return {
        "notebook": digest([notebook.path]),
        "constraints": digest([constraints] if constraints.is_file() else []),
        "library": library(),
        "packages": _packages(),
        "tables": os.environ.get(TABLES_VARIABLE) or None,
    }


def _sources(notebook: Notebook, values: dict) -> dict:
    """The files that the values name, and what is in them."""
    named = [p.name for p in notebook.parameters.values() if p.kind.base == "source"]
    sources = [source for name in named for source in parameters.as_list(values[name] or [])]
    return {"sources": {s: digest([Path(s)]) for s in sources if parameters.is_file(s)}}


@cache
def _packages() -> dict[str, str]:
    """Name -> version of Python and of every package that the library asks for."""
    try:
        lines = metadata.requires("assignlab") or []
    except metadata.PackageNotFoundError:
        lines = []
    names = {re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in lines if "extra ==" not in line}
    return versions([*PACKAGES, *sorted(names)])
