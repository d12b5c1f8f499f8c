"""What a night tells, once per change."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction

import pytest

from rackwise.core.notices.changes import (
    LONGEST,
    ClusterMemory,
    DayCost,
    NightFacts,
    Notice,
    changes,
)
from rackwise.core.notices.costs import CostOfDay, day_cost
from rackwise.core.notices.message import MOST, MOST_LISTED, message

CALM = NightFacts(failures=(), unsafe=(), plan="")
FAILED = NightFacts(failures=("the step first-look failed with exit code 1",))


def told(memory, facts, limit_percent=20):
    notices, kept = changes("prod", memory, facts, day="2026-11-26", limit_percent=limit_percent)
    return [each.kind for each in notices], kept


def nights(*facts, limit_percent=20):
    """The kinds of each night, one after the other."""
    memory, found = ClusterMemory(), []
    for each in facts:
        kinds, memory = told(memory, each, limit_percent)
        found.append(kinds)
    return found


def cost(now, before, day="2026-11-25"):
    return replace(
        CALM,
        cost=DayCost(
            day=day,
            before_day="2026-11-24",
            nano_per_hour=Fraction(now),
            before_nano_per_hour=Fraction(before),
        ),
    )


def test_a_calm_night_tells_nothing():
    assert nights(CALM, CALM) == [[], []]


def test_a_failure_is_told_once_its_recovery_once_and_a_new_failure_again():
    assert nights(FAILED, FAILED, CALM, CALM, FAILED) == [
        ["cluster-failed"],
        [],
        ["cluster-recovered"],
        [],
        ["cluster-failed"],
    ]


def test_a_topic_is_told_when_it_becomes_unsafe_and_again_after_it_was_safe():
    unsafe = [replace(CALM, unsafe=names) for names in (("a",), ("a",), ("a", "b"), ("b",), ("a",))]
    assert nights(*unsafe) == [
        ["topic-unsafe"],
        [],
        ["topic-unsafe"],
        ["topic-safe"],
        ["topic-unsafe", "topic-safe"],
    ]


def test_topics_that_are_safe_again_are_told_once_with_what_is_left():
    memory = ClusterMemory(unsafe=("a", "b", "c\n"))
    left = replace(CALM, unsafe=("b",))
    (notice,), memory = changes("prod", memory, left, day="d", limit_percent=20)
    assert (notice.kind, notice.text) == (
        "topic-safe",
        "prod: 2 topics are no longer unsafe: a, c\\x0a; 1 topic is unsafe",
    )
    assert told(memory, FAILED)[0] == ["cluster-failed"], "what is not known is not safe"
    (notice,), memory = changes("prod", memory, CALM, day="d", limit_percent=20)
    assert notice.text == "prod: 1 topic is no longer unsafe: b; no topic is unsafe"
    assert told(memory, CALM)[0] == []


def test_a_night_without_an_audit_forgets_no_unsafe_topic_and_no_plan():
    known = replace(CALM, unsafe=("a",), plan="5f", moves=2)
    assert nights(known, FAILED, known) == [
        ["topic-unsafe", "plan-waits"],
        ["cluster-failed"],
        ["cluster-recovered"],
    ]


def test_a_plan_is_told_again_only_if_its_moves_differ():
    plans = [replace(CALM, plan=plan, moves=1) for plan in ("5f", "5f", "6a", "", "6a")]
    assert nights(*plans) == [["plan-waits"], [], ["plan-waits"], [], ["plan-waits"]]


def test_a_rise_of_the_cost_is_told_above_the_limit_and_once():
    found = nights(cost(120, 100), cost(121, 100), cost(140, 100), CALM, cost(90, 100), cost(2, 1))
    assert found == [[], ["cost-rose"], [], [], [], ["cost-rose"]]
    assert nights(cost(1, 0), cost(0, 0)) == [["cost-rose"], []]


def test_the_texts_name_what_changed():
    facts = replace(
        cost(150, 100),
        failures=("audit failed", "plan failed"),
        unsafe=("a", "b", "c", "d", "e\n"),
        plan="5f",
        moves=3,
        plan_file="/data/plans/prod/2026-11-26.json",
    )
    notices, _ = changes("prod", ClusterMemory(), facts, day="2026-11-26", limit_percent=20)
    assert [each.text for each in notices] == [
        "prod: audit failed; 1 more step failed",
        "prod: 5 topics became unsafe: a, b, c and 2 more",
        "prod: traffic between racks cost 50 % more on 2026-11-25 than on 2026-11-24",
        "prod: a plan waits that moves 3 partitions: /data/plans/prod/2026-11-26.json",
    ]
    (free,), _ = changes("p", ClusterMemory(), cost(1, 0), day="2026-11-26", limit_percent=20)
    assert free.text.endswith("cost more on 2026-11-25 than on 2026-11-24, when it cost nothing")


def test_a_text_is_printable_and_bounded():
    facts = NightFacts(failures=("x" * 1000,))
    (notice,), _ = changes("p\x1b[31m", ClusterMemory(), facts, day="d", limit_percent=1)
    assert notice.text.isprintable()
    assert len(notice.text) == LONGEST
    assert notice.text.endswith("...")


class TestCosts:
    MIDNIGHT = datetime(2026, 11, 25, tzinfo=UTC)

    def cost(self, days_ago, nano, hours=24):
        start = self.MIDNIGHT - timedelta(days=days_ago)
        since = start - timedelta(hours=3) if hours == 24 else start
        until = start + timedelta(hours=hours if hours != 24 else 30)
        return CostOfDay(day=start.date(), nano_usd=nano, since=since, until=until)

    def test_yesterday_is_compared_with_the_day_a_week_before(self):
        found = day_cost(
            [self.cost(0, 240), self.cost(1, 24), self.cost(7, 48)], date(2026, 11, 26)
        )
        assert found == DayCost(
            day="2026-11-25",
            before_day="2026-11-18",
            nano_per_hour=Fraction(10),
            before_nano_per_hour=Fraction(2),
        )

    def test_without_it_yesterday_is_compared_with_the_day_before_by_the_hour(self):
        found = day_cost([self.cost(0, 240), self.cost(1, 22, hours=22)], date(2026, 11, 26))
        assert found is not None
        assert (found.before_day, found.before_nano_per_hour) == ("2026-11-24", 1)

    @pytest.mark.parametrize(
        "before",
        [
            {"nano": None},
            {"nano": 5, "hours": 19},
            {"nano": 5, "hours": 0},
        ],
    )
    def test_a_day_that_is_not_known_or_not_whole_is_not_compared(self, before):
        assert day_cost([self.cost(0, 240), self.cost(1, **before)], date(2026, 11, 26)) is None

    def test_a_day_without_traffic_is_not_compared(self):
        idle = CostOfDay(day=date(2026, 11, 25), nano_usd=0, since=None, until=None)
        assert day_cost([idle, self.cost(1, 24)], date(2026, 11, 26)) is None


class TestMessage:
    def notices(self, number, text="prod: it failed"):
        return [
            Notice(kind="cluster-failed", cluster="prod", day=f"d{index}", text=text)
            for index in range(number)
        ]

    def test_slack_shows_no_markup_of_a_name(self):
        document = message(self.notices(1, text="a & b: <!channel>"))
        assert document["text"] == (
            "Rackwise, night of d0: 1 notice\n• a &amp; b: &lt;!channel&gt;"
        )
        assert document["notices"][0]["text"] == "a & b: <!channel>"

    def test_the_text_and_the_list_are_bounded(self):
        document = message(self.notices(MOST_LISTED + 5))
        assert len(document["notices"]) == MOST_LISTED
        lines = document["text"].splitlines()
        assert len(lines) == MOST + 2
        assert lines[-1] == f"and {MOST_LISTED + 5 - MOST} more"

    def test_the_id_is_that_of_the_notices(self):
        assert message(self.notices(2))["id"] == message(self.notices(2))["id"]
        assert message(self.notices(2))["id"] != message(self.notices(3))["id"]


RACKLESS = {"spread-even": "no broker has a rack"}
PIN = {"pin": "x"}


def night(*topics, not_checked=None):
    return replace(CALM, unsafe=topics, not_checked=not_checked or {})


class TestRulesThatWereNotChecked:
    """Topics that no rule could look at are not safe."""

    def test_topics_of_a_cluster_that_lost_its_racks_stay_unsafe(self):
        lost = night(not_checked=RACKLESS)
        assert nights(night("a", "b"), lost, lost, night("b")) == [
            ["topic-unsafe"],
            ["safety-unknown"],
            [],
            ["topic-safe", "safety-known"],
        ]

    def test_a_new_finding_of_such_a_night_is_reported_once(self):
        lost = night("c", not_checked=RACKLESS)
        memory = ClusterMemory(unsafe=("a",))
        (notice, _), memory = changes("prod", memory, lost, day="d", limit_percent=20)
        assert notice.text == "prod: 1 topic became unsafe: c"
        assert memory.unsafe == ("a", "c")
        assert told(memory, lost)[0] == []
        (notice, _), _ = changes("prod", memory, CALM, day="d", limit_percent=20)
        assert notice.text == "prod: 2 topics are no longer unsafe: a, c; no topic is unsafe"

    def test_a_rule_that_is_never_checked_hides_no_repair_and_no_new_break(self):
        broken, whole = (night(*names, not_checked=RACKLESS) for names in (("a",), ()))
        assert nights(broken, whole, broken) == [
            ["topic-unsafe", "safety-unknown"],
            ["topic-safe"],
            ["topic-unsafe"],
        ]

    def test_a_night_without_an_audit_keeps_what_was_not_checked(self):
        _, memory = told(ClusterMemory(), night("a", not_checked=RACKLESS))
        _, memory = told(memory, FAILED)
        assert memory.not_checked == ("spread-even: no broker has a rack",)
        assert memory.unchecked == ("spread-even",)
        assert memory.unknown_since == "2026-11-26"

    def test_less_that_is_not_checked_is_compared(self):
        more = night("a", not_checked=RACKLESS | PIN)
        assert nights(more, night(not_checked=RACKLESS))[1] == ["topic-safe"]


class TestSafetyThatIsNotKnown:
    """A rule of severity error that is not checked is a change, whatever else was found."""

    def test_it_is_told_once_and_again_after_it_was_known(self):
        lost = night(not_checked=RACKLESS)
        assert nights(CALM, lost, lost, lost, CALM, CALM, lost) == [
            [],
            ["safety-unknown"],
            [],
            [],
            ["safety-known"],
            [],
            ["safety-unknown"],
        ]

    def test_it_is_told_of_the_first_night_too(self):
        assert nights(night(not_checked=RACKLESS)) == [["safety-unknown"]]

    def test_a_night_without_an_audit_neither_starts_nor_ends_it(self):
        lost = night(not_checked=RACKLESS)
        assert nights(CALM, FAILED, CALM) == [[], ["cluster-failed"], ["cluster-recovered"]]
        assert nights(lost, FAILED, lost) == [
            ["safety-unknown"],
            ["cluster-failed"],
            ["cluster-recovered"],
        ]

    def test_a_reason_that_changes_is_no_news(self):
        numbers = [{"spread-even": f"no rack is known of {n} live brokers"} for n in (3, 2)]
        assert nights(*(night(not_checked=each) for each in numbers)) == [["safety-unknown"], []]

    def test_more_rules_are_news_and_fewer_are_not(self):
        some, all_ = night(not_checked=RACKLESS), night(not_checked=RACKLESS | PIN)
        assert nights(some, all_, some, all_, CALM) == [
            ["safety-unknown"],
            ["safety-unknown"],
            [],
            ["safety-unknown"],
            ["safety-known"],
        ]

    def test_the_text_says_since_when_why_and_what_to_do(self):
        rules = dict.fromkeys(("spread-even", "spread-max"), "no broker has a rack\x1b")
        lost = replace(night(not_checked=rules), lacks_racks=True)
        (notice,), memory = changes(
            "prod", ClusterMemory(), lost, day="2026-11-26", limit_percent=20
        )
        assert notice.text == (
            "prod: since the night of 2026-11-26 it is not known whether all topics are safe: "
            "2 rules were not checked (no broker has a rack\\x1b); "
            "set broker.rack on each broker, then run rackwise audit --cluster prod"
        )
        more = night("a", not_checked=rules | PIN)
        (_, notice), memory = changes("prod", memory, more, day="2026-11-27", limit_percent=20)
        assert notice.text == (
            "prod: since the night of 2026-11-27 it is not known whether all topics are safe: "
            "1 rule was not checked (x); run rackwise audit --cluster prod"
        )
        (notice,), memory = changes("prod", memory, night("a"), day="2026-11-28", limit_percent=20)
        assert notice.text == (
            "prod: it is known again whether all topics are safe, for the first time since the "
            "night of 2026-11-26; 1 topic is unsafe"
        )
        assert (memory.unchecked, memory.unknown_since) == ((), None)
