"""docs/your-group.md shows what its commands say."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_output_in_the_page_is_the_commands(monkeypatch):
    monkeypatch.chdir(ROOT)
    spec = importlib.util.spec_from_file_location("tables", ROOT / "docs" / "tables.py")
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    written = (ROOT / tables.CASES).read_text(encoding="utf-8")
    assert len(tables.CASE.findall(written)) >= 1
    assert tables.cases(tables.CASES) == written, "python docs/tables.py --cases writes it anew"
