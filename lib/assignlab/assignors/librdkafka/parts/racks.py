"""Racks as librdkafka's assignors see them: the leader asks for the cluster's only where it must."""

import numpy as np

from assignlab.assignors.parts.racks import NumberedRacks, numbered_racks
from assignlab.group.model import Group


def racks_of_leader(
    group: Group, topics: np.ndarray, no_rack: tuple[str | None, ...] = (None, "")
) -> NumberedRacks:
    """:func:`~assignlab.assignors.parts.racks.numbered_racks` as the leader knows them: nothing
    where no member has a rack, since it does not ask for the cluster's then."""
    racks = group.members.racks
    if racks is None or not any(racks) or group.topics.racks is None:
        return NumberedRacks([], np.empty(0, dtype=np.int64), [])
    return numbered_racks(group, topics, no_rack)
