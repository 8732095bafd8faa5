"""Which notebooks run, with which parameters: all of it checked before anything starts."""

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from assignlab.errors import UnknownName
from assignlab.runner import parameters
from assignlab.runner.parameters import Mistake, Parameter, known
from assignlab.study import versions


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
    """One run: a notebook with checked values. ``key`` changes when the results could."""

    notebook: Notebook
    values: dict
    key: str

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
    anywhere = sorted({name for notebook in notebooks for name in notebook.parameters})
    if not mistakes:
        mistakes = [
            str(UnknownName("parameter", name, anywhere))
            for name, _ in passed
            if name not in anywhere
        ]
    plans = []
    for notebook in notebooks:
        values, wrong = _values(place, notebook, passed)
        mistakes += [f"{notebook.name}: {line}" for line in wrong]
        if not wrong:
            plans.append(Plan(notebook, values, _key(notebook, values)))
    if mistakes:
        raise Refused(mistakes)
    return plans


def _selected(place: Place, wanted) -> list[Path]:
    notebooks = place.notebooks()
    if not notebooks:
        raise Refused([f"no notebooks in {place.root / 'notebooks'}"])
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
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        cells, metadata = document["cells"], document["metadata"]
    except (ValueError, KeyError, TypeError):
        raise Mistake("this file is not a notebook (format 4)") from None
    tagged = [cell for cell in cells if "parameters" in cell["metadata"].get("tags", [])]
    if len(tagged) != 1:
        raise Mistake(f"one cell must have the tag 'parameters', {len(tagged)} have it")
    results = metadata.get("assignlab", {}).get("results")
    if not isinstance(results, list) or not results:
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
        results=results,
    )


def _values(place: Place, notebook: Notebook, passed) -> tuple[dict, list[str]]:
    """(parameter -> value: the notebook's own, the scale's file, the command line; mistakes)."""
    values = {name: parameter.default for name, parameter in notebook.parameters.items()}
    path = place.parameter_file(notebook.name)
    shown = f"params/{place.scale}/{path.name}"
    try:
        # Papermill's reading of YAML: the file means the same under plain Papermill.
        from_file = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except FileNotFoundError:
        return values, [f"{shown} is missing (an empty file means the notebook's own values)"]
    except yaml.YAMLError as error:
        return values, [f"{shown} is not YAML: {' '.join(str(error).split())}"]
    if not isinstance(from_file, dict):
        return values, [f"{shown} must hold 'name: value' lines"]
    mistakes = []
    for name, value in from_file.items():
        try:
            known("parameter", name, notebook.parameters)
            values[name] = parameters.check(notebook.parameters[name].kind, value)
        except Mistake as mistake:
            mistakes.append(f"{shown}: {name}: {mistake}")
    for name, text in passed:
        if name in notebook.parameters:
            try:
                values[name] = parameters.from_text(notebook.parameters[name].kind, text)
            except Mistake as mistake:
                mistakes.append(f"-p {name}: {mistake}")
    return values, mistakes


def _key(notebook: Notebook, values: dict) -> str:
    """A fingerprint of all that the results depend on."""
    digest = hashlib.sha256(notebook.path.read_bytes())
    digest.update(json.dumps([values, versions()], sort_keys=True).encode())
    digest.update(_library().encode())
    return digest.hexdigest()


@cache
def _library() -> str:
    """A fingerprint of the library's source."""
    digest = hashlib.sha256()
    package = Path(parameters.__file__).parents[1]
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
