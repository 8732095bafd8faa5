"""Processes with consumers that end when nobody expects it."""

import pytest

from assignlab.proof.originals import OriginalsUnavailable
from assignlab.reality.hosts import Client, Host, Inbox


class Ended(Client):
    """A client whose process ends at once."""

    def command(self):
        return ["true"]


def test_a_process_that_is_gone_is_named_and_can_be_closed():
    with Host(Ended("librdkafka", "2.11.1"), "127.0.0.1:9092", Inbox()) as host:
        host._process.wait()
        with pytest.raises(OriginalsUnavailable, match="librdkafka 2.11.1: its process is gone"):
            host.tell("start", key="a")
