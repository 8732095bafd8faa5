"""Claims as the general sticky algorithm reads them: of several to one partition, two count."""

import numpy as np

from assignlab.assignors.parts.potential import NONE
from assignlab.compiled import leaf, njit
from assignlab.group.assignment import partition_of, topic_of


@leaf
def partition_number(first, count, code):
    """The number of a claimed partition, ``NONE`` if it does not exist or nobody may have it."""
    t, partition = topic_of(code), partition_of(code)
    return first[t] + partition if partition < count[t] else NONE


@njit
def partition_numbers(first, count, codes):
    """:func:`partition_number` of every code."""
    numbers = np.empty(codes.size, dtype=np.int64)
    for k in range(codes.size):
        numbers[k] = partition_number(first, count, codes[k])
    return numbers


@njit
def settle_claims(members, consumer, offsets, numbers, total, generation, last_counts):
    """Who claims every partition in the newest generation, and who in the one before.

    ``members``: int64[members] in the order of reading; ``consumer``: int64[members], their numbers;
    ``numbers``: int64[claims], which of ``total`` partitions each claim is about, or ``NONE``;
    ``generation``, ``last_counts``: of every member's claims, and whether the last claimant of one
    generation counts, not the first.

    Returns (first int64[...]: where each claimed partition is claimed first, in that order; current
    and previous consumer int64[total], ``NONE`` where there is none).
    """
    current = np.full(total, NONE)
    previous = np.full(total, NONE)
    newest = np.empty(total, dtype=np.int64)
    older = np.empty(total, dtype=np.int64)
    first = np.empty(numbers.size, dtype=np.int64)
    met = 0
    for member in members:
        m, mine = consumer[member], generation[member]
        for k in range(offsets[member], offsets[member + 1]):
            x = numbers[k]
            if x == NONE:
                continue
            if current[x] == NONE:
                first[met] = k
                met += 1
                current[x] = m
                newest[x] = mine
            elif mine == newest[x]:
                current[x] = m if last_counts[member] else current[x]
            elif mine > newest[x]:
                previous[x] = current[x]
                older[x] = newest[x]
                current[x] = m
                newest[x] = mine
            elif previous[x] == NONE or mine > older[x]:
                previous[x] = m
                older[x] = mine
            elif mine == older[x] and last_counts[member]:
                previous[x] = m
    return first[:met], current, previous


@njit
def keep_claimed(kind, topic, may, walked, claimant, previous):
    """The lists, filled in the order of a walk, of what claimants still subscribe to.

    ``walked``: int64[...], numbers of partitions, some perhaps beyond those that exist;
    ``claimant``, ``previous``: the consumer of each, and the one before.

    Returns (offsets, listed, owner) of :class:`~assignlab.assignors.parts.holdings.Current`, how many
    claimants do not subscribe any more, and whether a previous consumer does not.
    """
    offsets = np.zeros(kind.size + 1, dtype=np.int64)
    owner = np.full(topic.size, NONE)
    revoked = 0
    strange = False
    for x in walked:
        if x >= topic.size:
            continue
        if may[kind[claimant[x]], topic[x]]:
            owner[x] = claimant[x]
            offsets[owner[x] + 1] += 1
        else:
            revoked += 1
        if previous[x] != NONE and not may[kind[previous[x]], topic[x]]:
            strange = True
    for m in range(kind.size):
        offsets[m + 1] += offsets[m]
    fill = offsets[:-1].copy()
    listed = np.empty(offsets[-1], dtype=np.int64)
    for x in walked:
        if x < topic.size and owner[x] != NONE:
            listed[fill[owner[x]]] = x
            fill[owner[x]] += 1
    return offsets, listed, owner, revoked, strange


def last_claimants(codes: np.ndarray, claims: np.ndarray, claimants: np.ndarray) -> np.ndarray:
    """The last claimant of each of some partitions, ``NONE`` where there is none: int64[n].

    ``codes``: int64[n], each once; ``claims``, ``claimants``: int64[claims], claimants ascending.
    """
    last = np.full(codes.size, NONE)
    by_code = np.argsort(codes)
    place = np.searchsorted(codes, claims, sorter=by_code)
    there = place < codes.size
    there[there] = codes[by_code[place[there]]] == claims[there]
    np.maximum.at(last, by_code[place[there]], claimants[there])
    return last
