"""What a group would read locally with Kafka's own assignors on the broker."""

from dataclasses import replace
from fractions import Fraction

import pytest

from assignments import group_of, replicas_in, tps
from rackwise.core.assignors.measure.migration import likely_reads, server_outcomes
from rackwise.core.assignors.members import Assignment, Member
from rackwise.core.assignors.server.uniform import assign_uniform
from rackwise.core.errors import InvalidConfig

RACKS = replicas_in(t="a b c a b c", u="ab bc -")
GROUP = group_of("t", m="a", n="b", o="c")
LOCAL = Assignment.of({"m": tps("t-0 t-3"), "n": tps("t-1 t-4"), "o": tps("t-2 t-5")})


def both(assignment, members, racks=RACKS, **options):
    uniform, by_range = server_outcomes(assignment, members, racks, **options)
    assert (uniform.assignor, by_range.assignor) == ("uniform", "range")
    return uniform, by_range


def test_every_subscriber_is_as_likely_as_any_other():
    for outcome in both(LOCAL, GROUP):
        assert (outcome.partitions, outcome.local) == (6, 2)
        assert outcome.lost_share == Fraction(4, 6)
        assert outcome.is_average


def test_an_average_is_that_of_the_assignors_with_many_sets_of_ids():
    """Restarted often, the group reads on average as many partitions locally as is said."""
    members = group_of("t", m="a", n="b", o="b")
    (outcome, _) = both(LOCAL, members)
    assert outcome.local == 4 * Fraction(1, 3) + 0 * 2 + Fraction(2, 3)
    counts = []
    for draw in range(400):
        names = {f"{draw * 7919 % 1009}-{key}": member for key, member in members.items()}
        made = assign_uniform(names, RACKS)
        near = [
            RACKS["t"][tp.partition][0] == names[name].rack
            for name, tps_ in made.partitions.items()
            for tp in tps_
        ]
        counts.append(sum(near))
    assert abs(sum(counts) / len(counts) - outcome.local) < 0.2


def test_bytes_count_where_they_are_known():
    heavy = dict.fromkeys(tps("t-0 t-1 t-2 t-3 t-4 t-5"), 0) | {tps("t-0")[0]: 9}
    uniform, _ = both(LOCAL, GROUP, weights=heavy)
    assert (uniform.local, uniform.lost_share) == (2, Fraction(2, 3))


def test_nothing_is_lost_where_nothing_is_local():
    uniform, _ = both(Assignment.of({"m": tps("t-1 t-9"), "n": tps("v-0")}), GROUP)
    assert (uniform.local, uniform.lost_share) == (2, None)


def test_a_member_without_rack_makes_it_unknown():
    for outcome in both(LOCAL, GROUP | {"o": Member(topics=("t",))}):
        assert (outcome.local, outcome.lost_share) == (None, None)


def test_static_members_keep_their_order_under_range():
    static = {key: replace(member, instance_id=f"i-{key}") for key, member in GROUP.items()}
    uniform, by_range = both(LOCAL, static)
    assert uniform.is_average
    assert not by_range.is_average
    assert by_range.readers == {
        tp: (member,)
        for member, found in (("m", "t-0 t-1"), ("n", "t-2 t-3"), ("o", "t-4 t-5"))
        for tp in tps(found)
    }
    assert by_range.local == 2


def test_differing_subscriptions_are_drawn():
    members = {"m": Member(topics=("t", "u"), rack="a"), "n": Member(topics=("t",), rack="b")}
    uniform, by_range = both(Assignment.of({}), members)
    assert {len(found) for found in uniform.readers.values()} == {32}
    assert all(set(uniform.readers[tp]) == {"m"} for tp in tps("u-0 u-1 u-2"))
    assert by_range.readers[tps("u-0")[0]] == ("m",)
    assert by_range.readers[tps("t-0")[0]] == ("m", "n")


def test_a_large_group_is_drawn_less_often():
    members = {"m": Member(topics=("t",), rack="a"), "n": Member(topics=("t", "x"), rack="b")}
    uniform, _ = both(Assignment.of({}), members, {"t": [["a"]] * 20_000})
    assert {len(found) for found in uniform.readers.values()} == {20}


def test_likely_reads_add_up_to_all_partitions():
    uniform, _ = both(LOCAL, GROUP)
    reads = likely_reads(uniform.readers, GROUP, RACKS, None)
    assert sum(reads.values()) == 6
    assert reads["a", ("a",)] == Fraction(2, 3)


def test_an_unknown_target():
    with pytest.raises(InvalidConfig, match="invalid target"):
        both(LOCAL, GROUP, target="far")
