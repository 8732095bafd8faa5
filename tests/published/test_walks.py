"""The algorithms of the articles step by step: the steps lead to what the strategies give."""

import itertools

import pytest

from assignlab.assignors import get
from assignlab.assignors.parts import reassignment
from assignlab.group.plain import group
from assignlab.published import examples, own, walks
from assignlab.published.examples import Unexpected, compare, ordered, short

TOPICS = {"t0": 4, "t1": 3, "t2": 2}
READS = {"consumer0": ["t0", "t1", "t2"], "consumer1": ["t0", "t1"], "consumer2": ["t2"]}
CROSSING = group(
    {"t0": 4, "t1": 2},
    {"C0": ["t1"], "C1": ["t1"], "C2": ["t0", "t1"], "C3": ["t0", "t1"]},
    owned={"C2": [["t0", 0]], "C3": [["t0", 1], ["t0", 3], ["t1", 0], ["t1", 1]]},
)


@pytest.mark.parametrize("seed", range(12))
def test_a_watched_walk_ends_where_the_compiled_strategy_does(seed):
    of = walks.drawn(seed)
    walk = walks.sticky_walk(of)
    assert short(of, walk.assignment) == short(of, get("sticky@2.0").assign(of))
    assert walk.steps["lists"].iloc[-1] == short(of, walk.assignment)


@pytest.mark.parametrize("seed", range(12))
def test_every_step_changes_what_it_says(seed):
    steps = walks.sticky_walk(walks.drawn(seed)).steps.to_dict("records")
    for before, step in itertools.pairwise(steps):
        source, to, moved = step["from"], step["to"], step["moved"]
        assert moved in step["lists"][to].split()
        assert moved not in before["lists"][to].split()
        if step["what"] == "moved":
            assert moved in before["lists"][source].split()
            assert before["score after"] == pytest.approx(step["score before"], nan_ok=True) or (
                before["what"] != "moved"
            )


def test_the_reverse_pair_sends_another_partition_back():
    steps = walks.sticky_walk(CROSSING).steps
    crossed = steps[(steps["what"] == "moved") & (steps["looked at"] != steps["moved"])]
    told = crossed[["looked at", "moved", "from", "to"]].values.tolist()
    assert told == [["t0p0", "t0p1", "C2", "C3"]]
    assert crossed[["score before", "score after"]].values.tolist() == [[6, 4]]


def test_a_walk_in_vain_is_told(monkeypatch):
    """No group was found that ends so; a score that never gets less brings it about."""
    monkeypatch.setattr(reassignment, "balance_score", lambda counts: 1.0)
    walk = walks.sticky_walk(CROSSING)
    steps = walk.steps.set_index("what")["lists"]
    assert walk.steps["what"].iloc[-1] == "taken back" and "moved" in steps.index
    assert steps["taken back"] == steps["assigned"] == short(CROSSING, walk.assignment)


@pytest.mark.parametrize("topics", [TOPICS, {"t0": 3, "t1": 2, "t2": 1}, {"t0": 1, "t2": 5}])
def test_the_circle_deals_as_round_robin_does(topics):
    members = {m: [t for t in read if t in topics] for m, read in READS.items()}
    of = group(topics, members)
    rounds = walks.circle(of)
    dealt = {m: " ".join(rounds[rounds["dealt to"] == m]["partition"]) for m in members}
    assert dealt == short(of, get("roundrobin").assign(of))


@pytest.mark.parametrize(("partitions", "consumers"), [(10, 3), (7, 3), (2, 3), (6, 3), (1, 5)])
def test_range_arithmetic_is_what_range_gives(partitions, consumers):
    names = [f"c-{i}" for i in range(8, 8 + consumers)]  # c-10 sorts before c-8
    of = group({"t": partitions}, {c: ["t"] for c in names})
    steps = walks.range_steps(partitions, names).set_index("consumer")["partitions"]
    given = short(of, get("range").assign(of))
    assert {c: text.replace("t", "") for c, text in given.items()} == steps.to_dict()


def test_without_consumers_range_has_no_rows_and_a_ring_is_refused():
    assert walks.range_steps(3, []).empty
    with pytest.raises(ValueError, match="at least one member"):
        walks.hash_ring(group({"t": 3}, {}))


def test_the_ring_has_the_owners_of_consistent_hashing():
    of = group({"t": 9}, {f"c{i}": ["t"] for i in range(4)})
    ring = walks.hash_ring(of)
    assert len(ring.points) == 4 * 160 and ring.points["point"].is_monotonic_increasing
    given = short(of, get("metaq-consistent-hash").assign(of))
    owners = {p: member for member, text in given.items() for p in text.split()}
    found = {
        f"tp{p.partition('-')[2]}": c for p, c in ring.partitions[["partition", "owner"]].values
    }
    assert found == owners


def test_user_data_carries_the_assignment_through_the_next_claim():
    of = group(TOPICS, READS)
    given = get("sticky@2.0").assign(of)
    sent = walks.user_data("sticky@2.0", of, given)
    for text, data in zip(sent["sends"], sent["user data"], strict=True):
        raw = bytes.fromhex(data)
        assert int.from_bytes(raw[:4]) == len({p.partition("p")[0] for p in text.split()})
        assert sorted(text.split()) == sorted(decoded(raw))


def decoded(raw: bytes) -> list[str]:
    """The partitions of ``previous_assignment``."""
    found, at = [], 4
    for _ in range(int.from_bytes(raw[:4])):
        length = int.from_bytes(raw[at : at + 2])
        topic = raw[at + 2 : at + 2 + length].decode()
        at += 2 + length
        count = int.from_bytes(raw[at : at + 4])
        numbers = [raw[at + 4 + 4 * k : at + 8 + 4 * k] for k in range(count)]
        found += [f"{topic}p{int.from_bytes(number)}" for number in numbers]
        at += 4 + 4 * count
    assert at == len(raw)
    return found


def test_ones_own_assignor_gives_every_partition_once():
    of = group(TOPICS, READS)
    given = own.assign(of)
    assert sorted(given.codes) == sorted(get("range").assign(of).codes)


def test_a_slip_is_named_where_there_is_one_and_only_there():
    of = group({"t0": 3}, {"C0": ["t0"], "C1": ["t0"]})
    right, wrong = {"C1": "p2"}, {"C1": "p1"}
    assert compare(of, "range", right, "000", "")["verdict"].item() == "holds"
    assert compare(of, "range", wrong, "000", "", {"C1": "slip"})["verdict"].item() == "slip"
    for printed, slips in ((wrong, {}), (right, {"C1": "slip"})):
        with pytest.raises(Unexpected):
            compare(of, "range", printed, "000", "", slips)
    with pytest.raises(Unexpected):
        ordered("003", "", "consumers", "consumer2、consumer1", "consumer1 consumer2")


def test_texts_are_read_in_their_own_notation():
    of = group({"topic": 3}, {"a": ["topic"]})
    assert examples.read("topic0_0、topic1_2 ， t3p4", of) == ["topic0p0", "topic1p2", "t3p4"]
    assert examples.read("p1p2", of) == ["p1p2"]
