"""Bars and pictures that sliders choose from: a script in a page, widgets in JupyterLab.

A page has every answer inside and works without a kernel. In JupyterLab, where a kernel waits,
sliders may also ask for what nobody has computed before. Both forms draw the same.
"""

import html
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple

from assignlab.words import cell, heading

EXPLORER = """\
<figure class="explorer" id="explore-{name}"><figcaption>{caption}</figcaption>
<div>{sliders}</div>
<svg viewBox="0 0 640 {height}" role="img" aria-live="polite" style="width:100%;max-width:48rem"></svg>
<noscript>The sliders need JavaScript; all numbers are in {name}.csv.</noscript>
<script>{{
const data = {data}, root = document.getElementById("explore-{name}");
const inputs = [...root.querySelectorAll("input")], svg = root.querySelector("svg");
const draw = () => {{
  const key = inputs.map((input) => input.value).join();
  inputs.forEach((input, i) => {{
    const at = input.nextElementSibling.value = data.values[i][input.value];
    input.setAttribute("aria-valuetext", at);
  }});
  svg.replaceChildren();
  const numbers = data.rows[key] || {{}}, told = (i) => (numbers[i] ?? "–").toLocaleString("en");
  svg.setAttribute("aria-label", data.bars.map((bar, i) => `${{bar}} ${{told(i)}}`).join("; "));
  data.bars.forEach((bar, i) => {{
    const number = numbers[i], y = 28 * i;
    const add = (tag, facts, text) => {{
      const part = svg.appendChild(document.createElementNS("http://www.w3.org/2000/svg", tag));
      for (const fact in facts) part.setAttribute(fact, facts[fact]);
      part.textContent = text || "";
    }};
    add("text", {{x: 252, y: y + 18, "text-anchor": "end", fill: "currentColor", "font-size": 14}}, bar);
    add("rect", {{x: 260, y: y + 4, height: 20, fill: "#3b82c4",
      width: number === undefined ? 0 : Math.max(1, 290 * number / (data.most || 1))}});
    add("text", {{x: 268 + (number === undefined ? 0 : 290 * number / (data.most || 1)), y: y + 18,
      fill: "currentColor", "font-size": 14}}, told(i));
  }});
}};
inputs.forEach((input) => input.oninput = draw);
draw();
}}</script></figure>"""


STEPPER = """\
<figure class="explorer" id="steps-{name}"><figcaption>{caption}</figcaption>
<label>step <input type="range" min="0" max="{last}" value="0" aria-label="step"> <output></output></label>
<p aria-live="polite">{told}</p><div>{first}</div>
<noscript>The slider needs JavaScript; all steps are in {name}.csv.</noscript>
<script>{{
const data = {data}, root = document.getElementById("steps-{name}"), slider = root.querySelector("input");
const draw = () => {{
  const step = +slider.value;
  const at = root.querySelector("output").value = `${{step + 1}} of ${{data.told.length}}`;
  slider.setAttribute("aria-valuetext", at);
  root.querySelector("p").textContent = data.told[step];
  root.querySelector("div").innerHTML = data.pictures[step];
}};
slider.oninput = draw;
draw();
}}</script></figure>"""

NAMES, LINE, BAR = 252, 28, 290
"""Room for the names of bars, height of a bar with its room, and width of the longest, as in the script
above."""


class Bars(NamedTuple):
    """What sliders choose from.

    ``sliders``: columns; ``values``: what each goes over; ``bars``: names; ``rows``: the number of
    every slider's value, joined by commas -> number of a bar -> its length; ``most``: the longest
    of all; ``told``: what is shown, in words.
    """

    sliders: Sequence[str]
    values: list[list]
    bars: list
    rows: dict[str, dict[int, float]]
    most: float
    told: str


def bars_of(frame, sliders: Sequence[str], bars: str, value: str, caption: str) -> Bars:
    """The rows of a frame as bars of length ``value``, in the order in which they come."""
    values = [list(dict.fromkeys(frame[column].tolist())) for column in sliders]
    named = list(dict.fromkeys(frame[bars]))
    rows: dict[str, dict[int, float]] = {}
    for row in frame[[*sliders, bars, value]].itertuples(index=False, name=None):
        key = ",".join(str(of.index(at)) for of, at in zip(values, row, strict=False))
        rows.setdefault(key, {})[named.index(row[-2])] = round(float(row[-1]), 3)
    most = float(frame[value].max()) if len(frame) else 0.0
    return Bars(sliders, values, named, rows, most, f"{caption}: {heading(value)}")


def compare_first(bars: Bars, ask: Callable) -> None:
    """Raise ValueError unless ``ask`` gives what the first rows have, to one in a hundred."""
    for row in list(bars.rows.values())[:1]:
        at = {column: of[0] for column, of in zip(bars.sliders, bars.values, strict=True)}
        given = dict(ask(**at))
        for i, has in row.items():
            gives = float(given.get(bars.bars[i], math.nan))
            if not math.isclose(gives, has, rel_tol=0.01, abs_tol=0.01):
                raise ValueError(f"{at}: ask gives {bars.bars[i]} {gives:g}, the frame {has:g}")


def explorer(name: str, bars: Bars) -> str:
    """The page's form: sliders, and bars as plain SVG, with all numbers inside."""
    data = {
        "values": [[cell(item) for item in of] for of in bars.values],
        "bars": [str(bar) for bar in bars.bars],
        "most": bars.most,
        "rows": bars.rows,
    }
    inputs = "".join(
        f'<label style="display:inline-block;margin-right:1.5em">{html.escape(heading(column))} '
        f'<input type="range" min="0" max="{len(of) - 1}" value="0" '
        f'aria-label="{html.escape(heading(column))}"> <output></output></label>'
        for column, of in zip(bars.sliders, bars.values, strict=True)
    )
    return EXPLORER.format(
        name=name,
        caption=html.escape(bars.told),
        sliders=inputs,
        height=LINE * len(bars.bars),
        data=_in_script(data),
    )


def stepper(name: str, told: Sequence[str], pictures: Sequence[str], caption: str) -> str:
    """The page's form: a slider, and one picture at a time with its sentence."""
    return STEPPER.format(
        name=name,
        caption=html.escape(caption),
        last=len(told) - 1,
        told=html.escape(told[0]),
        first=pictures[0],
        data=_in_script({"told": told, "pictures": pictures}),
    )


def _in_script(data) -> str:
    """JSON inside a script, which a text in it must not end."""
    return json.dumps(data).replace("<", "\\u003c")


# JupyterLab


class Request(NamedTuple):
    """What the kernel runs just now: the front end's ``id`` of the request, the notebook's ``cell``
    where it says which, and whether somebody could be ``asked`` for input."""

    id: str | None
    cell: str | None
    asked: bool

    def repeats(self, other: "Request") -> bool:
        """Whether the cell of the other request runs again."""
        return self.cell is not None and self.cell == other.cell and self.id != other.id


def request() -> Request:
    """The request that this very code answers; nothing outside a kernel."""
    from IPython import get_ipython

    parent: dict = getattr(get_ipython(), "get_parent", dict)()
    header, metadata, content = (parent.get(k) or {} for k in ("header", "metadata", "content"))
    return Request(header.get("msg_id"), metadata.get("cellId"), bool(content.get("allow_stdin")))


def live() -> ModuleType | None:
    """The module ipywidgets, where somebody at JupyterLab waits for this very cell; else None.

    Jupyter's server names the session in the environment of its kernels. A batch run that is
    started from such a kernel inherits the name; but its client (nbclient, which Papermill and
    nbconvert use) says that nobody is there whom the kernel could ask for input.
    """
    if "JPY_SESSION_NAME" not in os.environ or not request().asked:
        return None
    try:
        import ipywidgets
    except ImportError:
        return None
    return ipywidgets


def drawn(bars: Sequence, numbers: Mapping[Any, float], most: float) -> str:
    """The bars as the page's script draws them; a name without a number has a dash.

    >>> svg = drawn(["range", "sticky"], {"range": 2}, most=4)
    >>> [part in svg for part in ('width="145"/>', ">2</text>", 'width="0"/>', "range 2; sticky –")]
    [True, True, True, True]
    """
    look = 'fill="currentColor" font-size="14"'
    parts, told = [], []
    for row, bar in enumerate(bars):
        number = float(numbers.get(bar, math.nan))
        if number < 0:
            raise ValueError(f"{bar} has {number:g}, which no bar shows")
        missing = math.isnan(number)
        told.append(f"{bar} {cell(round(number, 3))}")
        length, y = 0 if missing else BAR * number / (most or 1), LINE * row
        parts.append(
            f'<text x="{NAMES}" y="{y + 18}" text-anchor="end" {look}>{html.escape(str(bar))}</text>'
            f'<rect x="{NAMES + 8}" y="{y + 4}" height="20" fill="#3b82c4" '
            f'width="{0 if missing else max(1, length):g}"/>'
            f'<text x="{NAMES + 16 + length:g}" y="{y + 18}" {look}>{cell(round(number, 3))}</text>'
        )
    return (
        f'<svg viewBox="0 0 640 {LINE * len(bars)}" role="img" aria-live="polite" '
        f'aria-label="{html.escape("; ".join(told))}" '
        f'style="width:100%;max-width:48rem">{"".join(parts)}</svg>'
    )


def bars_widget(widgets: ModuleType, bars: Bars, ask: Callable | None = None):
    """JupyterLab's form of :func:`explorer`, with `ask` of `assignlab.study.Study.explore`."""
    sliders = {
        column: _slider(widgets, column, range(min(of), max(of) + 1) if ask and whole else of)
        for column, of in zip(bars.sliders, bars.values, strict=True)
        for whole in [all(type(value) is int for value in of)]
    }
    picture = widgets.HTML()

    def draw(**at) -> str:
        if ask:
            found = dict(ask(**at))
        else:
            places = zip(bars.values, at.values(), strict=True)
            row = bars.rows.get(",".join(str(of.index(one)) for of, one in places), {})
            found = {bars.bars[i]: number for i, number in row.items()}
        return drawn(bars.bars, found, max(bars.most, *found.values(), 0))

    _drawn_by(sliders, picture, draw)
    return _figure(widgets, bars.told, sliders.values(), picture)


def steps_widget(
    widgets: ModuleType,
    told: Sequence[str],
    pictures: Sequence[str],
    caption: str,
    ask: Callable | None = None,
    at: Mapping[str, int] | None = None,
    most: Mapping[str, int] | None = None,
):
    """JupyterLab's form of :func:`stepper`, with what `assignlab.study.Study.steps` may ask."""
    shown = list(zip(told, pictures, strict=True))
    step = widgets.IntSlider(min=1, max=len(shown), description="step", readout=False)
    play = widgets.Play(min=1, max=len(shown), interval=1500)
    widgets.jslink((play, "value"), (step, "value"))
    picture = widgets.HTML()

    def draw(step: int) -> str:
        sentence, svg = shown[step - 1]
        return f'<p aria-live="polite">{step} of {len(shown)}: {html.escape(sentence)}</p>{svg}'

    def begin(**at) -> str:
        step.disabled = play.disabled = True  # as long as there is nothing to step through
        play.playing = False
        assert ask is not None
        frame, pictures = ask(**at)
        shown[:] = zip(frame["told"].astype(str), pictures, strict=True)
        step.value = play.value = 1
        step.max = play.max = len(shown)
        step.disabled = play.disabled = False
        return draw(1)

    _drawn_by({"step": step}, picture, draw)
    asking = {}
    if ask and at and most:
        asking = {
            name: _slider(widgets, name, range(1, max(most[name], value) + 1), value)
            for name, value in at.items()
        }
        _drawn_by(asking, picture, begin, now=False)
    return _figure(widgets, caption, [*asking.values(), play, step], picture)


def _slider(widgets: ModuleType, name: str, values: Sequence, value=None):
    """A slider over values: whole numbers one after the other, or whatever there is."""
    look = dict(
        description=heading(name), continuous_update=False, style={"description_width": "initial"}
    )
    if isinstance(values, range):
        start = values[0] if value is None else value
        return widgets.IntSlider(value=start, min=values[0], max=values[-1], **look)
    return widgets.SelectionSlider(options=[(cell(one), one) for one in values], **look)


def _drawn_by(sliders: Mapping, picture, draw: Callable[..., str], now: bool = True) -> None:
    """Draw when a slider moves, and now; a failure is one line in place of the picture."""

    def redraw(_=None) -> None:
        at = {name: slider.value for name, slider in sliders.items()}
        picture.value = f'<div style="opacity:0.4">{picture.value}</div>'  # while it computes
        try:
            picture.value = draw(**at)
        except Exception as error:  # whatever it is, the sliders go on
            where = ", ".join(f"{heading(name)} {cell(one)}" for name, one in at.items())
            why = f"{type(error).__name__}: {error}".partition("\n")[0]
            picture.value = f'<p role="alert">{html.escape(f"{where}: {why}")}</p>'

    for slider in sliders.values():
        slider.observe(redraw, "value")
    if now:
        redraw()


def _figure(widgets: ModuleType, caption: str, sliders: Iterable, picture):
    """Caption, sliders and picture below each other."""
    row = widgets.HBox(list(sliders), layout=widgets.Layout(flex_flow="row wrap"))
    return widgets.VBox([widgets.HTML(html.escape(caption)), row, picture])
