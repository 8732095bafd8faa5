"""``assignlab group show``: sizes, gap, idle members, topics, load, why, and by whom."""

from typing import Any

from assignlab.advice.alike import alike
from assignlab.advice.clients import as_run
from assignlab.advice.law import law
from assignlab.advice.load import load
from assignlab.advice.racks import racks
from assignlab.advice.report import Report, Table, as_data, body, in_blocks
from assignlab.advice.subject import READ_AGAIN, NotAnswerable, subject
from assignlab.groups.show import as_text, sentence, summary, tables, title
from assignlab.groups.states import MOVING
from assignlab.releases import NEWEST_LINE


def answer(document: dict[str, Any]) -> Report:
    """What explains the group, beside its sizes: ``said``, and tables of load and of strategies."""
    said, of_load = load(document)
    try:
        asked = subject(document)
    except NotAnswerable as reason:
        return Report(title(document), document.get("inferred", []), [*said, str(reason)], of_load)
    in_racks, of_racks = racks(asked)
    by_whom, table = alike(asked)
    moving = []
    if (state := document.get("state")) in MOVING:
        moving.append(f"The group is in {state}: what members hold is on its way; {READ_AGAIN}.")
    found = [*moving, law(asked), *said, *in_racks, by_whom]
    shown = [*of_load, *of_racks, table]
    return Report(title(document), document.get("inferred", []), found, shown)


def text(document: dict[str, Any]) -> str:
    """The summary for people, and below it what explains it."""
    document = as_run(document, NEWEST_LINE)
    return as_text(summary(document)) + "\n\n" + in_blocks(body(answer(document)))


def data(document: dict[str, Any]) -> dict[str, Any]:
    """The summary for programs, with ``said`` and the tables beside it."""
    document = as_run(document, NEWEST_LINE)
    told = as_data(answer(document))
    return summary(document) | {
        name: told[name] for name in told if name not in ("title", "inferred")
    }


def page(document: dict[str, Any]) -> Report:
    """The whole as a report for a page: sizes first."""
    document = as_run(document, NEWEST_LINE)
    found, told = summary(document), answer(document)
    sizes = [
        Table(name, name.capitalize(), tuple(heads), rows) for name, heads, rows in tables(found)
    ]
    return told._replace(said=[sentence(found), *told.said], tables=[*sizes, *told.tables])
