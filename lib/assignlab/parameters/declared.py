"""What a notebook's parameters may be, read from the notebook itself.

The cell tagged ``parameters`` holds one literal per line, commented at its end or, where that makes
the line too long, on the lines above it. The comment begins with what is allowed, then a colon,
then the meaning::

    members = [2, 4]        # list of int 1..10000: consumers in the group
    racks = None            # int 1.. or None: racks to spread the members over
    skew = 0.5              # float 0..1: share of the partitions in the largest topic
    events = ["join"]       # some of join, leave, crash: what happens to the group
    strategies = ["range"]  # list of strategy names: who assigns

The words: ``int``, ``float`` (each with a range ``LOW..HIGH``, ``LOW..`` or ``..HIGH``, or with
``> LOW``), ``bool``, ``str``, ``source`` (a file, or the text itself), ``one of a, b``,
``some of a, b`` (a list without repeats), ``strategy name``, ``list of strategy names``;
``list of`` before a type (numbers without repeats); ``or None`` at the end. There is no ``>=``:
Papermill's own reader of this cell stumbles over a second equals sign.
"""

import ast
import io
import math
import re
import sys
import tokenize
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from assignlab.errors import UnknownName
from assignlab.parameters.strict_yaml import DIGITS, shown
from assignlab.releases import Facts, resolve

NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
GRAMMAR = re.compile(
    r"(?P<listed>list of )?"
    r"(?P<base>int|float|bool|str|source|strategy names?|(?:one|some) of (?P<choices>.+?))"
    rf"(?: (?P<low>{NUMBER})?\.\.(?P<high>{NUMBER})?| > (?P<above>{NUMBER}))?"
    r"(?P<optional> or None)?"
)


MOST = 2**53
"""Of a whole number: up to here they are exact everywhere."""


class Mistake(ValueError):
    """A parameter, or its declaration, is wrong; the message says what is allowed."""


@dataclass(frozen=True)
class Kind:
    """What a parameter may be. ``text`` is its declaration, for people.

    base: int, float, bool, str, source, choice or strategy. Bounds are inclusive but for ``above``.
    """

    text: str
    base: str
    low: float = -math.inf
    high: float = math.inf
    above: float = -math.inf
    choices: tuple[str, ...] = ()
    listed: bool = False
    distinct: bool = False
    optional: bool = False


@dataclass(frozen=True)
class Parameter:
    """One line of the parameters cell: name, what is allowed, default value, meaning."""

    name: str
    kind: Kind
    default: object
    meaning: str


def read_kind(text: str) -> Kind:
    """The `Kind` that a declaration names. Raises `Mistake` if it is not in the grammar.

    >>> kind = read_kind("list of int 1..100")
    >>> kind.base, kind.low, kind.high, kind.listed
    ('int', 1.0, 100.0, True)
    """
    match = GRAMMAR.fullmatch(text)
    if not match:
        raise Mistake(f"{text!r} is not a declaration such as 'int 1..10' or 'one of a, b'")
    base = match["base"]
    ranged = match["low"] or match["high"] or match["above"]
    some = base.startswith("some of")
    if match["choices"]:
        base = "choice"
    elif base.startswith("strategy"):
        base = "strategy"
    if (ranged and base not in ("int", "float")) or (some and match["listed"]):
        raise Mistake(f"{text!r} is not a declaration: it combines what does not go together")
    return Kind(
        text=text,
        base=base,
        low=float(match["low"] or -math.inf),
        high=float(match["high"] or math.inf),
        above=float(match["above"] or -math.inf),
        choices=tuple(re.split(r", *", match["choices"])) if match["choices"] else (),
        listed=bool(match["listed"]) or some,
        distinct=some or (base in ("strategy", "int", "float") and bool(match["listed"])),
        optional=bool(match["optional"]),
    )


def check(kind: Kind, value):
    """The value as the notebook gets it. Raises `Mistake` if it is not allowed."""
    if value is None and kind.optional:
        return None
    if not kind.listed:
        return _check_item(kind, value)
    if not isinstance(value, list) or not value:
        raise _not_allowed(kind, f"{shown(value)} is not a list with at least one value")
    items = [_check_item(kind, item) for item in value]
    repeated = [item for item in items if items.count(item) > 1]
    if kind.distinct and repeated:
        raise _not_allowed(kind, f"{shown(repeated[0])} is there more than once")
    return items


def _not_allowed(kind: Kind, what: str) -> Mistake:
    return Mistake(f"{what}; allowed: {kind.text}")


def _check_item(kind: Kind, value):
    # bool is a kind of int for Python, not for people.
    if kind.base == "int" and type(value) is not int:
        raise _not_allowed(kind, f"{shown(value)} is not a whole number")
    if kind.base == "int" and abs(value) > MOST:
        raise _not_allowed(kind, f"{shown(value)} is beyond {MOST:,}")
    if kind.base == "float":
        if type(value) not in (int, float) or not abs(value) <= sys.float_info.max:  # nor NaN
            raise _not_allowed(kind, f"{shown(value)} is not a number{_yaml_reads_as_text(value)}")
        value = float(value)
    if kind.base == "bool" and type(value) is not bool:
        raise _not_allowed(kind, f"{shown(value)} is neither true nor false")
    if kind.base in ("str", "source", "choice", "strategy") and not isinstance(value, str):
        raise _not_allowed(
            kind, f"{shown(value)} is not a text (put it in quotes; papermill: -r, not -p)"
        )
    if kind.base in ("str", "source") and re.search("[\ud800-\udfff]", value):
        raise _not_allowed(kind, f"{shown(value)} has bytes that are not UTF-8")
    if kind.base == "source":
        if is_file(value):
            # A notebook runs in a folder of its own.
            value = str(Path(value).absolute())
        elif "\n" not in value and value.lstrip()[:1] not in ("{", "["):  # no text: see open_text
            raise Mistake(f"no such file: {shown(value)}")
    if kind.base in ("int", "float") and not (
        kind.above < value and kind.low <= value <= kind.high
    ):
        raise _not_allowed(kind, f"{shown(value)} is out of range")
    if kind.base == "choice":
        known("value", value, kind.choices)
    if kind.base == "strategy":
        _check_strategy(value)
    return value


def is_file(source: str) -> bool:
    """Whether a source is a file's path, from the working directory; else it is the text itself."""
    try:
        return Path(source).is_file()
    except (OSError, ValueError):  # too long for a name, or with a zero byte
        return False


def known(what: str, name: str, allowed) -> None:
    """Raise `Mistake`, which says the nearest right name, if `name` is not among those allowed."""
    if name not in allowed:
        raise Mistake(str(UnknownName(what, name, allowed)))


def _check_strategy(name: str) -> None:
    """Raise `Mistake` if no strategy has this name, nor a release of one."""
    if name not in strategy_names():
        try:
            resolve(name, strategy_facts())
        except UnknownName as unknown:
            raise Mistake(str(unknown)) from None


def _yaml_reads_as_text(value) -> str:
    """Why 1e3 in a parameter file is no number: Papermill's YAML wants a dot before the e."""
    if isinstance(value, str) and re.fullmatch(r"[+-]?\d+(\.\d*)?e[+-]?\d{1,2}", value):
        return f" for YAML (write {float(value)!r})"
    return ""


def as_list(value: str | list[str]) -> list[str]:
    """One name or several as a list."""
    return value if isinstance(value, list) else [value]


def from_text(kind: Kind, given):
    """The value that a command line's text means for this kind: the declared type decides.

    So "007" stays a text where a text is declared, and 1e3 is a number where a number is. What was
    taken apart already may be given too: a list of texts, or plain values, which stay as they are.
    Raises `Mistake` if it is not allowed.
    """
    if kind.listed and isinstance(given, str):
        if kind.optional and given in ("None", "null"):
            return None
        items = words(given)
        if not isinstance(items, list):
            raise _not_allowed(kind, f"{shown(given)} is not a YAML list such as [2, 4]")
        given = items
    if isinstance(given, list):
        return check(kind, [_typed(kind, item) for item in given])
    return check(kind, _typed(kind, given))


def words(text: str):
    """What a YAML text holds, every scalar in it a text; None where it is not YAML."""
    try:
        return yaml.load(text, yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError):
        return None


def _typed(kind: Kind, text):
    if not isinstance(text, str):
        return text
    if kind.optional and not kind.listed and text in ("None", "null"):
        return None
    if kind.base == "int" and re.fullmatch(r"[+-]?\d+", text):
        if len(text) > DIGITS:
            raise _not_allowed(kind, f"{shown(text)} has more than {DIGITS} digits")
        return int(text)
    if kind.base == "float":
        try:
            return float(text)
        except ValueError:
            return text
    if kind.base == "bool":
        return {"true": True, "false": False}.get(text.lower(), text)
    return text


def strategy_names() -> list[str]:
    return [facts.name for facts in strategy_facts()]


STRATEGY = re.compile(r"^STRATEGY = (.*(?:\n(?:[ )].*)?)*)", re.MULTILINE)
"""The call that says a strategy's facts, to the last line that is indented or ends it. Only this is
parsed: parsing all files took each command and each kernel a quarter of a second."""


@cache
def strategy_facts() -> list[Facts]:
    """The names of all strategies and their releases, read from their files.

    Importing the strategies would load numba, and a mistyped name should be told at once; a test
    holds this list against that of `assignlab.assignors`.
    """
    files = (Path(__file__).parents[1] / "assignors").rglob("*.py")
    return sorted(facts for path in files if (facts := _facts_in(path)) is not None)


def _facts_in(path: Path) -> Facts | None:
    """The facts of ``STRATEGY = Strategy(...)`` in a file, or of ``replace(other.STRATEGY, ...)``, which
    ``replace(OTHER, ...)`` is as well: of other.py beside it."""
    found = STRATEGY.search(path.read_text(encoding="utf-8"))
    if not found:
        return None
    call: Any = ast.parse(found[1].strip(), mode="eval").body
    said = {
        keyword.arg: ast.literal_eval(keyword.value)
        for keyword in call.keywords
        if keyword.arg in ("name", "original", "first", "last")
    }
    release = said.get("original", "").partition(":")[2]
    ends = {end: said.get(end) or release for end in ("first", "last")}
    for base in call.args:
        place = path.with_name(f"{ast.unparse(base).partition('.')[0].lower()}.py")
        replaced = _facts_in(place) if place.is_file() else None
        if replaced is not None:
            ends = replaced._asdict() | {end: said[end] for end in ends if end in said}
    return Facts(said["name"], ends["first"], ends["last"])


def declared(source: str) -> dict[str, Parameter]:
    """The parameters of a parameters cell, by name, each default checked against its own kind.

    Raises `Mistake` where a line is not a commented literal.
    """
    found = _read(source)
    for name, parameter in found.items():
        try:
            check(parameter.kind, parameter.default)
        except Mistake as mistake:
            raise Mistake(f"{name}, as declared in the notebook: {mistake}") from None
    return found


def _read(source: str) -> dict[str, Parameter]:
    """The parameters of a parameters cell, whatever their values are."""
    try:
        statements = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Mistake(f"the parameters cell is not Python: {error}") from None
    comments = _comments(source)
    found = {}
    for statement in statements:
        name, default = _literal(statement, source)
        allowed, colon, meaning = _comment_of(statement, comments).partition(":")
        if not colon:
            raise Mistake(f"{name} needs a comment such as '# int 1..10: what it means'")
        try:
            kind = read_kind(allowed.strip())
        except Mistake as mistake:
            raise Mistake(f"{name}, as declared in the notebook: {mistake}") from None
        found[name] = Parameter(name, kind, default, meaning.strip())
    return found


INJECTED = "# Parameters\n"
"""What the cell begins with that Papermill puts below the parameters cell."""


def of_session(variables: Mapping) -> dict | None:
    """The parameters of a notebook that runs, checked; None where it ran no parameters cell.

    variables: its ``globals()``; IPython keeps there, as ``In``, the source of every cell that ran.
    Raises `Mistake` with a line for each value that is not allowed and each name that Papermill put
    in and no line declares.

    >>> cells = ["n = [2]  # list of int 1..9: members", INJECTED + "n = 4\\nm = 1"]
    >>> of_session({"In": cells, "n": 4, "m": 1})
    Traceback (most recent call last):
    assignlab.parameters.declared.Mistake: n: 4 is not a list with at least one value; allowed: \
list of int 1..9
    unknown parameter 'm'; allowed: n
    """
    sources = [str(source) for source in variables.get("In", ())]
    for place in reversed(range(len(sources))):
        try:
            found = _read(sources[place])
        except Mistake:
            continue
        if found:
            break
    else:
        return None
    values, mistakes = {}, []
    for name, parameter in found.items():
        try:
            values[name] = check(parameter.kind, variables.get(name, parameter.default))
        except Mistake as mistake:
            mistakes.append(f"{name}: {mistake}")
    for source in sources[place + 1 :]:
        if source.startswith(INJECTED):
            names = re.findall(r"^(\w+) = ", source, re.MULTILINE)
            mistakes += [str(UnknownName("parameter", n, found)) for n in names if n not in found]
    if mistakes:
        raise Mistake("\n".join(mistakes))
    return values


class _Comment(NamedTuple):
    text: str
    alone: bool  # nothing else stands on its line


def _comments(source: str) -> dict[int, _Comment]:
    """The comments of a cell, by line."""
    return {
        token.start[0]: _Comment(
            token.string.lstrip("# ").strip(), token.line.lstrip().startswith("#")
        )
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }


def _comment_of(statement: ast.stmt, comments: dict[int, _Comment]) -> str:
    """What is said of a statement: the last comment within it, else those right above it."""
    # The last one: a formatter puts that of a long line into parentheses with the value.
    within = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
    for line in reversed(within):
        if line in comments:
            return comments[line].text
    first = statement.lineno
    while first - 1 in comments and comments[first - 1].alone:
        first -= 1
    return " ".join(comments[line].text for line in range(first, statement.lineno))


def _literal(statement: ast.stmt, source: str) -> tuple[str, object]:
    """(name, value) of a statement ``name = literal``. Raises `Mistake` for any other."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, ast.Name):
            with suppress(ValueError, TypeError):  # {[1]: 2} is a TypeError
                return target.id, ast.literal_eval(statement.value)
    line = (ast.get_source_segment(source, statement) or "").splitlines()[0]
    raise Mistake(f"the parameters cell holds 'name = literal' lines only, not {line!r}")
