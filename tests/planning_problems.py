"""Small planning problems in which all constraints collide, for laws about plans."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import reject
from hypothesis import strategies as st

from laws_planning import check_minimal, check_plan
from naive_plan import of_goal
from rackwise.core.errors import Infeasible, InvalidPolicy
from rackwise.core.model import Broker, Cluster, LogDir, Partition, PartitionTable, Topic
from rackwise.core.planning.leaders.expected import with_steady_costs
from rackwise.core.planning.model import (
    Add,
    Balance,
    Drain,
    Goal,
    Minimise,
    Repair,
    Replace,
    SetReplication,
)
from rackwise.core.planning.plan import plan
from rackwise.core.planning.problem.goal_instance import instance_of
from rackwise.core.policy import (
    AtLeast,
    BalancePolicy,
    BrokerPolicy,
    Policy,
    RackCount,
    Slack,
    TopicBlock,
    check_policy,
)
from rackwise.core.racks import Rack
from rackwise.core.traffic import Price
from strategies import racks_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from naive_plan import Question
    from rackwise.core.planning.model import Plan, Solver
    from rackwise.core.planning.problem.instance import Instance
    from rackwise.core.policy import Spread

TREES = st.sampled_from(
    [
        ("a", "b"),
        ("a", "b", "c"),
        ("a",),
        ("/e/a", "/e/b", "/w/a"),
        ("/e/a", "/e/b", "/w/a", "/w/b"),
        ("/e", "/w"),
    ]
)


class Problem(NamedTuple):
    """What a plan is requested for."""

    cluster: Cluster
    policy: Policy
    goal: Goal
    minimise: Minimise
    per_byte: Mapping[str, tuple[int, int]]
    """Nano-dollars out and in, by the level at which two racks part."""

    @property
    def prices(self) -> tuple[Price, ...]:
        """The price rows."""
        return _price_rows(self.per_byte)

    @property
    def question(self) -> Question:
        """The same for the slow planner."""
        return of_goal(
            self.cluster,
            self.policy,
            self.goal,
            minimise=self.minimise,
            usd=self._nano_dollars,
            day=lambda leader, target, rate: self._nano_dollars(leader, target, rate * DAY_S),
        )

    @property
    def instance(self) -> Instance:
        """The same as columns."""
        instance = instance_of(*self[:3], minimise=self.minimise, prices=self.prices)
        return with_steady_costs(instance, self.prices)

    def plan(self, solver: Solver) -> Plan:
        """The plan that the solver finds."""
        return plan(*self[:3], minimise=self.minimise, prices=self.prices, solver=solver)

    def _nano_dollars(self, leader: Rack | None, target: Rack | None, bytes_: int) -> int:
        if leader is None or target is None or leader == target:
            return 0
        if len(target.levels) == 1:
            return sum(self.per_byte["zone"]) * bytes_
        is_near = leader.levels[0] == target.levels[0]
        return sum(self.per_byte["level2" if is_near else "level1"]) * bytes_


DAY_S = 86_400
PER_BYTE = {"level1": (30, 20), "level2": (10, 1), "zone": (10, 10)}


def _price_rows(per_byte: Mapping[str, tuple[int, int]]) -> tuple[Price, ...]:
    return tuple(_price_row(level, *prices) for level, prices in per_byte.items())


def _price_row(level: str, out: int, into: int) -> Price:
    return Price(
        provider="test",
        region="*",
        level=level,
        kind="*",
        nano_usd_per_gb_out=out,
        nano_usd_per_gb_in=into,
        gb_bytes=1,
        valid_from=date(2020, 1, 1),
        valid_to=None,
        source="test",
        is_checked=True,
        row=level,
    )


PRICES = _price_rows(PER_BYTE)


@st.composite
def small_worlds(draw: st.DrawFn, *, has_rates: bool) -> Cluster:
    """At most 6 brokers and 4 partitions of 1 to 3 replicas, some brokers dead."""
    racks = draw(TREES)
    ids = draw(st.lists(st.integers(1, 9), min_size=3, max_size=6, unique=True))
    names = draw(st.lists(st.sampled_from(["a", "b"]), min_size=4, max_size=4))
    rows = []
    for number, name in enumerate(sorted(names[: draw(st.integers(1, 4))])):
        most = min(draw(st.sampled_from([2, 3, 3, 4])), len(ids) - 1)
        replicas = tuple(
            draw(st.lists(st.sampled_from(ids), min_size=1, max_size=most, unique=True))
        )
        leader = draw(st.sampled_from([replicas[0], None]))
        rows.append(
            Partition(
                topic=name,
                partition=number,
                replicas=replicas,
                leader=leader,
                isr=replicas,
                bytes=draw(st.sampled_from([0, 1, 2, 8])),
                bytes_in_per_s=draw(RATES) if has_rates else None,
            )
        )
    return Cluster(
        cluster_id="small",
        taken_at="2026-11-21T08:30:00Z",
        brokers=tuple(
            Broker(
                id=id_,
                rack=Rack(draw(st.sampled_from(racks))),
                is_live=draw(ALIVE),
                log_dirs=draw(FOLDERS),
            )
            for id_ in sorted(ids)
        ),
        topics={row.topic: Topic(name=row.topic, min_insync_replicas=1) for row in rows},
        partitions=PartitionTable.of(rows),
    )


RATES = st.sampled_from([None, 0, 1, 2, 3, 10, 1000])
ALIVE = st.integers(0, 11).map(bool)
OPEN, CORDONED = LogDir(path="/a"), LogDir(path="/b", is_cordoned=True)
FOLDERS = st.sampled_from([(), (), (), (), (), (), (), (OPEN, CORDONED), (CORDONED,)])


@st.composite
def blocks(draw: st.DrawFn, cluster: Cluster, levels: tuple[str, ...]) -> TopicBlock:
    """Rules for all topics, or for one."""
    ids = [broker.id for broker in cluster.brokers]
    usual: list[Spread] = ["even", "even", "even", "even", "distinct", "off"]
    distances: list[Spread] = ["off", AtLeast(2), AtLeast(3)]
    rule = st.sampled_from(draw(st.sampled_from([usual, usual, distances])))
    counted = draw(st.lists(st.sampled_from(racks_of(cluster)), max_size=2, unique=True))
    limits = st.sampled_from([(0, 1), (1, 1), (1, 2), (0, 0), (2, 2), (0, None)])
    has_count = draw(st.integers(0, 7)) == 0
    pins = st.dictionaries(
        st.integers(0, 3),
        st.lists(st.sampled_from(ids), min_size=1, max_size=2, unique=True).map(tuple),
    )
    return TopicBlock(
        match=(draw(st.sampled_from(["*", "*", "a"])),),
        spread={level: draw(rule) for level in levels},
        topic_spread=draw(st.sampled_from([None, "off", "even"])),
        replication=draw(st.sampled_from([None, None, None, None, 2, 3])),
        count=tuple(
            RackCount(rack=rack, min=low, max=high)
            for rack in counted
            for low, high in [draw(limits)]
        )
        if has_count and counted
        else None,
        count_others=draw(st.sampled_from([None, "none"])) if has_count else None,
        pin=draw(pins) if draw(st.integers(0, 5)) == 0 else None,
        exclude=draw(st.sampled_from([None, None, None, None, None, True, False])),
    )


@st.composite
def plan_policies(draw: st.DrawFn, cluster: Cluster) -> Policy:
    """A policy for the planner; combinations that no plan can satisfy are discarded."""
    depth = max(len(broker.rack.levels) for broker in cluster.brokers if broker.rack)
    levels = ("zone",) if depth == 1 else ("level1", "level2")
    ids = [broker.id for broker in cluster.brokers]
    few = st.sampled_from([(), (), (), (ids[0],)])
    weights = st.dictionaries(st.sampled_from(ids), st.integers(1, 3), max_size=3)
    policy = Policy(
        brokers=BrokerPolicy(
            drain=draw(few),
            exclude=draw(few),
            weights=draw(weights) if draw(st.integers(0, 2)) == 0 else {},
        ),
        balance=BalancePolicy(
            replicas=draw(st.sampled_from(["even", "even", "even", "off", Slack(1)]))
        ),
        topics=tuple(draw(st.lists(blocks(cluster, levels), max_size=2))),
    )
    try:
        check_policy(policy, cluster)
    except InvalidPolicy:
        reject()
    return policy


@st.composite
def goals(draw: st.DrawFn, cluster: Cluster, *, is_limited: bool = False) -> Goal:
    """Any goal for which the cluster has the brokers; `is_limited`: one that may leave faults."""
    ids = [broker.id for broker in cluster.brokers]
    live = [broker.id for broker in cluster.brokers if broker.is_live]
    racks = [broker.rack for broker in cluster.brokers if broker.rack is not None]
    repairs = not is_limited and draw(st.booleans())
    found: list[Goal] = [
        *([] if is_limited else [Balance(), Balance(), Repair()]),
        Drain((draw(st.sampled_from(ids)),), rebalance=draw(st.booleans()), repair=repairs),
        SetReplication(
            (("*", draw(st.integers(1, 3))),), rebalance=draw(st.booleans()), repair=repairs
        ),
        Add(((10, draw(st.sampled_from(racks))),), repair=repairs),
    ]
    pair = draw(st.permutations(ids))
    if pair[1] in live:
        found.append(Replace(((pair[0], pair[1]),), repair=repairs))
    return draw(st.sampled_from(found))


@st.composite
def problems(draw: st.DrawFn, *, has_rates: bool = False, is_limited: bool = False) -> Problem:
    """A cluster, a policy, a goal and what to minimise; the goal fits the policy.

    `has_rates`: with rates and random prices, so that replication is an objective. `is_limited`:
    the goal may leave broken rules elsewhere.
    """
    cluster = draw(small_worlds(has_rates=has_rates))
    policy = draw(plan_policies(cluster))
    goal = draw(goals(cluster, is_limited=is_limited))
    minimise = draw(st.sampled_from(["moves", "moves", "bytes", "usd"]))
    per_byte = PER_BYTE
    if has_rates:
        minimise = "moves"
        pairs = st.tuples(st.integers(0, 30), st.integers(0, 30))
        per_byte = {level: draw(pairs) for level in PER_BYTE}
    problem = Problem(cluster, policy, goal, minimise, per_byte)
    try:
        check_policy(problem.question.policy, problem.question.cluster)
    except InvalidPolicy:
        reject()
    return problem


def check_planned(problem: Problem, solver: Solver) -> Plan | None:
    """No placement is cheaper than the plan, which keeps all laws; or no placement is legal."""
    question = problem.question
    try:
        found = problem.plan(solver)
    except Infeasible as error:
        named = {text.split(":")[0] for text in error.impossible}
        assert question.impossible, "loads ask for too much"
        assert named == set(question.impossible)
        return None
    assert not question.impossible
    check_minimal(found, question)
    check_plan(found, problem.cluster, problem.policy, prices=problem.prices)
    return found
