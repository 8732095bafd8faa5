"""Other clients' assignors, run as they are: builds the bridges of ``oracle/clients/``.

Each bridge is a small program in the client's own language that speaks as the Java oracles do. The
client comes from its registry through its own tool (pip, go, npm) in the pinned release, into the
bridge's folder ``target/``, beside what is built from it.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from assignlab.errors import AssignlabError

SECONDS = 900
LIBRDKAFKA = {
    "1.6.1": "node-rdkafka@2.11.0",
    "2.3.0": "node-rdkafka@3.0.0",
    "2.5.3": "@confluentinc/kafka-javascript@0.2.1",
    "2.6.1": "node-rdkafka@3.2.1",
    "2.15.1": "@confluentinc/kafka-javascript@1.10.1",
}
"""Releases of librdkafka, and the npm package that carries the C source of each."""


AIOKAFKA_NEEDS = "async-timeout==5.0.1", "packaging==26.4", "typing_extensions==4.16.0"


class BridgeFailed(RuntimeError):
    """A tool is missing, or what it fetches or builds cannot be had."""


def command(client: str, release: str, project: Path) -> list[str]:
    """The command line of a client's bridge, built first where need be.

    ``client``: one of :data:`BUILDERS`; ``project``: the folder ``oracle/``. Raises
    :class:`BridgeFailed`; that nobody wrote down how to build it is another error: tests are not
    skipped for it.
    """
    if client not in BUILDERS:
        raise AssignlabError(f"nothing in BUILDERS of {__name__} builds the bridge of {client}")
    build = BUILDERS[client]
    folder = project / "clients" / ("go" if client in GO_MODULES else client)
    target = folder / "target"
    target.mkdir(exist_ok=True)
    return build(folder, target, release)


def build_python(
    folder: Path, target: Path, release: str, package="kafka-python", needs: Sequence[str] = ()
) -> list[str]:
    """A virtual environment with kafka-python, or another package, and nothing else."""
    python = target / f"venv-{release}" / "bin" / "python"
    if not _done(python):
        _run([sys.executable, "-m", "venv", "--clear", str(python.parents[1])])
        pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--no-deps"]
        _run([*pip, f"{package}=={release}", *needs])
        _marker(python).touch()
    return [str(python), str(folder / "bridge.py")]


build_aiokafka = partial(build_python, package="aiokafka", needs=AIOKAFKA_NEEDS)


def build_go(
    folder: Path, target: Path, release: str, module: str | None = None, file: Path | None = None
) -> list[str]:
    """One program for all Go clients; ``go.mod`` pins their releases. Another release of ``module``
    than the pinned one makes a program of its own. ``file``: another program, with the same pins."""
    program, pins = target / "bridge", folder / "go.mod"
    others: list[str] = []
    if module is not None and f"{module} v{release}\n" not in pins.read_text("utf-8"):
        program, pins = target / f"bridge-{release}", target / f"{release}.mod"
        pins.write_text(
            re.sub(rf"({module}) v\S+", rf"\1 v{release}", (folder / "go.mod").read_text("utf-8"))
        )
        shutil.copy(folder / "go.sum", pins.with_suffix(".sum"))
        others = ["-mod=mod", f"-modfile={pins}"]
    if not _newer(program, *([file] if file else folder.glob("*.go")), folder / "go.mod"):
        _run(["go", "build", *others, "-o", str(program), str(file or ".")], folder)
    return [str(program)]


def build_node(folder: Path, target: Path, release: str, program: str = "bridge.js") -> list[str]:
    """kafkajs beside a copy of the bridge, or of another program, where Node looks for it."""
    package = target / f"kafkajs-{release}"
    if not _done(package / "node_modules"):
        package.mkdir(exist_ok=True)
        _run(["npm", "install", "--no-save", "--no-audit", "--no-fund", "--prefix", str(package),
              f"kafkajs@{release}"])  # fmt: skip
        _marker(package / "node_modules").touch()
    shutil.copy(folder / program, package)
    return [_tool("node"), str(package / program)]


def build_librdkafka(folder: Path, target: Path, release: str) -> list[str]:
    """librdkafka as a static library without optional parts, and the bridge linked with it."""
    source = librdkafka(target, release)
    program = target / f"bridge-{release}"
    frees = "rd_kafka_topic_info_destroy_free"  # by another name in old releases
    old = frees not in (source / "src" / "rdkafka_topic.h").read_text("utf-8")
    named = [f"-D{frees}=(void(*)(void*))rd_kafka_topic_info_destroy"] * old
    if not _newer(program, folder / "bridge.c", source / "src" / "librdkafka.a"):
        link(source, program, folder / "bridge.c", *named)
    return [str(program)]


def librdkafka(target: Path, release: str) -> Path:
    """The folder of librdkafka's source in ``target``, its static library built.

    ``release``: one of :data:`LIBRDKAFKA`. Raises :class:`BridgeFailed`.
    """
    source = target / f"librdkafka-{release}"
    library = source / "src" / "librdkafka.a"
    if not _done(library):
        _run(["npm", "pack", "--pack-destination", str(target), LIBRDKAFKA[release]])
        (archive,) = target.glob("*.tgz")
        source.mkdir(exist_ok=True)
        inside = "package/deps/librdkafka"
        _run(["tar", "xzf", str(archive), "-C", str(source), "--strip-components=3", inside])
        archive.unlink()
        without = ["ssl", "gssapi", "zstd", "zlib", "lz4-ext"]
        if "curl" in (source / "configure.self").read_text("utf-8"):  # not in old releases
            without.append("curl")
        # Asked for seconds: to build it faster weighs more than to have it fast.
        without += ["optimization", "debug-symbols"]
        _run(["./configure", "--enable-static", *(f"--disable-{part}" for part in without)], source)
        _run(["make", "-j2", "-C", "src", library.name], source)
        _marker(library).touch()
    return source


def link(source: Path, program: Path, code: Path, *options: str) -> None:
    """Compile a C file that includes librdkafka's private parts, and link it with the library."""
    _run(["cc", "-O1", "-w", *options, "-Isrc", "-I.", "-o", str(program), str(code),
          "src/librdkafka.a", "-lm", "-lpthread", "-ldl", "-lrt"], source)  # fmt: skip


GO_MODULES = {
    "franz-go": "github.com/twmb/franz-go",
    "kafka-go": "github.com/segmentio/kafka-go",
    "sarama": "github.com/IBM/sarama",
}
BUILDERS: dict[str, Callable[[Path, Path, str], list[str]]] = {
    "aiokafka": build_aiokafka,
    "kafka-python": build_python,
    "kafkajs": build_node,
    "librdkafka": build_librdkafka,
    **{client: partial(build_go, module=module) for client, module in GO_MODULES.items()},
}


def _run(arguments: Sequence[str], folder: Path | None = None) -> None:
    """Run a tool to its end; it says nothing unless it fails."""
    try:
        done = subprocess.run(
            [_tool(arguments[0], folder), *arguments[1:]], cwd=folder, capture_output=True, text=True,
            timeout=SECONDS, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired as expired:
        raise BridgeFailed(f"{arguments[0]} took more than {SECONDS} s") from expired
    if done.returncode != 0:
        raise BridgeFailed(f"{Path(arguments[0]).name} failed: {why(done.stderr or done.stdout)}")


def why(said: str) -> str:
    """The line in which a program says why it failed: the first that tells of an error, else the last.

    >>> why("Traceback (most recent call last):\\n  raise KeyError(1)\\nKeyError: 1\\n")
    'KeyError: 1'
    """
    lines = [line.rstrip() for line in said.splitlines() if line.strip()]
    # What is indented is code, or a call on the stack.
    telling = [line for line in lines if re.match(r"(?i)(?=\S).*(error|exception)", line)]
    return (telling or lines[-1:] or ["it does not say why"])[0]


def _tool(name: str, folder: Path | None = None) -> str:
    found = shutil.which(name)
    if found is None and folder is not None and (folder / name).exists():
        found = str(folder / name)
    if found is None:
        raise BridgeFailed(f"{name} is not on the PATH")
    return found


def _newer(product: Path, *sources: Path) -> bool:
    """Whether a product is there and no older than what it is made of."""
    if not product.exists():
        return False
    return product.stat().st_mtime >= max(source.stat().st_mtime for source in sources)


def _done(product: Path) -> bool:
    """Whether a product of several steps was finished: an interrupted build starts again."""
    return product.exists() and _marker(product).exists()


def _marker(product: Path) -> Path:
    return product.with_name(product.name + ".done")
