"""The planner on generated clusters: `python tests/bench/bench_planner.py`.

Pairs: a tenfold cluster / a small one, check / plan, exchange / flow, equal partitions of each rack
as one / one flow of all. And moves, ours / a peer's; the peers' are frozen, as they were counted on
the same clusters once.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

from pairs import compare, seconds, tell

sys.path.insert(0, str(Path(__file__).parents[1]))

from planner_vectors import generated_cluster
from rackwise.core.planning.apart import by_rack
from rackwise.core.planning.certificate import check
from rackwise.core.planning.choosing import by_flow
from rackwise.core.planning.fair import targets_of
from rackwise.core.planning.front import never, plan
from rackwise.core.planning.rules import Instance
from rackwise.core.planning.values import Balance
from rackwise.core.policy import Policy, TopicBlock

SPREAD = Policy(topics=(TopicBlock(match=("*",), topic_spread="even"),))
GENERATE_MOVES = 178_165
"""Moves of Kafka's `--generate` on the grown cluster of 303 brokers and 60,000 partitions."""
KAFKA_UTILS_MOVES = 5_284
"""Moves of Yelp's kafka-utils, replica and partition counts, on 60 brokers and 6,000 partitions."""
ROUNDS = 3


def main() -> None:
    """One line for each pair."""
    small = generated_cluster("random", 60, 3, 6_000, 3)
    large = generated_cluster("random", 300, 3, 60_000, 3)
    grown = generated_cluster("grown", 303, 3, 60_000, 3)
    lines = generated_cluster("grown", 63, 3, 6_000, 3)
    made = plan(grown)
    tell(
        "moves, grown 303 x 60,000: ours / --generate",
        made.totals.moves / GENERATE_MOVES,
        gate=round(1 / 90, 4),
    )
    tell(
        "moves, random 60 x 6,000: ours / kafka-utils",
        plan(small).totals.moves / KAFKA_UTILS_MOVES,
        gate=1,
    )
    spread = plan(grown, SPREAD)
    tell(
        "moves with topic spread, grown 303 x 60,000: ours / --generate",
        spread.totals.moves / GENERATE_MOVES,
        gate=1,
    )
    compare(
        "plan 300 x 60,000 / plan 60 x 6,000",
        lambda: plan(large),
        lambda: plan(small),
        gate=40,
        rounds=ROUNDS,
    )
    proved = plan(large)
    check_share = [
        seconds(lambda: check(large, Policy(), proved)) / seconds(lambda: plan(large))
        for _ in range(ROUNDS)
    ]
    tell("check / plan, 300 x 60,000", statistics.median(check_share), gate=0.1)
    compare(
        "exchange / flow, grown 63 x 6,000",
        lambda: plan(lines, solver="exchange"),
        lambda: plan(lines, solver="flow"),
        gate=20,
        rounds=ROUNDS,
    )
    million = generated_cluster("random", 300, 3, 1_000_000, 3)
    instance = Instance.of(million, Policy(), Balance())
    targets = targets_of(instance)
    apart = seconds(lambda: by_rack(instance, targets.ranges, should_stop=never))
    whole = seconds(lambda: by_flow(instance, targets, should_stop=never))
    tell(
        "sets of random 300 x 1,000,000: equal ones of each rack as one / one flow",
        apart / whole,
        gate=0.25,
    )


if __name__ == "__main__":
    main()
