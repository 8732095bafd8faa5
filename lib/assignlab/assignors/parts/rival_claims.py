"""Claims as the general sticky algorithm reads them: of several to one partition, two count."""

import numpy as np

from assignlab.assignors.parts.potential import NONE
from assignlab.assignors.parts.slices import taken
from assignlab.compiled import inner, leaf
from assignlab.group.assignment import by_member, partition_of, topic_of
from assignlab.group.model import ABSENT

DEFAULT_GENERATION = -1


@leaf
def partition_number(first, count, code):
    """The number of a claimed partition, ``NONE`` if it does not exist or nobody may have it."""
    t, partition = topic_of(code), partition_of(code)
    return first[t] + partition if partition < count[t] else NONE


@inner
def partition_numbers(known, codes):
    """(:func:`partition_number` of every code, whether all of them exist)."""
    numbers = np.empty(codes.size, dtype=np.int64)
    all_exist = True
    for k in range(codes.size):
        numbers[k] = partition_number(known.first, known.count, codes[k])
        all_exist = all_exist and numbers[k] != NONE
    return numbers, all_exist


@inner
def settle_claims(known, offsets, generation, numbers, total, last_counts_in):
    """Who claims every partition in the newest generation, and who in the one before.

    ``numbers``: int64[claims], which of ``total`` partitions each claim is about, or ``NONE``;
    ``generation``: of every member's claims; ``last_counts_in``: the one in which the last claimant
    counts, not the first.

    Returns (first int64[...]: the claimed partitions in the order in which they are first claimed;
    current and previous consumer int64[total], ``NONE`` where there is none).
    """
    current = np.full(total, NONE)
    previous = np.full(total, NONE)
    newest = np.empty(total, dtype=np.int64)
    older = np.empty(total, dtype=np.int64)
    first = np.empty(numbers.size, dtype=np.int64)
    met = 0
    for m in known.as_read:
        member = known.by_id[m]
        mine = generation[member]
        last_counts = mine == last_counts_in
        if mine == ABSENT:
            mine = DEFAULT_GENERATION
        for k in range(offsets[member], offsets[member + 1]):
            x = numbers[k]
            if x == NONE:
                continue
            if current[x] == NONE:
                first[met] = x
                met += 1
                current[x] = m
                newest[x] = mine
            elif mine == newest[x]:
                current[x] = m if last_counts else current[x]
            elif mine > newest[x]:
                previous[x] = current[x]
                older[x] = newest[x]
                current[x] = m
                newest[x] = mine
            elif previous[x] == NONE or mine > older[x]:
                previous[x] = m
                older[x] = mine
            elif mine == older[x] and last_counts:
                previous[x] = m
    return first[:met], current, previous


@leaf
def last_claimants(known, owner, order, offsets, codes):
    """The owner of every claimed partition: its last claimant in that order, subscribed or not."""
    by_id, first, count = known.by_id, known.first, known.count
    for m in order:
        for k in range(offsets[by_id[m]], offsets[by_id[m] + 1]):
            i = partition_number(first, count, codes[k])
            if i != NONE:
                owner[i] = m


@inner
def keep_claimed(known, walked, claimant, previous):
    """The lists, filled in the order of a walk, of what claimants still subscribe to.

    ``walked``: int64[...], numbers of partitions, some perhaps beyond those that exist;
    ``claimant``, ``previous``: the consumer of each, and the one before.

    Returns (offsets, listed, owner) of :class:`~assignlab.assignors.parts.holdings.Current`, how
    many claimants do not subscribe any more, and whether a previous consumer does not.
    """
    kind, topic, may = known.kind, known.topic, known.may
    owner = np.full(topic.size, NONE)
    kept = np.empty(walked.size, dtype=np.int64)
    n = revoked = 0
    strange = False
    for x in walked:
        if x >= topic.size:
            continue
        if may[kind[claimant[x]], topic[x]]:
            owner[x] = claimant[x]
            kept[n] = x
            n += 1
        else:
            revoked += 1
        if previous[x] != NONE and not may[kind[previous[x]], topic[x]]:
            strange = True
    offsets, listed = by_member(taken(owner, kept[:n]), kept[:n], kind.size)
    return offsets, listed, owner, revoked, strange
