"""What the first pages say of Kafka's defaults: one source for both tables, as releases have it."""

from assignlab import assignors, timeline
from assignlab.advice import guide
from assignlab.releases import CAME_WITH, version


def test_both_tables_tell_the_same_list_of_assignors():
    lists, settings = guide.assignors(), guide.defaults()
    rules = "default, most wanted first"
    told = settings[settings["setting"] == "partition.assignment.strategy"]
    classic = lists[lists["protocol"] == "classic"].drop_duplicates(rules)
    assert told["since"].tolist() == classic["since"].tolist() == ["0.9", "3.0"]
    for names, classes in zip(classic[rules], told["default"], strict=True):
        sources = [assignors.get(name).source for name in names.split(", ")]
        assert [source.rpartition(".")[2] for source in sources] == classes.split(", ")
    for row in lists.itertuples(index=False):
        assert set(row[2].split(", ")) <= set(row[3].split(", ")), "what rules is built in"
    told = settings[settings["setting"] == "group.consumer.assignors"]
    assert settings.set_index("setting").loc["group.protocol", "since"] == "3.7", (
        "as in ConsumerConfig"
    )
    brokers = lists[lists["protocol"] == "KIP-848"]
    assert told["default"].tolist() == brokers[rules].tolist() == ["uniform, range"]


def test_a_strategy_is_built_in_from_its_first_release_on():
    for _, since, _, kafkas, names in guide.assignors().itertuples(index=False):
        assert len(kafkas.split(", ")) == len(names.split(", "))
        for name in names.split(", "):
            first = CAME_WITH.get(name) or assignors.get(name).first
            assert version(first)[:2] <= version(since) or first.startswith(since)


def test_the_last_default_is_that_of_the_newest_release_and_none_is_older_than_its_setting():
    newest = timeline.defaults()
    table = guide.defaults()
    for name, came in guide.CAME.items():
        told = table[table["setting"] == name.replace("_", ".")]
        assert told["default"].iloc[-1] == str(getattr(newest, name))
        assert version(told["since"].iloc[0]) >= version(came)
