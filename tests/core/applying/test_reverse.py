"""The reverse of a plan."""

from __future__ import annotations

from dataclasses import replace

from applied_plans import move, plan_of
from rackwise.core.applying.model import Outcome, ThrottleKey
from rackwise.core.applying.reverse import joined, joined_outcome, reverse_plan
from rackwise.core.planning.model import LeftAlone, SeenBroker, Totals
from rackwise.core.racks import Rack

PLAN = plan_of(
    move("t-0", (1, 2), (3, 1), 10),
    move("t-1", (1, 2), (2, 1), 20),
    move("t-2", (1,), (1, 2), 30),
    move("t-3", (1, 2), (1,), None),
)


def test_done_moves_are_undone_in_reverse_order_and_others_are_left_out():
    back = reverse_plan(PLAN, [("t", 0), ("t", 1), ("t", 3)])
    assert [(each.partition, each.before, each.after) for each in back.moves] == [
        (3, (1,), (1, 2)),
        (1, (2, 1), (1, 2)),
        (0, (3, 1), (1, 2)),
    ]
    assert back.totals == Totals(
        moves=2, partitions=2, leader_changes=2, order_only=1, bytes=10, unknown_sizes=1
    )
    assert (back.sha256, back.verdict.is_proved, back.cluster_id) == ("", False, "c")


def test_added_partitions_do_not_make_the_reverse_stale():
    plan = replace(PLAN, made_from=replace(PLAN.made_from, partitions={"t": 4}))
    assert reverse_plan(plan, [("t", 0)]).made_from.partitions == {}


def test_the_reverse_swaps_before_and_after_and_twice_is_the_plan():
    everything = [(each.topic, each.partition) for each in PLAN.moves]
    twice = reverse_plan(reverse_plan(PLAN, everything), everything)
    assert [(each.before, each.after) for each in twice.moves] == [
        (each.before, each.after) for each in PLAN.moves
    ]


def test_cross_bytes_of_the_reverse():
    a, b = (SeenBroker(rack=Rack(name), is_fenced=False) for name in "ab")
    brokers = {1: a, 2: b, 3: b, 4: SeenBroker(rack=None, is_fenced=None)}
    plan = plan_of(
        move("t-0", (1, 2), (3,), 10),
        move("t-1", (1, 4), (3, 1), 10),
        move("t-2", (1, 9), (3, 1), 10),
        move("t-3", (1, 2), (3, 1), None),
        move("t-4", (1, 2), (2, 1), 10),
    )
    plan = replace(plan, made_from=replace(plan.made_from, brokers=brokers))
    back = reverse_plan(plan, [(each.topic, each.partition) for each in plan.moves])
    assert [each.cross_bytes for each in back.moves] == [0, None, None, None, 10]
    assert back.totals.cross_bytes == 10


def test_the_reverse_of_nothing_is_empty():
    assert reverse_plan(PLAN, ()).moves == ()


def test_the_reverse_has_nothing_for_later_and_leaves_nothing_alone():
    later = (move("t-4", (1,), (2,), 10),)
    plan = replace(PLAN, max_moves=4, later=later, left_alone=LeftAlone(partitions=1))
    assert reverse_plan(plan, [("t", 0)]) == reverse_plan(PLAN, [("t", 0)])


class TestJoined:
    """Two reverse plans of one plan are reported as one."""

    def test_a_move_of_both_counts_once(self):
        first = reverse_plan(PLAN, [("t", 0), ("t", 1)])
        second = replace(reverse_plan(PLAN, [("t", 1), ("t", 3)]), sha256="6" * 64)
        both = joined(first, second)
        assert [each.partition for each in both.moves] == [0, 3, 1]
        assert both.sha256 == second.sha256

    def test_the_last_class_holds_and_nothing_is_forgotten(self):
        keys = [ThrottleKey("broker", str(each), "k") for each in (1, 2)]
        first = Outcome(
            mode="apply",
            classes={("t", 0): "done", ("t", 1): "done"},
            codes={("t", 0): "X"},
            not_elected={("t", 0): "broker 4 is down"},
            throttles_changed=(keys[1],),
            begun=2,
            has_written=True,
        )
        second = Outcome(
            mode="apply",
            classes={("t", 1): "moving", ("t", 3): "not_started"},
            codes={("t", 1): "Y"},
            throttles_left=(keys[0],),
            throttles_changed=(keys[0],),
            begun=1,
            stop="budget",
            text="why",
        )
        assert joined_outcome(first, second) == Outcome(
            mode="apply",
            classes={("t", 0): "done", ("t", 1): "moving", ("t", 3): "not_started"},
            codes={("t", 0): "X", ("t", 1): "Y"},
            not_elected={("t", 0): "broker 4 is down"},
            throttles_left=(keys[0],),
            throttles_changed=(keys[0], keys[1]),
            begun=3,
            stop="budget",
            text="why",
            has_written=True,
        )
