"""Real consumers of librdkafka, kafka-python or aiokafka in one process, as ``Members.java`` has Java's.

The same JSON lines, but that topics are created there: commands on standard input, what happens to
the members, with the moment in ms, on standard output. Settings have the names that Java's consumer
gives them. Run by the Python that has the client: ``members.py librdkafka HOST:PORT``.
"""

import asyncio
import importlib
import inspect
import json
import logging
import os
import queue
import re
import sys
import threading
import time
from concurrent.futures import wait

OUT = threading.Lock()


def tell(event):
    """One line of what happened."""
    with OUT:
        print(json.dumps(event), flush=True)


class Member(threading.Thread):
    """One consumer: a thread that polls, and between polls does what it is told."""

    def __init__(self, command):
        super().__init__(daemon=True)
        self.key = command["key"]
        self.start_with = command
        self.to_do = queue.SimpleQueue()
        self.poll_s = command.get("poll_ms", 50) / 1000
        self.processing_s = command.get("processing_ms", 0) / 1000
        self.consumer = None
        self.known = "", -1
        self.open = True

    def run(self):
        try:
            made = now()
            self.consumer = self.client(self.start_with["settings"])
            # Connections, and who the coordinator is: what a member joins with is there at the start.
            self.connect()
            self.tell("ready", made=made)
            self.to_do.get()
            self.subscribe(self.start_with)
            self.tell("started")
            while self.open:
                while self.open and not self.to_do.empty():
                    self.execute(self.to_do.get())
                if self.open:
                    self.poll()
                    if self.identity() != self.known:
                        self.tell("generation")
        except Exception as thrown:
            self.tell("fatal", error=type(thrown).__name__)

    def execute(self, command):
        what = command["do"]
        self.tell("does", what=what)
        if what == "close":
            self.close()
            self.open = False
            tell({"at": now(), "kind": "closed", "key": self.key})
        elif what == "stall":
            time.sleep(command["ms"] / 1000)
        elif what == "subscribe":
            self.subscribe(command)
        elif what == "unsubscribe":
            self.unsubscribe()
        else:
            raise ValueError(what)

    def close(self):
        self.consumer.close()

    def unsubscribe(self):
        self.consumer.unsubscribe()

    def tell(self, kind, **values):
        """An event of this member, with its id and generation as the client knows them now."""
        event = {"at": now(), "kind": kind, "key": self.key, **values}
        if self.consumer is not None:
            self.known = self.identity()
            event |= zip(("id", "generation"), self.known, strict=True)
        tell(event)

    def call(self, kind, partitions):
        """What the rebalance listener is told."""
        self.tell(kind, partitions=sorted(f"{p.topic}-{p.partition}" for p in partitions))


class Librdkafka(Member):
    """A consumer of confluent-kafka, which carries librdkafka."""

    JOINED = re.compile(
        r"JoinGroup response: GenerationId (\d+), .*\(no error\)"
        r"|ConsumerGroupHeartbeat response received .* with epoch (\d+)"
    )
    """Where the log says a generation: no call of confluent-kafka does."""

    def client(self, settings):
        from confluent_kafka import Consumer

        self.generation = -1
        log = logging.getLogger(f"{self.key} {id(self)}")
        log.setLevel(logging.DEBUG)
        log.addFilter(self.read_log)
        if age := settings.pop("metadata.max.age.ms", None):
            settings["topic.metadata.refresh.interval.ms"] = age
        settings.pop("max.poll.records", None)  # a poll has one record
        return Consumer(settings | {"debug": "cgrp"}, logger=log)

    def read_log(self, record):
        if found := self.JOINED.search(record.getMessage()):
            self.generation = int(found[1] or found[2])
        return False

    def connect(self):
        from confluent_kafka import TopicPartition

        self.consumer.committed([TopicPartition("none", 0)], 30)

    def identity(self):
        return self.consumer.memberid() or "", self.generation

    def subscribe(self, command):
        pattern = command.get("pattern") or command.get("broker_pattern")
        self.consumer.subscribe(
            [f"^{pattern}$"] if pattern else command["topics"],
            on_assign=lambda _, partitions: self.call("assigned", partitions),
            on_revoke=lambda _, partitions: self.call("revoked", partitions),
            on_lost=lambda _, partitions: self.call("lost", partitions),
        )

    def poll(self):
        message = self.consumer.poll(self.poll_s)
        if message is None:
            return
        if message.error() is not None:
            if message.error().name() == "_FATAL":  # which says of itself that it is not fatal()
                self.open = False
            self.tell("error" if self.open else "fatal", error=message.error().name())
            return
        time.sleep(self.processing_s)
        processed = (
            f"{message.topic()}-{message.partition()}",
            message.offset(),
            message.offset() + 1,
        )
        tell({"at": now(), "kind": "got", "key": self.key, "ranges": [processed]})


class KafkaPython(Member):
    """A consumer of kafka-python."""

    def client(self, settings):
        from kafka import KafkaConsumer

        return KafkaConsumer(**{n.replace(".", "_"): self.typed(n, v) for n, v in settings.items()})

    @staticmethod
    def typed(name, value):
        if name == "partition.assignment.strategy":
            places = (source.rsplit(".", 1) for source in value.split(","))
            return [getattr(importlib.import_module(place), one) for place, one in places]
        return {"true": True, "false": False}.get(value, value)

    def connect(self):
        from kafka import TopicPartition

        self.consumer.committed(TopicPartition("none", 0))

    def identity(self):
        known = self.consumer.group_metadata()
        return known.member_id or "", known.generation_id

    def subscribe(self, command):
        from kafka import ConsumerRebalanceListener

        listener = type("Listener", (ConsumerRebalanceListener,), {
            "on_partitions_assigned": lambda _, partitions: self.call("assigned", partitions),
            "on_partitions_revoked": lambda _, partitions: self.call("revoked", partitions),
            "on_partitions_lost": lambda _, partitions: self.call("lost", partitions),
        })()  # fmt: skip
        if pattern := command.get("pattern"):
            self.consumer.subscribe(pattern=pattern, listener=listener)
        else:
            self.consumer.subscribe(topics=command["topics"], listener=listener)

    def poll(self):
        self.process(self.consumer.poll(int(1000 * self.poll_s)))

    def process(self, given):
        """The records of a poll, one after the other."""
        for partition, records in given.items():
            for record in records:
                time.sleep(self.processing_s)
                of = [f"{partition.topic}-{partition.partition}", record.offset, record.offset + 1]
                tell({"at": now(), "kind": "got", "key": self.key, "ranges": [of]})


class Aiokafka(KafkaPython):
    """A consumer of aiokafka. Its loop has a thread of its own: whoever stalls awaits something else
    meanwhile, and blocks nothing."""

    def client(self, settings):
        from aiokafka import AIOKafkaConsumer

        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        values = {n.replace(".", "_"): self.typed(n, v) for n, v in settings.items()}
        consumer = self.have(AIOKafkaConsumer, **values)
        self.have(consumer.start)
        return consumer

    def have(self, call, *values, **named):
        """What a call gives that is made in the loop."""
        return self.begin(call, *values, **named).result()

    def begin(self, call, *values, **named):
        """A call that is made in the loop."""

        async def made():
            given = call(*values, **named)
            return await given if inspect.isawaitable(given) else given

        return asyncio.run_coroutine_threadsafe(made(), self.loop)

    @staticmethod
    def typed(name, value):
        """Strategies are classes of this member alone: what it was given is kept in the class, and a
        process has one member as a rule."""
        typed = KafkaPython.typed(name, value)
        if name == "partition.assignment.strategy":
            return [type(one.__name__, (one,), {}) for one in typed]
        return typed

    def connect(self):
        from aiokafka import TopicPartition

        self.have(self.consumer.committed, TopicPartition("none", 0))

    def identity(self):
        coordinator = self.consumer._coordinator
        return coordinator.member_id, coordinator.generation

    def subscribe(self, command):
        from aiokafka import ConsumerRebalanceListener

        listener = type("Listener", (ConsumerRebalanceListener,), {
            "on_partitions_assigned": lambda _, partitions: self.call("assigned", partitions),
            "on_partitions_revoked": lambda _, partitions: self.call("revoked", partitions),
        })()  # fmt: skip
        if pattern := command.get("pattern"):
            self.have(self.consumer.subscribe, pattern=pattern, listener=listener)
        else:
            self.have(self.consumer.subscribe, topics=command["topics"], listener=listener)

    def close(self):
        self.have(self.consumer.stop)

    def unsubscribe(self):
        self.have(self.consumer.unsubscribe)

    def poll(self):
        """In a rebalance it lasts until that is over; whoever is told something else cancels it."""
        given = self.begin(self.consumer.getmany, timeout_ms=int(1000 * self.poll_s))
        while not wait([given], 2 * self.poll_s).done:
            if not self.to_do.empty():
                given.cancel()
                return
        self.process(given.result())


def now():
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def main(client):
    kinds = {"librdkafka": Librdkafka, "kafka-python": KafkaPython, "aiokafka": Aiokafka}
    kind = kinds[client]
    members = {}
    for line in sys.stdin:
        command = json.loads(line)
        key = command["key"]
        if command["do"] == "prepare":
            members[key] = kind(command)
            members[key].start()
        else:
            members[key].to_do.put(command)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
