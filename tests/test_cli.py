"""The command line: what it cannot do is told in one line, exit code 2."""

import errno
import sys

import click
import pytest
from click.testing import CliRunner

from assignlab.cli import main


def refusal(*words):
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2 and not result.stdout
    return result.stderr


@pytest.mark.parametrize("command", ["assign", "optimum"])
def test_closed_standard_input_is_told(command, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(click.BadParameter, match="standard input is closed"):
        main.main([command], standalone_mode=False)


@pytest.mark.parametrize(
    "command", [["strategies"], ["doctor"], ["run", "00", "--scale", "smoke", "--list"]]
)
def test_a_full_disk_is_told(command, monkeypatch):
    def full(*_, err=False, file=None, **__):
        if not err and file is not sys.stderr:
            raise OSError(errno.ENOSPC, "No space left on device")
        told.extend(_)

    told = []
    monkeypatch.setattr("click.echo", full)
    monkeypatch.setattr("builtins.print", full)
    assert CliRunner().invoke(main, command).exit_code == 2
    assert told == ["assignlab: [Errno 28] No space left on device"]


def test_a_reader_that_has_enough_is_no_refusal(monkeypatch):
    def enough(*_, **__):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr("click.echo", enough)
    result = CliRunner().invoke(main, ["strategies"])
    assert result.exit_code == 1 and not result.stderr


@pytest.mark.parametrize("words", [["run", "--timeout"], ["group", "show", "-", "--apart"]])
@pytest.mark.parametrize("seconds", ["nan", "inf", "1e10"])
def test_seconds_are_a_number_that_time_may_have(words, seconds):
    said = refusal(*words, seconds)
    assert said == f"assignlab: {words[-1]}: expected at most 1e9 seconds, got {float(seconds):g}\n"


@pytest.mark.parametrize("command", ["replicas", "survey"])
def test_a_release_is_refused_alike_by_all_commands(command):
    said = refusal("group", command, "-", "--release", "nope")
    assert said == "assignlab: unknown release 'nope': expected a release such as 3.6 or 3.6.1\n"
