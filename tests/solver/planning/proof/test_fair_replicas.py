"""The check of loads, groups and cuts: each fault is named."""

from dataclasses import replace
from typing import ClassVar

import pytest

from checked_plans import check
from proved_plans import GROWN, ZONES, grown, with_certificate
from rackwise.core.planning.model import Repair
from rackwise.core.planning.plan import plan
from rackwise.core.policy import BalancePolicy, BrokerPolicy, Policy, Slack, TopicBlock
from small_clusters import small_cluster


class TestLoads:
    def test_loads_outside_their_group(self):
        cluster, made = grown()
        verdict = check(cluster, Policy(), replace(made, moves=()))
        assert not verdict.is_fair
        assert "expected 2 replicas on broker 1, got 4" in verdict.problems

    def test_groups_adapted_to_unfair_loads(self):
        cluster, made = grown()
        group = replace(
            made.fair.groups[0], low=(4, 4, 4, 0, 0, 0), high=(4, 4, 4, 0, 0, 0), total=12
        )
        forged = replace(with_certificate(made, groups=(group,), prices={}), moves=())
        verdict = check(cluster, Policy(), forged)
        assert verdict.gap == 0
        assert not verdict.is_fair
        assert any("expected fair loads" in problem for problem in verdict.problems)

    def test_groups_that_exclude_fair_loads(self):
        cluster = small_cluster({1: "/a", 2: "/a"}, {"t-0": [1]})
        made = plan(cluster)
        groups = made.fair.groups
        assert (groups[0].low, groups[0].high, groups[0].total) == ((0, 0), (1, 1), 1)
        narrow = replace(groups[0], low=(1, 0), high=(1, 0))
        verdict = check(cluster, Policy(), with_certificate(made, groups=(narrow,)))
        expected = (
            "expected groups of all fair loads, got none with one more on broker 2 and one less"
        )
        assert any(problem.startswith(expected) for problem in verdict.problems)

    @pytest.mark.parametrize(
        ("fields", "expected"),
        [
            ({"brokers": (1, 2, 3, 4, 5, 5)}, "expected groups that contain every usable broker"),
            ({"low": (3,) * 6}, "expected a low and a high of each broker and a total between"),
            ({"low": (1,)}, "expected a low and a high of each broker and a total between"),
            ({"total": 13}, "expected a low and a high of each broker and a total between"),
            (
                {"low": (0,) * 6, "total": 11},
                "expected 11 replicas on brokers 1, 2, 3, 4, 5, 6 in all, got",
            ),
        ],
    )
    def test_invalid_groups(self, fields, expected):
        cluster, made = grown()
        group = replace(made.fair.groups[0], **fields)
        verdict = check(cluster, Policy(), with_certificate(made, groups=(group,)))
        assert any(problem.startswith(expected) for problem in verdict.problems)
        assert not verdict.is_fair

    def test_policy_without_balance(self):
        cluster = small_cluster(ZONES, GROWN)
        made = plan(cluster, goal=Repair())
        other = grown()[1]
        forged = with_certificate(made, groups=other.fair.groups)
        assert "expected no groups of brokers, because the policy does not ask for even loads" in (
            check(cluster, Policy(), forged).problems
        )

    def test_groups_with_slack_are_recomputed(self):
        cluster = small_cluster(ZONES, GROWN)
        slack = Policy(balance=BalancePolicy(replicas=Slack(1)))
        made = plan(cluster, slack)
        assert check(cluster, slack, made).is_proved
        group = replace(made.fair.groups[0], high=(4,) * 6)
        assert "expected groups of the fair loads plus the slack, got others" in (
            check(cluster, slack, with_certificate(made, groups=(group,))).problems
        )


class TestCuts:
    RACKS: ClassVar = {1: "/a", 2: "/a", 3: "/a", 4: "/b", 5: "/b", 6: "/c"}
    LISTS: ClassVar = {
        "t-0": [1, 2, 4],
        "t-1": [2, 5, 6],
        "t-2": [3, 4, 6],
        "t-3": [1, 4, 6],
        "t-4": [1, 5, 6],
        "t-5": [2, 4, 6],
    }

    def made(self):
        cluster = small_cluster(self.RACKS, self.LISTS)
        return cluster, plan(cluster)

    def test_cuts_prove_that_unequal_loads_are_fair(self):
        cluster, made = self.made()
        assert [cut.brokers for cut in made.fair.cuts] == [(6,), (4, 5, 6)]
        assert check(cluster, Policy(), made).is_proved

    def test_false_cut_is_rejected(self):
        cluster, made = self.made()
        cuts = (replace(made.fair.cuts[0], least=7), *made.fair.cuts[1:])
        verdict = check(cluster, Policy(), with_certificate(made, cuts=cuts))
        assert "expected a cut of 6 replicas on broker 6, got 7" in verdict.problems

    def test_plan_that_violates_a_cut(self):
        lists = {**self.LISTS, "t-0": [1, 2, 5]}
        cluster = small_cluster(self.RACKS, lists)
        made = plan(cluster)
        verdict = check(cluster, Policy(), replace(made, moves=()))
        assert "expected 6 replicas on broker 6, got 5" in verdict.problems

    def test_cut_of_unusable_brokers(self):
        cluster, made = self.made()
        cuts = (replace(made.fair.cuts[0], brokers=(6, 7)), *made.fair.cuts[1:])
        verdict = check(cluster, Policy(), with_certificate(made, cuts=cuts))
        assert "expected a cut of usable brokers, got brokers 6, 7" in verdict.problems

    def test_cut_that_only_topic_caps_make_tight(self):
        rules = (
            TopicBlock(match=("t",), topic_spread="even"),
            TopicBlock(match=("u",), pin={0: (1,), 1: (1,)}),
        )
        lists = {"t-0": [1], "t-1": [2], "u-0": [1], "u-1": [1]}
        cluster, policy = small_cluster({1: "/a", 2: "/a"}, lists), Policy(topics=rules)
        made = plan(cluster, policy)
        assert [(cut.brokers, cut.least) for cut in made.fair.cuts] == [((1,), 3)]
        assert check(cluster, policy, made).is_proved
        cuts = (replace(made.fair.cuts[0], least=4),)
        forged = with_certificate(made, cuts=cuts)
        expected = "expected a cut of 3 replicas on broker 1, got 4"
        assert expected in check(cluster, policy, forged).problems

    def test_cuts_can_be_omitted(self):
        cluster, made = self.made()
        assert check(cluster, Policy(), with_certificate(made, cuts=())).is_proved

    def test_sentence_lists_only_the_first_brokers(self):
        racks = {id_: "/a" if id_ < 20 else "/b" for id_ in range(1, 21)}
        lists = {f"t-{number}": [number + 1, 20] for number in range(19)}
        cluster = small_cluster(racks, lists)
        made = plan(cluster)
        big = next(group for group in made.fair.groups if len(group.brokers) > 12)
        groups = tuple(
            replace(group, total=99) if group == big else group for group in made.fair.groups
        )
        verdict = check(cluster, Policy(), with_certificate(made, groups=groups))
        assert any(problem.endswith("11, 12 and 7 more") for problem in verdict.problems)


def test_cuts_forced_by_caps_are_accepted_under_slack():
    """Caps force 5 on brokers 2 and 3, racks alone force 4; with slack a plan may hold fewer."""
    lists = {"t-0": [2, 1], "t-1": [3], "t-2": [2], "u-0": [3, 2], "u-1": [1, 3], "u-2": [2, 3]}
    cluster = small_cluster({1: "/a", 2: "/a", 3: "/b"}, lists)
    block = TopicBlock(match=("*",), spread={"zone": "off"}, topic_spread="even")
    policy = Policy(
        balance=BalancePolicy(replicas=Slack(1)),
        brokers=BrokerPolicy(weights={1: 4}),
        topics=(block,),
    )
    made = plan(cluster, policy)
    assert made.certificates[0].cuts
    assert made.verdict.is_proved, made.verdict.problems
    cut = replace(made.certificates[0].cuts[0], least=6)
    more = replace(made.certificates[0], cuts=(cut,))
    verdict = check(cluster, policy, replace(made, certificates=(more, *made.certificates[1:])))
    assert verdict.problems == ("expected a cut of 4 replicas on brokers 2, 3, got 6",)
