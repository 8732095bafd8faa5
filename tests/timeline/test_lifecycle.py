"""What notebooks read off simulated histories: stories, states, errors, delivery under crashes."""

import pandas as pd
import pytest
from matplotlib.figure import Figure

from assignlab import timeline
from assignlab.pictures import offsets
from assignlab.timeline import measure
from assignlab.timeline.trials import delivery, lifecycle

SETTINGS = {
    "commit": "after",
    "commit_interval_ms": 4_000,
    "auto_offset_reset": "earliest",
    "session_timeout_ms": 10_000,
}
PLAIN = timeline.Config(session_timeout_ms=10_000)


def told(strategy="range", away_ms=20_000, **settings):
    story = lifecycle.stale_commit(away_ms, 200, rate=20.0)
    return timeline.run(story, timeline.Config(**SETTINGS, **settings), strategy, seed=1)


# ---- the stale commit --------------------------------------------------------------------------


def test_a_refused_commit_leaves_the_offset_where_it_was():
    history = told()
    steps = lifecycle.steps(history, 19_000)
    [late] = steps[steps["what"].str.startswith("a commits")].itertuples()
    assert late.what.endswith("UNKNOWN_MEMBER_ID")
    assert late.generation == 1 < steps["generation"].max()
    assert measure.set_back(history) == 0


@pytest.mark.parametrize("strategy, fencing", [("range", False), ("scala-range", True)])
def test_where_nobody_checks_the_offset_goes_back_and_is_read_from_there(strategy, fencing):
    history = told(strategy, 21_000, fencing=fencing)
    steps = lifecycle.steps(history, 19_000)
    late = steps[steps["what"].str.startswith("a commits")].iloc[0]
    assert late["what"].endswith("goes back")
    assert late["committed_before"] - late["committed_after"] == measure.set_back(history) > 0
    nobody_counts = strategy == "scala-range"
    assert steps["generation"].isna().all() == nobody_counts
    assert steps["what"].str.contains("coordinator|generation").any() != nobody_counts
    read = measure.readings(history)
    next_owner = read[read["from_s"] > late["time_s"]].iloc[0]
    assert next_owner["from_offset"] == late["committed_after"]
    assert next_owner["again"] > 0
    assert read["again"].sum() <= timeline.totals(history)["repeated"]


def test_an_offset_that_goes_back_between_two_samples_is_said_to():
    history = told("scala-range")
    steps = lifecycle.steps(history, 19_000)
    late = steps[steps["what"].str.startswith("a commits")].iloc[0]
    assert late["committed_before"] < late["committed_after"] and measure.set_back(history) == 0
    assert late["what"].endswith("the offset goes back, between two samples")


@pytest.mark.parametrize("fencing", [True, False])
def test_what_is_read_after_a_pause_is_read_after_the_others(fencing):
    history = told(fencing=fencing)
    read = measure.readings(history)
    assert read["member"].tolist()[:3] == ["a", "b", "a"] and read["from_s"].is_monotonic_increasing
    first, taken_over, on = read.iloc[0], read.iloc[1], read.iloc[2]
    assert (first["to_s"], on["from_s"]) == (20, 40) and on["from_offset"] == first["to_offset"]
    assert taken_over["again"] == first["to_offset"] - taken_over["from_offset"]
    assert on["again"] == on["to_offset"] - on["from_offset"]
    assert timeline.repeats(history)["records"].sum() == timeline.totals(history)["repeated"]


def test_a_session_decides_whether_a_member_is_given_up():
    cases = [(10, 20), (45, 20), (45, 55)]
    table = lifecycle.stale_commits(cases, timeline.Config(**SETTINGS), rate=20.0, seed=1)
    assert table["given_up"].tolist() == [True, False, True]
    assert table["answer"].tolist() == ["UNKNOWN_MEMBER_ID", "accepted", "UNKNOWN_MEMBER_ID"]
    back = table["back_unchecked"]
    assert back[1] == 0 < back[0] < back[2]
    assert (table["again"] <= table["again_unchecked"]).all()


@pytest.mark.parametrize(
    "session_s, away_s, said",
    [
        (10, 20, "sets the offset back by 826 records"),
        (15, 20, "sets nothing back, for nothing beyond it was committed yet"),
        (100, 110, "sets the offset back so little, or so shortly, that no sample shows it"),
    ],
)
def test_a_late_commit_is_a_step_whatever_it_sets_back(session_s, away_s, said):
    story = lifecycle.stale_commit(1000 * away_s, 200, session_ms=1000 * session_s)
    settings = SETTINGS | {"session_timeout_ms": 1000 * session_s}
    checked, unchecked = (
        timeline.run(story, timeline.Config(**settings, fencing=fencing), seed=1)
        for fencing in (True, False)
    )
    for history, word in ((checked, "UNKNOWN_MEMBER_ID"), (unchecked, "accepted")):
        steps = lifecycle.steps(history, 19_000)
        [late] = steps.loc[steps["what"].str.startswith("a commits"), "what"]
        assert word in late
    assert lifecycle.late_commit(unchecked, "a") == said


def test_stories_stand_beside_each_other_moment_by_moment():
    checked, unchecked = told(), told(fencing=False)
    moments, states = lifecycle.beside({"on": checked, "off": unchecked}, 19_000)
    assert len(moments) == len(states) and moments["time_s"].is_monotonic_increasing
    late = next(i for i, said in enumerate(moments["told"]) if "UNKNOWN_MEMBER_ID" in said)
    offset = [
        {title: int(of["committed"].replace(",", "")) for title, of in state.items()}
        for state in states
    ]
    assert moments["told"][0] == "20 s. In all: a stands still, heartbeats and all"
    assert offset[late]["on"] == offset[late - 1]["on"] == offset[late - 1]["off"]
    assert offset[late - 1]["off"] - offset[late]["off"] == measure.set_back(unchecked)
    assert states[late]["on"]["b"] == "t-0 t-1" and states[-1]["on"]["a"] == "t-0 t-1"


# ---- states and owners -------------------------------------------------------------------------


def test_states_follow_one_another_without_gaps():
    history = timeline.run(lifecycle.life(3_000), PLAIN, seed=1)
    states = measure.states(history)
    assert states["state"].iloc[0] == states["state"].iloc[-1] == "Empty"
    assert (states["from_s"].iloc[1:].to_numpy() == states["to_s"].iloc[:-1].to_numpy()).all()
    follows = set(zip(states["state"], states["state"].iloc[1:], strict=False))
    assert follows == {
        ("Empty", "PreparingRebalance"), ("PreparingRebalance", "CompletingRebalance"),
        ("CompletingRebalance", "Stable"), ("Stable", "PreparingRebalance"), ("Stable", "Dead"),
        ("Dead", "Stable"), ("PreparingRebalance", "Empty"),
    }  # fmt: skip
    first = states[states["state"] == "PreparingRebalance"].iloc[0]
    assert 3 <= first["to_s"] - first["from_s"] <= 6.01  # the initial delay, and once more for b


def test_a_group_goes_through_every_state_under_any_session():
    for session_ms in (6_000, 45_000):
        config = timeline.Config(session_timeout_ms=session_ms)
        states = measure.states(timeline.run(lifecycle.life(3_000, session_ms), config, seed=1))
        assert {"Empty", "PreparingRebalance", "Stable", "Dead"} <= set(states["state"])
        assert states["state"].iloc[-1] == "Empty"


def test_a_member_that_was_given_up_holds_on_until_it_learns_of_it():
    assert (
        9.5 < lifecycle.held_on_s(told(), "a") < 10.5
    )  # from the end of its session to its return


def test_a_second_owner_is_noticed():
    history = timeline.run(lifecycle.life(3_000), PLAIN, seed=1)
    assert lifecycle.owned_twice(history) == 0
    partitions, member, since, until, generation = history.owned[0]
    history.owned.append((partitions[:1], 1 - member, since[:1] + 1, until + 1, generation[:1]))
    assert lifecycle.owned_twice(history) > 0


def test_the_strategy_that_most_want_first_is_chosen_and_a_leader_is_replaced():
    lists = [["range", "roundrobin"], ["roundrobin", "range"], ["roundrobin", "range"]]
    decided = lifecycle.decisions(timeline.run(lifecycle.voting(lists), seed=1))
    assert decided["strategy"].tolist() == ["roundrobin", "roundrobin"]
    assert decided["by"].iloc[0] == "c0" and decided["by"].iloc[1] in ("c1", "c2")
    mine = lifecycle.decisions(timeline.run(lifecycle.voting([["range"]] * 3), seed=1))
    assert set(mine["strategy"]) == {"range"}


# ---- errors ------------------------------------------------------------------------------------


def test_every_mishap_ends_in_an_error_and_no_two_errors_are_mixed_up():
    table = lifecycle.reactions(lifecycle.mishaps())
    assert set(table["situation"]) == {case.what for case in lifecycle.mishaps()}
    assert set(lifecycle.ERRORS) == set(table["error"])
    over = table[table["generation"] == "over"]
    assert set(over["error"]) == {
        "FENCED_INSTANCE_ID", "UNRELEASED_INSTANCE_ID", "INCONSISTENT_GROUP_PROTOCOL"
    }  # fmt: skip
    assert over["back_s"].isna().all()
    assert (table[table["lost"] > 0]["generation"] == "reset").all()


def test_what_the_poll_interval_costs_is_not_put_down_to_the_refusal():
    table = lifecycle.reactions(lifecycle.mishaps())
    late = table["situation"].str.contains("max.poll.interval.ms")
    assert set(table[late]["error"]) == {"STALE_MEMBER_EPOCH", "CommitFailedException"}
    assert (table[late]["lost"] == 0).all() and (table[late]["lost_otherwise"] == 1).all()
    assert (table[late]["generation"] == "reset before").all()
    assert table[late]["reaction"].str.contains("max.poll.interval.ms exceeded").all()
    assert (table[~late]["lost_otherwise"] == 0).all()
    frozen = table[table["situation"].str.startswith("frozen")]
    assert (frozen["lost"] == 1).all() and (frozen["generation"] == "reset").all()


# ---- offsets and polls -------------------------------------------------------------------------


def test_poll_returns_on_enough_data_or_on_its_timeout():
    table = lifecycle.polling([20.0], [1, 4, 1000]).set_index("fetch_min_records")
    assert table.loc[1, "polls_per_s"] == pytest.approx(20, rel=0.02)
    assert table.loc[4, "records_per_poll"] == pytest.approx(4, rel=0.1)
    assert table.loc[1000, "polls_per_s"] == pytest.approx(2, rel=0.1)


def test_what_an_eager_member_gets_back_is_read_again_too():
    table = lifecycle.commits_before_rebalance(
        ["range", "sticky", "cooperative-sticky"], 5_000, range(2), rate=20.0
    )
    mean = table.groupby(["strategy", "way"])["repeated"].mean()
    alone = mean.xs("own commits, no listener", level="way")
    assert alone["range"] == alone["sticky"] > alone["cooperative-sticky"] > 0
    assert (mean.xs("own commits, listener commits", level="way") == 0).all()


@pytest.mark.slow
def test_without_a_commit_half_an_interval_is_read_again_of_what_is_given_up():
    alone, rate, of = "own commits, no listener", 20.0, {}
    for interval_ms in (1_000, 3_000, 5_000):  # heartbeats are 3 s and 5 s apart
        names = ["range", "server-uniform", "scala-range"]
        table = lifecycle.commits_before_rebalance(names, interval_ms, range(30), rate)
        half = rate * interval_ms / 2000
        of[interval_ms] = table[table["way"] == alone].groupby("strategy")["repeated"].mean()
        given_up = pd.Series({"range": 12, "server-uniform": 3, "scala-range": 12})
        assert of[interval_ms].to_dict() == pytest.approx((given_up * half).to_dict(), rel=0.25)
    assert (of[1_000] < of[3_000]).all() and (of[3_000] < of[5_000]).all()


def test_a_newcomer_finds_commits_of_every_age():
    table = lifecycle.commits_before_rebalance(["server-uniform"], 5_000, range(30), rate=20.0)
    again = table[table["way"] == "own commits, no listener"]["repeated"]
    assert again.min() < 0.5 * again.mean() and again.max() > 1.5 * again.mean()
    moments = {lifecycle.newcomer(20.0, 3, 12, s, 5_000).actions[-1].at_ms for s in range(30)}
    assert 10_000 < max(moments) - min(moments) < 15_000  # of 3 s and 5 s


# ---- delivery ----------------------------------------------------------------------------------


def test_trials_of_one_seed_have_the_same_crashes():
    one, other = (
        delivery.scenario(trial)
        for trial in delivery.grid(["range", "server-uniform"], ["auto commit"], [5], [3], [7])
    )
    assert one == other
    kinds = [action.kind for action in one.actions]
    assert kinds.count("crash") == kinds.count("return") > 3
    calm = delivery.grid(["range"], ["auto commit"], [5], [0], [7])[0]
    assert delivery.scenario(calm).actions == ()


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_a_transaction_that_is_open_at_the_end_is_not_given_up(strategy):
    calm = delivery.grid([strategy], ["transaction"], [5], [0], range(3), minutes=2.0)
    assert [delivery.play(trial)["aborted"] for trial in calm] == [0, 0, 0]


def test_metaq_is_played_with_its_own_settings():
    [trial] = delivery.grid(["metaq-default"], ["auto commit"], [5], [1], [0])
    config = delivery.config(trial)
    assert config.zookeeper_session_timeout_ms == 30_000 and config.rebalance_max_retries == 7
    assert delivery.sessions_in_words({"metaq-default": 30.0, "scala-range": 6.0}) == (
        "30 s, MetaQ's default, under ZooKeeper and 6 s, Kafka 0.8's default, under ZooKeeper"
    )


def test_a_longer_session_leaves_partitions_alone_for_longer():
    def without_owner(session_s):
        [trial] = delivery.grid(["range"], ["auto commit"], [5], [4], [7], {"range": session_s})
        return delivery.play(trial)["unowned_percent"]

    assert 0 < without_owner(10.0) < without_owner(45.0) < 100
    [usual] = delivery.grid(["range"], ["auto commit"], [5], [4], [7])
    [own] = delivery.grid(["range"], ["auto commit"], [5], [4], [7], session_s=10)
    assert own.session_s == 10 != usual.session_s
    assert delivery.config(usual).session_timeout_ms == timeline.Config().session_timeout_ms


def test_a_session_is_the_coordinators_or_zookeepers():
    sessions = {"range": 20.0, "scala-range": 8.0}
    for trial in delivery.grid(list(sessions), ["auto commit"], [5], [4], [7], sessions):
        config = delivery.config(trial)
        classic, server = config.session_timeout_ms, config.group_consumer_session_timeout_ms
        asked = 1000 * sessions[trial.strategy]
        assert classic == server == config.zookeeper_session_timeout_ms == asked
    short, long = (
        delivery.play(delivery.grid(["scala-range"], ["auto commit"], [5], [4], [7], at)[0])
        for at in ({}, {"scala-range": 45.0})
    )
    assert 0 < short["unowned_percent"] < long["unowned_percent"]


def test_after_one_crash_the_other_takes_over_at_one_moment_whatever_is_committed():
    batches = {"fetch_min_records": 100, "fetch_max_wait_ms": 3_000, "session_timeout_ms": 7_000}
    config = {"auto_offset_reset": "earliest", **batches}
    settings = [timeline.Config(**config, **settings) for settings, _ in delivery.WAYS.values()]
    histories = [timeline.run(delivery.one_crash(), given, "range", 0) for given in settings]
    assert len({delivery.takeover_s(history) for history in histories}) == 1
    [given_up] = [history for history in histories if history.config.commit == "transaction"]
    axes = Figure().subplots(2)
    for ax, history in zip(axes, (given_up, histories[0]), strict=True):
        offsets.offsets(history, ax, 20, 40)
        offsets.given_up(history, ax)
    marks = [[text.get_text() for text in ax.texts if "given up" in text.get_text()] for ax in axes]
    assert marks == [[f"{given_up.aborted} given up with the transaction"], []]
    assert given_up.aborted > 0


def test_new_partitions_are_noticed_by_who_watches_and_skipped_until_then():
    def skipped(strategy, reset="latest", **others):
        return [delivery.skipped_of_grown_topic(reset, s, strategy, **others) for s in range(3)]

    leader, coordinator, watch = map(skipped, ("range", "server-uniform", "scala-range"))
    assert min(leader) > 5 * max(coordinator) and min(coordinator) > 0 == max(watch)
    assert max(coordinator) <= 2 * 40 * 2 * 5  # two partitions, two heartbeats
    slower = skipped("range", rate=20.0)
    assert slower == pytest.approx([records / 2 for records in leader], rel=0.01)
    assert skipped("range", "earliest") == skipped("server-uniform", "earliest") == [0, 0, 0]


@pytest.mark.parametrize("way", delivery.WAYS)
def test_every_way_of_committing_keeps_its_promise(way):
    trials = delivery.grid(["range", "cooperative-sticky"], [way], [3], [6], range(3), minutes=3.0)
    frame = pd.DataFrame([vars(trial) | delivery.play(trial) for trial in trials])
    assert delivery.promises(frame)["kept"].all()
    why = delivery.reasons(frame).groupby("what")["records"].sum()
    assert why.get("repeated", 0) == frame["repeated"].sum()
    assert why.get("lost", 0) == frame["lost"].sum()
    broken = frame.assign(repeated=1, lost=1)
    assert not delivery.promises(broken)["kept"].any()


def test_a_transaction_counts_while_the_group_prepares_a_rebalance():
    [trial] = delivery.grid(["cooperative-sticky"], ["transaction"], [5], [0], [1])
    scenario = timeline.Scenario(
        topics=[timeline.Topic("t", 2, rate=50)],
        members=[timeline.Member("a", processing_ms=5.0), timeline.Member("b", processing_ms=5.0)],
        actions=[timeline.stall(22_000, "b", 8_000), timeline.join(22_000, timeline.Member("c"))],
        duration_ms=60_000,
    )
    history = timeline.run(scenario, delivery.config(trial), trial.strategy, trial.seed)
    log = history.events_frame()
    mine = log[(log["kind"] == "commit refused") & (log["member"] == "a")]
    assert not (mine["detail"] == "REBALANCE_IN_PROGRESS").any()
    after = timeline.run(
        scenario, timeline.Config(commit="after", fetch_min_records=40), trial.strategy, trial.seed
    ).events_frame()
    refused = after[(after["kind"] == "commit refused") & (after["member"] == "a")]
    assert set(refused["detail"]) == {"REBALANCE_IN_PROGRESS"}
