"""The group document: what is understood, what is refused, and in which words."""

import json
import os
import pickle
import subprocess
import sys
from codecs import BOM_UTF8

import numpy as np
import pytest

from assignlab.assignors.answer import answer, converse, solve
from assignlab.errors import DocumentError
from assignlab.group import plain
from assignlab.group.document import dump, parse
from assignlab.group.model import MIXED, NO_METADATA, Claims, weights_of
from assignlab.group.reading import documents
from assignlab.replay import events

GROUP = {
    "topics": [
        {
            "name": "t",
            "partitions": 2,
            "racks": [["a", None], ["b"]],
            "id": "AAAAAAAAAAAAAAAAAAAAAQ",
            "weights": [100000, 0.25],
        },
        {"name": "empty", "partitions": 0, "weights": []},
        {"name": "q", "brokers": [["b1", 2], ["b0", 1]]},
    ],
    "members": [
        {
            "id": "m1",
            "instance": "i1",
            "rack": "a",
            "topics": ["t", "gone"],
            "owned": [["t", 1], ["deleted", 7], ["t", 0]],
            "generation": 4,
            "sub_generation": 3,
        },
        {"id": "m0", "topics": [], "owned": [], "streams": 2},
        {"id": "m2", "topics": ["q", "t"], "streams": [1, 3], "owned": [["q", "b0-0"]]},
    ],
    "vnodes": 3,
}


def test_a_document_survives_parse_and_dump():
    assert dump(parse(GROUP)) == GROUP
    assert dump(parse(json.loads(json.dumps(dump(parse(GROUP)))))) == GROUP


def test_a_broker_that_is_listed_twice_survives_too():
    brokers = [["b", 2], ["a", 1], ["b", 3]]
    document = {
        "topics": [{"name": "t", "brokers": brokers}],
        "members": [{"id": "m", "topics": ["t"], "owned": [["t", 0], ["t", 3], ["t", 5]]}],
    }
    assert dump(parse(document)) == document


def test_that_members_subscribe_in_different_ways_survives_too():
    document = {"topics": [], "members": [], **MIXED}
    assert parse(document).options == MIXED and dump(parse(document)) == document


def test_unknown_fields_are_ignored():
    extra = {**GROUP, "case": 7, "expected": {"assignment": {}}}
    assert dump(parse(extra)) == GROUP


def test_claims_keep_order_and_tell_none_from_nothing():
    group = parse(GROUP)
    names = group.topics.names
    assert group.claims.present.tolist() == [True, True, True]
    assert group.claims.offsets.tolist() == [0, 3, 3, 4]
    assert [names[c >> 32] for c in group.claims.codes[:3].tolist()] == ["t", "deleted", "t"]
    assert parse({"topics": [], "members": [{"id": "m"}]}).claims.present.tolist() == [False]


def test_a_topic_may_be_named_twice():
    document = {
        "topics": [{"name": "t", "partitions": 2}, {"name": "u", "partitions": 1}],
        "members": [
            {"id": "m", "topics": ["t", "u", "t", "gone", "gone"], "streams": [1, 2, 3, 4, 5]},
            {"id": "n", "topics": ["t", "u", "gone"]},
        ],
    }
    group = parse(document)
    assert dump(group) == dump(pickle.loads(pickle.dumps(group))) == document
    plain = pickle.dumps(group.topics)
    group.topics.prepared(len)
    assert pickle.dumps(group.topics) == plain  # what is prepared does not travel
    assert group.sent.topics_of(0).tolist() == [0, 1, 0, 2, 2]
    assert group.members.subscription.tolist() == [0, 0]
    assert group.members.topics.tolist() == [0, 1, 2]
    assert group.members.streams == ((3, 2, 5), None)
    assert group.with_claims(group.claims).members is group.members


def test_without_a_topic_named_twice_members_are_as_they_were_sent():
    group = parse(GROUP)
    assert group.members is group.sent


def test_a_claim_may_name_its_topic_by_uuid():
    document = {
        "topics": [{"name": "t", "partitions": 2, "id": "AAAAAAAAAAAAAAAAAAAAAQ"}],
        "members": [{"id": "m", "topics": ["t"], "owned": [["AAAAAAAAAAAAAAAAAAAAAQ", 1]]}],
    }
    assert parse(document).claims.codes.tolist() == [1]


def test_a_claim_may_name_its_topic_by_uuid_and_its_partition_by_broker():
    uuid = "AAAAAAAAAAAAAAAAAAAAAQ"
    brokers = {"name": "t", "brokers": [["a", 1], ["b", 2]], "id": uuid}
    document = {"topics": [brokers], "members": [{"id": "m", "owned": [[uuid, "b-1"]]}]}
    assert parse(document).claims.codes.tolist() == [2]


def test_names_go_before_uuids_and_only_claims_know_uuids():
    one, other = "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"
    document = {
        "topics": [{"name": "t", "partitions": 2, "id": one}, {"name": one, "partitions": 1}],
        "members": [{"id": "m", "topics": [one, other], "owned": [[one, 0], ["t", 1]]}],
    }
    document["topics"].append({"name": "u", "partitions": 1, "id": other})
    group = parse(document)
    assert list(group.topics.names) == ["t", one, "u", other]
    assert group.members.topics.tolist() == [1, 3]
    assert group.claims.codes.tolist() == [1 << 32, 1]


def member(**fields):
    return {"topics": [{"name": "t", "partitions": 2}], "members": [{"id": "m", **fields}]}


def topic(**fields):
    return {"topics": [{"name": "t", **fields}], "members": []}


@pytest.mark.parametrize(
    ("document", "field", "reason"),
    [
        ([], "document", "a JSON object"),
        ({"members": []}, "topics", "is missing"),
        ({"topics": [], "members": {}}, "members", "an array"),
        ({"topics": [3], "members": []}, "topics[0]", "an object"),
        ({"topics": [{"partitions": 3}], "members": []}, "topics[0].name", "is missing"),
        (topic(), "topics[0].partitions", "is missing"),
        (topic(partitions="3"), "topics[0].partitions", "'3'"),
        (topic(partitions=True), "topics[0].partitions", "True"),
        (topic(partitions=1.5), "topics[0].partitions", "1.5"),
        (topic(partitions=-1), "topics[0].partitions", "-1"),
        (topic(partitions=2**31), "topics[0].partitions", "2147483648"),
        (topic(partitions=10**400), "topics[0].partitions", "..."),
        (topic(brokers=[["b", 6_000_000]] * 2), "topics[0].brokers", "12000000"),
        (
            {"topics": [{"name": n, "partitions": 6_000_000} for n in "tu"], "members": []},
            "topics",
            "more than 10000000 partitions",
        ),
        (member(streams=2**31 - 1), "members[0].streams", "1000000"),
        (
            {"topics": [], "members": [{"id": i, "topics": ["t"], "streams": 10**6} for i in "mn"]},
            "members[1].streams",
            "more than 1000000 streams",
        ),
        (member(topics=["t", "u"], streams=[600_000] * 2), "members[0].streams", "together"),
        (topic(partitions=2, racks=[["a"]]), "topics[0].racks", "1 entries for 2 partitions"),
        (topic(partitions=1, racks=[[1]]), "topics[0].racks", "rack names"),
        (topic(partitions=1, racks=["a"]), "topics[0].racks", "an array"),
        (topic(brokers=[["b"]]), "topics[0].brokers", "[broker, count]"),
        (topic(brokers=[["b", 2]], partitions=3), "topics[0].brokers", "2 partitions"),
        (topic(partitions=1, id=5), "topics[0].id", "Uuid"),
        (
            {"topics": [{"name": "t", "partitions": 1}] * 2, "members": []},
            "topics",
            "'t' appears twice",
        ),
        ({"topics": [], "members": [{"id": "m"}] * 2}, "members", "'m' appears twice"),
        ({"topics": [], "members": [{"id": "m" * 100}] * 2}, "members", "m... appears twice"),
        ({"topics": [], "members": [{}]}, "members[0].id", "is missing"),
        ({"topics": [], "members": [{"id": 5}]}, "members[0].id", "a string"),
        (member(topics="t"), "members[0].topics", "an array"),
        (member(topics=[1]), "members[0].topics", "topic names"),
        (member(owned=[["t"]]), "members[0].owned", "[topic, partition]"),
        (member(owned=[["t", -1]]), "members[0].owned", "-1"),
        (member(owned=[["t", "0"]]), "members[0].owned", "'0'"),
        (member(generation="1"), "members[0].generation", "an integer"),
        (
            member(generation=-(2**31)),
            "members[0].generation",
            "between -2147483647 and 2147483647",
        ),
        (member(sub_generation=2**31), "members[0].sub_generation", "2147483648 is not between"),
        (member(instance=1), "members[0].instance", "a string"),
        (member(topics=["t"], streams=[1, 2]), "members[0].streams", "2 entries for 1 topics"),
        (member(streams=-1), "members[0].streams", "-1"),
        (member() | {"subscribed": "in two ways"}, "subscribed", "'in two ways'"),
    ],
)
def test_a_document_that_is_not_understood_names_field_and_reason(document, field, reason):
    with pytest.raises(DocumentError) as caught:
        parse(document)
    assert caught.value.field == field
    assert reason in str(caught.value)


TWO = {"name": "t", "partitions": 2}


@pytest.mark.parametrize(
    ("weights", "place", "reason"),
    [
        ([1], "", "has 1 entries for 2 partitions"),
        ([1, 2, 3], "", "has 3 entries for 2 partitions"),
        ({"0": 1}, "", "expected an array, got {'0': 1}"),
        ([1, -0.5], "[1]", "-0.5 is not between 0 and 1e+15"),
        ([float("nan"), 1], "[0]", "nan is not between 0 and 1e+15"),
        ([1, float("inf")], "[1]", "inf is not between 0 and 1e+15"),
        ([10**20, 1], "[0]", "100000000000000000000 is not between 0 and 1e+15"),
        ([1, None], "[1]", "expected a number of 0 or more, got None"),
        ([True, 1], "[0]", "expected a number of 0 or more, got True"),
        (["7", 1], "[0]", "expected a number of 0 or more, got '7'"),
    ],
)
def test_wrong_weights_are_refused_by_name_and_place(weights, place, reason):
    with pytest.raises(DocumentError) as refused:
        parse(
            {"topics": [{"name": "s", "partitions": 0}, TWO | {"weights": weights}], "members": []}
        )
    assert str(refused.value) == f"topics[1].weights{place}: {reason}"


@pytest.mark.parametrize("topics", ["t", 5, None])
def test_a_plain_member_has_a_list_of_topics(topics):
    with pytest.raises(DocumentError, match="topics of 'a': expected a list"):
        plain.group({"t": 1}, {"a": topics})


@pytest.mark.parametrize("topics, members", [(None, {}), ([], {}), ({}, None), ({}, [])])
def test_a_plain_group_has_topics_and_members_by_name(topics, members):
    with pytest.raises(DocumentError, match="expected a mapping by name"):
        plain.group(topics, members)


def test_a_plain_group_may_have_numpys_numbers():
    two = np.int64(2)
    made = plain.group({"t": two}, {"a": ["t"]}, {"a": [("t", two)]}, two, streams=two)
    assert dump(made) == dump(plain.group({"t": 2}, {"a": ["t"]}, {"a": [("t", 2)]}, 2, streams=2))


def test_a_plain_topic_that_the_cluster_lacks_keeps_its_place():
    made = plain.group({"t": None, "u": 2}, {"a": ["u", "t", "v"]}, {"a": [("t", 1), ("u", 0)]})
    assert list(made.topics.names) == ["t", "u", "v"]
    assert made.topics.partitions.tolist() == [NO_METADATA, 2, NO_METADATA]
    assert made.claims.codes.tolist() == [1, 1 << 32]
    for count in (False, ""):
        with pytest.raises(DocumentError, match="expected a count"):
            plain.group({"t": count}, {"a": ["t"]})


def test_weights_of_a_topic_that_is_not_there_are_refused():
    with pytest.raises(DocumentError, match="weights: there is no topic 'u'"):
        plain.group({"t": 2}, {"a": ["t"]}, weights={"u": [1, 2]})


def test_a_group_keeps_its_weights_through_events_claims_and_pickling():
    g = plain.group({"t": 2, "u": 1}, {"a": ["t", "u"]}, weights={"t": [1, 3]})
    assert g.prepared(weights_of).tolist() == [1, 3, 1]
    grown = events.add_partitions(g, {0: 4})
    assert pickle.loads(pickle.dumps(grown)).prepared(weights_of).tolist() == [1, 3, 2, 2, 1]
    assert dump(grown)["topics"][0]["weights"] == [1, 3, 2, 2]
    assert events.recreate_topic(g, 0, 1).prepared(weights_of).tolist() == [1, 1]
    created = events.create_topic(grown, "v", 2, [0])
    assert created.prepared(weights_of).tolist() == [1, 3, 2, 2, 1, 1, 1]
    assert events.delete_topic(created, 0).prepared(weights_of).tolist() == [1, 1, 1]
    joined = events.join(grown, ["b"], [np.array([0])])
    assert joined.prepared(weights_of).tolist() == [1, 3, 2, 2, 1]
    assert joined.with_claims(Claims.none(2)).topics is joined.topics


def test_without_weights_a_group_carries_none():
    assert parse({"topics": [TWO], "members": []}).topics.weights is None


def test_a_partition_that_no_broker_has_is_refused():
    document = {
        "topics": [{"name": "q", "brokers": [["b", 1]]}],
        "members": [{"id": "m", "topics": ["q"]}],
    }
    for number in ("1", "9" * 5000):  # Python reads no number of so many digits
        document["members"][0]["owned"] = [["q", f"b-{number}"]]
        with pytest.raises(DocumentError, match=f"no partition 'b-{number[:40]}"):
            parse(document)


def test_a_conversation_goes_on_after_a_bad_line():
    good = json.dumps({"strategy": "range@2.0", **member(topics=["t"])}).encode()
    lines = [good, b"{", b"\xff\xfe", b"", b'{"strategy": "rang@2.0"}', good]
    said, complaints = [], []
    assert converse(lines, said.append, complaints.append) == 3
    replies = [json.loads(text) for text in said]
    assert [("assignment" in reply) for reply in replies] == [True, False, False, False, True]
    assert replies[0] == {"assignment": {"m": [["t", 0], ["t", 1]]}}
    assert complaints[0].startswith("line 2: DocumentError: document: not JSON")
    assert "line 3" in complaints[1] and "UTF-8" in complaints[1]
    assert "line 5" in complaints[2] and "range@2.0" in complaints[2]


def test_documents_may_share_a_line_or_take_several():
    one = {"strategy": "range@2.0", **member(topics=["t"])}
    line, pretty = json.dumps(one).encode(), json.dumps(one, indent=2).encode().splitlines()
    said, complaints = [], []
    read = [line + b" " + line, *pretty, b"", *pretty, *pretty[:-1], pretty[-1] + line]
    assert converse(read, said.append, complaints.append) == 0
    assert len(said) == 6 and len(set(said)) == 1 and complaints == []


def test_wrong_documents_over_several_lines_are_named_by_line_and_column():
    good = json.dumps({"strategy": "range@2.0", **member(topics=["t"])}).encode()
    said, complaints = [], []
    read = [good, b"{", b'  "members": [1,', b"  2 3]", b"}", b'{"topics": [', good, b'{"a":', b"1"]
    assert converse(read, said.append, complaints.append) == 3
    assert ["assignment" in json.loads(reply) for reply in said] == [
        True,
        False,
        False,
        True,
        False,
    ]
    assert complaints == [
        "line 4: DocumentError: document: not JSON: Expecting ',' delimiter at column 5",
        "line 6: DocumentError: document: not JSON: Expecting value at column 13",
        "line 9: DocumentError: document: not JSON: Expecting ',' delimiter at column 2",
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"topics": ' + b"9" * 6000 + b"}", "document: holds a number of too many digits"),
        (b"[" * 200_000, "document: nested too deeply"),
        (json.dumps({"strategy": "x" * 5000}).encode(), "unknown strategy 'xxx"),
    ],
)
def test_monstrous_lines_get_one_short_complaint(line, reason):
    said, complaints = [], []
    assert converse([line], said.append, complaints.append) == 1
    assert reason in complaints[0] and len(complaints[0]) < 2000 and "\n" not in complaints[0]


def test_every_answer_is_said_before_the_next_line_is_read():
    log = []

    def lines():
        for i in range(3):
            log.append(f"read {i}")
            yield json.dumps({"strategy": "range@2.0", **member(topics=["t"])}).encode()

    converse(lines(), lambda text: log.append("said"), log.append)
    assert log == ["read 0", "said", "read 1", "said", "read 2", "said"]


def test_lone_surrogates_come_back_as_they_came():
    document = {"strategy": "range@2.0", **member(topics=["t"])}
    document["members"][0]["id"] = "\ud800"
    said = []
    converse([json.dumps(document).encode()], said.append, said.append)
    assert list(json.loads(said[0])["assignment"]) == ["\ud800"]


def test_the_argument_overrides_the_documents_strategy():
    document = {"strategy": "nonsense", **member(topics=["t"])}
    assert "assignment" in answer(document, "roundrobin")


def test_parse_makes_int64_arrays_that_kernels_share():
    group = parse(GROUP)
    for array in (
        group.topics.partitions,
        group.members.subscription,
        group.members.offsets,
        group.members.topics,
        group.claims.offsets,
        group.claims.codes,
        group.claims.generation,
        group.claims.sub_generation,
    ):
        assert array.dtype == np.int64


def test_what_windows_editors_put_before_a_document_is_read_or_named():
    marked = BOM_UTF8 + b'{"a": 1}'
    assert list(documents([marked])) == [(1, {"a": 1})]
    [(line, refused)] = documents(['{"a": 1}'.encode("utf-16")])
    assert line == 1 and "UTF-16, it seems" in str(refused)


def test_a_document_with_a_field_twice_is_refused_as_a_whole():
    lines = [b'{"members": [{"id": "a", "id": "b"}],', b'"topics": []}', b'{"a": 1}']
    (line, refused), *rest = documents(lines)
    assert (line, rest) == (1, [(3, {"a": 1})])
    assert "the field 'id' stands twice" in str(refused)
    [(line, refused)] = documents(lines[:1])
    assert line == 1 and "the field 'id' stands twice" in str(refused)


def test_of_many_fields_the_one_that_stands_twice_is_found_in_one_walk():
    fields = "".join(f'"{number}": 0, ' for number in range(100_000))
    [(_, refused)] = documents([f'{{{fields}"99999": 1}}'.encode()])
    assert "the field '99999' stands twice" in str(refused)


@pytest.mark.slow
def test_one_small_document_is_answered_without_compiling(tmp_path):
    asked = {"strategy": "sticky", "topics": [{"name": "t", "partitions": 3}]}
    asked["members"] = [{"id": "a", "topics": ["t"]}, {"id": "b", "topics": ["t"]}]
    answered = subprocess.run(
        [sys.executable, "-m", "assignlab", "assign"],
        input=json.dumps(asked),
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert json.loads(answered.stdout) == solve(asked) and answered.stderr == ""
    assert not any(tmp_path.rglob("*.nb?"))
