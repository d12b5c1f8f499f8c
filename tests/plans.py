"""Plans as values: one from which examples start, and a strategy for any plan."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from rackwise.adapters.files import policy_sha256, sealed
from rackwise.core.planning.model import (
    Add,
    Balance,
    BrokerGroup,
    Certificate,
    Cut,
    Drain,
    Fair,
    Leaders,
    MadeFrom,
    MonthlyChange,
    Move,
    Plan,
    Repair,
    Replace,
    SeenBroker,
    SetReplication,
    Steady,
    TopicPrice,
    Totals,
    Verdict,
)
from rackwise.core.racks import Rack
from strategies import NAMES, TEXTS, TOPIC_NAMES

if TYPE_CHECKING:
    from collections.abc import Mapping

POLICY = 'format = "rackwise.policy/1"\n'
SIZE = 13314398618
RACKS: Mapping[int, str] = {1: "/a", 2: "/a", 3: "/b", 4: "/c"}


def plan_of(**fields: object) -> Plan:
    """Two moves between four brokers, with the given fields replaced; sealed."""
    groups = (BrokerGroup(brokers=(1, 2, 3, 4), low=(1, 1, 1, 1), high=(2, 2, 2, 2), total=6),)
    plan = Plan(
        cluster_id="demo",
        made_from=MadeFrom(
            snapshot_sha256="ab" * 32,
            brokers={id_: SeenBroker(Rack(rack), None) for id_, rack in RACKS.items()},
            policy=POLICY,
            policy_sha256=policy_sha256(POLICY),
        ),
        goal=Balance(),
        minimise="moves",
        solver="flow 9.14",
        moves=(
            Move(
                topic="orders",
                partition=4,
                topic_id="4L6g3nShTeMCtKX86sw",
                before=(1, 2, 4),
                after=(1, 3, 4),
                bytes=SIZE,
                cross_bytes=SIZE,
                usd_nano=248_000_000,
                reasons=("spread-even",),
            ),
            Move(
                topic="orders",
                partition=5,
                topic_id="4L6g3nShTeMCtKX86sw",
                before=(3, 1, 9),
                after=(1, 3, 4),
                bytes=None,
                reasons=("dead-replica", "leader-balance"),
            ),
        ),
        totals=Totals(
            moves=2,
            repair_moves=2,
            partitions=2,
            partitions_at_least=2,
            leader_changes=1,
            bytes=SIZE,
            unknown_sizes=1,
            cross_bytes=SIZE,
            usd_nano=248_000_000,
            steady_before=Steady(cross_bytes_per_s=2000, usd_nano_per_day=3_000_000_000),
            steady_after=Steady(cross_bytes_per_s=1000, unknown_rates=1),
        ),
        fair=Fair(
            groups=groups,
            cuts=(Cut(brokers=(3, 4), least=4, reason="/a takes at most 1 per partition"),),
            topic_caps={"orders": {1: 2, 4: 2}},
            leader_groups=(
                BrokerGroup(brokers=(1, 2, 3, 4), low=(0, 0, 0, 0), high=(1, 1, 1, 1), total=2),
            ),
        ),
        certificates=(
            Certificate(
                objective="moves",
                unit="replica moves",
                groups=groups,
                cuts=(),
                prices={1: 0, 3: -1, 10: 2},
                topic_prices=(TopicPrice("orders", 1, 2, 3),),
                lower_bound=2,
            ),
        ),
        verdict=Verdict(cost=2, lower_bound=2, gap=0, is_legal=True, is_fair=True),
    )
    return sealed(replace(plan, **fields))


IDS = st.integers(0, 2**31 - 1)
COUNTS = st.integers(0, 2**63 - 1)
SIGNED = st.integers(-(2**63), 2**63 - 1)
FEW_IDS = st.lists(IDS, max_size=3, unique=True).map(tuple)
RACK = st.sampled_from(["/eu/a", "/eu", "use1-az1"]).map(Rack)
HASHES = st.text("0123456789abcdef", min_size=64, max_size=64)
GOALS = st.one_of(
    st.sampled_from([Repair(), Balance(), Leaders()]),
    st.builds(Drain, FEW_IDS, st.booleans()),
    st.builds(Replace, st.lists(st.tuples(IDS, IDS), max_size=2).map(tuple)),
    st.builds(
        SetReplication,
        st.lists(st.tuples(NAMES, st.integers(1, 32767)), max_size=2).map(tuple),
        st.booleans(),
    ),
    st.builds(Add, st.lists(st.tuples(IDS, RACK), max_size=2).map(tuple)),
)
GROUPS = st.builds(
    lambda rows, total: BrokerGroup(
        brokers=tuple(row[0] for row in rows),
        low=tuple(row[1] for row in rows),
        high=tuple(row[1] + row[2] for row in rows),
        total=total,
    ),
    st.lists(st.tuples(IDS, st.integers(0, 9), st.integers(0, 2)), max_size=3),
    COUNTS,
)
CUTS = st.builds(Cut, brokers=FEW_IDS, least=COUNTS, reason=TEXTS)
BY_BROKER = st.dictionaries(IDS, st.integers(0, 9), max_size=3)
CERTIFICATES = st.builds(
    Certificate,
    objective=NAMES,
    unit=NAMES,
    groups=st.lists(GROUPS, max_size=2).map(tuple),
    cuts=st.lists(CUTS, max_size=2).map(tuple),
    prices=st.dictionaries(IDS, SIGNED, max_size=3),
    topic_prices=st.lists(st.builds(TopicPrice, TOPIC_NAMES, IDS, COUNTS, COUNTS), max_size=2).map(
        tuple
    ),
    lower_bound=SIGNED,
)
STEADY = st.none() | st.builds(
    Steady,
    cross_bytes_per_s=COUNTS,
    usd_nano_per_day=st.none() | COUNTS,
    unknown_rates=COUNTS,
)
MONTHLY = st.none() | st.builds(
    MonthlyChange,
    replication_cross_bytes=st.none() | SIGNED,
    replication_usd_nano=st.none() | SIGNED,
    replication_reason=st.none() | TEXTS,
    unknown_rates=COUNTS,
    reads_usd_nano=st.none() | SIGNED,
    reads_reason=st.none() | TEXTS,
)
TOTALS = st.builds(
    Totals,
    **dict.fromkeys(
        (
            "moves",
            "repair_moves",
            "balance_moves",
            "partitions",
            "partitions_at_least",
            "leader_changes",
            "order_only",
            "bytes",
            "unknown_sizes",
            "cross_bytes",
        ),
        COUNTS,
    ),
    usd_nano=st.none() | COUNTS,
    steady_before=STEADY,
    steady_after=STEADY,
    monthly=MONTHLY,
)
VERDICTS = st.builds(
    Verdict,
    cost=SIGNED,
    lower_bound=SIGNED,
    gap=SIGNED,
    is_legal=st.booleans(),
    is_fair=st.booleans(),
    problems=st.lists(TEXTS, max_size=2).map(tuple),
    is_heuristic=st.booleans(),
)


@st.composite
def moves(draw: st.DrawFn, brokers: list[int]) -> tuple[Move, ...]:
    """Moves of distinct partitions onto these brokers."""
    keys = draw(st.lists(st.tuples(TOPIC_NAMES, IDS), max_size=3, unique=True))
    found = []
    for topic, partition in keys:
        after = draw(
            st.lists(st.sampled_from(brokers), min_size=1, max_size=4, unique=True).map(tuple)
        )
        before = draw(st.lists(IDS, min_size=1, max_size=4, unique=True).map(tuple))
        found.append(
            Move(
                topic=topic,
                partition=partition,
                topic_id=draw(st.none() | NAMES),
                before=before if before != after else (*after, max(after) ^ 1),
                after=after,
                bytes=draw(st.none() | COUNTS),
                cross_bytes=draw(st.none() | COUNTS),
                usd_nano=draw(st.none() | COUNTS),
                reasons=tuple(draw(st.lists(NAMES, max_size=2))),
            )
        )
    return tuple(found)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Any plan that a file can hold, sealed; it may be nonsense."""
    brokers = draw(st.lists(IDS, min_size=1, max_size=5, unique=True))
    policy = draw(TEXTS)
    return plan_of(
        cluster_id=draw(st.none() | NAMES),
        made_from=MadeFrom(
            snapshot_sha256=draw(st.just("") | HASHES),
            brokers={
                id_: SeenBroker(draw(st.none() | RACK), draw(st.none() | st.booleans()))
                for id_ in brokers
            },
            policy=policy,
            policy_sha256=policy_sha256(policy),
            topics=tuple(draw(st.lists(NAMES, max_size=2))),
            partitions=draw(st.dictionaries(NAMES, st.integers(1, 2**31 - 1), max_size=2)),
            prices=draw(TEXTS),
        ),
        goal=draw(GOALS),
        minimise=draw(st.sampled_from(["moves", "bytes", "usd"])),
        solver=draw(NAMES),
        moves=draw(moves(brokers)),
        totals=draw(TOTALS),
        fair=draw(
            st.builds(
                Fair,
                groups=st.lists(GROUPS, max_size=2).map(tuple),
                cuts=st.lists(CUTS, max_size=2).map(tuple),
                topic_caps=st.dictionaries(NAMES, BY_BROKER, max_size=2),
                leader_groups=st.lists(GROUPS, max_size=2).map(tuple),
            )
        ),
        certificates=tuple(draw(st.lists(CERTIFICATES, max_size=2))),
        verdict=draw(VERDICTS),
        hypothetical=draw(st.booleans()),
    )
