"""Compiles what notebooks need while the first one runs: ``assignlab run --compile-ahead``."""

import os
import sys
from collections.abc import Sequence
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


class Compiler:
    """Has strategies compiled in the order of the notebooks, one notebook after the other."""

    def __init__(self, plans: Sequence[Plan], processes: Processes):
        self._processes = processes
        self._pool = ThreadPoolExecutor(1)
        self._compiled: dict[str, Future] = {}
        done: set[str] = set()
        job: Future | None = None
        for plan in plans:
            needed = strategies_of(plan)
            missing = needed - done
            done |= missing
            if missing:
                job = self._pool.submit(self._compile, sorted(missing))
            if needed and job:
                self._compiled[plan.label] = job
        if done == set(strategy_names()):
            # Told no names, the command compiles the optimum and the timeline too.
            self._pool.submit(self._compile, [])

    def wait_for(self, plan: Plan) -> None:
        """Return when the code that a notebook needs is there; where it needs none, at once.

        What goes wrong here costs time only: the notebook compiles for itself.
        """
        if plan.label in self._compiled:
            wait([self._compiled[plan.label]])

    def _compile(self, names: list[str]) -> None:
        command = [sys.executable, "-P", "-m", "assignlab", "warm", *names]
        process = self._processes.start(command, os.environ | {RUN_ID_VARIABLE: uuid4().hex})
        if process is not None and process.stdout is not None:
            for _ in process.stdout:
                pass
            process.wait()
