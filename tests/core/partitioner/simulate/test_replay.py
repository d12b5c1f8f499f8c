"""The simulation of producers."""

from dataclasses import replace
from random import Random

import pytest

from rack_splits import numbers, rates
from rackwise.core.errors import SplitError
from rackwise.core.partitioner.choice.view import TopicView
from rackwise.core.partitioner.simulate.replay import (
    MODES,
    BrokerFault,
    ProducerScenario,
    simulate_producers,
)
from rackwise.core.text import with_short_words

VIEW = TopicView(
    tuple(number % 6 for number in range(12)), {node: "abc"[node % 3] for node in range(6)}
)
SECOND = 1000.0
UNEVEN = ProducerScenario(
    view=VIEW,
    rates=rates("a 4e5 b 4e5 c 0", "c 0"),
    weights=VIEW.leader_weights(),
    mode="kip",
    duration_ms=20 * SECOND,
)


def simulate(scenario=UNEVEN, seed=0, **changes):
    return simulate_producers(replace(scenario, **changes), rng=Random(seed))


class FixedRandom(Random):
    """A stand-in for `Random`: producers start after half a window and skip `phase` windows."""

    def __init__(self, phase=0):
        super().__init__(0)
        self.phase = phase

    def random(self):
        return 0.5

    def randrange(self, stop):
        assert stop == 16
        return self.phase


def down(node, at=5, for_=5):
    return BrokerFault(broker=node, at_ms=at * SECOND, for_ms=for_ * SECOND, kind="down")


class TestModes:
    def test_kip_1123_leaves_the_third_rack_empty(self):
        found = simulate()
        assert found.local_share == 1
        assert found.load_factor == pytest.approx(1.5, abs=0.01)
        assert found.rack_load["c"] == found.cross_bytes_per_s == 0

    def test_bounded_keeps_the_bound(self):
        found = simulate(mode="bounded", eps=0.1)
        assert found.load_factor == pytest.approx(1.1, abs=0.005)
        assert found.local_share == pytest.approx(0.733, abs=0.003)
        assert found.cross_bytes_per_s == pytest.approx(8e5 * 0.267, rel=0.02)

    def test_uniform_ignores_racks(self):
        found = simulate(mode="uniform")
        assert found.local_share == pytest.approx(1 / 3, abs=0.05)
        assert found.load_factor == pytest.approx(1, abs=0.08)

    def test_upstream_stays_near_as_well(self):
        found = simulate(mode="upstream")
        assert (found.local_share, found.mode) == (1, "upstream")

    def test_clients_without_near_leaders(self):
        found = simulate(rates=rates("a 4e5 z 4e5"))
        assert found.local_share == pytest.approx(0.5, abs=0.01)
        assert set(found.fallbacks) == {"rack-unmatched"}
        assert set(found.rack_load) == set("abcz")

    def test_levels(self):
        racks = dict(enumerate(("/e/a", "/e/b", "/w/a")))
        view = TopicView((0, 1, 2), racks)
        terms = {"view": view, "weights": view.leader_weights(), "rates": rates("/e/a 6e5")}
        assert simulate(**terms).local_share == 1
        found = simulate(mode="bounded", eps=0.5, **terms)
        assert found.rack_load["/e/b"] == pytest.approx(3e5, rel=0.02)
        assert found.rack_load["/w/a"] == 0


class TestPinned:
    def test_pinned_bytes_load_racks_but_not_the_local_share(self):
        found = simulate(rates=rates("a 3e5", "b 6e5"))
        assert found.local_share == 1
        assert found.rack_load["b"] == pytest.approx(6e5, rel=0.01)
        assert found.partition_load[1] == pytest.approx(1.5e5, rel=0.05)
        assert found.load_factor == pytest.approx(2, abs=0.02)

    def test_a_rack_without_leaders_rejects_pinned_bytes(self):
        with pytest.raises(SplitError) as raised:
            simulate(rates=rates("a 1", "z 1"), weights=numbers("a 1 z 1"))
        assert raised.value.message == "rack z receives pinned bytes but has no leader"


class TestFaults:
    def test_bytes_for_a_dead_broker_are_late_or_undelivered(self):
        assert simulate().undelivered_bytes <= 2 * UNEVEN.window_bytes
        assert simulate(faults=(down(0),)).undelivered_bytes <= 2 * UNEVEN.window_bytes
        stuck = simulate(faults=(down(0, at=10, for_=20),))
        assert stuck.undelivered_bytes > 16 * UNEVEN.window_bytes

    def test_producers_avoid_a_broker_with_backlog(self):
        found = simulate(faults=(down(0, for_=15), down(3, for_=15)))
        assert found.fallbacks["local-backlog"] > 0
        assert found.local_share < 1

    def test_an_availability_timeout_excludes_a_broker_sooner(self):
        faults = (down(0, for_=15), down(3, for_=15))
        late = simulate(faults=faults)
        soon = simulate(faults=faults, availability_timeout_ms=500)
        assert soon.fallbacks["local-excluded"] > 0
        assert soon.local_share < late.local_share

    def test_upstream_has_no_weights_until_every_partition_had_a_record(self):
        """Rack-aware producers stay in their racks, so the late broker gets the same bytes."""
        faults = (down(0, for_=15),)
        late = simulate(mode="upstream", faults=faults).partition_load
        assert late[0] == pytest.approx(late[3], rel=0.2)
        weighed = simulate(mode="kip", faults=faults).partition_load
        assert weighed[0] < 0.6 * weighed[3]

    def test_a_slow_broker_gets_less(self):
        slow = BrokerFault(broker=0, at_ms=0, for_ms=20 * SECOND, kind="slow", rtt_ms=300)
        found = simulate(faults=(slow,)).partition_load
        assert found[0] + found[6] < 0.8 * (found[3] + found[9])

    def test_consecutive_faults(self):
        faults = (down(0, at=12, for_=2), down(0, at=5, for_=2))
        assert simulate(faults=faults).undelivered_bytes <= 2 * UNEVEN.window_bytes
        assert simulate(faults=faults) == simulate(faults=faults[::-1])

    def test_started_work_continues_after_a_fault(self):
        """Windows of 4 MB at 5 s and 15 s, 10 s of work each; down from 10 s to 11 s."""
        scenario = replace(
            UNEVEN,
            view=TopicView((0,), {0: "a"}),
            rates=rates("a 4e5"),
            weights={"a": 1},
            sticky_bytes=4_000_000,
            broker_bytes_per_s=4e5,
            duration_ms=16.5 * SECOND,
            faults=(down(0, at=10, for_=1),),
        )
        assert simulate_producers(scenario, rng=FixedRandom()).undelivered_bytes == 4_000_000
        late = replace(scenario, duration_ms=15.5 * SECOND)
        assert simulate_producers(late, rng=FixedRandom()).undelivered_bytes == 8_000_000

    def test_an_overloaded_broker(self):
        found = simulate(broker_bytes_per_s=1e5, mode="uniform")
        assert found.undelivered_bytes > 3e6
        one = simulate(view=TopicView((0,), {0: "a"}), weights={"a": 1}, broker_bytes_per_s=4e5)
        assert one.undelivered_bytes == pytest.approx(8e6, rel=0.05)

    def test_partitions_without_leader(self):
        view = TopicView((None, None), {0: "a"})
        for mode in ("uniform", "kip", "upstream"):
            found = simulate(view=view, weights={"a": 1}, mode=mode)
            assert found.undelivered_bytes == found.windows * UNEVEN.window_bytes
            assert found.rack_load == numbers("a 0 b 0 c 0")


class TestSameInput:
    @pytest.mark.parametrize("mode", MODES)
    def test_same_output(self, mode):
        faults = (down(1),)
        terms = {"mode": mode, "faults": faults, "rates": rates("a 4e5 b 2e5", "c 2e5")}
        assert simulate(**terms) == simulate(**terms)
        turned = terms | {"rates": rates("b 2e5 a 4e5", "c 2e5")}
        assert simulate(**terms) == simulate(**turned)

    def test_another_seed_gives_another_run(self):
        assert simulate(seed=1, mode="uniform") != simulate(seed=2, mode="uniform")

    @pytest.mark.parametrize(("phase", "racks"), [(0, "ab"), (1, "c"), (2, "ab")])
    def test_each_producer_skips_windows_of_its_own(self, phase, racks):
        one = replace(UNEVEN, mode="bounded", duration_ms=40.0)
        load = simulate_producers(one, rng=FixedRandom(phase)).rack_load
        assert {rack for rack, had in load.items() if had} == set(racks)

    def test_progress_is_reported_in_windows(self):
        advances, small = [], replace(UNEVEN, sticky_bytes=5000)
        found = simulate_producers(small, rng=Random(0), advance=advances.append)
        assert advances == [1024] * 3
        assert sum(advances) <= found.windows < sum(advances) + 1024
        assert abs(found.windows - small.windows) <= 4


class TestBadScenarios:
    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("sticky_bytes", 0),
            pytest.param("sticky_bytes", 10**400, id="401 digits"),
            ("record_bytes", -1),
            ("broker_bytes_per_s", float("nan")),
            ("duration_ms", float("inf")),
        ],
    )
    def test_numbers_must_be_above_0(self, name, value):
        with pytest.raises(SplitError) as raised:
            simulate(**{name: value})
        assert raised.value.message == with_short_words(
            f"invalid {name}: expected a number above 0, up to 2^63, got {value}"
        )
        assert raised.value.hint

    def test_an_unknown_mode_is_rejected(self):
        with pytest.raises(SplitError) as raised:
            simulate(mode="near\x1b")
        assert raised.value.message == (
            "invalid mode: expected one of uniform, kip, upstream, bounded, got near\\x1b"
        )

    def test_nothing_sent(self):
        found = simulate(rates=rates("a 0"))
        assert (found.local_share, found.load_factor, found.partition_load_factor) == (1, 1, 1)
        assert found.windows == 0

    def test_the_least_possible_rate(self):
        assert simulate(rates=rates("a 5e-324")).windows == 0
