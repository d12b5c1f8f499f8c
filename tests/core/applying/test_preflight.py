"""Preflight: each difference is named, and nothing else stops a run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rackwise.core.applying.budget import Budget, room_of
from rackwise.core.applying.model import ObservedPartition
from rackwise.core.applying.preflight import ClusterFacts, check_cluster, check_plan
from rackwise.core.errors import ForeignReassignment, NoRoom, StalePlan, WrongCluster
from rackwise.core.model import Broker, LogDir
from rackwise.core.planning.model import (
    Balance,
    Fair,
    MadeFrom,
    Move,
    Plan,
    SeenBroker,
    Totals,
    Verdict,
)
from rackwise.core.racks import Rack

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qk"
GB = 10**9


def a_move(number=0, before=(0, 1, 2), after=(0, 1, 3), **more):
    fields = {"topic": "orders", "topic_id": "id-1", "bytes": GB} | more
    return Move(partition=number, before=before, after=after, **fields)


def a_plan(*moves, **more):
    racks = {0: "a", 1: "b", 2: "c", 3: "a"}
    return Plan(
        **{
            "cluster_id": CLUSTER,
            "made_from": MadeFrom(
                snapshot_sha256="",
                brokers={
                    id_: SeenBroker(Rack(rack), is_fenced=False) for id_, rack in racks.items()
                },
                policy="",
                policy_sha256="",
            ),
            "goal": Balance(),
            "minimise": "moves",
            "solver": "flow",
            "moves": moves or (a_move(),),
            "totals": Totals(),
            "fair": Fair(),
            "certificates": (),
            "verdict": Verdict(cost=1, lower_bound=1, gap=0, is_legal=True, is_fair=True),
        }
        | more
    )


def seen(replicas=(0, 1, 2), topic_id="id-1", **more):
    return ObservedPartition(replicas=replicas, topic_id=topic_id, **more)


def some_facts(plan, brokers=None, partitions=None, **more):
    found = {
        id_: Broker(id=id_, rack=each.rack, is_live=True, is_fenced=False)
        for id_, each in plan.made_from.brokers.items()
    }
    shown = {(move.topic, move.partition): seen(move.before) for move in plan.moves}
    changed = found | (brokers or {})
    return ClusterFacts(
        **{
            "cluster_id": CLUSTER,
            "brokers": {id_: each for id_, each in changed.items() if each is not None},
            "partitions": {
                id_: each for id_, each in (shown | (partitions or {})).items() if each is not None
            },
        }
        | more
    )


def stale(plan, facts, **more):
    with pytest.raises(StalePlan) as raised:
        check_plan(plan, facts, **more)
    return raised.value


class TestPlanThatFits:
    def test_the_plan_may_run(self):
        plan = a_plan()
        result = check_plan(plan, some_facts(plan))
        assert (result.dropped, result.differences, result.is_done) == ((), (), False)

    def test_a_plan_that_is_done(self):
        plan = a_plan(a_move(0), a_move(1))
        done = {("orders", number): seen((0, 1, 3)) for number in (0, 1)}
        assert check_plan(plan, some_facts(plan, partitions=done)).is_done
        half = {("orders", 0): seen((0, 1, 3))}
        assert not check_plan(plan, some_facts(plan, partitions=half)).is_done

    def test_an_empty_plan_is_done(self):
        plan = replace(a_plan(), moves=())
        assert check_plan(plan, some_facts(plan)).is_done

    def test_a_fenced_broker_that_only_loses_replicas_may_be_gone(self):
        plan = a_plan(a_move(before=(0, 1, 9)))
        assert not check_plan(plan, some_facts(plan)).is_done


class TestTheCluster:
    def test_another_cluster(self):
        plan = a_plan()
        with pytest.raises(WrongCluster) as raised:
            check_plan(plan, some_facts(plan, cluster_id="other"))
        assert raised.value.message == (
            f"wrong cluster: expected {CLUSTER}, the plan's cluster, got other"
        )
        with pytest.raises(WrongCluster, match="got unknown"):
            check_cluster(plan, None)

    @pytest.mark.parametrize(
        ("change", "had"),
        [
            ({"hypothetical": True}, "a hypothetical cluster"),
            ({"cluster_id": None}, "a file without topic ids"),
        ],
    )
    def test_a_plan_of_no_running_cluster(self, change, had):
        with pytest.raises(StalePlan) as raised:
            check_cluster(a_plan(**change), CLUSTER)
        assert raised.value.had == had


class TestPartitions:
    @pytest.mark.parametrize(
        ("shown", "text"),
        [
            (None, "orders-0: the topic or the partition does not exist any more"),
            (seen(topic_id="id-2"), "orders-0: expected topic id id-1, got id-2"),
            (seen((0, 1, 4)), "orders-0: expected replicas 0,1,2, got 0,1,4"),
            (seen((1, 0, 2)), "orders-0: expected replicas 0,1,2, got 1,0,2"),
        ],
    )
    def test_each_change_is_named(self, shown, text):
        plan = a_plan(a_move(0), a_move(1))
        facts = some_facts(plan, partitions={("orders", 0): shown})
        error = stale(plan, facts)
        assert error.had == text
        assert error.message == (
            f"the cluster has changed since the plan was made: 1 of 2 moves is stale: {text}"
        )
        result = check_plan(plan, facts, allow_partial=True)
        assert (result.dropped, result.differences) == ((("orders", 0),), (text,))
        assert not result.is_done

    def test_the_message_shows_ten_changes_and_the_error_has_all(self):
        plan = a_plan(*(a_move(number) for number in range(12)))
        facts = some_facts(plan, partitions=dict.fromkeys(plan_ids(plan)))
        error = stale(plan, facts)
        assert "12 of 12 moves are stale" in error.message
        assert error.message.endswith(" and 2 more")
        assert error.had.count("does not exist") == 12

    @pytest.mark.parametrize("sent", ["intent", "sent"])
    def test_moves_of_the_journal_are_no_difference(self, sent):
        plan = a_plan(a_move(0), a_move(1))
        moving = seen((0, 1, 3, 2), adding=(3,), removing=(2,))
        facts = some_facts(plan, partitions={("orders", 0): moving, ("orders", 1): seen((9,))})
        result = check_plan(plan, facts, sent=dict.fromkeys(plan_ids(plan), sent))
        assert (result.dropped, result.is_done) == ((), False)


def plan_ids(plan):
    return [(move.topic, move.partition) for move in plan.moves]


class TestBrokers:
    @pytest.mark.parametrize(
        ("now", "text"),
        [
            (None, "broker 3 is not listed"),
            (Broker(id=3, rack=Rack("a"), is_live=False, is_fenced=True), "broker 3 is fenced"),
            (Broker(id=3, rack=Rack("b")), "expected broker 3 in rack a, got b"),
        ],
    )
    def test_a_changed_target_is_stale(self, now, text):
        plan = a_plan()
        assert stale(plan, some_facts(plan, brokers={3: now})).had == f"orders-0: {text}"

    def test_any_changed_broker_of_the_move_is_stale(self):
        plan = a_plan()
        two = {0: Broker(id=0, rack=Rack("c")), 2: None}
        assert stale(plan, some_facts(plan, brokers=two)).had == (
            "orders-0: expected broker 0 in rack a, got c; broker 2 is not listed"
        )

    @pytest.mark.parametrize("id_", [3, 0])
    def test_a_new_list_that_names_a_cordoned_broker_is_stale(self, id_):
        plan = a_plan()
        folders = (LogDir(path="/a", is_cordoned=True), LogDir(path="/b", error="Failed"))
        rack = plan.made_from.brokers[id_].rack
        facts = some_facts(plan, brokers={id_: Broker(id=id_, rack=rack, log_dirs=folders)})
        had = f"orders-0: broker {id_} is cordoned: Kafka takes no new list that names it"
        assert stale(plan, facts).had == had
        assert check_plan(plan, facts, allow_partial=True).differences == (had,)

    def test_a_move_away_from_a_cordoned_broker_and_one_to_a_free_folder_may_run(self):
        plan = a_plan()
        cordoned, free = LogDir(path="/a", is_cordoned=True), LogDir(path="/b")
        brokers = {
            2: Broker(id=2, rack=Rack("c"), log_dirs=(cordoned,)),
            3: Broker(id=3, rack=Rack("a"), log_dirs=(cordoned, free)),
        }
        assert check_plan(plan, some_facts(plan, brokers=brokers)).differences == ()

    def test_a_cordon_stops_a_run_that_continues_but_no_move_that_is_done(self):
        plan = a_plan(a_move(0), a_move(1))
        now = Broker(id=3, rack=Rack("a"), log_dirs=(LogDir(path="/a", is_cordoned=True),))
        done = {("orders", 0): seen((0, 1, 3))}
        facts = some_facts(plan, brokers={3: now}, partitions=done)
        error = stale(plan, facts, sent={("orders", 0): "sent", ("orders", 1): "none"})
        assert error.had.startswith("orders-1: broker 3 is cordoned")

    def test_a_broker_of_no_move_may_be_gone(self):
        plan = a_plan(a_move(before=(0, 1), after=(0, 3)))
        assert not check_plan(plan, some_facts(plan, brokers={2: None})).is_done

    def test_a_target_that_was_unknown_to_the_plan_may_be_live(self):
        plan = a_plan(a_move(after=(0, 1, 7)))
        assert stale(plan, some_facts(plan)).had == "orders-0: broker 7 is not listed"
        joined = {7: Broker(id=7, rack=Rack("c"))}
        assert not check_plan(plan, some_facts(plan, brokers=joined)).is_done

    def test_racks_are_compared_as_the_policy_of_the_plan_counts_them(self):
        plan = a_plan()
        now = {3: Broker(id=3, rack=Rack("/eu/a"))}
        facts = some_facts(plan, brokers=now)
        assert stale(plan, facts).had == "orders-0: expected broker 3 in rack a, got /eu/a"
        names = {name: f"/eu/{name}" for name in "abc"}
        assert check_plan(plan, facts, names=names).differences == ()
        elsewhere = some_facts(plan, brokers={3: Broker(id=3, rack=Rack("/eu/b"))})
        had = stale(plan, elsewhere, names=names).had
        assert had == "orders-0: expected broker 3 in rack a, got /eu/b"

    def test_after_the_start_a_dead_broker_is_no_difference_but_another_rack_is(self):
        plan = a_plan(a_move(0), a_move(1))
        sent = {("orders", 0): "sent", ("orders", 1): "none"}
        assert not check_plan(plan, some_facts(plan, brokers={3: None}), sent=sent).is_done
        moved = some_facts(plan, brokers={3: Broker(id=3, rack=Rack("b"))})
        assert "expected broker 3 in rack a" in stale(plan, moved, sent=sent).had


class TestAddedPartitions:
    def counted(self, *moves, **counts):
        plan = a_plan(*(moves or (a_move(0), a_move(1), a_move(0, topic="payments"))))
        return replace(plan, made_from=replace(plan.made_from, partitions=counts))

    def test_the_moves_of_their_topic_are_stale(self):
        plan = self.counted(orders=4, payments=1)
        facts = some_facts(plan, counts={"orders": 6, "payments": 1})
        assert stale(plan, facts).had == (
            "orders-0: expected 4 partitions in the topic, got 6; "
            "orders-1: expected 4 partitions in the topic, got 6"
        )
        result = check_plan(plan, facts, allow_partial=True)
        assert result.dropped == (("orders", 0), ("orders", 1))

    def test_added_partitions_are_named_after_broker_changes(self):
        plan = self.counted(a_move(0), orders=1)
        facts = some_facts(plan, brokers={3: None}, counts={"orders": 2})
        assert stale(plan, facts).had == (
            "orders-0: broker 3 is not listed; expected 1 partition in the topic, got 2"
        )

    @pytest.mark.parametrize("counts", [{}, {"orders": 4, "payments": 1}])
    def test_an_equal_or_unknown_count_is_no_difference(self, counts):
        plan = self.counted(orders=4, payments=1)
        assert check_plan(plan, some_facts(plan, counts=counts)).dropped == ()
        untold = self.counted()
        facts = some_facts(untold, counts={"orders": 9, "payments": 9})
        assert check_plan(untold, facts).dropped == ()

    def test_done_and_started_moves_are_not_stale(self):
        plan = self.counted(a_move(0), a_move(1), orders=4)
        more = {"counts": {"orders": 6}}
        done = {("orders", number): seen((0, 1, 3)) for number in (0, 1)}
        assert check_plan(plan, some_facts(plan, partitions=done, **more)).is_done
        begun = {("orders", 0): "sent"}
        assert check_plan(plan, some_facts(plan, **more), sent=begun).dropped == ()


class TestForeignReassignments:
    moving = seen((5, 6, 7), adding=(7,))

    def test_a_reassignment_of_another_topic(self):
        plan = a_plan()
        facts = some_facts(plan, foreign={("other", 3): self.moving})
        with pytest.raises(ForeignReassignment) as raised:
            check_plan(plan, facts)
        assert raised.value.had == "other-3"
        assert raised.value.message == (
            "expected no other reassignment, got 1 that this plan did not start: other-3"
        )
        assert not check_plan(plan, facts, alongside=True).is_done

    def test_another_tools_move_of_a_planned_partition(self):
        plan = a_plan(a_move(0), a_move(1))
        running = {("orders", 0): seen((0, 1, 2, 9), adding=(9,), removing=(0,))}
        facts = some_facts(plan, partitions=running)
        with pytest.raises(ForeignReassignment, match="orders-0"):
            check_plan(plan, facts)
        assert stale(plan, facts, alongside=True).had == (
            "orders-0: another reassignment moves it to 1,2,9"
        )

    def test_our_own_moves_are_not_foreign(self):
        plan = a_plan()
        running = {("orders", 0): seen((0, 1, 3, 2), adding=(3,), removing=(2,))}
        facts = some_facts(plan, partitions=running)
        with pytest.raises(ForeignReassignment):
            check_plan(plan, facts)
        assert check_plan(plan, facts, sent={("orders", 0): "intent"}).dropped == ()


class TestRoom:
    def with_disk(self, plan, *dirs):
        return some_facts(plan, brokers={3: Broker(id=3, rack=Rack("a"), log_dirs=dirs)})

    def test_a_reserve_stays_free(self):
        plan = a_plan(a_move(0), a_move(1))
        folder = LogDir(path="/d", total_bytes=20 * GB, usable_bytes=4 * GB)
        assert not check_plan(plan, self.with_disk(plan, folder)).is_done
        less = replace(folder, usable_bytes=4 * GB - 1)
        with pytest.raises(NoRoom) as raised:
            check_plan(plan, self.with_disk(plan, less))
        assert raised.value.where == "broker 3"
        assert (raised.value.wanted, raised.value.had) == (2 * GB, 2 * GB - 1)

    def test_a_cordoned_folder_has_no_room(self):
        """Its free bytes counted, and Kafka put everything into the other folder."""
        plan = a_plan(a_move(0))
        full = LogDir(path="/a", total_bytes=10 * GB, usable_bytes=GB)
        free = LogDir(path="/b", total_bytes=100 * GB, usable_bytes=90 * GB, is_cordoned=True)
        with pytest.raises(NoRoom) as raised:
            check_plan(plan, self.with_disk(plan, full, free))
        assert raised.value.had == 0
        assert not check_plan(
            plan, self.with_disk(plan, full, replace(free, is_cordoned=False))
        ).is_done

    def test_a_disk_below_its_reserve_has_no_free_bytes(self):
        plan = a_plan()
        with pytest.raises(NoRoom) as raised:
            check_plan(
                plan, self.with_disk(plan, LogDir(path="/", total_bytes=100, usable_bytes=1))
            )
        assert raised.value.had == 0

    def test_done_moves_need_no_disk(self):
        plan = a_plan(a_move(0))
        facts = self.with_disk(plan, LogDir(path="/d", total_bytes=10, usable_bytes=1))
        done = replace(facts, partitions={("orders", 0): seen((0, 1, 3))})
        assert check_plan(plan, done).is_done

    @pytest.mark.parametrize(
        "folder",
        [
            LogDir(path="/d", total_bytes=None, usable_bytes=0),
            LogDir(path="/d", total_bytes=10, usable_bytes=None),
            LogDir(path="/d", total_bytes=10, usable_bytes=0, error="KafkaStorage"),
        ],
    )
    def test_unknown_disks_count_as_enough(self, folder):
        plan = a_plan()
        assert not check_plan(plan, self.with_disk(plan, folder)).is_done
        unknown = a_plan(a_move(bytes=None))
        full = LogDir(path="/d", total_bytes=10, usable_bytes=0)
        assert not check_plan(unknown, self.with_disk(unknown, full)).is_done

    def test_only_what_a_run_may_begin_needs_disk(self):
        """Disk space for the whole plan was asked of each of its nights."""
        plan = a_plan(*(a_move(number) for number in range(4)))
        folder = LogDir(path="/d", total_bytes=20 * GB, usable_bytes=4 * GB)
        facts = self.with_disk(plan, folder)
        ids = {(move.topic, move.partition): move for move in plan.moves}
        two = room_of(Budget(moves=2), (), ids, 0)
        assert not check_plan(plan, facts, room=two).is_done
        with pytest.raises(NoRoom) as raised:
            check_plan(plan, facts, room=room_of(Budget(moves=3), (), ids, 0))
        assert raised.value.wanted == 3 * GB
        moving = replace(seen((0, 1, 3, 2)), adding=(3,), removing=(2,))
        running = replace(facts, partitions={**facts.partitions, ("orders", 0): moving})
        sent, two = {("orders", 0): "sent"}, room_of(Budget(moves=2), (), ids, 0)
        with pytest.raises(NoRoom) as raised:
            check_plan(plan, running, sent=sent, room=two)
        assert raised.value.wanted == 3 * GB, "a move in progress counts, too"

    def test_a_deleted_partition_needs_no_disk(self):
        plan = a_plan(a_move(0))
        facts = self.with_disk(plan, LogDir(path="/d", total_bytes=10, usable_bytes=0))
        gone = replace(facts, partitions={})
        sent = {("orders", 0): "sent"}
        assert not check_plan(plan, gone, sent=sent).is_done

    def test_the_disk_of_a_target_that_died_after_the_start_is_not_checked(self):
        plan = a_plan(a_move(0))
        facts = some_facts(plan, brokers={3: None})
        assert not check_plan(plan, facts, sent={("orders", 0): "intent"}).is_done
