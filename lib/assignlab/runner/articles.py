"""Where each statement of the articles is shown: the table of ``docs/README.md`` as a page beside the index.

Its links lead into the pages of a scale: a heading or a result that the table names to where it stands.
"""

import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from assignlab.local.files import whole
from assignlab.runner.page import PAGE_SUFFIX, as_lists, environment, style
from assignlab.runner.plan import Place

ARTICLES = "articles.html"
TITLE = "What the articles say, and where it is shown"
CITED = re.compile(
    r"\[(\d\d)\]\(\.\./notebooks/([\w.]+)\.ipynb\)(.*?)(?=\[\d\d\]\(|$)", re.MULTILINE
)
"""A notebook that a cell of the table names, and what stands behind it up to the next one."""
_NAMED = re.compile(r"\*([^*]+)\*|`(\w+)`")


def write_articles(place: Place) -> str | None:
    """Write the page into ``place.outputs``, with links to the pages of its scale; its name, or None for a
    collection that has no such table."""
    from nbconvert.filters import markdown2html

    docs = place.root / "docs"
    file = docs / "README.md"
    known = file.read_text(encoding="utf-8") if file.is_file() else ""
    _, heading, text = known.partition(f"\n# {TITLE}\n")
    if not heading:
        return None
    anchors_of = cache(_anchors)
    text = CITED.sub(lambda cited: _linked(place, anchors_of, *cited.groups()), text)
    up = Path(os.path.relpath(docs, place.outputs)).as_posix()
    text = re.sub(r"\]\((?=[\w.]+\.md\))", f"]({up}/", text)
    body = re.sub(r'<a class="anchor-link".*?</a>', "", markdown2html(text))
    html = environment().get_template("articles.html.j2").render(
        style=style(), title=TITLE, body=as_lists(body)
    )  # fmt: skip
    with whole(place.outputs / ARTICLES) as part:
        part.write_text(html, encoding="utf-8")
    return ARTICLES


def _linked(place: Place, anchors_of: Callable, number: str, name: str, behind: str) -> str:
    """A citation of a notebook, in Markdown, with links into its page; without any where that is not
    there."""
    page = place.folder / name / f"{name}{PAGE_SUFFIX}"
    if not page.is_file():
        return number + behind
    link = f"{place.scale}/{name}/{name}{PAGE_SUFFIX}"
    headings, results = anchors_of(page)

    def to_its_place(named: re.Match) -> str:
        heading, result = named.groups()
        found = [
            anchor for anchor, text in headings.items() if heading and text.startswith(heading)
        ]
        anchor = found[0] if found else result if result in results else None
        return f"[{named[0]}]({link}#{anchor})" if anchor else named[0]

    return f"[{number}]({link}){_NAMED.sub(to_its_place, behind)}"


def _anchors(page: Path) -> tuple[dict[str, str], set[str]]:
    """(anchor -> heading, anchors of results) of a page."""
    text = page.read_text(encoding="utf-8")
    headings = dict(re.findall(r'<h2 id="(section-\d+)">(.*?)</h2>', text))
    return headings, set(re.findall(r'<div class="result" id="(\w+)">', text))
