"""franz-go's published distance from the optimum, by its own groups: ``python bench/franz_go.py``.

franz-go's sticky_oracle_test.go (commits 632e6d82 and 4527ad08, July 2026) makes eleven groups: every
member reads all topics or a few, balances, comes back with what it got; in some groups as many
members join, in some one joins that reads only the first topics. Published: no partition moves that
could stay, but for narrow subscriptions (3 of 60 topics), where about 2 %, 69 of 2,900, did before
its repair.

Printed per group and strategy: partitions, moves, how many of these are too many for the sizes that
the strategy gave its members (which is franz-go's measure; by OR-Tools' min-cost flow), and the regrets
against the proven optimum, where members may exchange sizes too. franz-go is asked live in 1.21.7, the
last release before the repair, and 1.22.2, the worst of five answers, since it walks Go maps; both
are left out without the Go toolchain. Strategies of the lab may be named instead:

    python bench/franz_go.py sticky server-uniform
"""

import argparse
from collections.abc import Callable
from itertools import islice
from typing import Any, NamedTuple

from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

from assignlab import assignors
from assignlab.group.document import lists, parse
from assignlab.optimum import optimum, regret
from assignlab.proof.originals import Original, OriginalsUnavailable, client
from assignlab.published.museum import drawn
from assignlab.replay.rebalance import settled

FRANZ_GO = ("1.21.7", "1.22.2")
ASKED = 5
OURS = ("sticky", "kafka-python-sticky", "server-uniform")
Ask = Callable[[dict[str, Any]], dict[str, Any]]


class Shape(NamedTuple):
    """``reads``: topics of each member, 0 for all; ``double``: as many again join; ``odd``: how many
    of the first topics one more member reads, 0 where there is none (drawn by Go's generator, seed 1)."""

    topics: int
    partitions: int
    members: int
    reads: int = 0
    double: bool = False
    odd: int = 0


SHAPES = {
    "classic/rejoin": Shape(20, 120, 40),
    "classic/rejoin+divergent": Shape(20, 120, 40, odd=6),
    "classic/doubled+divergent": Shape(20, 120, 20, double=True, odd=6),
    "manytopics/rejoin+divergent": Shape(120, 12, 40, odd=70),
    "manytopics/doubled+divergent": Shape(120, 12, 20, double=True, odd=70),
    "wide/doubled+divergent": Shape(40, 60, 20, double=True, odd=24),
    "subset/rejoin": Shape(40, 40, 40, reads=6),
    "subset/doubled": Shape(40, 40, 20, reads=6, double=True),
    "subset/doubled+divergent": Shape(40, 40, 20, reads=6, double=True, odd=13),
    "subset/narrow+doubled": Shape(60, 50, 30, reads=3, double=True),
    "subset/wide-overlap+doubled": Shape(30, 60, 20, reads=12, double=True),
}
DRAWS = (
    "202210121021021202222021011100102202010011101011100100112012200012222210220011120011212221210101"
    "001201022211010112012100210010211000120122000211222222111121001210100000010020211002101020001122"
    "200120220021222010102010121001212011121210211200000202211011212202102120202121211000000201012121"
    "121020012002201211121121120000000211012110110010111101010120212000200001122020200201000021021202"
    "020200111112211001000000201211022202200211101211000201222000000221222012101210102220011012001011"
)
"""What Go's rand.New(rand.NewSource(1)) says when asked for Intn(3) again and again."""


def read_by(shape: Shape) -> list[list[str]]:
    """What each member reads, those included that join later."""
    names = [f"topic-{t}" for t in range(shape.topics)]
    if not shape.reads:
        return [names] * (2 * shape.members)
    draws = map(int, DRAWS)
    return [
        [
            names[(i * shape.reads + j * 7 + draw) % shape.topics]
            for j, draw in enumerate(islice(draws, shape.reads))
        ]
        for i in range(2 * shape.members)
    ]


def rebalanced(shape: Shape, strategy: str, ask: Ask) -> tuple[dict, dict]:
    """(the second group as a document, its answer): the first answer is what members claim."""
    topics = [{"name": f"topic-{t}", "partitions": shape.partitions} for t in range(shape.topics)]
    reads = read_by(shape)
    members = [{"id": f"c-{i}", "topics": reads[i]} for i in range(shape.members)]
    held = ask({"strategy": strategy, "topics": topics, "members": members})["assignment"]
    for member in members:
        member |= {"owned": held[member["id"]], "generation": 1, "sub_generation": 1}
    if shape.double:
        joining = enumerate(reads[shape.members :])
        members += [{"id": f"new-{i}", "topics": wanted} for i, wanted in joining]
    if shape.odd:
        members.append({"id": "odd", "topics": [f"topic-{t}" for t in range(shape.odd)]})
    document = {"strategy": strategy, "topics": topics, "members": members}
    return document, ask(document)


def fewest_moves(document: dict, sizes: dict[str, int]) -> int:
    """The fewest partitions that must leave their owners if every member is to have its size."""
    topic = {t["name"]: i for i, t in enumerate(document["topics"])}
    flow, sink = SimpleMinCostFlow(), len(topic) + len(document["members"])
    wanted, claimed = set(), [0] * len(topic)
    for m, member in enumerate(document["members"], len(topic)):
        owned = [name for name, _ in member.get("owned", ())]
        for name in set(member["topics"]):
            wanted.add(name)
            keeps = owned.count(name)
            claimed[topic[name]] += keeps
            for room, price in ((keeps, 0), (document["topics"][0]["partitions"], 1)):
                flow.add_arc_with_capacity_and_unit_cost(topic[name], m, room, price)
        flow.add_arc_with_capacity_and_unit_cost(m, sink, sizes[member["id"]], 0)
        flow.set_node_supply(m, 0)
    free = 0
    for name in wanted:
        partitions = document["topics"][topic[name]]["partitions"]
        flow.set_node_supply(topic[name], partitions)
        free += partitions - claimed[topic[name]]
    flow.set_node_supply(sink, -sum(sizes.values()))
    assert flow.solve() == flow.OPTIMAL
    return flow.optimal_cost() - free  # what nobody claims costs one too, but does not move


def row(shape: Shape, strategy: str, ask: Ask) -> tuple[int, int, int, int, int]:
    """(partitions, moves, too many of them at the strategy's sizes, moves regret, gap regret)."""
    document, given = rebalanced(shape, strategy, ask)
    group, assignment = drawn(document, given)
    found = regret(group, assignment, optimum(group))
    sizes = {member: len(pairs) for member, pairs in given["assignment"].items()}
    own = found.moves - fewest_moves(document, sizes)
    return sum(sizes.values()), found.moves, own, found.moves_regret, found.gap_regret


def of_lab(document: dict[str, Any]) -> dict[str, Any]:
    """What a strategy of the lab answers, a cooperative one once its rounds are over."""
    group = parse(document)
    return {"assignment": lists(group, settled(group, assignors.get(document["strategy"])))}


def main(names: list[str]) -> None:
    asked: list[tuple[str, str, Ask, int]] = [(name, name, of_lab, 1) for name in names or OURS]
    for release in () if names else FRANZ_GO:
        try:
            ask = Original(client("franz-go", release), release).ask
        except OriginalsUnavailable as why:
            print(f"franz-go {release} cannot be asked: {why}")
            continue
        asked.append((f"franz-go {release}", "franz-go-sticky", ask, ASKED))
    print("| group | strategy | partitions | moves | too many | % | moves regret | gap regret |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for group, shape in SHAPES.items():
        for told, strategy, ask, times in asked:
            worst = max((row(shape, strategy, ask) for _ in range(times)), key=lambda r: r[2])
            partitions, moves, own, *regrets = worst
            cells = partitions, moves, own, f"{100 * own / partitions:.2f}", *regrets
            print(f"| {group} | {told} | {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    from arguments import strategy_name

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "strategies", nargs="*", type=strategy_name, help="of the lab; else the usual ones"
    )
    main(parser.parse_args().strategies)
