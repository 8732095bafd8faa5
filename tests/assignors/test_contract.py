"""One contract for every strategy that is discovered: a strategy file needs no test of its own for
it."""

import json
import os
import pickle
import subprocess
import sys
import zipfile
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import assignlab
from assignlab import assignors
from assignlab.assignors.strategy import Strategy
from assignlab.group.assignment import partition_of, topic_of
from assignlab.group.document import dump, parse
from assignlab.proof import golden
from assignlab.proof.originals import has_original
from assignlab.proof.promises import CHECKS
from assignlab.releases import version
from assignlab.replay.history import history
from assignlab.replay.rebalance import replay
from assignlab.replay.scenarios import SUBSCRIPTIONS, Scenario
from equipped import equipped, promises_completeness

MEMBER_FIELDS = {"owned", "generation", "sub_generation", "instance", "rack", "streams"}
PROTOCOLS = {"eager", "cooperative", "server", "independent"}
WORDS = ("FULL", "JOIN_MANY", "LEAVE_ONE", "PARTITIONS_ADDED", "TOPIC_CREATED", "CRASH")

each_strategy = pytest.mark.parametrize("name", assignors.names())


@cache
def states(name):
    """Groups as this strategy meets them in histories, each with the claims of its own past.

    Where the original throws, by design or not, there is nothing to check; with equal subscriptions
    and sound claims none of them does.
    """
    strategy = assignors.get(name)
    found = []
    for seed, subscription in enumerate(SUBSCRIPTIONS):
        for members, topics, partitions in ((1, 1, 1), (4, 3, 10), (7, 2, 3), (6, 5, 40)):
            scenario = Scenario(
                members=members, topics=topics, partitions=partitions, subscription=subscription,
                seed=seed, static=seed % 2 == 1, racks=2 * (seed // 2),
                events=WORDS if members > 1 else WORDS[:2],
            )  # fmt: skip
            for step in replay(equipped(strategy, history(scenario)), strategy):
                assert step.error is None or subscription != "HOMOGENEOUS", step.error
                if step.error is None:
                    found.append(step)
    return strategy, found


def described(name, the_group, assignment):
    return assignors.get(name).render(the_group, assignment)


@each_strategy
def test_facts(name):
    strategy = assignors.get(name)
    assert isinstance(strategy, Strategy)
    assert strategy.protocol in PROTOCOLS
    assert strategy.membership in ("coordinator", "ZooKeeper", "broker")
    ours = [s for s in assignors.strategies().values() if s.system == strategy.system]
    assert {(s.membership, s.client_id) for s in ours} == {
        (strategy.membership, strategy.client_id)
    }
    assert strategy.system and strategy.source
    assert version(strategy.first) <= version(strategy.last)
    assert has_original(name) or not strategy.original, (
        f"nothing in SYSTEMS of proof/originals.py runs {strategy.original}"
    )
    assert set(strategy.member_fields) <= MEMBER_FIELDS
    assert set(strategy.generations) <= {"generation", "sub_generation"} & set(
        strategy.member_fields
    )
    assert strategy.sticky or not strategy.generations
    assert set(strategy.promises) <= set(CHECKS)
    assert all(strategy.exceptions.values()), "an exception needs a reason"
    assert ">>> " in sys.modules[strategy.assign.__module__].__doc__


def test_a_strategy_says_since_when_it_is_so():
    own = replace(assignors.get("range"), name="mine", original="", first="2026", last="")
    assert own.last == "2026"
    with pytest.raises(ValueError, match="strategy mine: first= is missing"):
        replace(own, first="")


@each_strategy
def test_vectors_or_a_reason(name):
    reason = assignors.get(name).exceptions.get("vectors")
    assert name in golden.recorded() or reason, (
        f"{name} has no golden vectors: record them with `assignlab proof golden {name}`, or say why "
        f'there are none in {file_of(name)}: exceptions={{"vectors": "..."}}'
    )


@each_strategy
def test_promises_or_a_reason(name):
    strategy = assignors.get(name)
    assert strategy.promises or strategy.exceptions.get("promises"), (
        f"{name} promises nothing of its own: name checks of proof/promises.py in {file_of(name)}: "
        f'promises=("...",), or say why it cannot: exceptions={{"promises": "..."}}'
    )


def file_of(name):
    return sys.modules[assignors.get(name).assign.__module__].__file__


@each_strategy
def test_valid_and_complete(name):
    strategy, found = states(name)
    assert found
    for step in found:
        the_group, after = step.group, step.after
        members, counts = the_group.members, the_group.topics.partitions
        assert after.offsets.size == len(members) + 1
        assert after.offsets[0] == 0 and after.offsets[-1] == after.codes.size
        subscribed = [set(members.topics_of(m).tolist()) for m in range(len(members))]
        given = after.codes.tolist()
        for m, c in zip(after.owners.tolist(), given, strict=True):
            assert topic_of(c) in subscribed[m]
            assert 0 <= partition_of(c) < counts[topic_of(c)]
        wanted = [(t << 32) + p for t in set().union(*subscribed) for p in range(counts[t])]
        assert set(given) <= set(wanted)
        assert len(set(given)) == len(given) or strategy.shares
        assert len(set(given)) == len(wanted) or not promises_completeness(strategy, the_group)


@each_strategy
def test_the_same_group_gives_the_same_assignment(name):
    strategy, found = states(name)
    for step in found:
        once = strategy.assign(step.group)
        offsets, codes = once.offsets.tolist(), once.codes.tolist()
        once.offsets[:] = once.codes[:] = -1  # an answer belongs to whoever asked
        again = strategy.assign(step.group)
        anew = strategy.assign(pickle.loads(pickle.dumps(step.group)))
        for other in (again, anew):
            assert offsets == other.offsets.tolist()
            assert codes == other.codes.tolist()
            assert once.notes == other.notes


@each_strategy
def test_the_group_is_not_changed(name):
    strategy, found = states(name)
    for step in found:
        before = pickle.dumps(step.group)
        strategy.assign(step.group)
        assert pickle.dumps(step.group) == before


@each_strategy
def test_picklable(name):
    strategy = assignors.get(name)
    copy = pickle.loads(pickle.dumps(strategy))
    assert copy.name == name and copy.assign == strategy.assign
    step = states(name)[1][-1]
    assert pickle.loads(pickle.dumps(step.after)).codes.tolist() == step.after.codes.tolist()


@each_strategy
def test_document_round_trip(name):
    strategy, found = states(name)
    for step in found:
        document = json.loads(json.dumps(dump(step.group)))
        read = parse(document)
        assert json.loads(json.dumps(dump(read))) == document
        assert described(name, read, strategy.assign(read)) == described(
            name, step.group, strategy.assign(step.group)
        )


@pytest.fixture(scope="module")
def zipped(tmp_path_factory):
    """The package as a zip, as Spark ships it to executors."""
    root = Path(assignlab.__file__).parent
    archive = tmp_path_factory.mktemp("zip") / "package.zip"
    with zipfile.ZipFile(archive, "w") as package:
        for source in root.rglob("*.py"):
            package.write(source, Path("assignlab") / source.relative_to(root))
    return archive


FROM_ZIP = """
import json, sys
sys.path.insert(0, sys.argv[1])
import assignlab
assert assignlab.__file__.startswith(sys.argv[1]), assignlab.__file__
from assignlab import assignors
from assignlab.group.document import parse
answers = {}
for name, document in json.load(sys.stdin):
    strategy = assignors.get(name)
    group = parse(document)
    answers[name] = strategy.render(group, strategy.assign(group))
print(json.dumps([assignors.names(), answers]))
"""


def from_zip(zipped, documents, **environment):
    run = subprocess.run(
        [sys.executable, "-c", FROM_ZIP, str(zipped)],
        input=json.dumps(documents),
        env=os.environ | environment,
        cwd=zipped.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return json.loads(run.stdout)


def test_works_from_a_zip_and_uncompiled(zipped):
    documents = []
    expected = {}
    for name in assignors.names():
        strategy, found = states(name)
        step = found[-1]
        documents.append((name, dump(step.group)))
        answer = described(name, step.group, strategy.assign(step.group))
        expected[name] = json.loads(json.dumps(answer))
    names, answers = from_zip(zipped, documents, NUMBA_DISABLE_JIT="1")
    assert names == assignors.names()
    assert answers == expected


def test_works_from_a_zip_and_compiled(zipped, tmp_path):
    documents = [("range@2.0", dump(states("range@2.0")[1][-1].group))]
    _, answers = from_zip(zipped, documents, NUMBA_CACHE_DIR=str(tmp_path))
    step = states("range@2.0")[1][-1]
    assert answers["range@2.0"] == described("range@2.0", step.group, step.after)
