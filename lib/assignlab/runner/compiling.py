"""Compiles what notebooks need while the first one runs: ``assignlab run --compile-ahead``."""

import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from uuid import uuid4

from assignlab.local.project import RUN_ID_VARIABLE
from assignlab.parameters.declared import as_list, strategy_names
from assignlab.runner.papermill import Processes
from assignlab.runner.plan import Plan


def strategies_of(plan: Plan) -> set[str]:
    """The strategies that a notebook's parameters name; all where such a parameter is None.

    A notebook without such a parameter names none: it compiles the few that it plays itself.
    """
    found: set[str] = set()
    for name, parameter in plan.notebook.parameters.items():
        if parameter.kind.base == "strategy":
            value = plan.values[name]
            found.update(strategy_names() if value is None else as_list(value))
    return found


def compile_ahead(plans: Sequence[Plan], processes: Processes) -> Callable[[Plan], object]:
    """Have strategies compiled in the order of the notebooks, one notebook after the other.

    Returns what waits until the code that a notebook needs is there; where it needs none, not at all.
    What goes wrong here costs time only: the notebook compiles for itself.
    """
    pool = ThreadPoolExecutor(1)
    compiled: dict[str, Future] = {}
    done: set[str] = set()
    job: Future | None = None
    for plan in plans:
        needed = strategies_of(plan)
        missing = needed - done
        done |= missing
        if missing:
            job = pool.submit(_compile, processes, sorted(missing))
        if needed and job:
            compiled[plan.label] = job
    if done == set(strategy_names()):
        # Told no names, the command compiles the optimum and the timeline too.
        pool.submit(_compile, processes, [])
    return lambda plan: wait({compiled[plan.label]} if plan.label in compiled else ())


def _compile(processes: Processes, names: list[str]) -> None:
    command = [sys.executable, "-P", "-m", "assignlab", "warm", *names]
    process = processes.start(command, os.environ | {RUN_ID_VARIABLE: uuid4().hex})
    if process is not None and process.stdout is not None:
        for _ in process.stdout:
            pass
        process.wait()
