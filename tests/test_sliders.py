"""Sliders in JupyterLab: they draw what the library computes, as the page does, and only there."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import ipywidgets
import nbformat
import pandas as pd
import psutil
import pytest
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from assignlab import assignors, sliders, study
from assignlab.group.plain import group
from assignlab.pictures import frames
from assignlab.published import walks
from assignlab.published.examples import give

STRATEGIES = ["range", "roundrobin"]


def gaps(members: int, topics: int) -> dict[str, int]:
    """The gap of a group that reads topics of four partitions."""
    names = {f"t{i}": 4 for i in range(topics)}
    group_of = group(names, {f"c{i}": list(names) for i in range(members)})
    sizes = {strategy: give(strategy, group_of).sizes for strategy in STRATEGIES}
    return {strategy: int(of.max() - of.min()) for strategy, of in sizes.items()}


FRAME = pd.DataFrame(
    [
        (members, topics, strategy, gap)
        for members in (3, 8)
        for topics in (1, 5)
        for strategy, gap in gaps(members, topics).items()
    ],
    columns=["members", "topics", "strategy", "gap"],
)
BARS = sliders.bars_of(FRAME, ["members", "topics"], "strategy", "gap", "Your own <group>")


def turns(partitions: int, consumers: int):
    """Round robin's circle, step by step."""
    steps = walks.circle_steps(group({"t": partitions}, {f"c{i}": ["t"] for i in range(consumers)}))
    return steps[["told", "lists"]], frames.holdings([{"": lists} for lists in steps["lists"]])


def parts(box):
    """(sliders by label, the picture) of a widget."""
    _, row, picture = box.children
    return {one.description: one for one in row.children}, picture


def texts(drawn: str) -> list[str]:
    return re.findall("<text[^>]*>([^<]*)", drawn)


def test_every_strategy_has_room_for_its_name():
    """A name ends at x; what was left of 0 was cut off."""
    in_page = re.search(r'x: (\d+), y: y \+ 18, "text-anchor": "end"', sliders.EXPLORER)
    in_lab = re.search(r'x="(\d+)" y="18" text-anchor="end"', sliders.drawn(["a"], {}, 1))
    font = FontProperties(family="DejaVu Sans")
    wide = max(
        TextPath((0, 0), name, 14, prop=font).get_extents().width for name in assignors.names()
    )
    assert wide < int(in_page[1]) == int(in_lab[1])


def test_a_slider_asks_the_strategies_for_a_group_that_no_row_has():
    moved, picture = parts(sliders.bars_widget(ipywidgets, BARS, gaps))
    assert texts(picture.value) == ["range", "1", "roundrobin", "1"]
    moved["members"].value, moved["topics"].value = 7, 4
    of = gaps(7, 4)
    assert (of["range"], of["roundrobin"]) == (4, 1)
    assert texts(picture.value) == ["range", "4", "roundrobin", "1"]
    # Every whole number in between, as the page's sliders have the least and the greatest.
    assert (moved["members"].min, moved["members"].max, moved["members"].step) == (3, 8, 1)
    assert not moved["members"].continuous_update


def test_without_a_function_the_sliders_stop_where_there_are_rows():
    moved, picture = parts(sliders.bars_widget(ipywidgets, BARS))
    assert [label for label, _ in moved["members"].options] == ["3", "8"]
    moved["members"].value, moved["topics"].value = 8, 5
    has = FRAME[(FRAME["members"] == 8) & (FRAME["topics"] == 5)].set_index("strategy")["gap"]
    assert texts(picture.value) == [
        "range",
        str(has["range"]),
        "roundrobin",
        str(has["roundrobin"]),
    ]


def test_a_failure_is_one_line_and_the_next_answer_takes_its_place():
    def ask(members, topics):
        if members == 5:
            raise ValueError("five <is>\nnot asked")
        return gaps(members, topics)

    moved, picture = parts(sliders.bars_widget(ipywidgets, BARS, ask))
    moved["members"].value = 5
    assert picture.value == ('<p role="alert">members 5, topics 1: ValueError: five &lt;is&gt;</p>')
    moved["members"].value = 6
    assert picture.value.count("<svg") == 1 and "alert" not in picture.value
    moved["members"].value = 5
    assert picture.value.count("<") == 2


def test_steps_go_on_by_slider_and_begin_anew_for_another_group():
    at, most = {"partitions": 4, "consumers": 2}, {"partitions": 12, "consumers": 3}
    steps, pictures = turns(**at)
    box = sliders.steps_widget(
        ipywidgets, list(steps["told"]), pictures, "The circle", turns, at, most
    )
    *asking, play, step = box.children[1].children
    picture = box.children[2]
    assert picture.value.endswith(pictures[0]) and "1 of 5: all partitions wait" in picture.value
    step.value = 5
    assert picture.value.endswith(pictures[-1])
    assert "5 of 5: round 2: tp3 goes to c1" in picture.value
    assert [(one.description, one.min, one.max) for one in asking] == [
        ("partitions", 1, 12),
        ("consumers", 1, 3),
    ]
    asking[0].value = 9
    steps, pictures = turns(9, 2)
    assert (step.value, step.max, play.max) == (1, 10, 10) and picture.value.endswith(pictures[0])
    step.value = 10
    assert picture.value.endswith(pictures[-1])
    # What cannot be asked leaves nothing to step through.
    at = {"partitions": 4}
    box = sliders.steps_widget(ipywidgets, ["a"], ["<svg/>"], "c", lambda partitions: 1 / 0, at, at)
    box.children[1].children[0].value = 3
    assert "partitions 3: ZeroDivisionError" in box.children[2].value
    assert box.children[1].children[2].disabled


def begun(tmp_path, monkeypatch, module):
    shown = []
    monkeypatch.setattr(study, "live", lambda: module)
    monkeypatch.setattr(
        "IPython.display.display", lambda data, raw, metadata: shown.append((data, metadata))
    )
    return study.Study("01_first", tmp_path, {}, None), shown


def test_widgets_only_where_somebody_waits_for_the_cell(monkeypatch):
    def at(session: bool, stdin: bool | None):
        asked = {"content": {} if stdin is None else {"allow_stdin": stdin}}
        shell = SimpleNamespace(get_parent=lambda: asked)
        monkeypatch.setattr("IPython.get_ipython", lambda: shell)
        monkeypatch.setenv("JPY_SESSION_NAME", "a.ipynb")
        if not session:
            monkeypatch.delenv("JPY_SESSION_NAME")
        return sliders.live()

    assert at(True, True) is ipywidgets
    assert at(True, False) is at(True, None) is at(False, True) is None
    monkeypatch.setitem(sys.modules, "ipywidgets", None)  # as if it were not installed
    assert at(True, True) is None
    monkeypatch.setattr("IPython.get_ipython", lambda: None)
    assert sliders.live() is None


WIDGET = "application/vnd.jupyter.widget-view+json"


def test_a_result_is_shown_in_one_form_and_kept_the_same(tmp_path, monkeypatch):
    asked = dict(sliders=["members", "topics"], bars="strategy", value="gap", caption="C", ask=gaps)
    for module, form, other in ((None, "text/html", WIDGET), (ipywidgets, WIDGET, "text/html")):
        made, shown = begun(tmp_path / form.replace("/", "_"), monkeypatch, module)
        made.explore("gaps", FRAME, **asked)
        made.steps("turns", *turns(3, 2), caption="The circle")
        for (data, details), name in zip(shown, ("gaps", "turns")):
            assert form in data and other not in data and data["text/plain"]
            assert details == {study.ROLE: {"kind": "table", "name": name}}
        files = sorted(path.name for path in made.folder.iterdir())
        assert files == ["gaps.csv", "gaps.parquet", "turns.csv", "turns.parquet"]


def test_a_function_that_says_otherwise_than_the_frame_is_refused(tmp_path, monkeypatch):
    made, _ = begun(tmp_path, monkeypatch, None)
    with pytest.raises(ValueError, match="'topics': 1}: ask gives range 2, the frame 1"):
        made.explore(
            "gaps", FRAME, ["members", "topics"], "strategy", "gap", "C",
            ask=lambda members, topics: {"range": 2, "roundrobin": 1},
        )  # fmt: skip


# In a real browser


CELLS = (
    """
import assignlab.study
from test_sliders import FRAME, gaps, turns
study = assignlab.study.begin("01_first", {})
""",
    """
study.explore("gaps", FRAME, ["members", "topics"], "strategy", "gap", "Gap", ask=gaps)
""",
    """
at = {"partitions": 4, "consumers": 2}
study.steps("turns", *turns(**at), caption="The circle", ask=turns, at=at, most=at)
""",
)


def notebook(folder: Path) -> Path:
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(made, folder / "sliders.ipynb")
    return folder / "sliders.ipynb"


def surroundings(folder: Path) -> dict[str, str]:
    """Environment variables: Jupyter's own folders below one, and this file importable."""
    own = {name: str(folder / name.lower()) for name in (
        "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTERLAB_SETTINGS_DIR",
        "JUPYTERLAB_WORKSPACES_DIR", "ASSIGNLAB_OUTPUTS",
    )}  # fmt: skip
    paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, **own, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


@pytest.mark.slow
def test_a_batch_run_from_a_kernel_of_the_server_makes_the_pages_form(tmp_path):
    out = tmp_path / "out.ipynb"
    command = [sys.executable, "-m", "papermill", str(notebook(tmp_path)), str(out)]
    environment = surroundings(tmp_path) | {"JPY_SESSION_NAME": "sliders.ipynb"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    outputs = [one for cell in nbformat.read(out, 4).cells for one in cell.outputs]
    data = [one["data"] for one in outputs if one["output_type"] == "display_data"]
    assert data[0]["text/html"] == sliders.explorer("gaps", sliders.bars_of(
        FRAME, ["members", "topics"], "strategy", "gap", "Gap"))  # fmt: skip
    steps, pictures = turns(4, 2)
    assert data[1]["text/html"] == sliders.stepper(
        "turns", list(steps["told"]), pictures, "The circle"
    )
    assert not any(WIDGET in one for one in data)


class Page:
    """A page of headless Chromium, driven over the DevTools protocol."""

    def __init__(self, port: int, address: str):
        from websocket import create_connection

        asked = urllib.request.Request(
            f"http://127.0.0.1:{port}/json/new?about:blank", method="PUT"
        )
        target = json.load(urllib.request.urlopen(asked))["webSocketDebuggerUrl"]
        self.socket = create_connection(target, timeout=60, suppress_origin=True)
        self.number = 0
        self.ask("Emulation.setFocusEmulationEnabled", enabled=True)
        self.ask("Page.navigate", url=address)

    def ask(self, method: str, **parameters) -> dict:
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while (reply := json.loads(self.socket.recv())).get("id") != self.number:
            pass
        return reply["result"]

    def value(self, expression: str):
        """What an expression is in the page; None where it fails."""
        told = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        return told["result"].get("value")

    def wait(self, expression: str, wanted, seconds: float = 40):
        """Wait until an expression has a value in the page; the one that it has in the end."""
        end = time.monotonic() + seconds
        while (found := self.value(expression)) != wanted and time.monotonic() < end:
            time.sleep(0.1)
        return found

    def press(self, key: str, code: int, times: int = 1):
        for _ in range(times):
            for kind in ("keyDown", "keyUp"):
                self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                         windowsVirtualKeyCode=code)  # fmt: skip


def wait_for(happened, seconds: float = 40):
    """Wait until something is there; until then it is false or raises OSError."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if happened():
                return
        except OSError:
            pass
        time.sleep(0.1)
    raise TimeoutError


@pytest.fixture
def started(tmp_path):
    """Starts processes; they and all that they started are gone in the end."""
    running = []

    def start(*command: str) -> subprocess.Popen:
        with open(tmp_path / "log", "ab") as log:
            running.append(subprocess.Popen(
                command, cwd=tmp_path, env=surroundings(tmp_path), stdout=log, stderr=log,
                start_new_session=True,
            ))  # fmt: skip
        return running[-1]

    yield start
    family = [one for process in running for one in
              (psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True))]  # fmt: skip
    for process in running:
        process.send_signal(signal.SIGTERM)
    _, left = psutil.wait_procs(family, timeout=10)
    for process in left:
        process.kill()
    for process in running:
        process.wait()


@pytest.mark.slow
def test_in_jupyterlab_a_moved_slider_asks_the_strategies(tmp_path, started):
    chromium = shutil.which("chromium") or pytest.skip("no Chromium")
    notebook(tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started(sys.executable, "-m", "jupyterlab", "--no-browser", f"--ServerApp.port={port}",
            "--IdentityProvider.token=sliders", "--LabApp.expose_app_in_browser=True",
            f"--ServerApp.root_dir={tmp_path}", "--ServerApp.allow_root=True")  # fmt: skip
    started(chromium, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--window-size=1100,1400", f"--user-data-dir={tmp_path / 'chromium'}")  # fmt: skip
    devtools = tmp_path / "chromium" / "DevToolsActivePort"
    wait_for(lambda: devtools.read_text().strip())
    wait_for(lambda: urllib.request.urlopen(f"http://127.0.0.1:{port}/api?token=sliders"))
    page = Page(
        int(devtools.read_text().split()[0]),
        f"http://127.0.0.1:{port}/lab/tree/sliders.ipynb?token=sliders",
    )
    panel = "[...jupyterapp.shell.widgets('main')].find((widget) => widget.context)"
    ready = f"{panel}.sessionContext.session.kernel.status == 'idle' && {panel}.context.isReady"
    assert page.wait(ready, True)
    page.value(f"jupyterapp.shell.activateById({panel}.id)")
    assert page.wait("!!jupyterapp.shell.currentWidget?.context", True)
    page.value("jupyterapp.commands.execute('notebook:run-all-cells'); 1")
    drawn = (
        "[...document.querySelectorAll('.jp-OutputArea .widget-html svg')]"
        ".map((svg) => [...svg.querySelectorAll('text')].map((text) => text.textContent).join(' '))"
    )
    assert page.wait(f"{drawn}[0]", "range 1 roundrobin 1") == "range 1 roundrobin 1"
    assert page.wait(f"{drawn}[1]", "c0 c1") == "c0 c1"
    count = "document.querySelectorAll('.jp-OutputArea-output').length"
    outputs = page.value(count)

    def move(slider: int, key: str, times: int):
        page.value(f"document.querySelectorAll('.jp-OutputArea .noUi-handle')[{slider}].focus(); 1")
        page.press(key, {"ArrowLeft": 37, "ArrowRight": 39}[key], times)

    move(0, "ArrowRight", 4)
    move(1, "ArrowRight", 3)
    gap = " ".join(f"{strategy} {number}" for strategy, number in gaps(7, 4).items())
    assert page.wait(f"{drawn}[0]", gap) == gap == "range 4 roundrobin 1"
    steps = "document.querySelector('.jp-OutputArea .widget-html p').textContent"
    page.value("document.querySelector('.jp-OutputArea .widget-play button').click()")
    assert page.wait(f"!{steps}.startsWith('1 of')", True)
    move(2, "ArrowLeft", 1)
    assert page.wait(f"{steps}.includes(' of 4: ')", True)
    last = "c0 tp0 +tp2 c1 tp1"
    for _ in range(5):  # a slider that is not enabled yet takes no key, and the last step stays
        move(4, "ArrowRight", 3)
        if page.wait(f"{drawn}[1]", last, 8) == last:
            break
    assert page.value(f"{drawn}[1]") == last
    assert page.value(count) == outputs == 2
