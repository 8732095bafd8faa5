"""What users rely on in the coordinator's assignors, beside the golden vectors."""

import random

import numpy as np
import pytest

from assignlab import assignors
from assignlab.assignors.answer import answer as our_answer
from assignlab.assignors.answer import solve
from assignlab.assignors.kafka_server.parts import sets
from assignlab.errors import DocumentError
from assignlab.group import document
from assignlab.group.assignment import Assignment, code, topic_of
from assignlab.group.model import MIXED
from assignlab.group.plain import group
from assignlab.jvm.hash_map import collection_capacity, hash_map_order
from assignlab.jvm.names import Uuid, string_hash


def answer(strategy, topics, members, ids=None):
    """``members``: {id: (topics, owned)}; ``ids``: topic ids."""
    return our_answer(
        {
            "strategy": strategy,
            "topics": [
                {"name": name, "partitions": count} | ({"id": ids[name]} if ids else {})
                for name, count in topics.items()
            ],
            "members": [
                {"id": name, "topics": list(named), "owned": owned}
                for name, (named, owned) in members.items()
            ],
        }
    )


def sizes(reply):
    return sorted(map(len, reply["assignment"].values()))


def moved(before, after):
    return sum(
        pair not in after.get(member, []) for member, owned in before.items() for pair in owned
    )


def test_static_members_come_first_in_range():
    members = [{"id": "a", "topics": ["t"]}, {"id": "z", "topics": ["t"], "instance": "i"}]
    reply = our_answer(
        {"strategy": "server-range", "topics": [{"name": "t", "partitions": 3}], "members": members}
    )
    assert reply["assignment"] == {"a": [["t", 2]], "z": [["t", 0], ["t", 1]]}


@pytest.mark.parametrize("seed", range(20))
def test_a_balanced_group_does_not_move_and_a_leaver_moves_only_its_own(seed):
    r = random.Random(seed)
    topics = {f"topic-{i}": r.randint(1, 9) for i in range(r.randint(1, 6))}
    names = [f"member-{r.getrandbits(40):x}" for _ in range(r.randint(2, 7))]
    first = answer("server-uniform", topics, {name: (topics, []) for name in names})["assignment"]
    again = answer("server-uniform", topics, {name: (topics, first[name]) for name in names})
    assert again["assignment"] == first
    names.pop()
    rest = answer("server-uniform", topics, {name: (topics, first[name]) for name in names})
    kept = {name: first[name] for name in names}
    assert moved(kept, rest["assignment"]) == 0
    assert max(sizes(rest)) - min(sizes(rest)) <= 1


def test_overlapping_subscriptions_may_stay_slightly_uneven():
    held = {
        "a": (["x"], [["x", p] for p in range(9)]),
        "b": (["x", "y"], [["x", 9], *(["y", p] for p in range(9))]),
        "c": (["y"], [["y", p] for p in range(9, 20)]),
    }
    reply = answer("server-uniform", {"x": 10, "y": 20}, held)
    assert sizes(reply) == [9, 10, 11]
    assert moved({name: owned for name, (_, owned) in held.items()}, reply["assignment"]) == 0


def test_who_subscribes_in_different_ways_counts_as_different_whatever_else_the_document_has():
    sent = document.dump(group({"t": 3, "u": 3}, {member: ["t", "u"] for member in "abc"}))
    sent["strategy"] = "server-uniform"
    mixed = our_answer(sent | MIXED)
    assert our_answer(sent | MIXED | {"vnodes": 3}) == mixed != our_answer(sent)


def test_a_partition_that_does_not_exist_is_an_error_of_the_original():
    beyond = {"a": (["t"], [["t", 1]]), "b": (["t"], [])}
    assert answer("server-uniform", {"t": 1}, beyond)["error"].startswith(
        "PartitionAssignorException: "
    )
    beyond["c"] = (["u"], [])
    assert answer("server-uniform", {"t": 1, "u": 1}, beyond)["error"].startswith(
        "ArrayIndexOutOfBoundsException: "
    )


@pytest.mark.parametrize("strategy", ["server-uniform", "server-simple"])
def test_a_claim_may_name_topics_by_id_and_mix_them(strategy):
    ids = {"t": str(Uuid(1, 2)), "u": str(Uuid(3, 4))}
    topics = {"t": 4, "u": 4}
    by_name = [["t", 0], ["u", 1], ["t", 2], ["u", 1]]
    by_id = [[ids["t"], 0], [ids["t"], 2], [ids["u"], 1]]
    replies = [
        answer(strategy, topics, {"a": (topics, claim), "b": (topics, [])}, ids)
        for claim in (by_name, by_id)
    ]
    assert replies[0] == replies[1]
    assert [["t", 0] in r["assignment"]["a"] for r in replies] == [True, True]


def test_the_ids_of_topics_decide_who_gets_what():
    members = {"a": (["t", "u"], []), "b": (["t", "u"], [])}
    one, other = str(Uuid(0, 1)), str(Uuid(0, 2))
    there = answer("server-uniform", {"t": 1, "u": 1}, members, {"t": one, "u": other})
    back = answer("server-uniform", {"t": 1, "u": 1}, members, {"t": other, "u": one})
    assert there["assignment"] == {"a": [["t", 0]], "b": [["u", 0]]}
    assert back["assignment"] == {"a": [["u", 0]], "b": [["t", 0]]}


def test_ids_that_are_malformed_or_double_are_refused():
    with pytest.raises(DocumentError, match="22 characters"):
        solve(
            {"strategy": "server-uniform", "members": [{"id": "a", "topics": ["t"]}],
             "topics": [{"name": "t", "partitions": 1, "id": "short"}]}
        )  # fmt: skip
    double = answer(
        "server-uniform", {"t": 1, "u": 1}, {"a": (["t"], [])}, dict.fromkeys("tu", str(Uuid(1, 1)))
    )
    assert double["error"].startswith("DocumentError: ")


@pytest.mark.parametrize("seed", range(10))
def test_claims_are_read_as_a_map_of_sets(seed):
    r = random.Random(seed)
    topics = {f"t{i}": 9999 for i in range(12)}
    numbers = range(0, 9999, r.choice([1, 64]))  # the latter share few slots, which become trees
    owned = {"m": [(name, p) for name in topics for p in r.sample(numbers, r.randint(1, 90))]}
    the_group = group(topics, {"m": list(topics)}, owned)
    ids, held = the_group.topics.prepared(sets.topic_ids), sets.walked(the_group)
    partition = the_group.claims.codes & 0xFFFFFFFF
    read = []
    for t in hash_map_order(ids.hashes, rank=ids.rank):
        listed = partition[the_group.claims.codes >> 32 == t]
        slots = collection_capacity(listed.size)
        walk = hash_map_order(listed.astype(np.int32), slots, listed)
        read += [int(t) << 32 | p for p in listed[walk].tolist()]
    assert held.codes.tolist() == read


@pytest.mark.parametrize(("members", "partitions"), [(3, 2), (7, 3), (2, 5), (10, 1), (4, 4)])
def test_share_groups_give_every_partition_about_as_many_owners(members, partitions):
    everybody = {f"m{i}": (["t"], []) for i in range(members)}
    reply = answer("server-simple", {"t": partitions}, everybody)["assignment"]
    owners = np.bincount([p for owned in reply.values() for _, p in owned], minlength=partitions)
    assert owners.tolist() == [-(-members // partitions)] * partitions
    assert max(map(len, reply.values())) - min(map(len, reply.values())) <= 1


def test_share_groups_began_with_everything_for_everybody():
    members = {"a": (["t", "u"], [["t", 0]]), "b": (["u", "gone"], []), "c": ([], [])}
    reply = answer("server-simple@4.0", {"t": 2, "u": 1}, members)["assignment"]
    assert reply == {"a": [["t", 0], ["t", 1], ["u", 0]], "b": [["u", 0]], "c": []}


@pytest.mark.parametrize("seed", range(5))
def test_in_share_groups_of_4_1_hash_codes_choose_the_first_partition(seed):
    r = random.Random(seed)
    names = [f"member-{r.getrandbits(40):x}" for _ in range(r.randint(1, 9))]
    count = r.randint(1, 9)
    members = {name: (["t"], []) for name in names}
    reply = answer("server-simple@4.1", {"t": count}, members)["assignment"]
    for name in names:
        assert ["t", abs(string_hash(name)) % count] in reply[name]
    assert {p for owned in reply.values() for _, p in owned} == set(range(count))


def test_in_share_groups_of_4_1_who_gives_up_a_topic_leaves_its_partitions_to_nobody():
    members = {"a": ([], [["t", 3]]), "b": (["t"], [])}
    owned = {"a": [], "b": [["t", 0], ["t", 1], ["t", 2]]}
    assert answer("server-simple@4.1", {"t": 4}, members)["assignment"] == owned
    owned["b"] = [["t", p] for p in range(4)]
    for other in ("server-simple@4.0", "server-simple"):
        assert answer(other, {"t": 4}, members)["assignment"] == owned


def test_before_4_0_1_a_balanced_group_moves_and_later_it_does_not():
    topics, held = ["t"], {"C0": [["t", 0]], "C1": [["t", 1], ["t", 2]]}
    members = {name: (topics, owned) for name, owned in held.items()}
    assert answer("server-uniform", {"t": 3}, members)["assignment"] == held
    for earlier in ("3.9", "4.0.0"):
        reply = answer(f"server-uniform@{earlier}", {"t": 3}, members)["assignment"]
        assert sizes({"assignment": reply}) == [1, 2]
        assert moved(held, reply) == 1


def test_a_member_without_topics_was_an_error_in_3_7():
    members = {"a": (["t"], []), "b": ([], [])}
    assert answer("server-uniform@3.9", {"t": 2}, members)["assignment"]["b"] == []
    assert answer("server-uniform@3.7", {"t": 2}, members)["error"].startswith(
        "NullPointerException: "
    )


def racked(strategy, topics, members):
    """``topics``: {name: racks of each partition}; ``members``: {id: (rack, topics, owned)}."""
    return our_answer(
        {
            "strategy": strategy,
            "topics": [
                {"name": name, "partitions": len(racks), "racks": racks}
                for name, racks in topics.items()
            ],
            "members": [
                {"id": name, "rack": rack, "topics": named, "owned": owned}
                for name, (rack, named, owned) in members.items()
            ],
        }
    )


@pytest.mark.parametrize("seed", range(10))
def test_only_3_7_looks_at_racks_and_there_they_go_before_stickiness(seed):
    r = random.Random(seed)
    racks = {"t": [[r.choice("ab")] for _ in range(8)]}
    racks["t"][:4] = [["a"], ["b"], ["a"], ["b"]]
    held = {"C0": [], "C1": []}
    for partition in range(8):
        held[r.choice(("C0", "C1"))].append(["t", partition])
    members = {"C0": ("a", ["t"], held["C0"]), "C1": ("b", ["t"], held["C1"])}
    plain = {name: (topics, owned) for name, (_, topics, owned) in members.items()}
    for later in ("server-uniform@3.9", "server-uniform@4.0.0", "server-uniform"):
        assert racked(later, racks, members) == answer(later, {"t": 8}, plain)
    reply = racked("server-uniform@3.7", racks, members)["assignment"]
    assert sizes({"assignment": reply}) == [4, 4]
    in_a = sum(rack == ["a"] for rack in racks["t"])
    matching = sum(racks["t"][p] == [rack] for m, rack in (("C0", "a"), ("C1", "b"))
                   for _, p in reply[m])  # fmt: skip
    assert matching == min(in_a, 4) + min(8 - in_a, 4)


def test_with_racks_3_7_may_give_a_partition_to_a_member_that_does_not_read_the_topic():
    racks = {"t": [["a"], ["b"], ["b"]], "u": [["b"]]}
    members = {"C0": (None, ["t"], []), "C1": ("b", ["t", "u"], []), "C2": ("b", ["u"], [])}
    reply = racked("server-uniform@3.7", racks, members)["assignment"]
    assert reply == {"C0": [["t", 0]], "C1": [["t", 2], ["u", 0]], "C2": [["t", 1]]}


def test_range_was_sticky_before_3_9():
    members = {"a": (["t"], [["t", 2], ["t", 3]]), "b": (["t"], [])}
    later = answer("server-range", {"t": 4}, members)["assignment"]
    earlier = answer("server-range@3.8", {"t": 4}, members)["assignment"]
    assert later == {"a": [["t", 0], ["t", 1]], "b": [["t", 2], ["t", 3]]}
    assert earlier == {"a": [["t", 2], ["t", 3]], "b": [["t", 0], ["t", 1]]}


@pytest.mark.parametrize(
    "name",
    ["server-uniform", "server-uniform@3.9", "server-uniform@3.7", "server-simple",
     "server-simple@4.1"],
)  # fmt: skip
@pytest.mark.parametrize("seed", range(5))
def test_the_next_claim_is_what_was_assigned_and_is_read_as_it_stands(name, seed):
    r = random.Random(seed)
    topics = {f"topic-{i}": r.randint(1, 40) for i in range(6)}
    members = {f"member-{i}": r.sample(sorted(topics), r.randint(1, 6)) for i in range(5)}
    if seed % 2:
        members = {key: list(topics) for key in members}
    strategy = assignors.get(name)
    the_group = group(topics, members)
    for _ in range(3):
        after = strategy.assign(the_group)
        claim = strategy.reclaim(the_group, after)
        assert strategy.render(the_group, claim) == strategy.render(the_group, after)
        the_group = group(topics, members, document.lists(the_group, claim))
        read = sets.walked(the_group)
        assert read.codes.tolist() == the_group.claims.codes.tolist()


def test_a_claim_is_walked_as_a_set_made_of_it():
    """Also one that stands in the order of its slots already, and one that crowds them."""
    draw = random.Random(1)
    for _ in range(300):
        stride = draw.choice([1, 3, 16, 64, 80])
        numbers = np.array(draw.sample(range(60), draw.randint(0, 40)), dtype=np.int64) * stride
        slots = collection_capacity(numbers.size)
        for claim in (numbers, numbers[np.argsort(numbers % slots, kind="stable")]):
            read = sets.walked(group({"t": 4800}, {"a": ["t"]}, {"a": [["t", n] for n in claim]}))
            made = claim[hash_map_order(claim.astype(np.int32), slots, claim)]
            assert read.codes.tolist() == code(0, made).tolist()


@pytest.mark.parametrize("claim", [[9, 5], [9, 5, 9], [5, 9, 7, 9], [*range(40, 5, -1), 40]])
def test_of_partitions_that_do_not_exist_each_is_held_once(claim):
    claimed = group({"t": 2}, {"a": ["t"]}, {"a": [["t", number] for number in claim]})
    assert claimed.claims.codes.size == len(claim)
    assert sets.held(claimed).codes.tolist() == [code(0, n) for n in dict.fromkeys(claim)]


@pytest.mark.parametrize("claimed", [{}, {"a": [["t", 1]], "b": [["t", 0]]}])
@pytest.mark.parametrize("name", ["server-uniform", "server-simple"])
def test_members_keep_what_they_were_given_beyond_the_end_of_a_topic(name, claimed):
    the_group = group({"t": 2}, {"a": ["t"], "b": ["t"]}, claimed)
    given = Assignment.from_lists([[*map(int, code(0, np.arange(1, 200)))], [code(0, 0)]])
    claims = assignors.get(name).reclaim(the_group, given)
    assert claims.sizes.tolist() == [199, 1]
    assert set(claims.codes.tolist()) == set(given.codes.tolist())


@pytest.mark.parametrize("name", ["server-simple", "server-simple@4.1", "server-uniform@3.9"])
def test_a_claim_on_the_last_number_that_there_is_takes_no_room(name):
    last = 2**31 - 1
    members = {"a": ["t"], "b": ["t", "u"]}
    the_group = group({"t": 2, "u": 1}, members, {"a": [["t", last], ["gone", last]]})
    strategy = assignors.get(name)
    after = strategy.assign(the_group)
    assert ["t", last] in strategy.render(the_group, after)["a"]
    claims = strategy.reclaim(the_group, after)
    assert strategy.render(the_group, claims) == strategy.render(the_group, after)


def test_a_record_may_crowd_a_slot_when_it_is_read_though_the_map_was_never_crowded():
    names = [f"topic-{i}-566" for i in range(560)]
    the_group = group(dict.fromkeys(names, 1), {"m": names})
    strategy = assignors.get("server-uniform")
    claims = strategy.reclaim(the_group, strategy.assign(the_group))
    of_original = [392, 418, 121, 7, 529]
    assert topic_of(claims.codes)[283:288].tolist() == of_original


@pytest.mark.parametrize("alike", [True, False])
def test_where_all_partitions_stand_in_trees_all_have_an_owner_and_the_answer_says_so(alike):
    names = [f"t{i}" for i in range(40)]
    ids = {name: str(Uuid(i, i)) for i, name in enumerate(names, 2)}  # all of hash code 0
    held = {"a": [], "b": []}
    for _ in range(2):
        members = {"a": (names, held["a"]), "b": (names[: None if alike else 39], held["b"])}
        reply = answer("server-simple@4.1", dict.fromkeys(names, 1), members, ids)
        held = reply["assignment"]
        assert {name for owned in held.values() for name, _ in owned} == set(names)
        assert reply["nondeterministic"]
