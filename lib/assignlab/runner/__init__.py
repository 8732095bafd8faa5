"""The batch runner: parameters checked first, one Papermill process per notebook, a report of all.

`plan` reads the notebooks and refuses what is wrong before a kernel or a Java machine starts;
`run` executes the plans. The steps of one run: `papermill` (the process), `verdict` (did it really
complete), `page` (its HTML page), `report` (manifest and index over all notebooks).
"""

from assignlab.runner.batch import print_list, run
from assignlab.runner.plan import Place, Plan, Refused, plan, read_axes

__all__ = ["Place", "Plan", "Refused", "plan", "print_list", "read_axes", "run"]
