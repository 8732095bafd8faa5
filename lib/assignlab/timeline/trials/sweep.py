"""Many histories on Spark: one flat record each, or several, in one Parquet table.

    table = timeline.sweep(trials, play)

A trial is a frozen dataclass of numbers and words; ``play`` is a function of a module that makes of
a trial a record, as a dict of numbers and words, or a list of records. What the slices, the limit
of time, error rows and the table are is told in :mod:`assignlab.sweep.driver`, which does the work.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, is_dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from assignlab.errors import shown
from assignlab.replay.columns import Column
from assignlab.replay.records import reason
from assignlab.sweep.driver import TIME_LIMIT, Work, play_on_spark
from assignlab.sweep.question import check_table, digest_of
from assignlab.sweep.subject import Subject
from assignlab.sweep.table import Table
from assignlab.timeline.config import TimelineError, plain

TYPES = {str: "string", int: "int64", float: "float64", bool: "bool"}


def sweep(
    trials: Sequence[Any],
    play: Callable[[Any], dict | list[dict]],
    name: str | None = None,
    limit: float = TIME_LIMIT,
    slices: int | None = None,
    load: Callable[[], None] | None = None,
) -> Table:
    """Play every trial on Spark; returns the table of records.

    ``play``: a function of a module that Spark's Python finds (beside this library, in the folder
    that the program was started from, on ``PYTHONPATH``), not made in a notebook or in the program
    itself. The columns are ``scenario`` (number of the trial), ``record`` (number of its record, 0
    where there is one), the fields of the trial, ``error``, and whatever else the records have (of
    a name that the trial has, the record's); the first trial is played here to learn that, and further
    ones until a record has numbers: it may say in its own ``error`` why it has none. A trial that
    raises, or takes more than ``limit`` seconds of processor time, becomes an error row. ``name``,
    ``slices``: as of :func:`assignlab.sweep.driver.run`. ``load``: has the code that trials need in the
    process that plays them, importable like ``play``; the first trial is played for that unless it is
    given.
    Trials that differ in their ``strategy`` alone, or in the fields that their class names in
    ``SHARING``, are played in one slice, where they share what ``play`` keeps of them.
    """
    if not isinstance(trials, Iterable):
        raise TimelineError(f"trials: expected several, got {shown(trials)}")
    trials = [plain_trial(trial) for trial in trials]
    check(trials)
    refuse_unimportable(play)
    check_table(name, limit, slices)
    columns, seconds = learn(trials, play)
    subject = Subject(
        columns,
        ("scenario", "record"),
        partial(records, play, columns),
        partial(lost, columns),
        partial(prepare, load or partial(play, trials[0])),
        always=False,
    )
    costs = [seconds * size / weight(trials[0]) for size in map(weight, trials)]
    called = f"{play.__module__}.{play.__qualname__}"
    question = digest_of([called, [asdict(trial) for trial in trials]])
    ours = play.__module__.startswith("assignlab.")
    work = Work(trials, [called], costs, limit, subject, question if ours else None, alike(trials))
    return play_on_spark(work, name or f"timeline-{question}", slices)


def refuse_unimportable(play: Any) -> None:
    """Raises :class:`TimelineError` for what another process cannot import by its name."""
    module, own = (getattr(play, key, "") for key in ("__module__", "__qualname__"))
    if not callable(play) or "." in own or "<" in own or not own or module == "__main__":
        raise TimelineError(
            "play: expected a function at the top of a module that can be imported, not of the program or "
            f"notebook itself, got {play!r}"
        )


def check(trials: Sequence[Any]) -> None:
    """Refuse trials that no table can hold."""
    if not trials:
        raise TimelineError("a sweep needs at least one trial")
    for trial in trials:
        if not is_dataclass(trial) or type(trial) is not type(trials[0]):
            raise TimelineError(f"trials: expected dataclasses of one kind, got {trial!r}")
    try:
        different = len(set(trials))
    except TypeError as error:  # not frozen, or one has a list
        raise TimelineError(f"trials: expected frozen ones of numbers and words: {error}") from None
    if different < len(trials):
        raise TimelineError(f"trial {Counter(trials).most_common(1)[0][0]!r} is given twice")
    kinds_of(trials)


def plain_trial(trial: Any) -> Any:
    """A trial whose numbers are Python's own; what is no dataclass stays as it is."""
    if not is_dataclass(trial) or isinstance(trial, type):
        return trial
    values = asdict(trial)
    own = {name: value.item() for name, value in values.items() if isinstance(value, np.generic)}
    return replace(trial, **own) if own else trial


def kinds_of(trials: Sequence[Any]) -> dict[str, str]:
    """The type of the column of each field, by name; whole numbers beside others are doubles.

    Raises :class:`TimelineError` for values that no column holds, or not one column.
    """
    found: dict[str, dict[str, Any]] = {name: {} for name in asdict(trials[0])}
    for trial in trials:
        for name, value in asdict(trial).items():
            if value is not None and type(value) not in TYPES:
                raise TimelineError(f"{name}: expected a number or a word, got {value!r}")
            if value is not None:
                found[name].setdefault(TYPES[type(value)], value)
    for name, examples in found.items():
        if not examples:
            raise TimelineError(f"{name}: expected a number or a word, got None")
        if len(examples) > 1 and set(examples) != {"int64", "float64"}:
            several = " and ".join(map(repr, examples.values()))
            raise TimelineError(f"{name}: expected values of one kind, got {several}")
    return {name: min(examples) for name, examples in found.items()}


def alike(trials: Sequence[Any]) -> list[int] | None:
    """A number for each trial, one for those that differ in strategy alone, or in what their class
    names in ``SHARING``; None without any."""
    sharing = getattr(trials[0], "SHARING", ("strategy",) if hasattr(trials[0], "strategy") else ())
    if not sharing:
        return None
    numbers: dict[tuple, int] = {}
    others = (tuple((asdict(trial) | dict.fromkeys(sharing, "")).values()) for trial in trials)
    return [numbers.setdefault(values, len(numbers)) for values in others]


def weight(trial: Any) -> float:
    """How long a trial takes, compared with others: by its members, partitions and minutes."""
    fields = asdict(trial)
    sizes = [fields.get(name) for name in ("members", "partitions", "minutes", "rate")]
    known = (size for size in sizes if isinstance(size, int | float) and 0 < size < math.inf)
    return math.prod(1 + size for size in known)


def learn(trials: Sequence[Any], play: Callable) -> tuple[tuple[Column, ...], float]:
    """The columns of a table, and how many seconds the first trial took."""
    began = time.process_time()
    first = plain_records(play(trials[0]))
    seconds = max(time.process_time() - began, 1e-3)
    if not first:
        raise TimelineError("play: the first trial gives no record")
    later = (record for trial in trials[1:] for record in _tried(play, trial))
    sound = (record for record in chain(first, later) if record.get("error") is None)
    told = next(sound, first[0])
    fields = kinds_of(trials)
    key = {"scenario", "record"}
    ours = fields.keys() & {*key, "error"} | told.keys() & key
    if ours:
        raise TimelineError(f"{min(ours)}: every table has a column of its own of this name")
    columns = [
        Column("scenario", "int64", "", "number of the trial in the sweep, from 0"),
        Column("record", "int64", "", "number of the record of its trial, from 0"),
        *[Column(name, kind, "", "of the trial") for name, kind in fields.items()],
        Column("error", "string", "", "why there is no record, else null"),
    ]
    known = {column.name for column in columns}
    for name, value in told.items():
        if name not in known:
            if type(value) not in TYPES:
                if told.get("error") is not None:
                    raise TimelineError(f"play: no trial has a result: {told['error']}")
                raise TimelineError(f"{name}: expected a number or a word, got {value!r}")
            columns.append(Column(name, TYPES[type(value)], "", "of the record"))
    return tuple(columns), seconds


def _tried(play: Callable, trial: Any) -> list[dict]:
    """The records of a trial, none if it raises: then it will be an error row."""
    try:
        return plain_records(play(trial))
    except Exception:
        return []


def plain_records(made: dict | list[dict]) -> list[dict]:
    """Records with Python's own numbers."""
    made = list(made) if isinstance(made, Iterable) and not isinstance(made, dict) else [made]
    if not all(isinstance(record, dict) for record in made):
        raise TimelineError(f"play: expected a dict of numbers and words, or a list, got {made!r}")
    return [{name: plain(value) for name, value in record.items()} for record in made]


def records(
    play: Callable, columns: Sequence[Column], trial: Any, strategies: Sequence[str]
) -> list[tuple]:
    """The records of a trial, without the number of the trial; an error row if it raises."""
    try:
        return [
            row(columns, number, trial, record)
            for number, record in enumerate(plain_records(play(trial)))
        ]
    except Exception as raised:
        return [lost(columns, trial, "", reason(raised))]


def row(columns: Sequence[Column], number: int, trial: Any, record: dict) -> tuple:
    """One record in the order of the columns."""
    values = asdict(trial) | {"error": None} | record | {"record": number}
    unknown = values.keys() - {column.name for column in columns}
    if unknown:
        raise TimelineError(f"record: the first one has no {', '.join(sorted(unknown))}")
    return tuple(fitting(column, values.get(column.name)) for column in columns[1:])


def fitting(column: Column, value: Any) -> Any:
    """A value as its column has it."""
    if value is None or TYPES.get(type(value)) == column.type:
        return value
    if column.type == "float64" and type(value) is int:
        return float(value)
    raise TimelineError(f"{column.name}: {value!r} is not of the type {column.type}")


def lost(columns: Sequence[Column], trial: Any, strategy: str, why: str) -> tuple:
    """The error row of a trial."""
    return row(columns, 0, trial, {"error": why})


def prepare(load: Callable[[], Any], strategy: str) -> None:
    """Have the code that trials need in this process; the one ``strategy`` is the ``play``."""
    load()
