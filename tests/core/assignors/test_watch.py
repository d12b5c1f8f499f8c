"""A leader requests a new assignment when the racks of replicas have changed for good."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignments import consumer_vectors, tps
from rackwise.core.assignors.watch import RackView, RackWatch, Rejoin, Stay, rack_watch_step

VECTORS = consumer_vectors("rack_watch")
BROKERS = {int(id_): rack for id_, rack in VECTORS["brokers"].items()}
T0, T1 = tps("t-0 t-1")


def view(replicas, *, now_ms=0, live=None, moved=None, topic="t"):
    brokers = {id_: BROKERS[id_] for id_ in (BROKERS if live is None else live)}
    moved = {int(id_): rack for id_, rack in (moved or {}).items()}
    return RackView(brokers={**brokers, **moved}, replicas={topic: replicas}, now_ms=now_ms)


class TestUpstreamsCases:
    """KIP-881: leader will trigger rebalance whenever it detects that the set of racks of partition
    replicas have changed in the metadata. This rebalance will be triggered only if the leader has
    client.rack configured.
    """

    @pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["case"])
    def test_one_step(self, case):
        state = RackWatch().after_assignment(view(case["before"]))
        _, action = rack_watch_step(state, view(case["after"]), rack=case["client_rack"])
        assert isinstance(action, Rejoin) is case["rejoin"]

    @pytest.mark.parametrize("case", VECTORS["ours"], ids=lambda case: case["case"])
    def test_a_broker_that_is_away_keeps_its_rack(self, case):
        seen = view(case["before"], live=case.get("live_before"))
        state = RackWatch().after_assignment(seen)
        for step in case["steps"]:
            seen = view(step["replicas"], live=step["live"], moved=step.get("brokers_override"))
            state, action = rack_watch_step(
                state, seen, rack=case["client_rack"], min_interval_ms=0
            )
            assert isinstance(action, Rejoin) is step["rejoin"]
            if step["rejoin"]:
                state = state.after_assignment(seen)


class TestChanges:
    def test_a_rejoin_has_racks_before_and_after(self):
        state = RackWatch().after_assignment(view([[0, 1], [1, 2]]))
        state, action = rack_watch_step(state, view([[0, 2]], now_ms=5), rack="a")
        assert action == Rejoin(
            changes={
                T0: (frozenset("ab"), frozenset("ac")),
                T1: (frozenset("bc"), None),
            }
        )
        assert state.asked_at_ms == 5

    def test_a_topic_that_appears_is_a_change_also_for_a_leader_without_rack(self):
        _, action = rack_watch_step(RackWatch(), view([[0]]), rack="")
        assert action == Rejoin(changes={T0: (None, frozenset("a"))})

    def test_a_broker_that_is_back_without_rack_has_none(self):
        state = RackWatch().after_assignment(view([[0, 1]]))
        _, action = rack_watch_step(state, view([[0, 1]], moved={1: None}), rack="a")
        assert action == Rejoin(changes={T0: (frozenset("ab"), frozenset("a"))})


class TestInterval:
    def test_a_change_within_the_interval_stays_pending(self):
        state = RackWatch().after_assignment(view([[0, 1]]))
        rejoins, _ = rack_watch_step(state, view([[0, 2]], now_ms=1_000), rack="a")
        again = rejoins.after_assignment(view([[0, 2]], now_ms=2_000))
        waiting, soon = rack_watch_step(again, view([[0, 1]], now_ms=60_999), rack="a")
        assert soon == Stay()
        _, later = rack_watch_step(waiting, view([[0, 1]], now_ms=61_000), rack="a")
        assert later == Rejoin(changes={T0: (frozenset("ac"), frozenset("ab"))})

    def test_a_change_undone_within_the_interval_is_no_change(self):
        state = RackWatch(asked_at_ms=0).after_assignment(view([[0, 1]]))
        state, _ = rack_watch_step(state, view([[0, 2]], now_ms=10), rack="a")
        state, action = rack_watch_step(state, view([[0, 1]], now_ms=70_000), rack="a")
        assert action == Stay()


class TestLaws:
    @given(st.lists(st.sets(st.sampled_from(sorted(BROKERS))), max_size=8))
    def test_absence_and_return_of_brokers_never_rejoin(self, lives):
        replicas = [[0, 1], [4, 2], [5]]
        state = RackWatch().after_assignment(view(replicas))
        for now_ms, live in enumerate(lives):
            seen = view(replicas, live=live, now_ms=now_ms)
            state, action = rack_watch_step(state, seen, rack="a", min_interval_ms=0)
            assert action == Stay()

    @given(
        st.lists(st.lists(st.sampled_from(sorted(BROKERS)), max_size=3), min_size=2, max_size=2),
        st.integers(0, 200_000),
    )
    def test_every_lasting_change_of_a_rack_set_rejoins(self, replicas, asked_at_ms):
        state = RackWatch(asked_at_ms=asked_at_ms).after_assignment(view(replicas[:1]))
        seen = view(replicas[1:], now_ms=asked_at_ms + 60_000)
        before, after = ({BROKERS[id_] for id_ in row} for row in replicas)
        _, action = rack_watch_step(state, seen, rack="a")
        assert isinstance(action, Rejoin) is (before != after)


class TestMoves:
    """A move causes one rejoin, when the new replica can be read."""

    STAGES = (([[0, 1, 2]], [[0, 1]]), ([[0, 2]], [[0, 2]]))

    def rejoins(self, stages):
        state, rejoins = RackWatch().after_assignment(view([[0, 1]])), []
        for replicas, in_sync in stages:
            seen = replace(view(replicas), in_sync=in_sync and {"t": in_sync})
            state, action = rack_watch_step(state, seen, rack="a", min_interval_ms=0)
            rejoins.append(isinstance(action, Rejoin))
            if rejoins[-1]:
                state = state.after_assignment(seen)
        return rejoins

    def test_a_replica_that_copies_does_not_count(self):
        assert self.rejoins(self.STAGES) == [False, True]

    def test_all_replicas_count_where_in_sync_is_unknown(self):
        assert self.rejoins((replicas, None) for replicas, _ in self.STAGES) == [True, True]

    def test_a_replica_that_falls_behind_still_counts(self):
        assert self.rejoins([([[0, 1]], [[0]]), ([[0, 1]], [[0, 1]])]) == [False, False]

    def test_members_that_do_not_lead_remember_racks(self):
        state = RackWatch().with_brokers(BROKERS)
        state = state.after_assignment(view([[0, 1]], live=[0]))
        _, action = rack_watch_step(state, view([[0, 1]]), rack="a")
        assert action == Stay()
