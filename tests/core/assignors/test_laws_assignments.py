"""The laws of assignments find the violations that they name."""

from dataclasses import replace

import pytest

from assignments import group_of, replicas_in, tps
from laws import (
    check_assignment,
    check_even_topics,
    check_names_of_racks,
    check_one_reader,
    check_order_of_joining,
    check_racks_that_cannot_matter,
    check_together,
)
from rackwise.core.assignors.members import Assignment, Member

MEMBERS = {"m": Member(topics=("t", "u"), rack="a"), "n": Member(topics=("t", "u"), rack="b")}
RACKS = replicas_in(t="a b", u="a b")
TOPICS = {"t": 2, "u": 2}


def assignment_of(m, n="", withheld=""):
    return Assignment.of({"m": tps(m), "n": tps(n)}, withheld=dict.fromkeys(tps(withheld), "n"))


@pytest.mark.parametrize(
    ("result", "law"),
    [
        (Assignment.of({"m": tps("t-0 t-1 u-0 u-1")}), "members"),
        (assignment_of("t-0 t-1 u-0 u-1 v-0"), "subscribers: v-0 goes to m"),
        (assignment_of("t-0 u-0 u-1"), "partitions"),
        (assignment_of("t-0 t-1 u-0 u-1", "t-1"), "partitions"),
        (assignment_of("t-0 t-1 u-0 u-1", withheld="t-1"), "partitions"),
    ],
)
def test_lost_doubled_and_misassigned_partitions_break_the_law(result, law):
    with pytest.raises(AssertionError, match=f"law of {law}"):
        check_assignment(result, MEMBERS, TOPICS)


def test_a_withheld_partition_counts():
    check_assignment(assignment_of("t-0 u-0 u-1", withheld="t-1"), MEMBERS, TOPICS)


def test_uneven_topics_and_split_columns_break_the_law():
    with pytest.raises(AssertionError, match="law of even topics: u"):
        check_even_topics(assignment_of("t-0 u-0 u-1", "t-1"), MEMBERS, TOPICS)
    with pytest.raises(AssertionError, match="law of columns: u"):
        check_together(assignment_of("t-0 u-1", "t-1 u-0"), MEMBERS, TOPICS)


def test_a_partition_with_two_readers_breaks_the_law():
    members = {**MEMBERS, "n": replace(MEMBERS["n"], owned=tps("t-0"), generation=3)}
    with pytest.raises(AssertionError, match="law of one reader: t-0 goes to m; n has it"):
        check_one_reader(assignment_of("t-0"), members)
    check_one_reader(assignment_of("", "t-0"), members)
    check_one_reader(assignment_of("t-0"), {**members, "n": replace(members["n"], released=True)})
    older = replace(MEMBERS["m"], owned=tps("t-0"), generation=2)
    with pytest.raises(AssertionError, match="law of one reader"):
        check_one_reader(assignment_of("t-0"), {**members, "m": older})
    check_one_reader(assignment_of("t-0"), {**members, "m": replace(older, generation=3)})


def first_by(key):
    """An assignor that gives all partitions to the first member by this key."""

    def assign(members, racks):
        first = min(members, key=lambda member: key(member, members, racks))
        every = [(topic, number) for topic in racks for number in range(len(racks[topic]))]
        return Assignment.of(
            {
                member: tps(" ".join(f"{t}-{p}" for t, p in every if member == first))
                for member in members
            }
        )

    return assign


def test_an_assignor_that_considers_racks_which_cannot_matter():
    by_rack = first_by(lambda member, members, _: (members[member].rack != "b", member))
    with pytest.raises(AssertionError, match="law of racks that cannot matter: no broker has"):
        check_racks_that_cannot_matter(by_rack, MEMBERS, RACKS)


def test_an_assignor_that_sorts_racks():
    by_name = first_by(lambda member, members, _: members[member].rack)
    with pytest.raises(AssertionError, match="law of names of racks"):
        check_names_of_racks(by_name, MEMBERS, RACKS)


def test_an_assignor_that_depends_on_the_join_order():
    by_joining = first_by(lambda member, members, _: list(members).index(member))
    with pytest.raises(AssertionError, match="law of the order of joining"):
        check_order_of_joining(by_joining, group_of("t", m="a", n="b"), RACKS)
