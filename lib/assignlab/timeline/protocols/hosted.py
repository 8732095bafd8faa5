"""The broker that coordinates a group, and another one that takes over from it."""

from assignlab.timeline.engine.world import World
from assignlab.timeline.protocols.errors import (
    COORDINATOR_LOAD_IN_PROGRESS,
    FENCED_INSTANCE_ID,
    NOT_COORDINATOR,
    UNKNOWN_MEMBER_ID,
)


class Hosted:
    """A coordinator on one of the brokers.

    Whoever leads the group's partition of the offsets topic coordinates it, and knows what is
    written there. Clients learn that it is another one from the answer to their next request.
    ``static``: member ids by instance id.
    """

    def __init__(self, world: World):
        self.world = world
        self.clock = world.clock
        self.config = world.config
        self.available = True
        self.static: dict[str, str] = {}

    def unreached(self, client) -> str | None:
        """The error of a request that this client sends to a broker without the group."""
        if client.coordinator_known != self.world.coordinator:
            return NOT_COORDINATOR
        return None if self.available else COORDINATOR_LOAD_IN_PROGRESS

    def _validate_instance(self, member_id: str, instance: str | None) -> str | None:
        """The error of a request that a static member sends, if another one has its instance id."""
        if instance is None:
            return None
        if instance not in self.static:
            return UNKNOWN_MEMBER_ID
        return None if self.static[instance] == member_id else FENCED_INSTANCE_ID

    def answer(self, client, call, *values) -> None:
        """Send an answer to a client."""
        self.clock.after(self.config.latency_ms, client.in_time, call, *values)

    def move(self) -> None:
        """Another broker takes over: what was written to the offsets topic is all it knows."""
        self.world.play_commits()
        self.available = False
        self.world.coordinator += 1
        self.unload()
        self.world.judge_commits()
        self.clock.after(self.config.coordinator_load_ms, self._take_over, self.world.coordinator)

    def _take_over(self, coordinator: int) -> None:
        if coordinator != self.world.coordinator:
            return  # it has moved on meanwhile
        self.world.play_commits()
        self.available = True
        self.load()
        self.world.judge_commits()

    def unload(self) -> None:
        """Answer whoever waits; timers are the old broker's (onUnloaded)."""

    def load(self) -> None:
        """Sessions begin anew (onLoaded)."""
