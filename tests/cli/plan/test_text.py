"""What a plan looks like on a terminal."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plans import SIZE, plan_of
from rackwise.cli.plan.text import loads_text, plan_text, proof_text, rule_prices_text
from rackwise.core.planning.model import (
    BrokerGroup,
    Cut,
    Drain,
    MonthlyChange,
    Move,
    ReplicationVerdict,
    Steady,
    Totals,
    Verdict,
)
from rackwise.core.planning.rule_costs import RuleCost

MOVE = plan_of().moves[0]


def lines(plan, *, has_color=False):
    return plan_text(plan, has_color=has_color).splitlines()


def test_one_line_a_move_then_what_they_come_to():
    assert lines(plan_of()) == [
        ("~ orders-4  1,2,4 -> 1,3,4  spread-even                  12.4 GiB, 12.4 GiB cross"),
        "~ orders-5  3,1,9 -> 1,3,4  dead-replica leader-balance  size unknown",
        "",
        "goal     balance, fewest replicas",
        (
            "moves    2 replicas in 2 partitions (at least 2 in any such plan); "
            "2 required by rules, 0 for fair loads"
        ),
        "leaders  1 preferred leader changed, 0 lists only reordered",
        (
            "bytes    12.4 GiB and 1 partition of unknown size to copy, "
            "at least 12.4 GiB of it across racks"
        ),
        (
            "price    $0.25 once; replication across racks $90.00 per 30 days -> "
            "1,000 bytes/s (1 unknown rate)"
        ),
        "fair     replicas 1..2, leaders 0..1 on each broker",
        (
            "         brokers 3, 4 must hold 4 replicas or more in any plan: "
            "/a takes at most 1 per partition"
        ),
        "proof    proved: no fair and legal plan costs less than 2 replicas",
        "solver   flow 9.14",
    ]


@pytest.mark.parametrize(
    ("totals", "line"),
    [
        (
            Totals(moves=3, partitions=3, unknown_sizes=3),
            "bytes    not known (3 partitions of unknown size) to copy",
        ),
        (
            Totals(moves=3, partitions=3, unknown_sizes=1, bytes=2**30),
            "bytes    1.00 GiB and 1 partition of unknown size to copy",
        ),
        (
            Totals(moves=3, partitions=3, bytes=2**30),
            "bytes    1.00 GiB to copy, 0 bytes of it across racks",
        ),
    ],
)
def test_bytes_of_unknown_size_are_not_0_bytes(totals, line):
    assert line in lines(plan_of(totals=totals))


def test_nothing_to_move():
    verdict = Verdict(cost=0, lower_bound=0, gap=0, is_legal=True, is_fair=True)
    empty = plan_of(moves=(), totals=Totals(), verdict=verdict, goal=Drain((7,)))
    assert lines(empty)[:2] == [
        "goal     drain 7, fewest replicas",
        "moves    none: nothing to move",
    ]
    assert lines(empty)[-2] == "proof    proved: no fair and legal plan costs less than 0 replicas"


def test_columns_stand_below_each_other():
    long = replace(MOVE, topic="a-much-longer-name", before=(100, 2, 4), reasons=())
    first, second = lines(plan_of(moves=(MOVE, long)))[:2]
    assert first.index("->") == second.index("->")
    assert first.index(" GiB,") == second.index(" GiB,")
    assert "  -  " in second


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "12.4 GiB, 12.4 GiB cross"),
        ({"after": (3, 1, 5)}, "24.8 GiB, 12.4 GiB cross"),
        ({"cross_bytes": None}, "12.4 GiB"),
        ({"bytes": None}, "size unknown"),
        ({"after": (2, 1, 4)}, "nothing to copy"),
        ({"after": (1, 2)}, "nothing to copy"),
    ],
)
def test_what_is_copied(changes, text):
    assert lines(plan_of(moves=(replace(MOVE, **changes),)))[0].endswith(f"  {text}")


def test_a_supposed_cluster_and_another_measure_are_said():
    plan = plan_of(hypothetical=True, minimise="usd", verdict=Verdict(
        cost=248_000_000, lower_bound=248_000_000, gap=0, is_legal=True, is_fair=True
    ))  # fmt: skip
    printed = lines(plan)
    assert "goal     balance, fewest dollars, of a hypothetical cluster" in printed
    assert printed[-2] == "proof    proved: no fair and legal plan costs less than $0.248"


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (
            {"cost": 5, "lower_bound": 3, "gap": 2},
            "gap 2: it costs 5 replicas, the lower bound is 3 replicas",
        ),
        (
            {"cost": 5, "lower_bound": 3, "gap": 2, "is_heuristic": True},
            (
                "heuristic 2: it costs 5 replicas, the lower bound is 3 replicas, "
                "the search was stopped early"
            ),
        ),
        ({"is_legal": False}, "gap 0: a set breaks a rule"),
        ({"is_fair": False}, "gap 0: the loads are not fair"),
        (
            {"is_legal": False, "is_fair": False, "gap": 1, "cost": 1},
            (
                "gap 1: a set breaks a rule; the loads are not fair; it costs 1 replica, "
                "the lower bound is 0 replicas"
            ),
        ),
        ({"problems": ("x",)}, "not proved: see the problems"),
    ],
)
def test_what_is_not_proved(fields, text):
    proved = {"cost": 0, "lower_bound": 0, "gap": 0, "is_legal": True, "is_fair": True}
    assert proof_text(Verdict(**proved | fields), "moves") == text


def test_problems_follow_the_proof():
    verdict = replace(plan_of().verdict, problems=("orders-4: \x1b[2J",))
    assert lines(plan_of(verdict=verdict))[-2] == "         orders-4: \\x1b[2J"


def test_many_cuts_and_many_brokers_are_cut():
    wide = Cut(brokers=tuple(range(20)), least=9, reason="r")
    plan = plan_of(fair=replace(plan_of().fair, cuts=(wide,) * 7))
    printed = [line for line in lines(plan) if line.startswith(" ")]
    assert printed[0] == (
        "         brokers 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 8 more must hold 9 replicas "
        "or more in any plan: r"
    )
    assert printed[5:] == ["         and 2 more cuts; --json has all"]


def test_loads_of_all_groups_together():
    one = BrokerGroup(brokers=(1,), low=(3,), high=(3,), total=3)
    other = BrokerGroup(brokers=(2, 3), low=(1, 1), high=(2, 2), total=3)
    assert (loads_text([one, other]), loads_text([one]), loads_text([])) == ("1..3", "3", "")
    full, bare = replace(other, total=4), replace(other, total=2)
    assert (loads_text([full]), loads_text([bare]), loads_text([full, bare])) == ("2", "1", "1..2")


@pytest.mark.parametrize(
    ("usd", "line"),
    [(10**9, "price    $1.00 once; daily price unknown: 4 rates missing"), (None, None)],
)
def test_rates_that_nobody_knows_are_told_where_dollars_are(usd, line):
    steady = Steady(cross_bytes_per_s=0, unknown_rates=4)
    totals = replace(plan_of().totals, usd_nano=usd, steady_before=steady, steady_after=steady)
    printed = [each for each in lines(plan_of(totals=totals)) if each.startswith("price")]
    assert printed == ([] if line is None else [line])


def test_hostile_names_are_escaped():
    move = Move(
        topic="\u202e",
        partition=0,
        topic_id=None,
        before=(1,),
        after=(2,),
        bytes=SIZE,
        reasons=("\x1b",),
    )
    printed = lines(plan_of(moves=(move,)))
    assert printed[0].startswith("~ \\u202e-0  1 -> 2  \\x1b  ")
    assert all(line.isprintable() for line in printed)


def test_colour_is_never_the_only_sign():
    plan = plan_of()
    with_color = plan_text(plan, has_color=True)
    assert "\x1b[33m~\x1b[0m orders-4" in with_color
    assert with_color.replace("\x1b[33m", "").replace("\x1b[0m", "") == plan_text(
        plan, has_color=False
    )


def test_steady_state_without_prices():
    totals = replace(
        plan_of().totals,
        usd_nano=None,
        steady_before=Steady(cross_bytes_per_s=2**20),
        steady_after=Steady(cross_bytes_per_s=0),
    )
    assert "price    replication across racks 1.00 MiB/s -> 0 bytes/s" in lines(
        plan_of(totals=totals)
    )


@pytest.mark.parametrize(
    ("bound", "proof", "below"),
    [
        (
            10**9,
            "proof    proved: no fair and legal plan costs less than 2 replicas",
            (
                "         and no such plan with as few moves has a lower price of replication than "
                "$30.00 per 30 days, with the leaders that stay"
            ),
        ),
        (
            5 * 10**8,
            "proof    gap 0: replication costs more than its lower bound",
            (
                "         replication costs $30.00 per 30 days, with the leaders that stay; "
                "the lower bound is $15.00"
            ),
        ),
    ],
)
def test_the_price_of_replication_has_its_own_proof(bound, proof, below):
    replication = ReplicationVerdict(cost=10**9, lower_bound=bound)
    found = lines(plan_of(verdict=replace(plan_of().verdict, replication=replication)))
    at = found.index(proof)
    assert found[at + 1] == below


GIB_MONTHS = 5 * 2**30


@pytest.mark.parametrize(
    ("monthly", "printed"),
    [
        (
            {"replication_usd_nano": -1_500_000_000, "reads_usd_nano": 0},
            ["monthly  this plan changes replication by -$1.50 per 30 days"],
        ),
        (
            {"replication_usd_nano": 1, "reads_usd_nano": 2 * 10**9},
            [
                "monthly  this plan changes replication by +<$0.01 per 30 days",
                "         and reads by +$2.00 per 30 days",
            ],
        ),
        (
            {"replication_usd_nano": 0, "reads_reason": "r\x1b"},
            [
                "monthly  this plan changes replication by $0.00 per 30 days",
                "         the change of reads is unknown: r\\x1b",
            ],
        ),
        (
            {"replication_reason": "why; cure", "reads_usd_nano": 0},
            ["monthly  the change of replication is unknown: why; cure"],
        ),
        (
            {"replication_cross_bytes": GIB_MONTHS, "reads_usd_nano": 0},
            ["monthly  this plan changes replication across racks by +5.00 GiB per 30 days"],
        ),
    ],
)
def test_the_change_of_the_monthly_bill(monthly, printed):
    totals = replace(plan_of().totals, monthly=MonthlyChange(**monthly))
    found = lines(plan_of(totals=totals))
    at = next(i for i, line in enumerate(found) if line.startswith("monthly"))
    assert found[at : at + len(printed)] == printed
    assert found[at + len(printed)].startswith("fair ")


def test_without_prices_only_known_bytes_are_said():
    totals = replace(plan_of().totals, usd_nano=None)
    some = replace(totals, monthly=MonthlyChange(replication_cross_bytes=-1, reads_reason="r"))
    printed = lines(plan_of(totals=some))
    assert "monthly  this plan changes replication across racks by -1 byte per 30 days" in printed
    none = replace(totals, monthly=MonthlyChange(replication_reason="r", reads_reason="r"))
    assert not any("monthly" in line or "reads" in line for line in lines(plan_of(totals=none)))


def test_the_price_of_rules():
    price = RuleCost(
        rule="topic_spread",
        with_rule=Totals(moves=25_010, bytes=2**30, usd_nano=10**9),
        without_rule=Totals(moves=1_782, bytes=2**20),
    )
    assert rule_prices_text([price]).splitlines() == [
        "rule           moves  without     bytes   without  price    without",
        "topic_spread  25,010    1,782  1.00 GiB  1.00 MiB  $1.00  not known",
        "",
        "topic_spread costs 23,228 of 25,010 moves",
    ]
    assert rule_prices_text([]) == "the policy has no soft rule"
