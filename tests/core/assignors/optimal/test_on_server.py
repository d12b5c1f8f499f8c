"""The assignment of the server-side assignor: optimal, and the choice that Java makes."""

from dataclasses import replace

from hypothesis import given

from assignments import given as given_partitions
from assignments import group_of, members_of, replicas_in, tps
from laws import check_assignment, check_optimum, check_order_of_joining
from placements import golden_cases
from rackwise.core.assignors import Member, assign_on_server
from strategies import consumer_groups, few_partitions


def of_server(members):
    """The members as a broker knows them: no generations, racks without levels."""
    return {
        name: replace(member, generation=-1, rack=member.rack and member.rack.replace("/", "-"))
        for name, member in members.items()
    }


def without_levels(racks):
    return {
        topic: [[rack and rack.replace("/", "-") for rack in row] for row in rows]
        for topic, rows in racks.items()
    }


def after(members, assignment):
    return {
        name: replace(member, owned=assignment.partitions[name]) for name, member in members.items()
    }


def test_java_made_the_same_choices():
    cases = golden_cases("server.optimal")
    for number, case in enumerate(cases):
        made = assign_on_server(members_of(case["in"]["members"]), case["in"]["topics"])
        assert made.partitions == given_partitions(case["out"]["partitions"]), number
    assert len(cases) == 60


def test_the_example_of_the_essay():
    members = group_of("t", m1="a", m2="b")
    members["m1"] = replace(members["m1"], owned=tps("t-0 t-2"))
    members["m2"] = replace(members["m2"], owned=tps("t-1 t-3"))
    made = assign_on_server(members, replicas_in(t="a ab b ba"))
    assert made.partitions == {"m1": tps("t-0 t-3"), "m2": tps("t-1 t-2")}


@given(drawn=few_partitions())
def test_it_is_an_optimum(drawn):
    """The same values as `assign_optimal`, which the same law checks."""
    members, racks = of_server(drawn[0]), without_levels(drawn[1])
    check_optimum(assign_on_server(members, racks), members, racks)


@given(drawn=consumer_groups(owned=True))
def test_its_own_result_is_not_moved(drawn):
    members, racks = drawn
    made = assign_on_server(members, racks)
    check_assignment(made, members, {topic: len(rows) for topic, rows in racks.items()})
    assert assign_on_server(after(members, made), racks) == made


@given(drawn=consumer_groups(owned=True))
def test_the_order_of_joining_and_of_replicas_decides_nothing(drawn):
    members, racks = of_server(drawn[0]), drawn[1]
    check_order_of_joining(assign_on_server, members, racks)
    turned = {topic: [row[::-1] for row in rows] for topic, rows in racks.items()}
    assert assign_on_server(members, turned) == assign_on_server(members, racks)


def test_racks_are_texts_without_levels():
    """Under levels, /eu/b shares the region with the replica; here neither member is near."""
    members = group_of("t", m1="/us/a", m2="/eu/b")
    assert assign_on_server(members, replicas_in(t="-")).partitions == {"m1": tps("t-0"), "m2": ()}
    made = assign_on_server(members, {"t": [["/eu/a"]]})
    assert made.partitions == {"m1": tps("t-0"), "m2": ()}


def test_a_group_without_partitions():
    assert assign_on_server({"m": Member(topics=("t",))}, {}).partitions == {"m": ()}
