"""A policy as a table reads back as the same policy."""

from __future__ import annotations

from hypothesis import given

from json_schemas import check
from planning_problems import Problem, problems
from rackwise.core.json.canonical import canonical_json
from rackwise.core.json.forms import Definitions
from rackwise.core.policy import (
    AtLeast,
    AuditPolicy,
    BalancePolicy,
    BrokerPolicy,
    CostPolicy,
    Policy,
    RackCount,
    RackPolicy,
    Slack,
    TopicBlock,
    policy_of,
    policy_table,
)
from rackwise.core.policy.format import POLICY

FULL = Policy(
    racks=RackPolicy(levels=("region", "zone"), missing="one-rack"),
    brokers=BrokerPolicy(drain=(7,), exclude=(9,), no_lead=(8,), weights={4: 2}),
    balance=BalancePolicy(replicas=Slack(2), leaders="keep", failover=True),
    cost=CostPolicy(minimise="usd", prices="prices.csv", provider="aws"),
    audit=AuditPolicy(fail_on="error", rack_loss=("zone",), ignore=("size-unknown",)),
    topics=(
        TopicBlock(match=("*",), spread={"zone": AtLeast(2)}, topic_spread="even"),
        TopicBlock(
            match=("payments.*",),
            replication=3,
            count=(RackCount(rack="/eu", min=2, max=2), RackCount(rack="/us", min=1)),
            count_others="none",
            pin={0: (4,)},
            leader_racks=("/eu/a",),
        ),
    ),
)


def test_every_key() -> None:
    table = policy_table(FULL)
    assert policy_of(table) == FULL
    assert canonical_json(table).startswith('{"audit":{"fail_on":"error"')


def test_the_schema() -> None:
    definitions = Definitions()
    schema = POLICY.schema(definitions) | {"$defs": definitions}
    check(policy_table(FULL), schema, schema)
    check(policy_table(Policy()), schema, schema)


def test_defaults() -> None:
    assert policy_of(policy_table(Policy())) == Policy()


@given(problems())
def test_any_policy(problem: Problem) -> None:
    read = policy_of(policy_table(problem.policy))
    assert policy_of(policy_table(read)) == read
    assert policy_table(read).keys() == policy_table(problem.policy).keys()
