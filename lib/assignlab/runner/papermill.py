"""One Papermill process per notebook: started, watched, ended with all that it started."""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import yaml

from assignlab.local import project
from assignlab.local.java import BRIEF
from assignlab.runner import guard
from assignlab.runner.lending import Lender
from assignlab.runner.plan import Plan

CELL = re.compile(r"Executing Cell (\d+)-+")
# Later kernels warn at every start that they listen on TCP; here they do so on the loopback only.
KERNEL_CONFIG = "c.IPKernelApp.log_level = 40\n"


class Processes:
    """The runs that go on now, so that an interrupt can end them all.

    lock: descriptor of the runner's lock, which each run holds to its end. outputs: the folder for
    what no run owns, such as Spark's files. lend: whether the runs share Java machines.
    """

    def __init__(self, lock: int, outputs: Path, lend: bool = False):
        self._held = lock
        self._shared = {project.OUTPUTS_VARIABLE: str(outputs)}
        self._lock = threading.Lock()
        self._running: set[str] = set()
        self.stopped = False
        self._lender = Lender(self.start, self.end) if lend else None

    @property
    def lending(self) -> dict[str, str]:
        """What a notebook that may borrow a Java machine needs in its environment."""
        address = self._lender and self._lender.address
        return {project.LENDER_VARIABLE: address} if address else {}

    def start(self, command: list[str], environment: dict) -> subprocess.Popen | None:
        """Start one, with a guard; None once `stop` was called.

        Read its `stdout` to the end: `communicate` would close its input, by which the guard knows
        that this runner is there.
        """
        with self._lock:
            if self.stopped:
                return None
            self._running.add(environment[project.RUN_ID_VARIABLE])
            # A session of its own: Ctrl-C reaches the runner alone, which then ends the others.
            return subprocess.Popen(
                guard.guarded(command), env=environment | self._shared, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                start_new_session=True, pass_fds=(self._held,),
            )  # fmt: skip

    def end(self, run_id: str, well: bool = False) -> None:
        """End all processes of one run, whichever are left; whether it ended well by itself."""
        guard.end({run_id})
        with self._lock:
            self._running.discard(run_id)
        if self._lender:
            self._lender.give_back(run_id, well)

    def stop(self) -> None:
        """End all and let no other start."""
        with self._lock:
            self.stopped = True
            running = set(self._running)
        if running:
            guard.end(running)


def command(plan: Plan, folder: Path, scratch: Path) -> list[str]:
    """The Papermill call: executed notebook into `folder`, the kernel working in `scratch`."""
    values = scratch / "parameters.yaml"
    values.write_text(yaml.safe_dump(plan.values), encoding="utf-8")
    return [
        sys.executable, "-P", "-m", "papermill",
        literal(plan.notebook.path), literal(folder / f"{plan.name}.ipynb"),
        "--kernel", "python3", "--cwd", str(scratch), "--parameters_file", str(values),
        "--log-output", "--no-progress-bar",
    ]  # fmt: skip


def literal(path: Path) -> str:
    """The path for Papermill, which fills parameters into what stands in braces.

    >>> literal(Path("a{seed}")).format(seed=7)
    'a{seed}'
    """
    return str(path).replace("{", "{{").replace("}", "}}")


def environment(folder: Path, run_id: str, scratch: Path) -> dict[str, str]:
    """The environment of the Papermill process, and so of the kernel."""
    profile = scratch / "ipython" / "profile_default"
    profile.mkdir(parents=True)
    (profile / "ipython_kernel_config.py").write_text(KERNEL_CONFIG, encoding="utf-8")
    kernels = str(Path(sys.prefix) / "share" / "jupyter")
    return {
        "SPARK_SUBMIT_OPTS": " ".join(BRIEF),
        **os.environ,
        project.FOLDER_VARIABLE: str(folder),
        project.RUN_ID_VARIABLE: run_id,
        "IPYTHONDIR": str(profile.parent),
        # Not in the home folder, which may be read-only.
        "JUPYTER_RUNTIME_DIR": str(scratch / "jupyter"),
        # python3 is the kernel of this environment, whatever the user has registered by that name.
        "JUPYTER_PATH": os.pathsep.join(filter(None, [kernels, os.environ.get("JUPYTER_PATH")])),
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "PYTHONUNBUFFERED": "1",
    }


def execute(
    plan: Plan,
    folder: Path,
    run_id: str,
    processes: Processes,
    timeout: float | None,
    said: Callable[[str], None],
) -> tuple[int | None, str | None]:
    """Run the notebook; its working directory is the folder ``.scratch`` beside `folder`.

    Returns its exit code (None if stopped before it began), and why it was ended before its time
    (None if it was not). said: called with every line that the process prints; all of them are kept
    in ``run.log``.
    """
    scratch = folder.with_name(".scratch")
    scratch.mkdir()
    process = processes.start(
        command(plan, folder, scratch), environment(folder, run_id, scratch) | processes.lending
    )
    if process is None or process.stdout is None:
        return None, None
    reason, code = None, None

    def expire():
        nonlocal reason
        reason = f"took longer than {timeout:g} s"
        processes.end(run_id)

    timer = threading.Timer(timeout or 0, expire)
    if timeout:
        timer.start()
    try:
        with (folder / "run.log").open("w", encoding="utf-8") as log:
            for line in process.stdout:
                log.write(line)
                log.flush()
                said(line.rstrip())
        code = process.wait()
    except OSError as error:
        reason = f"run.log could not be written: {error.strerror}"
    finally:
        timer.cancel()
        processes.end(run_id, well=code == 0)
    return process.wait(), reason
