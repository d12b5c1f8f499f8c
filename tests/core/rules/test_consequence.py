"""What a broken rule leads to, and the order that follows from it."""

import pytest

from rackwise.core.audit import RULES
from rackwise.core.findings import Rule, Severity
from rackwise.core.rules.consequence import (
    CONSEQUENCES,
    Consequence,
    by_consequence,
    consequence,
)


def test_every_listed_rule_is_a_rule_of_the_audit():
    assert set(CONSEQUENCES) <= set(RULES)


def test_a_partition_that_a_rack_takes_offline_comes_before_an_uneven_spread():
    names = [rule.name for rule in by_consequence(RULES)]
    assert names[:3] == ["offline", "under-min-isr", "rack-loss-offline"]
    assert names.index("rack-loss-offline") < names.index("spread-even")
    assert names.index("spread-even") < names.index("leader-balance")


def test_no_rule_is_lost_and_rules_of_one_consequence_keep_their_order():
    ordered = by_consequence(RULES)
    assert sorted(rule.name for rule in ordered) == sorted(RULES)
    for one in Consequence:
        same = [rule.name for rule in ordered if consequence(rule) == one]
        assert same == [name for name in RULES if consequence(RULES[name]) == one]
        assert same


@pytest.mark.parametrize(
    ("severity", "expected"),
    [
        (Severity.ERROR, Consequence.POLICY),
        (Severity.WARNING, Consequence.SLOWER),
        (Severity.INFO, Consequence.REMARK),
    ],
)
def test_a_rule_that_is_not_listed_has_the_consequence_of_its_severity(severity, expected):
    assert consequence(Rule("new-rule", severity, "something is wrong")) == expected
