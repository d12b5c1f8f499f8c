"""The sticky assignment of the server-side assignor: lawful, settled, and the choice of Java."""

from dataclasses import replace
from itertools import permutations

from hypothesis import given

from assignments import given as given_partitions
from assignments import group_of, members_of, mismatches, replicas_in, tps
from laws import check_assignment, check_order_of_joining
from placements import golden_cases
from rackwise.core.assignors import Member, assign_sticky_on_server
from strategies import consumer_groups


def test_java_made_the_same_choices():
    cases = golden_cases("server.sticky")
    for number, case in enumerate(cases):
        made = assign_sticky_on_server(members_of(case["in"]["members"]), case["in"]["topics"])
        assert made.partitions == given_partitions(case["out"]["partitions"]), number
    assert len(cases) == 60


def test_the_example_of_the_essay():
    members = group_of("t", m1="a", m2="b")
    members["m1"] = replace(members["m1"], owned=tps("t-0 t-1 t-2"))
    racks = replicas_in(t="a a b b")
    made = assign_sticky_on_server(members, racks)
    assert made.partitions == {"m1": tps("t-0 t-1"), "m2": tps("t-2 t-3")}
    assert mismatches(made, members, racks) == 0


@given(drawn=consumer_groups(owned=True))
def test_every_partition_goes_to_one_subscriber(drawn):
    members, racks = drawn
    made = assign_sticky_on_server(members, racks)
    check_assignment(made, members, {topic: len(rows) for topic, rows in racks.items()})


@given(drawn=consumer_groups(owned=True))
def test_the_order_of_joining_decides_nothing(drawn):
    check_order_of_joining(assign_sticky_on_server, *drawn)


def test_generations_and_partitions_of_other_topics_do_not_count():
    """m2 holds a partition of u, to which it does not subscribe any more."""
    members = {
        "m1": Member(topics=("t", "u"), owned=tps("t-0"), generation=3),
        "m2": Member(topics=("t",), owned=tps("u-0 t-1"), generation=9),
    }
    made = assign_sticky_on_server(members, replicas_in(t="a a", u="a"))
    assert made.partitions == {"m1": tps("t-0 u-0"), "m2": tps("t-1")}


def test_with_two_replicas_the_locality_depends_on_who_joins_when():
    """The table of the guide: nine partitions; a step lists the racks of the members it has."""
    racks = replicas_in(t=" ".join(["ab", "bc", "ca"] * 3))

    def local(ids, steps):
        held = {}
        for step in steps:
            members = {
                ids[rack]: Member(topics=("t",), rack=rack, owned=held.get(ids[rack], ()))
                for rack in step
            }
            made = assign_sticky_on_server(members, racks)
            held = made.partitions
        return 9 - mismatches(made, members, racks)

    any_ids = [dict(zip("abc", ids, strict=True)) for ids in permutations("xyz")]
    assert {local(ids, ["a", "ab", "abc"]) for ids in any_ids} == {8}
    assert {local(ids, ["a", "ac", "abc"]) for ids in any_ids} == {7}
    assert {local(ids, ["abc"]) for ids in any_ids} == {8, 9}
