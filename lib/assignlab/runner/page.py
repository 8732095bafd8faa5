"""The executed notebook as one HTML page that needs nothing else, with what answers on top.

Title, answer, the picture that shows it, what to do with it; then everything else in the notebook's
order, pictures inside, code behind one switch, tables with their files,
the words that the page uses.
"""

import base64
import html
import re
from collections.abc import Iterator
from functools import cache
from itertools import cycle
from pathlib import Path
from threading import Lock

import jinja2

from assignlab.local.files import whole
from assignlab.runner.plan import Plan
from assignlab.study import ROLE, provenance
from assignlab.words import cell, first_sentence, linked, linking, terms_in

TEMPLATES = Path(__file__).parent / "templates"
PAGE_SUFFIX = ".html"
FORMATS = {".csv": "CSV", ".parquet": "Parquet"}
EXPORTING = Lock()
"""The exporter keeps what it is told of a notebook: one page at a time."""
NAVIGATION = re.compile(r"(?<=<!-- navigation -->).*?(?=<!-- /navigation -->)", re.DOTALL)


@cache
def environment() -> jinja2.Environment:
    """The templates of page and index; what is put into them is escaped."""
    files = jinja2.FileSystemLoader(TEMPLATES)
    return jinja2.Environment(loader=files, autoescape=True, trim_blocks=True, lstrip_blocks=True)


def style() -> str:
    """The style sheet that pages and index share."""
    return (TEMPLATES / "style.css").read_text(encoding="utf-8")


def number_of(name: str) -> str:
    """The number that a notebook's name begins with, or nothing.

    >>> number_of("02_imbalance"), number_of("mine")
    ('02', '')
    """
    found = re.match(r"(\d+)_", name)
    return found[1] if found else ""


def values_line(values: dict) -> list[tuple[str, str]]:
    """Parameters as (name, value as text), lists without brackets.

    >>> values_line({"topics": [1, 2], "racks": None, "seed": 0})
    [('topics', '1, 2'), ('racks', '–'), ('seed', '0')]
    """
    return [
        (name, ", ".join(map(cell, value)) if isinstance(value, list) else cell(value))
        for name, value in values.items()
    ]


def write_page(folder: Path, plan: Plan, scale: str, left: dict) -> None:
    """Write ``<notebook>.html`` beside the executed notebook in `folder`, if there is one.

    left: the record that the notebook left, empty where it did not complete.
    """
    import nbformat

    executed = folder / f"{plan.name}.ipynb"
    if not executed.is_file():
        return
    document = nbformat.read(executed, as_version=4)
    files = {result["name"]: result["files"] for result in left.get("results", [])}
    picture = _arrange(document, folder, left.get("picture"), files)
    with EXPORTING:
        body, sections = with_anchors(exporter().from_notebook_node(document)[0])
    up = "../" * len(plan.path.parts)
    body = as_lists(between_pages(body, up))
    number = number_of(plan.name)
    text = html.unescape(re.sub(r"<(pre|style)\b.*?</\1>|<[^>]+>", " ", body, flags=re.DOTALL))
    parameters = values_line(plan.values)
    values = [value for _, value in parameters]
    page = environment().get_template("page.html.j2").render(
        style=sheet(),
        number=number,
        title=plan.notebook.title,
        index=f"{up}index.html",
        answer=first_sentence(left.get("answer", "")),
        do=between_pages(linking(left.get("do") or ""), up),
        picture=picture,
        sections=sections,
        parameters=parameters,
        command=f"assignlab run {number or plan.name} --scale {scale} -p NAME VALUE",
        body=body,
        terms=[
            term
            for term in terms_in(" ".join([text, left.get("answer", ""), left.get("do", ""), *values]))
            if term.word not in left.get("otherwise", ())
        ],
        provenance=provenance(left) if left else None,
    )  # fmt: skip
    with whole(folder / f"{plan.name}{PAGE_SUFFIX}") as part:
        part.write_text(linked(page), encoding="utf-8")


@cache
def exporter():
    """nbconvert's exporter with the template of a page, which is compiled once for all pages."""
    from nbconvert.exporters import HTMLExporter
    from traitlets.config import Config

    return HTMLExporter(
        config=Config(), template_name="page", extra_template_basedirs=[str(TEMPLATES)],
        exclude_input_prompt=True, exclude_output_prompt=True, exclude_anchor_links=True,
    )  # fmt: skip


def with_anchors(body: str) -> tuple[str, list[tuple[str, str]]]:
    """(the HTML with an id at every section's heading; (id, heading) of each).

    >>> with_anchors("<h2>One &amp; all</h2>")
    ('<h2 id="section-1">One &amp; all</h2>', [('section-1', 'One &amp; all')])
    """
    pieces = re.split(r"<h2[^>]*>(.*?)</h2>", body, flags=re.DOTALL)
    sections = [(f"section-{number}", text) for number, text in enumerate(pieces[1::2], 1)]
    pieces[1::2] = [f'<h2 id="{anchor}">{text}</h2>' for anchor, text in sections]
    return "".join(pieces), sections


def between_pages(body: str, up: str) -> str:
    """The HTML with links from notebook to notebook as links from page to page.

    up: leads from the page's folder to that of all notebooks' folders.

    >>> between_pages('<a href="02_moves.ipynb">', "../")
    '<a href="../02_moves/02_moves.html">'
    """
    page = rf"{up}\1/\1{PAGE_SUFFIX}"
    return re.sub(r'(?<=href=")(\d\d_\w+)\.ipynb(?=")', page, body)


def as_lists(body: str) -> str:
    """The HTML with the tables of its text like those of results: on a phone each row is a list.

    >>> as_lists("<table><tr><th>you see</th></tr><tr><td>idle members</td></tr></table>")
    '<table class="wide"><tr><th>you see</th></tr><tr><td data-label="you see">idle members</td></tr></table>'
    """

    def labelled(table: re.Match) -> str:
        labels = cycle(re.findall(r"<th\b[^>]*>(.*?)</th>", table[0], flags=re.DOTALL) or [""])
        cells = re.sub("<td", lambda _: f'<td data-label="{next(labels)}"', table[0])
        return cells.replace("<table>", '<table class="wide">', 1)

    return re.sub(r"<table>.*?</table>", labelled, body, flags=re.DOTALL)


def sheet() -> str:
    """The style sheet of a page: the shared one, and the colours of code."""
    from pygments.formatters import HtmlFormatter

    light = HtmlFormatter(style="default").get_style_defs(".highlight")
    light += "\n.highlight .c1 { color: #356b6b }"  # its own is too pale to read
    dark = HtmlFormatter(style="github-dark").get_style_defs(".highlight")
    return f"{style()}\n{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}"


def _arrange(document, folder: Path, main: str | None, files: dict) -> str | None:
    """Prepare a notebook's outputs for its page, in place; the HTML of the main picture.

    The title, the answer and the provenance stand elsewhere on the page; pictures are taken from
    their SVG files; tables get links to theirs.
    """
    first = document.cells[0] if document.cells else None
    if first is not None and first.cell_type == "markdown":
        first.source = re.sub(r"\A# .*\n?", "", first.source)
    found = None
    for outputs, place, role in _roles(document):
        output = outputs[place]
        if role["kind"] in ("answer", "provenance"):
            outputs[place] = None
        elif role["kind"] == "table":
            shown = output.data["text/html"] + _links(files.get(role["name"], ()))
            output.data["text/html"] = _result(role["name"], shown)
        elif role["kind"] == "figure":
            shown = _figure(folder, role["name"], output)
            if role["name"] == main:
                found = shown
                shown = '<p class="soft"><a href="#picture">The picture at the top</a></p>'
            output.data = {"text/html": _result(role["name"], shown)}
    for each in document.cells:
        if each.cell_type == "code":
            # JupyterLab folds such code; the page has its switch.
            each.metadata.pop("jupyter", None)
            each.outputs = [output for output in each.outputs if output is not None]
    return found


def _result(name: str, shown: str) -> str:
    """What a page shows of a result, under the result's name."""
    return f'<div class="result" id="{name}">{shown}</div>'


def _roles(document) -> Iterator[tuple[list, int, dict]]:
    """(outputs of a cell, place among them, role) of every output that a study showed."""
    for each in document.cells:
        for place, output in enumerate(each.get("outputs", ())):
            role = output.get("metadata", {}).get(ROLE)
            if role:
                yield each.outputs, place, role


def _figure(folder: Path, name: str, output) -> str:
    """A picture inside the page, which opens as SVG; the PNG where there is no SVG."""
    alt = html.escape(output.metadata["image/png"]["alt"])
    path = folder / f"{name}.svg"
    if path.is_file():
        data = f"svg+xml;base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"
    else:
        data = f"png;base64,{output.data['image/png']}"
    source = f'<img src="data:image/{data}" alt="{alt}">'
    return f'<figure><a class="picture" href="{name}.svg">{source}</a></figure>'


def _links(files) -> str:
    links = [
        f'<a href="{html.escape(file)}">{FORMATS.get(Path(file).suffix, "file")}</a>'
        for file in files
    ]
    return f'<p class="files">all of it: {", ".join(links)}</p>' if links else ""


def navigate(path: Path, before: tuple | None, after: tuple | None, articles: str | None) -> None:
    """Write the links of a page to its neighbours, (link, title) each, and to the page of the articles;
    None where there is none."""
    page = path.read_text(encoding="utf-8")
    links = environment().get_template("navigation.html.j2").render(
        before=before, after=after, articles=articles
    )  # fmt: skip
    renewed = NAVIGATION.sub(lambda _: links, page)
    if renewed != page:
        with whole(path) as part:
            part.write_text(renewed, encoding="utf-8")
