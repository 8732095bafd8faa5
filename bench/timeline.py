"""How fast a group in simulated time is: ``python bench/timeline.py``.

A rolling restart of 100 members over 1,000 partitions with 1,000 records a second each, for ten
simulated minutes on one core: eager, cooperative, and the consumer protocol (KIP-848). Compiled
code is loaded before the clock runs. To reach: 10 s of processor time each, with the measures; the
wall time is printed beside it.
"""

import argparse
import sys
import time

from arguments import amount, whole

from assignlab import timeline

STRATEGIES = {"eager": "sticky", "cooperative": "cooperative-sticky", "KIP-848": "server-uniform"}
MOST_SECONDS = 10.0


def scenario(members: int, partitions: int, rate: float, minutes: float) -> timeline.Scenario:
    """A rolling restart that takes up most of the time."""
    names = [f"consumer-{number:03}" for number in range(members)]
    duration = round(minutes * 60_000)
    every = (duration - 90_000) // members
    return timeline.Scenario(
        topics=[timeline.Topic("orders", partitions, rate=rate)],
        members=[timeline.Member(name, processing_ms=0.02) for name in names],
        actions=timeline.rolling_restart(30_000, names, every_ms=every),
        duration_ms=duration,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--members", type=whole(), default=100)
    parser.add_argument("--partitions", type=whole(), default=1000)
    parser.add_argument(
        "--rate", type=amount(0), default=1000, help="records a second and partition"
    )
    parser.add_argument("--minutes", type=amount(2), default=10)
    parser.add_argument("--protocols", nargs="+", choices=STRATEGIES, default=list(STRATEGIES))
    asked = parser.parse_args()
    config = timeline.Config(auto_offset_reset="earliest", start_spread_ms=5000)
    slowest = 0.0
    for protocol in asked.protocols:
        timeline.run(scenario(4, 40, 100, 2), config, STRATEGIES[protocol])
        what = scenario(asked.members, asked.partitions, asked.rate, asked.minutes)
        wall, began = time.perf_counter(), time.process_time()
        history = timeline.run(what, config, STRATEGIES[protocol], seed=1)
        seconds = time.process_time() - began
        totals = timeline.totals(history)
        measured = time.process_time() - began - seconds
        wall = time.perf_counter() - wall
        slowest = max(slowest, seconds + measured)
        happened = history.calls + history.polls + history.commits
        print(
            f"{protocol} ({STRATEGIES[protocol]}): {seconds:.2f} s, {measured:.2f} s to measure "
            f"(wall {wall:.2f} s); "
            f"{happened / seconds:,.0f} events a second ({history.calls:,} calls, "
            f"{history.polls:,} polls, {history.commits:,} commits); "
            f"{asked.minutes * 60 / seconds:,.0f} simulated seconds in one; "
            f"{totals['rounds']} generations, {totals['unowned_ms'] / 1000:,.0f} partition-seconds "
            f"without an owner, {totals['delivered']:,} records delivered, "
            f"{totals['repeated']:,} of them again"
        )
    print(f"to reach: {MOST_SECONDS:.0f} s of processor time each; slowest {slowest:.2f} s")
    return 0 if slowest <= MOST_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
