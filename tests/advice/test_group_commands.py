"""The commands under ``assignlab group``: several groups, one of them, what is refused and how."""

import errno
import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from assignlab import compiled
from assignlab.advice import commands, happening, what_if
from assignlab.advice.report import Report
from assignlab.cli import main
from assignlab.local import java
from conftest import ALONE, EMPTY, EVEN, RECORDED, document

STATES = """
GROUP           COORDINATOR (ID) ASSIGNMENT-STRATEGY STATE  #MEMBERS
billing-more    h:1 (1)          range               Stable 3
"""


def asked(*arguments):
    """The outcome of a command under ``assignlab group``."""
    return CliRunner().invoke(main, ["group", *map(str, arguments)])


def complaints(said):
    """The lines on stderr, but for the one of a first run."""
    return [line for line in said.stderr.splitlines() if "compiling" not in line]


@pytest.fixture
def cluster(tmp_path):
    """A file of three groups, the first of which has no members."""
    path = tmp_path / "groups.jsonl"
    path.write_text("\n".join(json.dumps(group) for group in (EMPTY, EVEN, ALONE)))
    return path


@pytest.mark.parametrize(
    "question",
    [
        ("replicas", "--up-to", 2),
        ("what-if", "--event", "a topic more", "--strategy", "range"),
        ("recommend",),
    ],
)
def test_a_group_without_members_is_told_and_the_others_go_on(cluster, question):
    said = asked(*question, cluster, "--json")
    assert said.exit_code == 0
    assert [found["title"].split(",")[0] for found in json.loads(said.stdout)] == ["even", "alone"]
    assert complaints(said) == ["assignlab: empty has no members: there is nothing to assign"]


def test_a_group_whose_strategy_is_none_of_the_labs_is_named_and_the_others_go_on(tmp_path):
    members = [{"id": "a", "topics": ["t"], "owned": [["t", 0]]}]
    group = {"topics": [{"name": "t", "partitions": 1}], "members": members}
    (tmp_path / "two.jsonl").write_text(
        "\n".join(
            json.dumps({"group": name, "strategy": strategy, **group})
            for name, strategy in (("good", "range"), ("bad", "my-own"))
        )
    )
    said = asked("show", tmp_path / "two.jsonl")
    assert said.exit_code == 0
    assert "good, range" in said.stdout and "bad: unknown strategy 'my-own'" in said.stdout


def test_groups_without_a_name_are_told_as_such(tmp_path):
    group = json.dumps(
        {"topics": [], "members": [{"id": "a", "topics": [], "owned": []}], "strategy": "range"}
    )
    (tmp_path / "two.jsonl").write_text(f"{group}\n{group}\n")
    said = asked("replicas", tmp_path / "two.jsonl", "--up-to", "5000")
    assert said.exit_code == 1
    assert complaints(said)[0].startswith("assignlab: a group without a name: up to 5000 members: ")


def test_a_group_of_two_moments_does_not_keep_the_others_from_an_answer(tmp_path):
    first = (RECORDED / "classic-describe.txt").read_text()
    more = first.replace("billing-classic", "billing-more   ")
    later = first.replace("m1-cf047c56", "m9-cf047c56")
    for name, text in (("first", first + more), ("later", later), ("state", STATES)):
        (tmp_path / name).write_text(text)
    texts = [tmp_path / name for name in ("first", "later", "state")]
    said = asked("survey", *texts, "--json")
    assert said.exit_code == 0 and complaints(said) == []
    [found] = json.loads(said.stdout)
    why = {row["group"]: row["why_not"] for row in found["survey"]}
    assert why["billing-more"] is None
    assert "is held by m1-" in why["billing-classic"] and "of two moments" in why["billing-classic"]
    (tmp_path / "other").write_text(STATES.replace("range     ", "roundrobin"))
    said = asked("survey", *texts, tmp_path / "other", "--json")
    [doubt] = json.loads(said.stdout)[0]["inferred"]
    assert doubt.startswith(
        "billing-more: strategy: range and roundrobin are told, the first counts"
    )
    said = asked("what-if", *texts, "--event", "a crash", "--json")
    assert [one["title"].split(",")[0] for one in json.loads(said.stdout)] == ["billing-more"]
    assert said.exit_code == 0 and "of two moments" in complaints(said)[0]
    said = asked("show", *texts, "--group", "billing-classic")
    assert said.exit_code == 1 and "of two moments" in complaints(said)[0]


def test_a_survey_on_spark_without_java_is_refused_in_a_line(cluster, monkeypatch):
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", None)
    monkeypatch.setattr(java, "machine_java", lambda environ: (None, []))
    monkeypatch.setattr(java, "wheel_home", lambda: None)
    said = asked("survey", cluster, "--spark")
    assert said.exit_code == 2 and complaints(said) == [f"assignlab: {java.missing([])}"]


def test_text_and_json_and_a_page_are_told_one_at_a_time(cluster, tmp_path):
    said = asked("survey", cluster, "--json", "--html", tmp_path / "page.html")
    assert said.exit_code == 2 and "--json or --html FILE, not both" in said.stderr


def test_a_group_alone_that_cannot_be_asked_is_a_failure(cluster):
    said = asked("replicas", cluster, "--group", "empty")
    assert said.exit_code == 1 and len(complaints(said)) == 1
    for command in ("show", "survey"):  # which say why in their answer
        said = asked(command, cluster, "--group", "empty")
        assert said.exit_code == 0 and not said.stderr and "empty has no members" in said.stdout
    cluster.write_text("\n".join(json.dumps(EMPTY | {"group": name}) for name in "ab"))
    said = asked("replicas", cluster)
    assert said.exit_code == 1 and complaints(said)[-1].endswith("none of 2 groups can be asked")


@pytest.mark.parametrize("command", ["document", "show", "replicas", "recommend", "survey"])
def test_group_chooses_from_texts_too(cluster, command):
    options = [] if command == "document" else ["--json"]
    said = asked(command, cluster, "--group", "even", *options)
    assert said.exit_code == 0 and "even" in said.stdout and "alone" not in said.stdout


def test_a_document_has_the_strategy_of_the_client_that_the_ids_tell(tmp_path):
    ids = [f"sarama-{n}1111111-1111-1111-1111-111111111111" for n in "ab"]
    members = [{"id": name, "client": "sarama", "topics": ["t"]} for name in ids]
    told = {"group": "g", "strategy": "range", "topics": [{"name": "t", "partitions": 3}]}
    (tmp_path / "g.json").write_text(json.dumps(told | {"members": members}))
    said = asked("document", tmp_path / "g.json")
    assert json.loads(said.stdout)["strategy"] == "sarama-range"


def test_what_is_refused_in_an_option_is_exit_code_2_before_a_text_is_asked(cluster):
    refusals = {
        ("show", cluster, "--group", "evn"): "did you mean 'even'",
        ("what-if", cluster, "--event", "crash"): "did you mean 'a crash'",
        ("what-if", cluster, "--strategy", "rnge"): "did you mean 'range'",
        ("recommend", cluster, "--strategy", "rnge"): "did you mean 'range'",
        ("recommend", cluster, "--release", "5.0"): "knows no Kafka 5.0",
        (
            "survey",
            cluster,
            "--release",
            "5.0",
        ): "unknown release '5.0': the lab knows no Kafka 5.0",
        ("replicas", cluster, "--release", "0.7"): "it knows 0.8.0 to 4.4",
        ("replicas", cluster, "--set", "session.timeout=1"): "did you mean 'session.timeout.ms'",
        ("show", "no-such-file"): "No such file",
    }
    for command, why in refusals.items():
        said = asked(*command)
        assert (said.exit_code, why in said.stderr) == (2, True), command
        assert len(complaints(said)) == 1 and not said.stdout


def test_a_setting_is_given_once_and_with_its_value(cluster):
    for given, why in (("retries",), "expected NAME=VALUE"), (("a.b=1", "a.b=2"), "before, to 1"):
        said = asked("what-if", cluster, *(word for text in given for word in ("--set", text)))
        assert (said.exit_code, why in said.stderr) == (2, True) and not said.stdout


def test_where_nothing_can_be_written_no_file_is_named_and_head_may_have_enough(cluster):
    heard = []

    def fails(error):
        def say(text):
            raise error

        return commands.documents(commands.Sources([cluster]), commands.Told(say, heard.append))

    assert fails(OSError(errno.ENOSPC, "No space left on device")) == 2
    assert heard == ["No space left on device"]
    with pytest.raises(BrokenPipeError):
        fails(BrokenPipeError(errno.EPIPE, "Broken pipe"))


def test_a_strategy_that_a_release_lacks_is_exit_code_2(cluster):
    for command in ("replicas", "what-if"):
        options = ("--group", "even", "--strategy", "cooperative-sticky", "--release", "2.3")
        said = asked(command, cluster, *options)
        assert said.exit_code == 2 and "cooperative-sticky came with Kafka 2.4.0" in said.stderr


def test_a_time_apart_goes_with_a_later_text(cluster):
    said = asked("show", cluster, "--apart", 5)
    assert said.exit_code == 2 and "--apart goes with --then" in said.stderr


def test_help_lists_the_events():
    assert tuple(what_if.EVENTS) == happening.EVENTS
    told = " ".join(asked("what-if", "--help").output.split())
    assert all(name in told for name in happening.NAMES)


@pytest.mark.slow
def test_what_is_advised_is_there_to_be_done(tmp_path):
    nameless = tmp_path / "group.json"
    nameless.write_text(json.dumps({k: v for k, v in EVEN.items() if k != "strategy"}))
    only = ("--event", "a topic more")
    for command in (("replicas",), ("what-if", *only), ("recommend",)):
        said = asked(*command, nameless)
        assert said.exit_code == 1 and "--strategy NAME" in said.stderr
        assert asked(*command, nameless, "--strategy", "sticky").exit_code == 0
    rows = json.loads(asked("what-if", nameless, "--strategy", "sticky", "--json").stdout)
    events = [row["event"] for row in rows[0]["what_if"]]
    assert "switch" not in events and "two bounces" in events
    assert "--strategy" not in asked("survey", nameless).output


def test_a_group_that_rebalances_is_to_be_read_again():
    texts = sorted(RECORDED.glob("rebalancing-classic-*.txt"))
    said = asked("what-if", *texts)
    assert "--state" not in said.stderr, "which was given"
    assert "read it again when it is Stable" in said.stderr and "PreparingRebalance" in said.stderr
    said = asked("what-if", RECORDED / "rebalancing-classic-state.txt")
    assert "--describe" in said.stderr and "Stable" in said.stderr


def test_a_text_without_rows_says_so(tmp_path):
    misspelt = tmp_path / "misspelt.txt"  # as Kafka's tools print it up to 3.9
    misspelt.write_text("\nError: Consumer group 'ordres' does not exist.\n")
    for text in (misspelt, *RECORDED.glob("empty-members*.txt")):
        said = asked("show", text)
        assert said.exit_code == 1 and "the text has no row: the group has no" in said.stderr


@pytest.mark.slow
def test_a_small_group_is_shown_without_compiling_as_compiled_code_shows_it(tmp_path, monkeypatch):
    texts = [RECORDED / f"{name}.txt" for name in ("classic-describe", "classic-members-verbose")]
    command = [sys.executable, "-m", "assignlab", "group", "show", *map(str, texts)]
    nothing_compiled = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    shown = subprocess.run(command, env=nothing_compiled, capture_output=True, text=True)
    assert "would have given exactly this" in shown.stdout and shown.stderr == ""
    assert not any(tmp_path.rglob("*.nb?"))
    monkeypatch.setattr("assignlab.assignors.answer.SMALL", 0)
    assert asked("show", *texts).stdout == shown.stdout


@pytest.mark.parametrize(
    "partitions, seconds", [(12, commands.PATIENCE_S), (2_000, 0)], ids=["small", "large"]
)
def test_a_question_on_a_small_group_does_not_wait_for_what_could_be_compiled(partitions, seconds):
    def question(asked):
        assert compiled._as_python.get() == seconds
        return Report(asked["group"], [], [], [])

    group = document({"t": partitions}, [[]], "range", group="g")
    said = []
    told = commands.Told(said.append, said.append)
    assert commands.ask(commands.Sources([json.dumps(group)]), told, question) == 0
    assert said == ["g"]
