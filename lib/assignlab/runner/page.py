"""The executed notebook as one HTML page that needs nothing else: code folded, pictures inside."""

from pathlib import Path

from assignlab.local.files import whole
from assignlab.runner.plan import Notebook

TEMPLATES = Path(__file__).parent / "templates"
PAGE_SUFFIX = ".html"


def style() -> str:
    """The style sheet that pages and index share."""
    return (TEMPLATES / "style.css").read_text(encoding="utf-8")


def write_page(folder: Path, notebook: Notebook) -> None:
    """Write ``<notebook>.html`` beside the executed notebook in `folder`, if there is one."""
    import nbformat
    from nbconvert.exporters import HTMLExporter
    from pygments.formatters import HtmlFormatter
    from traitlets.config import Config

    executed = folder / f"{notebook.name}.ipynb"
    if not executed.is_file():
        return
    exporter = HTMLExporter(
        config=Config(),
        template_name="page",
        extra_template_basedirs=[str(TEMPLATES)],
        exclude_input_prompt=True,
        exclude_output_prompt=True,
    )
    light = HtmlFormatter(style="default").get_style_defs(".highlight")
    dark = HtmlFormatter(style="github-dark").get_style_defs(".highlight")
    sheet = f"{style()}\n{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}"
    html, _ = exporter.from_notebook_node(
        nbformat.read(executed, as_version=4),
        {"page": {"title": notebook.title, "style": sheet}},
    )
    with whole(folder / f"{notebook.name}{PAGE_SUFFIX}") as part:
        part.write_text(html, encoding="utf-8")
