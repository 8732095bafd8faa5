"""Which notebooks run, with which parameters: all of it checked before anything starts."""

import re
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

import yaml

from assignlab.errors import UnknownName
from assignlab.local.library import digest, library
from assignlab.local.project import versions
from assignlab.runner import parameters
from assignlab.runner.parameters import Mistake, Parameter, known
from assignlab.runner.shapes import read_shaped, shaped
from assignlab.runner.strict_yaml import Misread, StrictLoader

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
        return self.folder / ".running"

    def notebooks(self) -> dict[str, Path]:
        """Name -> file of every notebook of the collection, in the order of their names."""
        return {path.stem: path for path in sorted((self.root / "notebooks").glob("*.ipynb"))}

    def parameter_file(self, notebook: str) -> Path:
        return self.root / "params" / self.scale / f"{notebook}.yaml"


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
    """One run: a notebook with checked values. ``inputs``: what else the results depend on."""

    notebook: Notebook
    values: dict
    inputs: dict

    @property
    def name(self) -> str:
        return self.notebook.name


def plan(place: Place, wanted=(), passed=()) -> list[Plan]:
    """The runs asked for, in the collection's order.

    wanted: notebooks by name, number or file; none means all. passed: (parameter, text) pairs from
    the command line, for those notebooks. Raises `Refused` with every mistake found.
    """
    mistakes = []
    paths = _selected(place, wanted)
    notebooks = []
    for path in paths:
        try:
            notebooks.append(read_notebook(path))
        except Mistake as mistake:
            mistakes.append(f"{path.stem}: {mistake}")
    mistakes = mistakes or _wrong_names(notebooks, [name for name, _ in passed])
    plans = []
    for notebook in notebooks:
        values, wrong = _values(place, notebook, passed)
        mistakes += [f"{notebook.name}: {line}" for line in wrong]
        if not wrong:
            plans.append(Plan(notebook, values, _inputs(place, notebook)))
    if mistakes:
        raise Refused(mistakes)
    return plans


def _wrong_names(notebooks: list[Notebook], passed: list[str]) -> list[str]:
    """What is wrong with the names of the parameters that were passed."""
    anywhere = sorted({name for notebook in notebooks for name in notebook.parameters})
    unknown = [
        str(UnknownName("parameter", name, anywhere)) for name in passed if name not in anywhere
    ]
    twice = [name for name in anywhere if passed.count(name) > 1]
    return unknown + [f"-p {name} is given twice" for name in twice]


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
            else [name for name in notebooks if name.startswith(f"{stem}_")]
        )
        if len(found) == 1:
            chosen.add(found[0])
        else:
            mistakes.append(str(UnknownName("notebook", word, notebooks)))
    if mistakes:
        raise Refused(mistakes)
    return [path for name, path in notebooks.items() if not wanted or name in chosen]


def read_notebook(path: Path) -> Notebook:
    """A notebook's declarations. Raises `Mistake` where it does not keep the conventions."""
    document = read_shaped(path, NOTEBOOK_SHAPE)
    if document is None:
        raise Mistake("this file is not a notebook (format 4)")
    cells, metadata = document["cells"], document["metadata"]
    tagged = [cell for cell in cells if _is_tagged(cell, "parameters")]
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


def _is_tagged(cell: dict, tag: str) -> bool:
    return shaped(cell["metadata"], {"tags": [str]}) and tag in cell["metadata"]["tags"]


def _values(place: Place, notebook: Notebook, passed) -> tuple[dict, list[str]]:
    """(parameter -> value: the notebook's own, the scale's file, the command line; mistakes)."""
    values = {name: parameter.default for name, parameter in notebook.parameters.items()}
    path = place.parameter_file(notebook.name)
    file = f"params/{place.scale}/{path.name}"
    try:
        from_file = read_parameters(path)
    except Mistake as mistake:
        return values, [f"{file} {mistake}"]
    mistakes = []
    for name, value in from_file.items():
        try:
            known("parameter", name, notebook.parameters)
            values[name] = parameters.check(notebook.parameters[name].kind, value)
        except Mistake as mistake:
            mistakes.append(f"{file}: {name}: {mistake}")
    for name, text in passed:
        if name in notebook.parameters:
            try:
                values[name] = parameters.from_text(notebook.parameters[name].kind, text)
            except Mistake as mistake:
                mistakes.append(f"-p {name}: {mistake}")
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
    }


@cache
def _packages() -> dict[str, str]:
    """Name -> version of Python and of every package that the library asks for."""
    try:
        lines = metadata.requires("assignlab") or []
    except metadata.PackageNotFoundError:
        lines = []
    names = {re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in lines if "extra ==" not in line}
    found = {name: _version(name) for name in sorted(names)}
    return {**versions(), **{name: version for name, version in found.items() if version}}


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
