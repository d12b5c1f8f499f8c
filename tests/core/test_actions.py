"""Do this first: the order of the actions, their limits, and the lines to set and to run."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.actions import (
    MOST,
    MOST_REPAIRS,
    RUN,
    ClusterPlaces,
    ClusterRisk,
    PossibleSaving,
    Unmeasured,
    first_actions,
)
from rackwise.core.savings.model import ASSIGNMENT, FOLLOWER_FETCH, LEADER_MOVES, PRODUCING

PLACES = ClusterPlaces("prod", "snapshots/prod 1.json", "kafka-1:9092")
REPAIR = ClusterRisk(
    places=PLACES,
    offline=12,
    rack="/eu/a",
    unsafe=40,
    moves=3,
    file="plans/0001.json",
    reason=None,
    usd_once=5,
    usd_monthly=-7,
)
SAVING = PossibleSaving(places=PLACES, saving=FOLLOWER_FETCH, subject=None, low=10, high=20)


def of(name, one=REPAIR, **fields):
    return replace(one, places=PLACES._replace(cluster=name), **fields)


def first(repairs=(), savings=(), unmeasured=()):
    return first_actions(repairs, savings, unmeasured)


def commands(action):
    return [step.line for step in action.steps if step.where == RUN]


class TestOrder:
    def test_risk_comes_before_dollars_and_more_partitions_first(self):
        repairs = [of("b", offline=1), of("a", offline=1), of("c", offline=9)]
        found = first(repairs, [SAVING])
        assert [one.cluster for one in found] == ["c", "a", "b", "prod"]
        assert found[-1].kind == FOLLOWER_FETCH

    def test_more_repairs_than_places_leave_room_for_savings(self):
        repairs = [of(f"c{number}", offline=99 - number) for number in range(9)]
        kinds = [one.kind for one in first(repairs, [SAVING])]
        assert kinds == ["repair"] * MOST_REPAIRS + [FOLLOWER_FETCH, "repair"]
        assert [one.kind for one in first(repairs)] == ["repair"] * MOST

    def test_uneven_spread_without_risk_comes_after_savings(self):
        found = first([of("even", offline=0), of("fine", offline=0, unsafe=0)], [SAVING])
        assert [one.kind for one in found] == [FOLLOWER_FETCH, "repair"]
        assert found[1].why == "40 partitions are not rack-safe"

    def test_savings_are_ordered_by_what_is_proved_then_by_what_is_possible(self):
        amounts = {"a": (None, 900), "b": (5, 9), "c": (5, 90), "d": (0, 0), "e": (None, None)}
        savings = [of(name, SAVING, low=low, high=high) for name, (low, high) in amounts.items()]
        assert [one.cluster for one in first((), savings)] == ["c", "b", "a"]

    def test_a_measurement_has_the_last_place(self):
        unmeasured = [Unmeasured(places=PLACES, unattributed=1, has_unknown_plan=False)]
        repairs = [of(f"c{number}", offline=99 - number) for number in range(9)]
        kinds = [one.kind for one in first(repairs, [SAVING], unmeasured)]
        assert kinds == ["repair"] * MOST_REPAIRS + [FOLLOWER_FETCH, "measure"]

    def test_nothing_to_do(self):
        known = [Unmeasured(places=PLACES, unattributed=0, has_unknown_plan=False)]
        assert first([of("fine", offline=0, unsafe=0)], (), known) == ()


class TestRepair:
    def test_it_is_proved_and_applied_with_exact_commands(self):
        (found,) = first([REPAIR])
        assert found.title == "Repair cluster prod: move 3 replicas"
        assert found.why == (
            "12 partitions go offline when rack /eu/a is lost; 40 partitions are not rack-safe"
        )
        assert (found.usd_once, found.usd_monthly) == (5, -7)
        proof, apply = map(shlex.split, commands(found))
        assert proof == [
            *("rackwise", "proof", "plans/0001.json"),
            *("--snapshot", "snapshots/prod 1.json"),
        ]
        assert apply[:5] == [
            *("rackwise", "apply", "plans/0001.json"),
            *("--bootstrap-server", "kafka-1:9092"),
        ]

    def test_one_partition_and_an_unknown_address(self):
        one = of("x", offline=1, unsafe=1)
        one = replace(one, places=one.places._replace(server=None))
        (found,) = first([one])
        assert found.why == (
            "1 partition goes offline when rack /eu/a is lost; 1 partition is not rack-safe"
        )
        assert "--bootstrap-server HOST:PORT" in commands(found)[1]

    def test_too_few_replicas_are_not_repaired_by_moves(self):
        (found,) = first([replace(REPAIR, moves=0, unsafe=0)])
        assert found.kind == "replicas"
        assert found.why == (
            "12 partitions go offline when rack /eu/a is lost; no move repairs that"
        )
        assert shlex.split(*commands(found))[-2:] == ["--lose", "/eu/a"]
        assert found.usd_once is None

    @pytest.mark.parametrize(
        ("reason", "said"), [("x\x1b", "; there is no plan: x\\x1b"), (None, "")]
    )
    def test_without_a_plan_it_is_planned(self, reason, said):
        (found,) = first([replace(REPAIR, file=None, moves=None, rack=None, reason=reason)])
        assert found.title == "Plan the repair of cluster prod"
        assert found.why.endswith(f"not rack-safe{said}")
        assert commands(found)[0].startswith("rackwise plan repair --snapshot ")


class TestSavings:
    @pytest.mark.parametrize(
        ("saving", "subject", "named", "line"),
        [
            (FOLLOWER_FETCH, None, "cluster prod", "rackwise doctor --bootstrap-server "),
            (ASSIGNMENT, "bill ing", "group bill ing", "--group 'bill ing'"),
            (PRODUCING, "orders", "topic orders", "partitioner.rack.aware=true"),
        ],
    )
    def test_each_change_has_its_lines(self, saving, subject, named, line):
        (found,) = first((), [replace(SAVING, saving=saving, subject=subject)])
        assert named in found.title
        assert (found.saves_low, found.saves_high) == (10, 20)
        assert any(line in step.line for step in found.steps)

    def test_other_leaders_are_no_action(self):
        """No command chooses leaders by what is read from them."""
        assert first((), [replace(SAVING, saving=LEADER_MOVES)]) == ()


class TestMeasurement:
    @pytest.mark.parametrize(
        ("unattributed", "has_unknown_plan", "why"),
        [
            (5, False, "bytes across racks belong to no known topic"),
            (0, True, "the monthly change of a repair is not known"),
            (
                5,
                True,
                (
                    "bytes across racks belong to no known topic; "
                    "the monthly change of a repair is not known"
                ),
            ),
        ],
    )
    def test_it_says_what_it_makes_known(self, unattributed, has_unknown_plan, why):
        (found,) = first(
            (),
            (),
            [
                Unmeasured(
                    places=PLACES, unattributed=unattributed, has_unknown_plan=has_unknown_plan
                )
            ],
        )
        assert found.why == why
        assert found.title == "Measure the rates of cluster prod"
        assert shlex.split(*commands(found)) == [
            *("rackwise", "snapshot", "--bootstrap-server", "kafka-1:9092"),
            *("--measure", "60s", "--out", "measured.json.gz"),
        ]

    def test_other_clusters_are_counted(self):
        some = [
            Unmeasured(places=PLACES._replace(cluster=name), unattributed=n, has_unknown_plan=False)
            for name, n in (("a", 1), ("b", 3), ("c", 2))
        ]
        (found,) = first((), (), some)
        assert found.title == "Measure the rates of cluster b and 2 other clusters"


OPTIONAL = st.none() | st.integers(-5, 50)


@given(
    st.lists(
        st.builds(
            ClusterRisk,
            places=st.builds(ClusterPlaces, st.text(max_size=3), st.text(max_size=3), st.none()),
            offline=st.integers(0, 3),
            rack=st.none() | st.just("r"),
            unsafe=st.integers(0, 3),
            moves=st.none() | st.integers(0, 2),
            file=st.none() | st.just("f"),
            reason=st.none() | st.text(max_size=3),
            usd_once=OPTIONAL,
            usd_monthly=OPTIONAL,
        ),
        max_size=8,
    ),
    st.lists(
        st.builds(
            PossibleSaving,
            places=st.just(PLACES),
            saving=st.sampled_from([FOLLOWER_FETCH, ASSIGNMENT, PRODUCING, LEADER_MOVES]),
            subject=st.none() | st.text(max_size=3),
            low=OPTIONAL,
            high=OPTIONAL,
        ),
        max_size=8,
    ),
)
def test_there_are_at_most_five_each_with_steps_and_no_unknown_is_zero(repairs, savings):
    found = first_actions(repairs, savings, ())
    assert len(found) <= MOST
    for one in found:
        assert one.steps
        assert one.title.isprintable()
        assert one.why.isprintable()
    amounts = {(one.low, one.high) for one in savings}
    assert {(a.saves_low, a.saves_high) for a in found if a.kind == FOLLOWER_FETCH} <= amounts
