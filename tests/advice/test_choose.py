"""Which group of several a page is about."""

import pytest

from assignlab import groups
from assignlab.advice.choose import NAMED, choose
from assignlab.advice.subject import NotAnswerable
from assignlab.errors import UnknownName
from conftest import ALONE, EMPTY, EVEN, RECORDED, document

UNKNOWN = document({"t": 2}, [["t-0"], ["t-1"]], group="unknown") | {
    "strategy": None,
    "state": None,
}


def test_of_a_whole_cluster_the_first_group_that_can_be_asked_is_taken_and_the_others_named():
    texts = [
        RECORDED / f"all-groups-{which}.txt" for which in ("describe", "members-verbose", "state")
    ]
    told_of = groups.read(*texts)
    found, said = choose(told_of)
    assert found["group"] == "billing-classic"
    names = {group["group"] for group in told_of} - {"billing-classic"}
    assert names and all(name in said[0] for name in names)
    assert said[1] == "batch-empty has no members: there is nothing to assign."
    other, said = choose(told_of, "mixed-topics")
    assert other["group"] == "mixed-topics" and len(said) == 1 and "the first" not in said[0]


def test_a_group_alone_needs_no_word():
    assert choose([EVEN]) == (EVEN, [])


def test_a_name_that_is_not_there_is_refused_and_one_that_cannot_be_asked_says_why():
    with pytest.raises(UnknownName, match="did you mean 'even'"):
        choose([EVEN, ALONE], "evn")
    with pytest.raises(NotAnswerable, match="^empty has no members"):
        choose([EVEN, EMPTY], "empty")
    with pytest.raises(NotAnswerable, match="^none of 2 groups can be asked; the first: empty has"):
        choose([EMPTY, EMPTY | {"group": "void"}])
    _, said = choose([EMPTY, EMPTY | {"group": "void"}, EVEN])
    assert said[1].startswith("2 before it cannot be asked; the first: empty has no members")


def test_a_strategy_may_be_given_and_is_asked_for_by_the_parameters_name():
    with pytest.raises(
        NotAnswerable, match="--state, or name it in the parameter strategy"
    ) as error:
        choose([UNKNOWN])
    assert "--strategy" not in str(error.value)
    found, _ = choose([UNKNOWN], strategy="roundrobin")
    assert found["strategy"] == "roundrobin"
    assert choose([EVEN], strategy="range")[0]["strategy"] == "range"


def test_of_many_others_some_are_named():
    many = [EVEN] + [ALONE | {"group": f"g{n}"} for n in range(NAMED + 3)]
    [said] = choose(many)[1]
    assert f"g{NAMED - 1} and 3 more." in said and f"g{NAMED}," not in said
