"""Partitioners against what the originals answered, published examples, and their own promises."""

import pickle
import random
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignlab import producers
from assignlab.errors import OriginalError, UnknownName, UnknownRelease
from assignlab.producers import accumulator, delivery, hashes, kafka_built_in, kip_794, load
from assignlab.producers.draws import generator
from assignlab.producers.kafka_hash import listed
from assignlab.producers.partitioner import NONE, fresh, topics
from assignlab.proof import partitioner_originals
from assignlab.proof.originals import Original, OriginalsUnavailable
from assignlab.proof.partitioner_histories import (
    BUFFER,
    drawable,
    history,
    key_pool,
    our_answer,
    same,
)
from assignlab.proof.verify import NotUnderstood
from assignlab.releases import PARTITIONERS_CAME_WITH

ROUND_ROBIN = "org.apache.kafka.clients.producer.RoundRobinPartitioner"
some_keys = st.lists(st.none() | st.text(max_size=12).map(str.encode), min_size=1, max_size=30)
any_name = st.sampled_from(producers.names())


def chosen(name, *arguments, **settings) -> list[int]:
    return producers.partitions_of(name, *arguments, **settings).tolist()


# ---- against the originals ------------------------------------------------------------------


@pytest.mark.parametrize("name", producers.names())
def test_a_partitioner_can_travel_to_another_process(name):
    there = pickle.loads(pickle.dumps(producers.get(name)))
    sent, of = producers.records(["a", "", "b"] * 5), topics([7])
    assert there.name == name
    assert there.choose(sent, of, there.start(of))[0].tolist() == chosen(
        name, ["a", "", "b"] * 5, 7
    )


@pytest.mark.parametrize("name", [*producers.names(), *partitioner_originals.OTHERS])
def test_every_recorded_answer_is_given(name):
    there = (partitioner_originals.FOLDER / f"{name}.jsonl.xz").is_file()
    assert there, f"record them with `assignlab proof partitioners {name}`"
    records = 0
    for recorded, expected in partitioner_originals.read(name):
        assert same(expected, our_answer(recorded), recorded), recorded
        records += len(expected.get("partitions", ()))
    assert records >= 2000


def test_the_comparison_sees_every_kind_of_difference():
    asked = history("kafka-python", 1, 1, key_pool(50, 1))
    ours = our_answer(asked)
    assert same(ours, ours, asked)
    wrong = {**ours, "partitions": [*ours["partitions"][:-1], -1]}
    assert not same(ours, wrong, asked)
    assert not same(ours, {**ours, "random": "0"}, asked)
    assert not same(ours, {"error": "X"}, asked) and not same({"error": "X"}, ours, asked)
    drawn = {"partitions": [None] * len(ours["partitions"])}
    assert not same(drawn, {**ours, "partitions": [10**6] * len(ours["partitions"])}, asked)
    assert all(drawable(asked))


@pytest.fixture(scope="module")
def java():
    """Runs of kafka-clients by release, ended with the module."""
    running = {}

    def of(release: str) -> Original:
        if release not in running:
            try:
                running[release] = Original(
                    partitioner_originals.KAFKA, release, partitioner_originals.JAVA_OPTIONS
                )
            except OriginalsUnavailable as why:
                pytest.skip(f"the originals cannot be run here: {why}")
        return running[release]

    yield of
    for original in running.values():
        original.close()


@pytest.mark.parametrize(
    ("release", "names"),
    [
        ("4.4.0", ["built-in", "round-robin", BUFFER]),
        ("2.4.1", ["default@2.4", "uniform-sticky", "round-robin@2.4"]),
        ("2.0.1", ["default@2.0"]),
    ],
)
def test_fresh_histories_agree_with_the_live_originals(java, release, names):
    pool = key_pool(100, 7)
    for name in names:
        for number in range(15):
            asked = history(name, 7, number, pool)
            answer = partitioner_originals.class_only(java(release).ask(asked))
            assert same(answer, our_answer(asked), asked), asked


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["built-in", "scala-default", "scala-default@0.8.1", "rocketmq-hash", "metaq-random",
     "kafka-python", "kafkajs", "librdkafka-consistent", "sarama-hash"],
)  # fmt: skip
def test_an_original_refuses_a_partitioner_that_it_does_not_know(name):
    other = {**history(name, 7, 0, key_pool(5, 7)), "partitioner": f"{name.partition('@')[0]}-x"}
    try:
        with (
            partitioner_originals.original(name) as ask,
            pytest.raises(NotUnderstood, match=f"no partitioner {other['partitioner']}$"),
        ):
            ask([other])
    except OriginalsUnavailable as why:
        pytest.skip(f"the original cannot be run here: {why}")


def test_nothing_is_recorded_of_a_partitioner_that_its_original_does_not_know(
    monkeypatch, tmp_path
):
    refusal = {"error": "BadDocument: no partitioner kafka-python"}
    monkeypatch.setattr(partitioner_originals, "client_command", lambda name: ["bridge"])
    monkeypatch.setattr(
        partitioner_originals, "_ask_program", lambda command, asked: [refusal for _ in asked]
    )
    with pytest.raises(NotUnderstood, match="BadDocument: no partitioner kafka-python"):
        partitioner_originals.record("kafka-python", tmp_path)
    assert not list(tmp_path.glob("*.xz"))


def test_a_client_without_an_original_is_told_with_the_place_to_add_it(monkeypatch, capsys):
    newcomer = replace(producers.get("kafka-python"), name="new", client="New client")
    monkeypatch.setattr(producers, "partitioners", lambda: {"new": newcomer})
    assert partitioner_originals.main(["new"], False, 1, 10) == 1
    told = capsys.readouterr().err
    assert "no original is known for partitioner 'new'" in told and told.count("\n") == 1
    assert "'New client' in PROGRAMS, of lib/assignlab/proof/partitioner_originals.py" in told


def whole_producer(java, release, settings, sends, available) -> list:
    """What a real KafkaProducer that reaches no broker does with these records."""
    asked = {
        "producer": settings, "seed": "5",
        "topics": [{"name": "t", "partitions": len(available), "available": available}],
        "steps": [["send", 0, None, explicit, 0, 0, 0, 10] for explicit in sends],
    }  # fmt: skip
    return java(release).ask(asked)["partitions"]


def test_a_whole_producer_of_2_4_skips_every_other_partition_and_newer_ones_do_not(java):
    one_record_batches = {"partitioner.class": ROUND_ROBIN, "batch.size": "1"}
    last_first = [7, 0, 1, 2, 3, 4, 5, 6]
    for release, name, expected in (
        ("2.4.1", "round-robin@2.4", [0, 2, 4, 6]),
        ("4.4.0", "round-robin", [7, 0, 1, 2]),
    ):
        sent = whole_producer(java, release, one_record_batches, [None] * 4, last_first)
        assert sent == expected
        ours = chosen(name, [None] * 4, 8, available=last_first, new_batch=[True] * 4)
        assert ours == expected


@pytest.mark.parametrize(
    ("release", "kind", "settings"),
    [
        ("2.4.1", delivery.STICKY, {}),
        ("2.4.1", delivery.COUNTER_TWICE, {"partitioner.class": ROUND_ROBIN}),
        ("4.4.0", delivery.BUILT_IN, {"partitioner.adaptive.partitioning.enable": "false"}),
        ("4.4.0", delivery.COUNTER, {"partitioner.class": ROUND_ROBIN}),
    ],
)
def test_the_model_fills_its_buffer_as_a_whole_producer_does(java, release, kind, settings):
    """Records of changing sizes into small batches, of which none is sent."""
    draws = random.Random(f"{release} {kind}")
    sizes = [draws.choice([0, 5, 40, 90, 300]) for _ in range(120)]
    answer = java(release).ask({
        "producer": {"batch.size": "250", "compression.type": "none", **settings}, "seed": "77",
        "topics": [{"name": "t", "partitions": 5, "available": [0, 1, 2, 3, 4]}],
        "steps": [["send", 0, None, None, 0, 0, 0, size] for size in sizes],
    })  # fmt: skip
    of = topics([5])
    state = fresh(of, generator(77))
    if kind in (delivery.COUNTER, delivery.COUNTER_TWICE):
        state.turn[0] = 0
    buffer = accumulator.empty(5)
    with np.errstate(over="ignore"):  # called from here, the draws run as plain Python
        ours = [int(delivery.put(kind, buffer, size, 250, True, of, state)) for size in sizes]
    assert ours == answer["partitions"]
    assert str(int(state.random[0])) == answer["random"]


def test_a_whole_producer_refuses_explicit_partitions_as_ours_does(java):
    for release, name in (("2.4.1", "default@2.4"), ("4.4.0", "built-in")):
        answered = whole_producer(java, release, {}, [-1, 2, 3], [0, 1, 2])
        assert answered == ["IllegalArgumentException", 2, "TimeoutException"]
        assert chosen(name, [None], 3, explicit=[2]) == [2]
        for partition, error in ((-1, answered[0]), (3, answered[2])):
            with pytest.raises(OriginalError) as raised:
                chosen(name, [b"k"], 3, explicit=[partition])
            assert raised.value.original == error


@pytest.mark.parametrize(
    ("name", "lacking"),
    [
        ("default@0.8.2", "IllegalArgumentException"),
        ("default@0.10.0", "IllegalArgumentException"),
        ("default@0.10.1", "KafkaException"),
        ("default@2.0", "KafkaException"),
        ("default@2.1.0", "KafkaException"),
        ("default@2.1.1", "TimeoutException"),
        ("default@2.3", "TimeoutException"),
        ("default@2.4", "TimeoutException"),
    ],
)
def test_what_a_partition_that_the_topic_lacks_is_answered_with_hangs_on_the_release(name, lacking):
    """As KafkaProducers of 0.9.0.1 to 2.1.1 do whose metadata is answered within max.block.ms."""
    for partition, error in ((-1, "IllegalArgumentException"), (3, lacking)):
        with pytest.raises(OriginalError) as raised:
            chosen(name, [None], 3, explicit=[partition])
        assert raised.value.original == error


def test_the_partitioner_of_0_8_2_looks_at_explicit_partitions_itself(java):
    for partition in (-1, 3):
        asked = {
            "partitioner": "default@0.8.2", "seed": "1",
            "topics": [{"name": "t", "partitions": 3, "available": [0, 1, 2]}],
            "steps": [["send", 0, None, partition, 0, 0, 0, 0]],
        }  # fmt: skip
        answer = partitioner_originals.class_only(java("0.8.2.2").ask(asked))
        assert answer == our_answer(asked) == {"error": "IllegalArgumentException"}


# ---- published examples ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "partitions", "java_client", "librdkafka"),
    [
        ("TT0124", 15, 10, 9),  # kafkajs issue 1154
        ("fd7af248-ce5c-46a5-93d7-1c0c9005b99d", 32, 26, None),  # node-rdkafka issue 817
        ("354afe16-939a-4ea8-8e17-8bb0840b6886", 10, 4, 9),  # node-rdkafka issue 616
        ("f562ac3b-2224-4e25-a0ab-56094e10c239", 10, 5, 6),
        ("wu", 10, 0, None),  # node-sinek issue 39
    ],
)
def test_published_keys_go_where_users_saw_them_go(key, partitions, java_client, librdkafka):
    for name in ("default@0.8.2", "default@2.0", "default@2.4", "built-in", "kafkajs"):
        assert chosen(name, [key], partitions) == [java_client]
    if librdkafka is not None:
        assert chosen("librdkafka-consistent-random", [key], partitions) == [librdkafka]


def test_the_load_table_of_the_original_comment():
    assert kafka_built_in.load_table(np.array([0, 3, 1]), 3).tolist() == [4, 5, 8]
    assert kafka_built_in.load_table(np.array([2, 2, 2]), 3).size == 0
    assert kafka_built_in.load_table(np.array([2, 2, 2]), 2).tolist() == [1, 2]


def test_four_messages_go_to_every_other_partition():
    sent = chosen("round-robin@2.4", [None] * 4, 8, new_batch=[True] * 4)
    assert sent == [1, 3, 5, 7]  # 0, 2, 4, 6 of the article: its metadata listed the last one first
    assert chosen("round-robin", [None] * 4, 8, new_batch=[True] * 4) == [0, 1, 2, 3]
    assert chosen("round-robin@2.4", [None] * 4, 8) == [0, 1, 2, 3]


def test_a_null_key_is_not_an_empty_key():
    many = [None] * 40
    assert len(set(chosen("default@2.0", many, 4))) == 4
    assert len(set(chosen("default@2.0", [""] * 40, 4))) == 1
    for name, drawn in (("librdkafka-consistent-random", 4), ("librdkafka-murmur2-random", 1)):
        assert len(set(chosen(name, [""] * 40, 4))) == drawn
        assert len(set(chosen(name, many, 4))) == 4


def test_negative_hash_codes_go_elsewhere_in_kafka_0_8_2():
    keys = [f"key-{i}" for i in range(200)]
    codes = hashes.java_strings(hashes.keys(keys)).tolist()
    old, new = chosen("scala-default@0.8.1", keys, 7), chosen("scala-default", keys, 7)
    assert old == [(code & 0x7FFFFFFF) % 7 for code in codes]
    assert new == [abs(code) % 7 for code in codes]
    assert old != new


# ---- promises -------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(any_name, some_keys, st.integers(1, 50), st.integers(0, 2**40), st.data())
def test_every_partition_exists_and_the_seed_decides_all(name, keys, partitions, seed, data):
    if name == "rocketmq-hash":
        keys = [key or b"k" for key in keys]
    flags = data.draw(st.lists(st.booleans(), min_size=len(keys), max_size=len(keys)))
    first = chosen(name, keys, partitions, seed=seed, new_batch=flags)
    assert all(0 <= partition < partitions for partition in first)
    assert first == chosen(name, keys, partitions, seed=seed, new_batch=flags)


@settings(max_examples=60, deadline=None)
@given(any_name, some_keys, st.integers(1, 50))
def test_a_key_stays_in_its_partition(name, keys, partitions):
    keys = [key or b"k" for key in keys]
    if producers.get(name).keyed == "none":
        return
    alone = {key: chosen(name, [key], partitions, seed=9)[0] for key in keys}
    assert chosen(name, keys, partitions, seed=1) == [alone[key] for key in keys]


@settings(max_examples=60, deadline=None)
@given(any_name, some_keys, st.integers(1, 20), st.integers(0, 30))
def test_sending_in_two_parts_is_sending_at_once(name, keys, partitions, cut):
    if name == "rocketmq-hash":
        keys = [key or b"k" for key in keys]
    partitioner, of = producers.get(name), topics([partitions])
    start = partitioner.start(of, 3)
    whole, _ = partitioner.choose(producers.records(keys), of, start)
    if not 0 < cut < len(keys):
        return
    one, between = partitioner.choose(producers.records(keys[:cut]), of, start)
    two, _ = partitioner.choose(producers.records(keys[cut:]), of, between)
    assert [*one, *two] == whole.tolist()


@pytest.mark.parametrize(
    "name",
    [
        "default@2.0",
        "default@0.8.2",
        "round-robin",
        "default@2.4",
        "uniform-sticky",
        "built-in",
        "kafka-python",
        "kafkajs",
    ],
)
def test_records_without_a_key_go_to_partitions_with_a_leader(name):
    flags = [True] * 60
    sent = chosen(name, [None] * 60, 9, available=[7, 2, 4], new_batch=flags)
    assert set(sent) <= {2, 4, 7}


def test_a_counter_gives_all_partitions_as_much():
    for name in ("default@2.0", "round-robin", "sarama-round-robin", "metaq-round-robin"):
        assert set(Counter(chosen(name, [None] * 60, 12, seed=4)).values()) == {5}


def test_one_counter_for_all_topics_can_leave_partitions_out():
    of = topics([2, 2])
    sent = producers.records([None] * 20, topics=np.arange(20) % 2)
    for name, used in (("default@0.8.2", 1), ("default@2.0", 2)):
        partitioner = producers.get(name)
        partitions, _ = partitioner.choose(sent, of, partitioner.start(of))
        assert len(set(partitions[::2])) == used


@pytest.mark.parametrize("topic", [1, -1])
@pytest.mark.parametrize("name", ["round-robin", "sarama-round-robin", "default@2.0"])
def test_a_record_of_a_topic_that_is_not_there_is_refused(name, topic):
    of, partitioner = topics([3]), producers.get(name)
    sent = producers.records([None] * 2, topics=np.array([0, topic]))
    with pytest.raises(ValueError, match=f"record 1 is of topic {topic}, there are 1"):
        partitioner.choose(sent, of, partitioner.start(of))


def test_a_topic_that_came_after_the_state_is_refused():
    partitioner = producers.get("round-robin")
    sent = producers.records([None] * 2, topics=np.array([0, 1]))
    with pytest.raises(ValueError, match="record 1 is of topic 1, there are 1"):
        partitioner.choose(sent, topics([3, 3]), partitioner.start(topics([3])))


def test_a_full_batch_elsewhere_does_not_move_the_sticky_partition():
    of, partitioner = topics([50]), producers.get("default@2.4")
    first, state = partitioner.choose(producers.records([None]), of, partitioner.start(of))
    other = next(k for k in map(str, range(99)) if chosen("default@2.4", [k], 50)[0] != first[0])
    _, state = partitioner.choose(producers.records([other], new_batch=[True]), of, state)
    assert state.turn[0] == first[0]
    same_one = producers.records([None], explicit=[int(first[0])], new_batch=[True])
    assert partitioner.choose(same_one, of, state)[1].turn[0] != first[0]


def test_the_built_in_partitioner_waits_for_a_full_batch_up_to_twice_its_size():
    of, partitioner = topics([1000]), kafka_built_in.partitioner(batch_size=100)
    start = partitioner.start(of, 2)
    never_full = producers.records([None] * 8, sizes=np.full(8, 60))
    waits, _ = partitioner.choose(never_full, of, start)
    assert len(set(waits[:4])) == 1 and waits[4] != waits[3]  # 240 bytes are twice enough
    full = producers.records([None] * 8, sizes=np.full(8, 60), full_after=np.ones(8, bool))
    at_once, _ = partitioner.choose(full, of, start)
    assert at_once[0] == at_once[1] != at_once[2]  # 120 bytes are enough
    ignoring = kafka_built_in.partitioner(ignore_keys=True)
    keyed = producers.records([b"a", b"b", b"c"])
    assert len(set(ignoring.choose(keyed, of, start)[0])) == 1


def test_javas_client_lists_partitions_by_hash():
    # As KafkaProducer.partitionsFor of 2.2.2, 2.4.1, 3.3.2, 4.0.0 and 4.4.0 answered.
    both = [order.tolist() for order in listed({"t0": 8, "t1": 12})]
    assert both == [[*range(7, -1, -1)], [*range(11, -1, -1)]]
    assert listed({"test-topic": 8})[0].tolist() == [4, 5, 2, 3, 0, 1, 6, 7]
    assert listed({"orders": 30})[0].tolist() == [
        *range(8, 30, 2), *range(1, 30, 2), 0, 2, 4, 6
    ]  # fmt: skip
    orders = listed({"orders": 8})[0]
    twice = chosen("round-robin@2.4", [None] * 4, 8, available=orders, new_batch=[True] * 4)
    assert twice == [0, 2, 4, 6]  # published with KAFKA-9965


def test_a_loaded_partition_is_drawn_less_often():
    of, partitioner = topics([3]), kafka_built_in.partitioner(batch_size=1)
    state = kafka_built_in.with_loads(partitioner.start(of), 0, [0, 3, 1], [0, 1, 2])
    sent = producers.records([None] * 8001, sizes=np.ones(8001), full_after=np.ones(8001, bool))
    counts = np.bincount(partitioner.choose(sent, of, state)[0][1:])
    assert np.abs(counts / 8000 - np.array([4, 1, 3]) / 8).max() < 0.02


@pytest.mark.parametrize("name", ["built_in", None, ["built-in"]])
def test_what_is_no_name_of_a_partitioner_is_refused(name):
    with pytest.raises(UnknownName, match="unknown partitioner"):
        producers.get(name)


# ---- load -----------------------------------------------------------------------------------


@cache
def words():
    return load.key_set("words", 4000, 1)


def test_keys_are_distinct_and_the_seed_makes_them():
    for kind in load.KINDS:
        texts = load.key_set(kind, 500, 3)
        assert len(set(hashes.texts(texts))) == 500
        assert texts.data.tolist() == load.key_set(kind, 500, 3).data.tolist()
    with pytest.raises(UnknownName, match="words"):
        load.key_set("word", 5)


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda: load.key_set("words", -1), "count: expected a whole number from 0"),
        (lambda: load.weights(0, 1.0), "count: expected a whole number from 1"),
        (lambda: load.weights(3, float("nan")), "skew: expected a number from 0 on, got nan"),
        (lambda: load.record_counts(3, 1.0, 5.5), "records: expected a whole number from 0"),
        (lambda: load.moved_law(-4, 8), "before: expected a whole number from 1"),
        (lambda: load.owned_by("range", [np.ones(3)], 0), "members: expected a whole number"),
        (
            lambda: load.partition_load("kafkajs", hashes.keys(["a", "b"]), [1], 3),
            "counts: expected 2",
        ),
        (
            lambda: load.partition_load("kafkajs", hashes.keys(["a", "b"]), [1, -1], 3),
            "counts: expect",
        ),
        (
            lambda: load.partition_load("kafkajs", hashes.keys(["a", "b"]), [1, 0.5], 3),
            "counts: expect",
        ),
    ],
)
def test_loads_of_what_cannot_be_are_refused_in_one_line(ask, says):
    with pytest.raises(ValueError, match=says) as refused:
        ask()
    assert "\n" not in str(refused.value)


def test_each_seed_draws_which_keys_are_frequent():
    for kind in load.KINDS:
        first = {hashes.texts(load.key_set(kind, 500, seed))[0] for seed in range(8)}
        assert len(first) > 1
    trial = load.Trial(
        0, "range", 1.0, 12, kind="numbers", partitioner="built-in", topics=10, members=12
    )
    [found] = load.play_end_to_end(trial)
    assert found["fullest_together"] < 10  # not the same partition in every topic


def test_load_is_kept_from_keys_to_consumers():
    counts = load.record_counts(4000, 1.0, 50_000, seed=2)
    loads = [load.partition_load("built-in", words(), counts, n) for n in (12, 5)]
    assert [part.sum() for part in loads] == [50_000, 50_000]

    def read(strategy, loads, members):
        return load.read_by(load.owned_by(strategy, loads, members), loads, members)

    for strategy in ("range", "sticky", "server-uniform", "metaq-default"):
        assert read(strategy, loads, 4).sum() == 100_000
    heavy = [np.array([100, 1, 1, 1])]
    assert read("heaviest-first", heavy, 2).tolist() == [100, 3]
    assert read("sticky", heavy, 2).tolist() == [101, 2]
    halves = read("range", [np.array([0.5, 0.25, 0.25])], 2)
    assert halves.tolist() == [0.75, 0.25]
    assert read("rocketmq-machine-room", heavy, 2).sum() == 103
    owners = read("range", [np.array([1, 10, 100])], 2)
    assert owners.tolist() == [11, 100]
    with pytest.raises(ValueError, match="does not look at keys"):
        load.partition_load("round-robin", words(), counts, 3)


def test_words_are_those_that_a_draw_for_each_would_give():
    one_by_one = np.random.default_rng([1, 50])
    syllables = load.SYLLABLES.split()
    lengths = one_by_one.integers(2, 5, size=50).tolist()
    drawn = [one_by_one.integers(0, len(syllables), size=length) for length in lengths]
    told = ["".join(syllables[i] for i in word) for word in drawn]
    found = hashes.texts(load.key_set("words", 50, 1))
    assert found[: len(set(told))] == list(dict.fromkeys(told))


def test_the_topics_fullest_partitions_are_shared_out_whatever_the_strategy():
    trial = load.Trial(
        0, "range,sticky,server-uniform", 1.5, 12, key_count=500, records=10_000,
        partitioner="built-in", topics=10, members=8,
    )  # fmt: skip
    together = {row["strategy"]: row["fullest_together"] for row in load.play_end_to_end(trial)}
    assert all(2 <= most <= 10 for most in together.values())  # ten of them for eight members
    assert together["server-uniform"] == 2


@pytest.mark.parametrize(("before", "after"), [(4, 8), (4, 5), (12, 18), (12, 13), (6, 3)])
def test_as_many_keys_move_as_the_law_says(before, after):
    names = "built-in,librdkafka-consistent"
    trial = load.Trial(0, names, 1.0, after, key_count=20_000, before=before)
    for record in load.play_reordering(trial):
        assert abs(record["moved_keys"] - record["law"]) < 0.015


def test_no_key_is_out_of_order_that_does_not_move():
    sent = dict(key_count=500, records=5000, unread=500)
    [record] = load.play_reordering(load.Trial(0, "built-in", 1.0, 6, before=6, **sent))
    shares = ("moved_keys", "law", "moved_records", "out_of_order")
    assert [record[share] for share in shares] == [0] * 4


def test_clients_agree_on_all_keys_or_on_as_many_as_chance_gives():
    names = ["built-in", "kafkajs", "sarama-hash"]
    table = load.agreement(names, words(), 10).set_index("partitioner")
    assert table.loc["built-in", "kafkajs"] == table.loc["sarama-hash", "sarama-hash"] == 1
    assert abs(table.loc["built-in", "sarama-hash"] - 0.1) < 0.03


# ---- delivery -------------------------------------------------------------------------------


def setting(**changed):
    usual = dict(partitioner="built-in", records=20_000, rate=2000.0, value_bytes=512,
                 response_ms=(20.0, 1.0, 1.0))  # fmt: skip
    return delivery.Setting(**{**usual, **changed})


def test_every_record_is_answered_after_the_broker_took_its_time():
    for name in delivery.KINDS:
        done = delivery.deliver(setting(partitioner=name), seed=1)
        fastest = np.array([20.0, 1.0, 1.0])[done.partitions]
        assert (done.latency_ms >= fastest - 1e-9).all()
        for partition in range(3):  # one connection: answers in the order of sending
            answers = done.done_ms[done.partitions == partition]
            assert (np.diff(answers) >= 0).all()
        again = delivery.deliver(setting(partitioner=name), seed=1)
        assert again.done_ms.tolist() == done.done_ms.tolist()


def test_an_idle_broker_answers_a_lone_record_in_its_time():
    done = delivery.deliver(setting(partitioner="round-robin", rate=1.0, records=9), seed=1)
    assert done.partitions.tolist() == [0, 1, 2] * 3
    assert np.allclose(done.latency_ms, [20.0, 1.0, 1.0] * 3)
    lingering = delivery.deliver(
        setting(partitioner="round-robin", rate=1.0, records=9, linger_ms=30.0), seed=1
    )
    assert np.allclose(lingering.latency_ms, [50.0, 31.0, 31.0] * 3)


def test_the_old_partitioner_feeds_the_slow_broker_and_the_new_one_does_not():
    old = delivery.deliver(setting(partitioner="default@2.4"), seed=1)
    even = delivery.deliver(setting(adaptive=False), seed=1)
    new = delivery.deliver(setting(), seed=1)
    assert old.shares[0] > 0.8 and even.shares[0] < 0.6
    assert new.shares[0] < even.shares[0]
    assert old.latency_ms.mean() > 10 * even.latency_ms.mean()
    assert even.latency_ms.mean() > new.latency_ms.mean()


def test_the_model_of_kip_794_tells_the_configurations_apart_as_published():
    frame = kip_794.beside_published([0.5], records=40_000).set_index("configuration")
    for measure in ("average", "p99", "p999"):
        assert frame[measure].is_monotonic_decreasing
        assert frame[f"published_{measure}"].is_monotonic_decreasing
    assert frame["mb_s"].iloc[0] < 0.9
    assert frame["mb_s"].iloc[1:].min() > 0.98
    even = frame.loc["built-in, adaptive off"]
    assert abs(even["at_once_slow_share"] - 1 / 3) < 0.03 < even["slow_share"] - 1 / 3 - 0.05


# ---- bad input ------------------------------------------------------------------------------


def test_bad_input_is_refused_by_name():
    with pytest.raises(UnknownName, match="did you mean 'default@2"):
        producers.get("defautl@2.0")
    with pytest.raises(ValueError, match="at least one partition"):
        chosen("built-in", [None], 0)
    for no_partition in (3, -1, 0.5, "1"):
        with pytest.raises(ValueError, match="available partitions"):
            chosen("built-in", [None], 3, available=[no_partition])
    for no_partition in (0.5, "1", NONE, 2**31):
        with pytest.raises(ValueError, match="explicit: .* whole numbers of 32 bits or None"):
            chosen("built-in", ["a"], 3, explicit=[no_partition])
    for no_list in (1, [[0], [0, 1]]):
        with pytest.raises(ValueError, match="available partitions: expected a list"):
            chosen("built-in", [None], 3, available=no_list)
    for no_seed in ("a", 1.5, None):
        with pytest.raises(TypeError, match="seed: expected a whole number, got"):
            chosen("built-in", [None], 3, seed=no_seed)
    with pytest.raises(ValueError, match="partitions: expected at least one topic"):
        topics([])
    with pytest.raises(ValueError, match="topics: expected a list of whole numbers, got .0.7"):
        producers.records(["a"], topics=[0.7])
    with pytest.raises(ValueError, match="new_batch: expected a list of True or False, got .2"):
        producers.records(["a"], new_batch=[2])
    with pytest.raises(ValueError, match="sizes have to be 0 or more"):
        producers.records(["a", "b"], sizes=[4, -3])
    with pytest.raises(ValueError, match="beside them"):
        chosen("built-in", [None], 3, new_batch=[True, False])
    with pytest.raises(ValueError, match="kafkajs is played without records that name a partition"):
        chosen("kafkajs", ["a"], 3, explicit=[1])  # which KafkaJS itself takes
    for no_size in (0, 1.5, float("nan"), "16384", True, None, 2**70):
        with pytest.raises(ValueError, match="batch_size: expected a whole number from 1 to"):
            kafka_built_in.partitioner(batch_size=no_size)
    with pytest.raises(ValueError, match="ignore_keys: expected True or False, got 'false'"):
        kafka_built_in.partitioner(ignore_keys="false")
    start = fresh(topics([3]), generator(0))
    for loads, reason in (
        ((0, [1, 2], [0]), "one length"),
        ((0, [1, 2], [0, 1], 2, [True]), "one length"),
        ((0, [-1, 2], [0, 1]), "0 or more"),
        ((0, [0.5, 2], [0, 1]), "queues: expected a list of whole numbers"),
        ((-1, [1, 2], [0, 1]), "topic -1, there are 1"),
    ):
        with pytest.raises(ValueError, match=reason):
            kafka_built_in.with_loads(start, *loads)
    for no_keys in (None, 5):
        with pytest.raises(TypeError, match="keys: expected several"):
            chosen("built-in", no_keys, 3)
    with pytest.raises(OriginalError, match="LeaderNotAvailableException"):
        chosen("scala-default", ["a", None], 3, available=[])
    with pytest.raises(OriginalError, match="NullPointerException"):
        chosen("rocketmq-hash", [None], 3)
    with pytest.raises(ValueError, match="default@2.4"):
        setting(partitioner="uniform-sticky")
    with pytest.raises(TypeError, match="seed: expected a whole number, got True"):
        chosen("built-in", [None], 3, seed=True)
    with pytest.raises(TypeError, match="seed: expected a whole number, got 1.5"):
        delivery.deliver(setting(), seed=1.5)


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("records", [0, 1.5, True, "9", 2**31]),
        ("rate", [0, np.nan, np.inf, "9", None]),
        ("value_bytes", [-1, 1.5]),
        ("response_ms", [(), 1.0, (0.0,), (1.0, np.nan), np.array([1.0, -1.0]), "1", None]),
        ("linger_ms", [-1.0, np.nan, np.inf, None]),
        ("batch_size", [0, 16.5]),
        ("in_flight", [0, 1.5]),
        ("availability_timeout_ms", [-1, 0.5]),
        ("partitioner", [None, ["built-in"]]),
        ("adaptive", [None, "no", 1]),
        ("waits", [None, "no", 1]),
    ],
)
def test_a_setting_that_cannot_be_played_is_refused_by_name(field, values):
    for value in values:
        with pytest.raises(ValueError, match=f"^{field}: expected|is not one of"):
            setting(**{field: value})


def test_more_requests_under_way_than_records_take_no_memory():
    most, enough = (delivery.deliver(setting(records=50, in_flight=n)) for n in (2**31 - 1, 50))
    np.testing.assert_array_equal(most.done_ms, enough.done_ms)


def test_numbers_of_numpy_make_the_same_setting():
    numpy = setting(records=np.int32(50), response_ms=np.array([2.0, 1.0]), rate=np.float32(500))
    plain = setting(records=50, response_ms=(2.0, 1.0), rate=500)
    for one, two in zip(
        delivery.deliver(numpy, np.int64(3)), delivery.deliver(plain, 3), strict=True
    ):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("default@3.0", "default@2.4"),
        ("kafka@0.9 default", "default@0.8.2"),
        ("round-robin@3.9.1", "round-robin@2.4"),
        ("built-in@4.1", "built-in"),
        ("sarama-hash@1.61.1", "sarama-hash"),
    ],
)
def test_any_release_may_be_named(name, same):
    keys = [None, "a"] * 20
    new_batch = [True] * len(keys)
    assert producers.get(name).name == name
    assert chosen(name, keys, 7, new_batch=new_batch) == chosen(same, keys, 7, new_batch=new_batch)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("default@4.1", "none of the lab's is known to do what 4.1.2 does"),
        ("built-in@3.0", "built-in came with Kafka 3.3.0"),
        ("round-robin@3.0.7", "there is no Kafka 3.0.7"),
        ("round-robin@new", "expected a release such as round-robin@4.4.0"),
    ],
)
def test_other_releases_are_refused_with_the_reason(name, reason):
    with pytest.raises(UnknownRelease) as refused:
        producers.get(name)
    assert str(refused.value).startswith(f"unknown release in partitioner {name!r}: {reason}")


def test_the_table_of_releases_has_all_of_kafkas_own():
    own = [p for p in producers.partitioners().values() if p.client.startswith("Kafka ")]
    assert {p.name.partition("@")[0] for p in own} == set(PARTITIONERS_CAME_WITH)
    for p in own:
        for release in (p.first, p.last):
            same = producers.resolved(f"{p.name.partition('@')[0]}@{release}").same
            assert same == p.name, release


def test_an_original_is_asked_by_the_name_of_any_release(monkeypatch):
    asked = []
    monkeypatch.setattr(
        partitioner_originals, "check", lambda name, *_: asked.append(name) or (1, [])
    )
    assert partitioner_originals.main(["default@3.0", "accumulator"], True, 1, 1) == 0
    assert set(asked) == {"default@2.4", "accumulator"}


def test_every_name_has_its_facts():
    for name, partitioner in producers.partitioners().items():
        assert partitioner.source.count("(") == 1, f"{name}: source='CLASS (ARTIFACT RELEASE)'"
        assert partitioner.rule and partitioner.client
        assert partitioner.keyed in ("all", "non-empty", "none"), name


def test_the_page_has_the_table_that_the_library_prints():
    page = (partitioner_originals.PROJECT.parent / "docs" / "producers.md").read_text(
        encoding="utf-8"
    )
    table = page.partition("<!-- partitioners -->\n")[2].partition("\n<!-- /partitioners -->")[0]
    assert table == producers.table("markdown"), "make docs"


def test_loads_of_a_topic_that_has_grown():
    partitioner = kafka_built_in.partitioner(20)
    grown, drawn = producers.topics([3]), set()
    for seed in range(40):
        state = partitioner.start(producers.topics([2]), seed)
        state = kafka_built_in.with_loads(state, 0, [1, 2, 3], [0, 1, 2])
        chosen, _ = partitioner.choose(producers.records([None]), grown, state)
        drawn |= set(chosen.tolist())
    assert drawn == {0, 1, 2}
