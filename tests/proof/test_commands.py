"""One door to the proof: ``assignlab proof``, its commands and what they refuse."""

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from assignlab.assignors.answer import answer
from assignlab.cli import main
from assignlab.proof import fuzz, golden, originals, versions
from assignlab.published import museum

COMMANDS = {
    "judge", "golden", "museum", "scorecard", "versions", "clients", "defects", "partitioners",
    "random-groups", "reality",
}  # fmt: skip


def call(*words, **options):
    return CliRunner().invoke(main, words, **options)


def test_help_lists_every_command():
    listed = call("proof", "--help").output.partition("Commands:")[2]
    assert {line.split()[0] for line in listed.strip().splitlines()} == COMMANDS


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_says_what_it_does(command):
    result = call("proof", command, "--help")
    assert result.exit_code == 0 and result.output.count("\n") > 4


@pytest.mark.parametrize(
    ("words", "nearest"),
    [
        (["proof", "judge", "--defect", "partition-lozt"], "partition-lost"),
        (["proof", "defects", "half-lozt"], "half-lost"),
        (["verify", "--strategy", "stiky"], "sticky"),
        (["proof", "golden", "range", "stiky"], "sticky"),
        (["proof", "museum", "--record", "three claims"], "two claims"),
        (["fuzz", "--strategy", "rage"], "range"),
        (["assign", "--strategy", "rage@2.0"], "range@2.0"),
    ],
)
def test_a_wrong_name_is_refused_with_the_nearest_right_one(words, nearest):
    result = call(*words)
    assert result.exit_code == 2
    assert f"did you mean '{nearest}'?" in result.output and "Traceback" not in result.output


@pytest.mark.parametrize("other", [["--step", "3"], ["--hunt"], ["--ask"], ["--assignments", "9"]])
def test_options_of_fuzz_that_do_different_things_exclude_each_other(other):
    result = call("fuzz", "--defects", *other, "--strategy", "range")
    assert result.exit_code == 2 and "--defects" in result.output
    assert "exclude each other" in result.output


@pytest.mark.parametrize("words", [["verify"], ["proof", "golden"], ["proof", "museum"]])
def test_where_the_originals_cannot_run_the_reason_is_told(monkeypatch, tmp_path, words):
    monkeypatch.setattr(originals, "PROJECT", tmp_path / "nowhere")
    monkeypatch.setattr(originals, "java", lambda: "java")  # or its lack were told first
    result = call(*words)
    assert result.exit_code == 2 and "only in a checkout of the project" in result.output


class Ours:
    """Stands in for the originals."""

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        pass

    def ask(self, document):
        return answer(document)


@pytest.mark.parametrize("words", [["verify"], ["proof", "judge"]])
def test_without_java_that_is_told_before_maven_is_asked(monkeypatch, tmp_path, words):
    def no_java():
        raise originals.OriginalsUnavailable("no Java found")

    monkeypatch.setattr(originals, "java", no_java)
    monkeypatch.setattr(originals, "PROJECT", tmp_path / "nowhere")
    result = call(*words)
    assert (result.exit_code, result.output) == (2, "assignlab: no Java found\n")


def test_defects_are_planted_in_the_strategies_that_are_named(monkeypatch):
    planted = []
    monkeypatch.setattr(fuzz, "plant", lambda strategies, seed: planted.append(strategies) or {})
    for words in (["--strategy", "range"], []):
        assert call("fuzz", "--defects", *words).exit_code == 0
    assert planted == [["range"], fuzz.PLANTED_IN]


def test_of_a_name_with_a_release_all_releases_are_compared(monkeypatch):
    asked = []
    monkeypatch.setattr(versions, "compare", lambda strategy, *_: asked.append(strategy) or [])
    assert call("proof", "versions", "sticky@2.0", "range", "sticky").exit_code == 0
    assert asked == ["sticky", "range"]


def test_golden_records_the_strategies_that_are_named(monkeypatch, tmp_path):
    monkeypatch.setattr(golden, "Originals", Ours)
    result = call("proof", "golden", "range", "--states", "3", "--seed", "1", "--folder", tmp_path)
    assert result.exit_code == 0, result.output
    vectors = list(golden.read("range", tmp_path))
    assert len(vectors) >= 3 and vectors[0]["case"] == "1/0/0" and golden.recorded(tmp_path)
    assert vectors[0]["expected"]["assignment"] == answer(vectors[0])["assignment"]


def test_golden_records_nothing_where_the_original_was_not_asked(monkeypatch, tmp_path):
    refusal = {"error": "BadDocument: no strategy range"}
    monkeypatch.setattr(Ours, "ask", lambda self, document: refusal)
    monkeypatch.setattr(golden, "Originals", Ours)
    result = call("proof", "golden", "range", "--folder", tmp_path)
    assert result.exit_code == 2 and golden.recorded(tmp_path) == []
    told = "the original was not asked (oracle/README.md): BadDocument: no strategy range"
    assert result.output == f"assignlab: {told}\n"


@pytest.mark.parametrize("ending", [originals.OriginalDied, originals.OriginalTimedOut])
def test_an_original_that_gives_up_is_told_in_a_line(monkeypatch, tmp_path, ending):
    def ask(self, document):
        raise ending("Range ended with code 1: out of memory")

    monkeypatch.setattr(Ours, "ask", ask)
    monkeypatch.setattr(golden, "Originals", Ours)
    result = call("proof", "golden", "range", "--folder", tmp_path)
    assert result.exit_code == 2 and result.output.endswith("code 1: out of memory\n")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("npm error code ECONNREFUSED\nnpm error   port: 9\nnpm error A log: x.log\n", "npm error code ECONNREFUSED"),
        ("Error: LinkageError occurred\n\tat a.B.c(Error.java:1)\n", "Error: LinkageError occurred"),
        ("go: x@v1: connection refused\n", "go: x@v1: connection refused"),
        ("", "it does not say why"),
    ],
)  # fmt: skip
def test_a_tool_that_fails_is_told_in_one_line(monkeypatch, tmp_path, said, why):
    tool = tmp_path / "go"
    tool.write_text(f"#!{sys.executable}\nimport sys\nsys.exit({said!r})\n")
    tool.chmod(0o755)
    for folder in ("target", "clients/go"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "clients/go/go.mod").write_text("github.com/IBM/sarama v1.61.1\n")
    monkeypatch.setattr(originals, "PROJECT", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    result = call("verify", "--strategy", "sarama-range")
    assert result.exit_code == 2
    assert result.output == f"assignlab: sarama: go failed: {why}\n"


def test_an_original_that_ends_is_told_in_one_line():
    dying = "import sys; input(); print('[main] log', file=sys.stderr); raise KeyError(1)"
    original = originals.Original.__new__(originals.Original)
    original.command = [sys.executable, "-c", dying]
    original._start()
    with original, pytest.raises(originals.OriginalDied, match=r"ended with code 1: KeyError: 1$"):
        original.ask({})


def test_a_java_that_is_too_old_is_told(monkeypatch, tmp_path):
    old = tmp_path / "bin" / "java"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho 'java.home = /old'\necho 'java.version = 1.8.0_412'\n")
    old.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(old.parent))
    originals.java.cache_clear()
    with pytest.raises(originals.OriginalsUnavailable, match="1.8.0_412 .* is older than 17"):
        originals.java()


def test_the_museum_tells_of_answers_that_have_changed(monkeypatch):
    monkeypatch.setattr(museum, "Original", lambda system, release: Ours())
    monkeypatch.setattr(Ours, "ask", lambda self, document: {"error": "another"})
    result = call("proof", "museum", "two claims")
    first, *_, last = result.output.splitlines()
    assert result.exit_code == 1 and first == "asking kafka-clients 2.0.1, exhibits: 1"
    assert "changed: [" in last and "'two claims 4.4.0'" in last


def test_defects_answers_as_assign_does(tmp_path):
    group = b'{"strategy": "range", "topics": [{"name": "t", "partitions": 2}], "members": [{"id": "a", "topics": ["t"]}]}\n'
    right = call("assign", input=group).output
    assert '[["t", 0], ["t", 1]]' in right
    assert '"a": []' in call("proof", "defects", "nothing-assigned", input=group).output


def test_the_axis_of_releases_follows_from_the_strategies():
    axis = [release for _, release in versions.releases("cooperative-sticky")]
    assert axis[0] == "2.4.1" and axis[-1] == "4.4.0" and "3.9.2" in axis
    kafkas = {
        "range", "roundrobin", "sticky", "cooperative-sticky", "server-range", "server-uniform",
        "server-simple", "scala-range", "scala-roundrobin",
    }  # fmt: skip
    others = set(versions.compared()) - kafkas
    assert kafkas < set(versions.compared()) and "rocketmq-avg" in others
    page = (Path(__file__).parents[2] / "docs" / "versions.md").read_text(encoding="utf-8")
    for base in others:
        assert f"| {', '.join(release for _, release in versions.releases(base))} |" in page, base
