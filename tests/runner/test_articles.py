"""articles.html: what the table of docs/README.md names is linked to where it stands in the pages."""

import re
from pathlib import Path

import pytest

from assignlab.runner.articles import ARTICLES, TITLE, write_articles
from assignlab.runner.plan import Place

TABLE = f"""# Documentation

# {TITLE}

## Range

| statement | shown in | the original |
|---|---|---|
| as many: one each | [01](../notebooks/01_first.ipynb), *Range: topic*, `by_topic`, `other` | see [more](more.md) |
| one more | [02](../notebooks/02_second.ipynb), *Moves* | |
"""
PAGE = '<h2 id="section-2">Range: topic by topic</h2><div class="result" id="by_topic">1</div>'


@pytest.fixture
def place(tmp_path) -> Place:
    root, outputs = tmp_path / "project", tmp_path / "results"
    (root / "docs").mkdir(parents=True)
    (root / "docs" / "README.md").write_text(TABLE)
    (outputs / "study" / "01_first").mkdir(parents=True)
    (outputs / "study" / "01_first" / "01_first.html").write_text(PAGE)
    return Place(root, outputs, "study")


def test_headings_and_results_lead_to_where_they_stand(place):
    assert write_articles(place) == ARTICLES
    found = (place.outputs / ARTICLES).read_text(encoding="utf-8")
    page = "study/01_first/01_first.html"
    links = re.findall(r'<a href="([^"]+)">(.*?)</a>', found)
    assert links == [
        ("index.html", "index"),
        (page, "01"),
        (f"{page}#section-2", "<em>Range: topic</em>"),
        (f"{page}#by_topic", "<code>by_topic</code>"),
        ("../project/docs/more.md", "more"),
        ("index.html", "index"),
    ]
    assert "<code>other</code>" in found and "02, <em>Moves</em>" in found, "what is not there"


def test_a_collection_without_such_a_table_has_no_such_page(place):
    (place.root / "docs" / "README.md").write_text("# Documentation\n")
    assert write_articles(place) is None
    (place.root / "docs" / "README.md").unlink()
    assert write_articles(place) is None and not (place.outputs / ARTICLES).exists()


def test_the_projects_own_table_is_found(place):
    own = Place(Path(__file__).parents[2], place.outputs, "study")
    assert write_articles(own) == ARTICLES
    assert "000, 001" in (place.outputs / ARTICLES).read_text(encoding="utf-8")
