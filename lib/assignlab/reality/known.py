"""Where recorded groups and the timeline are known to differ, and why.

``known.yaml`` names every difference of the recordings at hand: the test suite fails when one is
missing there, and when one that is there is no more.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import yaml

from assignlab.errors import AssignlabError, refuse_unknown

FILE = Path(__file__).parent / "known.yaml"


class Cause(NamedTuple):
    """A cause of differences: in few words, explained, and whether it is ``model`` (to be
    mended there), ``client`` (chance in another one than Java's, or what is not played of it), ``drift`` (of
    heartbeats, beyond what is played) or ``machine`` (noise of the one that recorded)."""

    cause: str
    of: str
    why: str


@cache
def known() -> dict[str, Cause]:
    """Difference, as :func:`name` says it -> its cause."""
    found = {}
    for entry in yaml.safe_load(FILE.read_text(encoding="utf-8")):
        for row in entry.pop("rows"):
            found[row] = Cause(**entry)
    return found


def name(row) -> str:
    """What a difference is called: broker, scenario, step, check."""
    return f"{row.broker} {row.scenario} {row.step} {row.check}"


def with_causes(compared: pd.DataFrame) -> pd.DataFrame:
    """The comparison with the ``cause`` of every difference; ``not known`` if not listed."""
    causes = [
        "" if row.equal else known()[name(row)].cause if name(row) in known() else "not known"
        for row in compared.itertuples()
    ]
    return compared.assign(cause=causes)


def news(compared: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Differences that are not listed, and what is listed and does not differ (any more)."""
    differ = [name(row) for row in compared[~compared["equal"]].itertuples()]
    return sorted(set(differ) - set(known())), sorted(set(known()) - set(differ))


def main(
    names: list[str], brokers: list[str], record_anew: bool, say: Callable[[str], None]
) -> int:
    """Record anew or compare what is recorded;
    returns 1 where the list of differences is not right.

    Raises :class:`~assignlab.errors.UnknownName` for a scenario that the brokers do not play, and
    for a release that is not recorded.
    """
    from assignlab.reality import beside, recording, scripts

    played = brokers or recording.releases()
    plan = {release: scripts.for_release(release) for release in played}
    allowed = sorted({one.name for of_release in plan.values() for one in of_release})
    refuse_unknown("scenario", names, allowed)
    if record_anew:
        from assignlab.reality.record import record

        for release, of_release in plan.items():
            chosen = [one for one in of_release if not names or one.name in names]
            say(f"broker {release}: {len(chosen)} scenarios in real time")
            for one in record(release, chosen):
                recording.write(release, [one])
                say(f"  {one['name']}")
    refuse_unknown("release", brokers, recording.releases())
    there = [
        one
        for one in recording.all_of()
        if (not names or one["name"] in names) and one["broker"] in played
    ]
    if not there:
        raise AssignlabError("none of these is recorded: --record does it")
    compared = beside.compare(there)
    for line in beside.totals(compared):
        say(line)
    new, gone = news(compared)
    if names or brokers:
        gone = []
    for row in new:
        say(f"not in the list: {row}")
    for row in gone:
        say(f"in the list, but equal: {row}")
    return 1 if new or gone else 0
