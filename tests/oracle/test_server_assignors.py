"""The server-side assignors in Java choose the partitions that their Python functions choose.

The exhaustive profile draws groups from the seed that pytest-randomly prints.
"""

from __future__ import annotations

import os
from random import Random

import pytest
from server_cases import coordinator_case, server_case, topic_id

from assignments import given, members_of
from rackwise.core.assignors import assign_on_server, assign_sticky_on_server

pytestmark = pytest.mark.java

IS_EXHAUSTIVE = os.environ.get("HYPOTHESIS_PROFILE") == "exhaustive"
FEW, MANY = 300, 10_000
ASSIGNORS = {"server.optimal": assign_on_server, "server.sticky": assign_sticky_on_server}
"""By the oracle's operations."""


@pytest.fixture
def seed(request):
    return request.config.getoption("randomly_seed") if IS_EXHAUSTIVE else 848


def check_equal(oracle, operation, seed, count):
    rng = Random(seed)
    for number in range(count):
        case = server_case(rng)
        told = oracle.ask(operation, case)["partitions"]
        ours = ASSIGNORS[operation](members_of(case["members"]), case["topics"])
        assert ours.partitions == given(told), f"seed {seed}, case {number}"


@pytest.mark.parametrize("operation", ASSIGNORS)
def test_java_and_python_choose_the_same_partitions(oracles, operation, seed):
    check_equal(oracles["4.3.1"], operation, seed, FEW)


def with_target(case, partitions):
    """The case after an epoch that assigned these partitions."""
    members = [member | {"owned": partitions[member["id"]]} for member in case["members"]]
    return case | {"members": members}


def with_many_racks(case, rng):
    """The case with members and replicas in up to nine racks."""
    racks = [f"rack-{number}" for number in range(9)]
    topics = {topic: [rng.sample(racks, 3) for _ in rows] for topic, rows in case["topics"].items()}
    members = [member | {"rack": rng.choice(racks)} for member in case["members"]]
    return {"topics": topics, "members": members}


@pytest.mark.parametrize("operation", ASSIGNORS)
def test_later_epochs_are_equal_too(oracles, operation, seed):
    """An epoch that changes nothing, one after a member left, and one with many racks."""
    rng = Random(seed)

    def asked(case, number):
        told = oracles["4.3.1"].ask(operation, case)["partitions"]
        ours = ASSIGNORS[operation](members_of(case["members"]), case["topics"])
        assert ours.partitions == given(told), f"seed {seed}, case {number}"
        return told

    for number in range(FEW // 3):
        case = server_case(rng)
        if number % 3 == 0:
            case = with_many_racks(case, rng)
        held = asked(case, number)
        again = asked(with_target(case, held), number)
        if operation == "server.optimal":
            assert again == held, f"seed {seed}, case {number}"
        left = case | {"members": case["members"][1:]}
        if left["members"]:
            asked(with_target(left, held), number)


def even_case(rng):
    """A group with even loads where all members subscribe to all topics, owners at random."""
    racks = "abcd"[: rng.randint(1, 4)]
    replicas = rng.randint(1, len(racks))
    topics = {
        topic_id(rng): [rng.sample(racks, replicas) for _ in range(rng.randint(1, 6))]
        for _ in range(rng.randint(1, 3))
    }
    members = [
        {
            "id": topic_id(rng),
            "topics": sorted(topics),
            "rack": rng.choice([*racks, "none", None]),
            "owned": [],
        }
        for _ in range(rng.randint(1, 5))
    ]
    partitions = [[topic, number] for topic in topics for number in range(len(topics[topic]))]
    if rng.random() < 0.5:
        rng.shuffle(partitions)
    for number, tp in enumerate(partitions):
        members[number % len(members)]["owned"].append(tp)
    return {"topics": topics, "members": members}


def test_an_even_target_changes_only_where_fewer_partitions_can_cross(oracles, seed):
    """Java proves by a bound that a target is the best; Python computes the flow."""
    rng = Random(seed)
    changed = 0
    for number in range(2 * FEW):
        case = even_case(rng)
        told = oracles["4.3.1"].ask("server.optimal", case)["partitions"]
        ours = assign_on_server(members_of(case["members"]), case["topics"])
        assert ours.partitions == given(told), f"seed {seed}, case {number}"
        target = {member["id"]: sorted(member["owned"]) for member in case["members"]}
        changed += {member: sorted(tps) for member, tps in told.items()} != target
    assert FEW / 2 < changed < 3 * FEW / 2


def test_a_sticky_target_that_is_even_stays_where_every_partition_is_local(oracles, seed):
    """Java sees it at once; Python computes the quotas."""
    rng = Random(seed)
    stayed = 0
    for number in range(FEW):
        case = even_case(rng)
        told = oracles["4.3.1"].ask("server.sticky", case)["partitions"]
        ours = assign_sticky_on_server(members_of(case["members"]), case["topics"])
        assert ours.partitions == given(told), f"seed {seed}, case {number}"
        target = {member["id"]: sorted(member["owned"]) for member in case["members"]}
        stayed += {member: sorted(tps) for member, tps in told.items()} == target
    assert 0 < stayed < FEW


@pytest.mark.parametrize("operation", ASSIGNORS)
def test_a_partition_that_two_members_claim_has_no_owner(oracles, operation):
    """Loads look even: each member is first to claim one of the two partitions."""
    topic = "AAAAAAAAAAAAAAAAAAAAAQ"
    members = [
        {"id": "m1", "topics": [topic], "rack": "a", "owned": [[topic, 0]]},
        {"id": "m2", "topics": [topic], "rack": "b", "owned": [[topic, 0], [topic, 1]]},
    ]
    case = {"topics": {topic: [["a"], ["b"]]}, "members": members}
    told = oracles["4.3.1"].ask(operation, case)["partitions"]
    ours = ASSIGNORS[operation](members_of(members), case["topics"])
    assert ours.partitions == given(told) == {"m1": ((topic, 0),), "m2": ((topic, 1),)}


def local(case, partitions):
    """How many partitions have a replica in the rack of their member."""
    racks = {member["id"]: member["rack"] for member in case["members"]}
    return sum(
        racks[member] in case["topics"][topic][number]
        for member, tps in partitions.items()
        for topic, number in tps
    )


@pytest.mark.parametrize(("replicas", "fewest", "most"), [(1, 3, 6), (2, 6, 9)])
def test_partitions_in_the_rack_of_their_member(oracles, replicas, fewest, most):
    """The table of the guide: 12 partitions in three racks, one member in each."""
    rng = Random(5)
    topic = topic_id(rng)
    rows = [["abc"[(number + at) % 3] for at in range(replicas)] for number in range(12)]
    for _ in range(100):
        members = [
            {"id": topic_id(rng), "topics": [topic], "rack": rack, "owned": []} for rack in "abc"
        ]
        case = {"topics": {topic: rows}, "members": members}
        best = oracles["4.3.1"].ask("server.optimal", case)["partitions"]
        plain = oracles["4.3.1"].ask("coordinator.uniform", coordinator_case(case))["partitions"]
        assert local(case, best) == 12
        assert fewest <= local(case, plain) <= most


@pytest.mark.long
@pytest.mark.parametrize("operation", ASSIGNORS)
def test_10_000_groups(oracles, operation, request):
    check_equal(oracles["4.3.1"], operation, request.config.getoption("randomly_seed"), MANY)
