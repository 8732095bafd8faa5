"""One Papermill process per notebook: started, watched, ended with all that it started."""

import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import psutil
import yaml

from assignlab.runner.plan import Plan
from assignlab.study import FOLDER_VARIABLE, RUN_ID_VARIABLE

CELL = re.compile(r"Executing Cell (\d+)-+")
# Later kernels warn at every start that they listen on TCP; here they do so on the loopback only.
KERNEL_CONFIG = "c.IPKernelApp.log_level = 40\n"


class Processes:
    """The Papermill processes that run now, so that an interrupt can end them all."""

    def __init__(self):
        self._lock = threading.Lock()
        self._running = set()
        self.stopped = False

    def start(self, command: list[str], environment: dict) -> subprocess.Popen | None:
        """Start one; None once `stop` was called."""
        with self._lock:
            if self.stopped:
                return None
            # A session of its own: Ctrl-C reaches the runner alone, which then ends the others.
            process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            )
            self._running.add(process)
            return process

    def ended(self, process: subprocess.Popen) -> None:
        with self._lock:
            self._running.discard(process)

    def stop(self) -> None:
        """End all and let no other start."""
        with self._lock:
            self.stopped = True
            running = list(self._running)
        for process in running:
            end_tree(process.pid)


def end_tree(pid: int) -> None:
    """End a process and all that it started: the kernel, its Java machine, the Python workers.

    The kernel has a session of its own, so a signal to the process group would miss it.
    """
    try:
        root = psutil.Process(pid)
        tree = [*root.children(recursive=True), root]
    except psutil.NoSuchProcess:
        return
    for process in tree:
        try:
            process.terminate()
        except psutil.NoSuchProcess:
            continue
    for process in psutil.wait_procs(tree, timeout=5)[1]:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue


def command(plan: Plan, folder: Path, scratch: Path) -> list[str]:
    """The Papermill call: executed notebook into `folder`, the kernel working in `scratch`."""
    values = scratch / "parameters.yaml"
    values.write_text(yaml.safe_dump(plan.values, allow_unicode=True), encoding="utf-8")
    return [
        sys.executable, "-m", "papermill",
        str(plan.notebook.path), str(folder / f"{plan.name}.ipynb"),
        "--kernel", "python3", "--cwd", str(scratch), "--parameters_file", str(values),
        "--log-output", "--no-progress-bar",
    ]  # fmt: skip


def environment(folder: Path, run_id: str, scratch: Path) -> dict[str, str]:
    """The environment of the Papermill process, and so of the kernel."""
    profile = scratch / "ipython" / "profile_default"
    profile.mkdir(parents=True)
    (profile / "ipython_kernel_config.py").write_text(KERNEL_CONFIG, encoding="utf-8")
    kernels = str(Path(sys.prefix) / "share" / "jupyter")
    return {
        **os.environ,
        FOLDER_VARIABLE: str(folder),
        RUN_ID_VARIABLE: run_id,
        "IPYTHONDIR": str(profile.parent),
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
) -> tuple[int | None, bool]:
    """Run the notebook. Returns (exit code, or None if stopped before it began; timed out).

    said: called with every line that the process prints; all of them are kept in ``run.log``.
    """
    with tempfile.TemporaryDirectory(prefix="assignlab-") as temporary:
        scratch = Path(temporary)
        process = processes.start(
            command(plan, folder, scratch), environment(folder, run_id, scratch)
        )
        if process is None:
            return None, False
        expired = threading.Event()

        def expire():
            expired.set()
            end_tree(process.pid)

        timer = threading.Timer(timeout, expire) if timeout else None
        if timer:
            timer.start()
        try:
            with (folder / "run.log").open("w", encoding="utf-8") as log:
                for line in process.stdout:
                    log.write(line)
                    log.flush()
                    said(line.rstrip())
            return process.wait(), expired.is_set()
        finally:
            if timer:
                timer.cancel()
            processes.ended(process)
