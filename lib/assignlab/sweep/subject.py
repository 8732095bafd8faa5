"""What a sweep can be about: rebalances, or whatever else gives records with columns of its own."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from assignlab.replay.columns import Column

SPARK_TYPES = {"string": "string", "int64": "bigint", "float64": "double", "bool": "boolean"}


class Subject(NamedTuple):
    """What a sweep plays, and which table it makes of it; functions of modules, so that it travels.

    ``columns``: of a record, ``scenario`` first, with the ``key`` and ``error`` among them;
    ``records(scenario, strategies)``: records without their first column; ``lost(scenario,
    strategy, why)``: the error record likewise; ``load(strategy)``: have the code that a strategy
    needs in this process; ``failed``: which records tell that the lab, and not what it plays, gave no
    answer, as an SQL condition; ``always``: whether every scenario leaves a record.
    """

    columns: tuple[Column, ...]
    key: tuple[str, ...]
    records: Callable[[Any, Sequence[str]], Iterable[tuple]]
    lost: Callable[[Any, str, str], tuple]
    load: Callable[[str], object]
    failed: str = "error is not null"
    always: bool = True

    @property
    def schema(self) -> pa.Schema:
        """The columns for Arrow."""
        return pa.schema([(column.name, column.type) for column in self.columns])

    @property
    def spark_schema(self) -> str:
        """The columns for Spark."""
        return ", ".join(f"{name} {SPARK_TYPES[kind]}" for name, kind, *_ in self.columns)
