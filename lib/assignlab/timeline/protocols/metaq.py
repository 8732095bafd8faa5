"""MetaQ's consumers: as Kafka 0.8's, but only topics that changed are assigned anew.

After ConsumerZooKeeper of metamorphosis-client 1.4.6.2. A consumer compares, topic by topic, the
consumers and partitions with those at its last rebalance. Where nothing changed, nothing happens.
Otherwise it stops fetching, commits everything, and for each topic that changed gives up what it is
to lose and claims what is new. If a claim fails, all its partitions are released and everything is
forgotten, so that the next try, after ``zkSyncTimeMs`` (``rebalance_backoff_ms``), starts afresh;
after seven tries (``rebalance_max_retries``), seven times as many at its start and at the start of a
new session, it is left with nothing until a watch fires.
"""

import numpy as np

from assignlab.timeline.engine.log import EMPTY
from assignlab.timeline.protocols import zookeeper


class Client(zookeeper.Client):
    """MetaQ's consumer."""

    lacks = zookeeper.Client.lacks | {"pattern"}

    def __init__(self, *of_member):
        super().__init__(*of_member)
        self._seen: dict[int, tuple] = {}

    def _try(self, number: int) -> None:
        """One try: nothing at all where no topic changed."""
        if not self.in_group:
            return
        if number == 0 and self._seen and self._seen == self._seen_now():
            self._done()
            return
        super()._try(number)

    def _seen_now(self) -> dict[int, tuple]:
        """Consumers and number of partitions of every topic that this consumer subscribes to."""
        consumers = self.registry.consumers
        return {
            topic: (
                tuple(sorted(id for id, c in consumers.items() if topic in c.request.subscription)),
                int(self.world.cluster.partitions[topic]),
            )
            for topic in consumers[self.consumer_id].request.subscription
        }

    def _released(self, number: int) -> None:
        """Give up what goes to others; what stays is not even released."""
        if not self.in_group:
            return
        mine = self._mine()
        going = self.held[~self.log.among(self.held, mine)]
        self.let_go(going)
        self.clock.after(
            self._operations(going.size), self.in_time, self._release_and_claim, number, going, mine,
            self._seen_now(),
        )  # fmt: skip

    def _release_and_claim(self, number: int, going: np.ndarray, mine: np.ndarray, seen) -> None:
        if not self.in_group:
            return
        self.registry.release(self, going)
        new = mine[~self.log.among(mine, self.held)]
        if self.registry.claim(self, new):
            self._seen = seen
            self.clock.after(self._operations(1 + new.size), self.in_time, self._own, mine)
            return
        self.tell("error", new, "partitions are still owned by others")
        self.registry.release(self, self.held)
        self._seen = {}
        self.let_go(self.held, "a claim failed")
        self._failed(number)

    def _failed(self, number: int) -> None:
        tries = self.config.rebalance_max_retries
        if number + 1 < tries * (tries if self._first else 1):
            self.clock.after(self.config.rebalance_backoff_ms, self.in_time, self._try, number + 1)
        else:
            self.tell("error", EMPTY, "rebalance failed")
            self._done()

    def is_told(self, changed: set[int], known: tuple[int, ...]) -> bool:
        """Of a topic of its own that is gone, too."""
        return not changed.isdisjoint(known)

    def _new_session(self) -> None:
        self._seen, self._first = {}, True
        super()._new_session()
