"""What Kafka's own tests expect of the consumer's assignors, as claims of the scorecard.

``published/data/kafka_tests.yaml`` holds them: every line of five test classes of kafka-clients
4.3.0 that says which partitions, or how many, a member gets; and the numbers of all other lines
with an assertion, with the reason why they are none of these. The groups are those that the tests
ask about, in the short form of ``published/data/examples.yaml``; claims are written out, since the
tests set them.

Most tests are run three times, which is told by one line here: without racks; with members in
racks, but not the partitions; and with every partition in every rack, so that racks are heeded but
change nothing (:func:`in_racks`).
"""

from collections.abc import Iterator
from functools import cache

import pandas as pd
import yaml

from assignlab.published.notation import PUBLISHED

FILE = PUBLISHED / "kafka_tests.yaml"
FIXTURE = "F-18"
RELEASE = "4.3.0"

RACKS = "abc"
"""Racks of the brokers where a test does not say otherwise."""
ELSEWHERE = "z"
"""A rack without members. Assignors heed racks only where some partition is not in all of them;
the tests set a switch in the object for that, here a replica in this rack does it."""
NOWHERE = "-"


@cache
def entries() -> tuple[dict, ...]:
    """All claims, as entries of ``examples.yaml``; each group of a test in each of its forms."""
    return tuple(
        {
            "fixture": FIXTURE,
            "kind": "test suite",
            "source": f"Kafka {RELEASE}, {test['test']}",
            "stated": True,
            **claim,
        }
        for test in _read()
        if "test" in test
        for claim in (_rack_test(test) if "in_racks" in test else _test(test))
    )


def lines() -> pd.DataFrame:
    """Lines with an assertion that are transcribed, or left out for a reason:
    int[what, test classes and "all"]."""
    found: dict[tuple[str, str], set[int]] = {}
    for entry in _read():
        if "test" in entry:
            name = entry["test"].partition(".")[0], "transcribed"
            claims = entry.get("asked", []) + entry.get("in_racks", [])
            numbers = [line for claim in claims for line in claim["lines"]]
        else:
            name, numbers = (entry["left_out"], entry["why"]), entry["lines"]
        found.setdefault(name, set()).update(numbers)
    classes = list(dict.fromkeys(name for name, _ in found))
    what = list(dict.fromkeys(reason for _, reason in found))
    counts = [[len(found.get((name, reason), ())) for name in classes] for reason in what]
    frame = pd.DataFrame(counts, index=pd.Index(what, name="what"), columns=classes)
    return frame.assign(all=frame.sum(axis=1))


@cache
def _read() -> list[dict]:
    return yaml.safe_load(FILE.read_text(encoding="utf-8"))


def _test(test: dict) -> Iterator[dict]:
    """A test without racks as one history; its groups in racks one by one."""
    groups = [_stated(group) for group in test.get("groups") or [test["group"]]]
    for asked in test["asked"]:
        claims = asked["claimed"] if "groups" in test else [asked["claimed"]]
        told = [pair for pair in zip(groups, claims, strict=True) if pair[1] is not None]
        yield _entry(test["about"], asked, *told)
        for about, racked in _in_their_racks(test, groups, asked["strategy"]):
            for group, (_, claim) in zip(racked, zip(groups, claims, strict=True), strict=True):
                if group is not None and claim is not None:
                    yield _entry(f"{test['about']}; {about}", asked, (group, claim))


def _entry(about: str, asked: dict, *told: tuple[dict, object]) -> dict:
    """One entry: a group with its claim, or a history of such."""
    said = {name: asked[name] for name in ("strategy", "measure", "of") if name in asked}
    groups, claims = map(list, zip(*told, strict=True))
    claimed = claims if len(claims) > 1 else claims[0]
    return {"about": about, "groups": groups, "asked": [{**said, "claimed": claimed}]}


def _stated(group: dict) -> dict:
    """The generation of a claim stands in the user data and in the subscription; that of an old
    client in the user data only."""
    members = {}
    for id, facts in group["members"].items():
        facts = dict(facts) if isinstance(facts, dict) else {"topics": facts}
        if "old_generation" in facts:
            facts["generation"] = facts.pop("old_generation")
        elif "generation" in facts:
            facts["sub_generation"] = facts["generation"]
        members[id] = facts
    return {**group, "members": members}


# ---- racks ---------------------------------------------------------------------------------------


def _in_their_racks(
    test: dict, groups: list[dict], strategy: str
) -> Iterator[tuple[str, list[dict | None]]]:
    """The groups with members in racks, then with everything in racks; None where none is."""
    if "racks" not in test:
        return
    met = dict.fromkeys(id for group in groups for id in group["members"])
    consumers = dict(zip(met, test["racks"], strict=True))
    brokers = test.get("brokers", RACKS)
    # with fewer racks the members go round these
    nearer = {id: brokers[(ord(rack) - ord("a")) % len(brokers)] if rack != NOWHERE else rack
              for id, rack in consumers.items()}  # fmt: skip
    forms = [("members in racks", consumers, ""), ("everything in racks", nearer, brokers)]
    for about, racks, of_brokers in forms:
        placed: list[dict | None] = []
        for group in groups:
            letters = "".join(  # in StickyAssignorTest a member with a generation names none
                NOWHERE if strategy == "sticky" and "generation" in facts else racks[id]
                for id, facts in group["members"].items()
            )
            some = letters.strip(NOWHERE) and (not of_brokers or any(group["topics"].values()))
            placed.append(
                in_racks(group, letters, of_brokers, len(brokers), True) if some else None
            )
        yield about, placed


def in_racks(
    group: dict, consumers: str = "", brokers: str = "", replicas: int = 0, wide: bool = False
) -> dict:
    """The group with a rack for each member and for each replica of each partition.

    ``consumers``: a letter per member, ``-`` for none. ``brokers``: a letter per broker; replica j
    of partition n, counted over all topics, is on broker n + j. ``wide``: the first partition of
    every topic has one more replica, in a rack without members.

    >>> in_racks({"topics": {"t": 3}, "members": {"a": {"topics": ["t"]}}}, "b", "abc", 2)["topics"]
    {'t': {'partitions': 3, 'racks': 'ab bc ca'}}
    """
    members = dict(group["members"])
    for id, rack in zip(members, consumers, strict=False):
        if rack != NOWHERE:
            members[id] = {**members[id], "rack": rack}
    if not brokers:
        return {**group, "members": members}
    topics, first = {}, 0
    for name, count in group["topics"].items():
        racks = [
            "".join(brokers[(n + j) % len(brokers)] for j in range(replicas))
            for n in range(first, first + count)
        ]
        if wide and racks:
            racks[0] += ELSEWHERE
        topics[name] = {"partitions": count, "racks": " ".join(racks)}
        first += count
    return {**group, "topics": topics, "members": members}


def _rack_test(test: dict) -> Iterator[dict]:
    """Tests of racks: one group, placed in racks in many ways, with and without claims."""
    for asked in test["in_racks"]:
        members = {
            id: {"topics": topics, **({"owned": asked["owned"][id]} if "owned" in asked else {})}
            for id, topics in test["members"].items()
        }
        for racks in asked["racks"]:
            group = in_racks({"topics": test["topics"], "members": members}, **racks)
            for strategy in asked["strategies"]:
                said = {"strategy": strategy, "measure": "sets"}
                claimed = asked["claimed"]
                yield _entry(f"{test['about']}; {_said(racks)}", said, (group, claimed))


def _said(racks: dict) -> str:
    consumers = f"members in racks {racks['consumers']}" if "consumers" in racks else "no racks"
    if "brokers" not in racks:
        return consumers
    wide = " and one elsewhere" if racks.get("wide") else ""
    return f"{consumers}, {racks['replicas']} replicas{wide} on brokers {racks['brokers']}"
