"""What Java makes of names and keys, against a real JDK and against what one recorded.

``python tests/jvm/test_jvm.py`` records ``data/jvm`` anew: seeded cases, the answers of Java (JDK 17)
and of kafka-clients.
"""

import json
import os
import random
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignlab.assignors.parts.hash_codes import TOPIC_PARTITION, partition_hashes
from assignlab.jvm.hash_map import (
    NOTHING,
    collection_capacity,
    has_room,
    spread_all,
    table_size_for,
    walk_first,
    walk_lists,
    walk_map,
    walk_map_without,
    was_crowded,
)
from assignlab.jvm.hash_set import hash_sets, set_add, set_first, set_new, set_remove
from assignlab.jvm.names import (
    Names,
    Uuid,
    string_hash,
    string_hashes,
    utf16,
    uuid_halves,
    uuid_hashes,
)
from assignlab.local.java import NoJava, java_home, probe

HERE = Path(__file__).parent
RECORDED = HERE / "data" / "walks.jsonl"
KAFKA_KEYS = HERE / "data" / "kafka_keys.json"


def copy_capacity(n: int) -> int:
    """Initial slots of ``new HashMap(map)`` with n entries, and of ``putAll`` into a new map.

    JDK 17. In newer ones (seen in 25) it is the table for n / 0.75, which is half of this where n
    is exactly three quarters of a power of two: there the walk depends on the JDK.
    """
    if n == 0:
        return 16
    return table_size_for(int(np.float32(n) / np.float32(0.75) + np.float32(1)))


APPENDING = ("put", "putIfAbsent", "add")
IN_FRONT = ("computeIfAbsent", "compute", "merge", "mergeAgain")
COLLECTED = ("groupingBy", "groupingByAgain", "toMap", "toMapMerging", "toSet")
COPIED = {
    "copySet": collection_capacity,
    "copyMap": copy_capacity,
    "putAll": copy_capacity,
    "addAll": lambda n: 16,
}


def walk(case):
    """Our answer: (positions, certain)."""
    hashes, rank = keys_of(case)
    how, argument = case["how"], case["argument"]
    if how in COPIED:
        capacity = COPIED[how](hashes.size)
    else:
        capacity = table_size_for(argument) if argument >= 0 else 16
    order, certain = walk_map(
        hashes,
        capacity,
        NOTHING if rank is None else rank,
        how in IN_FRONT or how in ("groupingBy", "groupingByAgain", "toMapMerging"),
        how.endswith("Again"),
    )
    return order.tolist(), certain


def keys_of(case):
    """(hashes int32[n], rank int64[n] or None) of a case."""
    if "names" in case:
        names = Names(case["names"])
        return names.hashes, names.rank
    hashes = np.array(case["hashes"], dtype=np.int32)
    return hashes, None if case["rank"] is None else np.array(case["rank"], dtype=np.int64)


def colliding(length, count, start=0):
    """Names of one String.hashCode, made of Aa and BB."""
    words = ("".join(p) for p in product(("Aa", "BB"), repeat=length))
    return list(words)[start : start + count]


def hash_family(random_, n):
    """Hash codes that crowd: one slot, one full hash, few slots, or anything."""
    kind = random_.randrange(6)
    if kind == 0:
        return [random_.randrange(-(2**31), 2**31) for _ in range(n)]
    if kind == 1:
        step = 2 ** random_.randrange(4, 13)
        return [random_.randrange(8) * 31 + step * random_.randrange(300) for _ in range(n)]
    if kind == 2:
        few = [random_.randrange(-(2**31), 2**31) for _ in range(random_.randrange(1, 4))]
        return [random_.choice(few) for _ in range(n)]
    if kind == 3:
        return [(k % 7) << random_.choice((16, 20, 27)) if k % 3 else k for k in range(n)]
    if kind == 4:
        step = random_.choice((16, 64, 256, 1 << 16))
        return [(step * k) % (2**31) for k in range(n)]
    few = [random_.randrange(64) for _ in range(12)]
    return [random_.choice(few) + 64 * random_.randrange(3) for _ in range(n)]


def cases(seed, count):
    """Seeded maps and sets, mostly crowded."""
    random_ = random.Random(seed)
    for _ in range(count):
        how = random_.choice((*APPENDING, *IN_FRONT, *COLLECTED, *COPIED))
        argument = -1
        if how in APPENDING + IN_FRONT and random_.random() < 0.4:
            argument = random_.choice((0, 1, 2, 3, 5, 11, 12, 13, 16, 33, 64, 100, 200))
        n = random_.choice((0, 1, 2, 6, 9, 10, 11, 12, 13, 14, 24, 25, 26, 40, 48, 49, 50, 97, 200))
        case = {"how": how, "argument": argument}
        if how == "mergeAgain" or how == "groupingByAgain":
            n = max(n, 1)
        if random_.random() < 0.25:
            names = colliding(8, random_.randrange(min(n, 200) + 1), random_.randrange(50))
            while len(names) < n:
                names.append(f"consumer-{random_.randrange(10**6)}-\u00e9\U0001f600")
            names = list(dict.fromkeys(names))
            random_.shuffle(names)
            yield {**case, "names": names}
        else:
            hashes = hash_family(random_, n)
            rank = None
            if random_.random() < 0.7:
                rank = list(range(n))
                random_.shuffle(rank)
            yield {**case, "hashes": hashes, "rank": rank}


def histories(seed, count):
    """Seeded histories of one set: elements come and go, and come back."""
    random_ = random.Random(seed)
    for _ in range(count):
        n = random_.choice((3, 12, 13, 30, 60, 200))
        hashes = hash_family(random_, n)
        inside, steps = [], []
        for _ in range(random_.choice((5, 40, 400))):
            outside = sorted(set(range(n)) - set(inside))
            if outside and (not inside or random_.random() < 0.65):
                element = random_.choice(outside)
                inside.append(element)
                steps.append(element)
            else:
                element = random_.choice(inside)
                inside.remove(element)
                steps.append(~element)
        yield {"how": "first", "argument": -1, "hashes": hashes, "rank": None, "steps": steps}


def removals(seed, count):
    """Seeded maps, mostly crowded, from which keys are taken."""
    random_ = random.Random(seed)
    for _ in range(count):
        n = random_.choice((1, 9, 12, 24, 49, 100))
        if random_.random() < 0.3:
            case = {"names": colliding(7, n)}
            random_.shuffle(case["names"])
        else:
            case = {"hashes": hash_family(random_, n), "rank": random_.sample(range(n), n)}
        gone = random_.sample(range(n), random_.randrange(n + 1))
        yield {"how": "left", "argument": -1, **case, "steps": [~x for x in gone]}


def line(case):
    """A case as HashWalks.java reads it."""
    if "names" in case:
        keys = ["x" + utf16(name).hex() for name in case["names"]]
    else:
        ranks = case["rank"] or [""] * len(case["hashes"])
        keys = [f"{h}:{r}" for h, r in zip(case["hashes"], ranks, strict=True)]
    steps = " ".join(f"+{s}" if s >= 0 else f"-{~s}" for s in case.get("steps", []))
    return f"{case['how']}|{case['argument']}|{' '.join(keys)}|{steps}"


def java(all_cases):
    """Java's answers: positions of the walk, or the first elements of a history."""
    command = [
        str(Path(java_home()) / "bin" / "java"),
        "--add-opens=java.base/java.util=ALL-UNNAMED",
        "-Xmx512m",
        str(HERE / "java" / "HashWalks.java"),
    ]
    text = "\n".join(map(line, all_cases)) + "\n"
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    answers = [list(map(int, answer.split())) for answer in done.stdout.splitlines()]
    return [a if c["how"] == "first" else a[1:] for c, a in zip(all_cases, answers, strict=True)]


def firsts(case):
    """Our answer to a history: (first element after every step, certain)."""
    sets = hash_sets(np.array(case["hashes"], dtype=np.int32), 2)
    set_new(sets, 1)
    answer = []
    for step in case["steps"]:
        if step >= 0:
            set_add(sets, 1, step)
        else:
            set_remove(sets, 1, ~step)
        answer.append(int(set_first(sets, 1)))
    return answer, not sets.tree[0]


def left(case):
    """Our answer to removals: (positions, certain)."""
    hashes, rank = keys_of(case)
    gone = np.array([~step for step in case["steps"]], dtype=np.int64)
    rank = np.empty(0, dtype=np.int64) if rank is None else rank
    return walk_map_without(hashes, gone, 16, rank)[0].tolist(), True


def answer(case):
    """Our answer to any case."""
    return {"first": firsts, "left": left}.get(case["how"], walk)(case)


@pytest.fixture(scope="module")
def fresh():
    """Thousands of cases with Java's answers; every uncertain one is asked a second time."""
    jdk()
    asked = [*cases(1, 2500), *histories(2, 250), *removals(3, 1500)]
    asked += [case for case in asked if not answer(case)[1]]
    if java_major() >= 19:  # these copy into smaller tables
        asked = [case for case in asked if case["how"] not in COPIED]
    return asked, java(asked)


def jdk():
    """The home of a JDK; skips the test where there is none that runs a source file."""
    try:
        home = Path(java_home())
    except NoJava:
        pytest.skip("needs a JDK, 17 or later")
    if not any((home / "bin" / name).exists() for name in ("javac", "javac.exe")):
        pytest.skip("needs a JDK that runs source files")
    return home


def java_major():
    return probe(str(jdk() / "bin" / "java")).major


def test_every_walk_that_java_fixes_is_reproduced(fresh):
    wrong = [
        (case, ours, theirs)
        for case, theirs in zip(*fresh, strict=True)
        for ours, certain in [answer(case)]
        if certain and ours != theirs
    ]
    assert not wrong, f"{len(wrong)} differ, first: {wrong[0]}"


def test_java_contradicts_itself_only_where_we_say_so(fresh):
    answers = {}
    for case, theirs in zip(*fresh, strict=True):
        answers.setdefault(line(case), []).append(theirs)
    unsure = [given for given in answers.values() if len(given) > 1]
    assert sum(given[0] != given[1] for given in unsure) > len(unsure) / 10


def recorded():
    with RECORDED.open(encoding="utf-8") as lines:
        return [json.loads(text) for text in lines]


def check_recorded():
    for case in recorded():
        assert answer(case) == (case["java"], True), case


def test_walks_recorded_from_java():
    check_recorded()


@pytest.mark.parametrize("newest_first, again", list(product((False, True), repeat=2)))
def test_where_all_keys_have_room_some_walk_as_among_the_others(newest_first, again):
    draw = np.random.default_rng(1)
    limit = 7 if newest_first else 8
    for step, slots, room in (1, 64, True), (1, 16, False), (16, 64, False), (4, 128, True):
        hashes = draw.permutation(60)[:40].astype(np.int32) * np.int32(step)
        wanted = np.flatnonzero(draw.random(40) < 0.3)
        assert has_room(hashes, slots, limit) == room
        order, _ = walk_map(hashes, slots, np.argsort(np.argsort(hashes)), newest_first, again)
        if room:
            some = wanted[walk_lists(spread_all(hashes[wanted]), slots, newest_first)]
            assert some.tolist() == [k for k in order.tolist() if k in wanted]


def test_a_walk_that_ends_early_begins_like_the_whole_one():
    left_out = 0
    for seed in range(200):
        draw = np.random.default_rng(seed)
        keys = draw.integers(1, 400)
        crowds = draw.integers(0, 60, keys) * draw.choice([16, 33, 64, 129]) + draw.integers(0, 9)
        hashes = crowds.astype(np.int32) if seed % 4 else draw.integers(0, 99, keys, dtype=np.int32)
        rank = draw.permutation(keys) if seed % 2 else NOTHING
        wanted = draw.integers(0, keys + 1)
        whole, certain = walk_map(hashes, 16, rank, False, False)
        first, first_certain = walk_first(hashes, wanted, rank)
        assert first.size >= wanted
        assert first.tolist() == whole[: first.size].tolist()
        assert first_certain >= certain
        left_out += first.size < keys
    assert left_out > 50


def test_recorded_walks_have_trees_and_early_doubling():
    there = [case for case in recorded() if crowded(case)]
    assert len(there) > 50
    assert len({case["how"] for case in there}) > 10


def crowded(case):
    """Whether a slot takes a ninth key when all keys of a case are put."""
    return was_crowded(spread_all(keys_of(case)[0]), 16, 8)


@pytest.mark.slow
def test_plain_python_gives_the_same_without_warnings():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "import test_jvm as t; t.check_plain_python()"],
        cwd=HERE,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def check_plain_python():
    check_recorded()
    keys = json.loads(KAFKA_KEYS.read_text(encoding="utf-8"))
    check_topic_partitions(keys["topic_partitions"])
    assert string_hash("\uffff" * 9) == 212975743


# Kafka's keys


def kafka_keys():
    """Seeded topic partitions and pairs of Uuids, as KafkaKeys.java reads them."""
    random_ = random.Random(3)
    partitions = [f"{random_.choice((0, 1, 7, 2**31 - 1))} t{k}" for k in range(9)]
    partitions += [
        f"{random_.randrange(2**31)} {random_.choice('abc')}{random_.randrange(10**9)}\u00e9\u4e2d"
        for _ in range(40)
    ]
    longs = (0, 1, -1, 2**63 - 1, -(2**63))
    pairs = [
        [
            random_.choice(longs) if random_.random() < 0.3 else random_.randrange(-(2**63), 2**63)
            for _ in range(4)
        ]
        for _ in range(60)
    ]
    pairs += [[5, -7, 5, 7], [5, 7, 5, 7]]
    return partitions, [" ".join(map(str, pair)) for pair in pairs]


def ask_kafka(jar):
    """The real classes' answers to :func:`kafka_keys`."""
    partitions, pairs = kafka_keys()
    done = subprocess.run(
        [
            str(jdk() / "bin" / "java"),
            "-Dfile.encoding=UTF-8",
            "-cp",
            str(jar),
            str(HERE / "java" / "KafkaKeys.java"),
        ],
        input="\n".join([*partitions, *pairs]) + "\n",
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    lines = done.stdout.splitlines()
    return {
        "topic_partitions": list(map(list, zip(partitions, map(int, lines), strict=False))),
        "uuids": list(map(list, zip(pairs, lines[len(partitions) :], strict=True))),
    }


def kafka_jars():
    repository = Path.home() / ".m2" / "repository" / "org" / "apache" / "kafka" / "kafka-clients"
    return sorted(repository.glob("4.*/kafka-clients-4.*[0-9].jar"))


def check_topic_partitions(expected):
    for text, hash_code in expected:
        partition, topic = text.split(" ")
        topic_hash = string_hashes([topic])
        codes = np.array([int(partition)], dtype=np.int64)
        assert partition_hashes(topic_hash, codes, TOPIC_PARTITION).tolist() == [hash_code]


def check_uuids(expected):
    for text, theirs in expected:
        numbers = list(map(int, text.split()))
        a, b = Uuid(*numbers[:2]), Uuid(*numbers[2:])
        order = (a > b) - (a < b)
        assert f"{uuid_hashes([a])[0]} {a} {order} true" == theirs
        assert Uuid.parse(str(a)) == a
        assert uuid_halves([str(a), str(b)]).tolist() == [list(a), list(b)]


def test_kafka_keys_recorded_from_its_classes():
    keys = json.loads(KAFKA_KEYS.read_text(encoding="utf-8"))
    check_topic_partitions(keys["topic_partitions"])
    check_uuids(keys["uuids"])


@pytest.mark.slow
def test_kafka_keys_against_its_classes():
    jars = kafka_jars()
    if not jars:
        pytest.skip("needs kafka-clients 4 in the Maven repository")
    assert ask_kafka(jars[-1]) == json.loads(KAFKA_KEYS.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "AAAAAAAAAAAAAAAAAAAAA",
        "AAAAAAAAAAAAAAAAAAAAAA=",
        "AAAAAAAAAA+AAAAAAAAAAA",
        "AAAAAAAAAAAAAAAAAAAAAA==\n",
        "A" * 24,
    ],
)
def test_what_is_no_uuid_is_refused(text):
    with pytest.raises(ValueError, match="is not a Kafka Uuid"):
        Uuid.parse(text)
    assert uuid_halves([str(Uuid(1, 2)), text]) is None


@given(st.lists(st.text(st.sampled_from("AZaz09-_"), min_size=22, max_size=22)))
def test_many_uuids_are_read_as_each(texts):
    assert [Uuid(*halves) for halves in uuid_halves(texts).tolist()] == list(map(Uuid.parse, texts))


# Names


def odd_names(seed, n):
    """Names with shared beginnings, prefixes of each other, and characters beyond ASCII."""
    random_ = random.Random(seed)
    letters = ["a", "b", "-", "\0", "\u00e9", "\u4e2d", "\uff21", "\U0001f600", "\ud800", "\udc00"]
    begin = random_.choice(["", "consumer-group-1-", "\U0001f600" * 5])
    words = {begin + "".join(random_.choices(letters, k=random_.randrange(12))) for _ in range(n)}
    words = sorted(words)
    random_.shuffle(words)
    return words


@pytest.mark.parametrize("seed", range(20))
def test_names_are_in_the_order_of_java_strings(seed):
    names = Names(odd_names(seed, (0, 1, 2, 10, 300)[seed % 5]))
    assert [names[i] for i in names.order] == sorted(names, key=utf16)
    assert names.rank[names.order].tolist() == list(range(len(names)))


@pytest.mark.parametrize("seed", range(20))
def test_derived_names_are_prepared_as_if_new(seed):
    words = odd_names(seed, (3, 10, 300, 30)[seed % 4])
    random_ = random.Random(seed)
    names = Names(words[: len(words) // 2])
    if seed % 2:
        assert names.hashes.size == names.rank.size
    kept = random_.sample(range(len(names)), random_.randrange(len(names) + 1))
    derived = names.take(np.array(kept, dtype=np.int64)).append(words[len(words) // 2 :])
    plain = Names(derived.names)
    assert derived.names == tuple([names[i] for i in kept] + words[len(words) // 2 :])
    assert derived.hashes.tolist() == plain.hashes.tolist()
    assert derived.order.tolist() == plain.order.tolist()
    assert derived.rank.tolist() == plain.rank.tolist()
    assert derived.index == plain.index


@pytest.mark.parametrize("seed", range(8))
def test_newcomers_find_their_places(seed):
    words = odd_names(seed, 300)
    few = 1 + seed % 3
    parent = Names(words[few:])
    assert parent.rank.size == len(parent)
    names, plain = parent.append(words[:few]), Names(words[few:] + words[:few])
    assert names.names == plain.names
    assert names.hashes.tolist() == plain.hashes.tolist()
    assert names.order.tolist() == plain.order.tolist()
    assert names.rank.tolist() == plain.rank.tolist()


def record():
    """Ask the machine's Java and Kafka, and write what they answer."""
    asked = [case for case in cases(11, 900) if len(keys_of(case)[0]) <= 60]
    asked = asked[:400] + [case for case in cases(12, 60) if len(case.get("hashes", [])) == 200]
    past = [case for case in histories(13, 500) if len(case["steps"]) == 40]
    asked += past[:30] + [case for case in past[30:] if crowded(case)][:30]
    asked = [case for case in asked if answer(case)[1]]
    RECORDED.parent.mkdir(parents=True, exist_ok=True)
    with RECORDED.open("w", encoding="utf-8") as out:
        for case, theirs in zip(asked, java(asked), strict=True):
            out.write(json.dumps({**case, "java": theirs}, separators=(",", ":")) + "\n")
    keys = json.dumps(ask_kafka(kafka_jars()[-1]), indent=0)
    KAFKA_KEYS.write_text(keys + "\n", encoding="utf-8")


if __name__ == "__main__":
    record()
