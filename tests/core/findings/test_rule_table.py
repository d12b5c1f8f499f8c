import pytest

from rackwise.core.errors import InvalidConfig
from rackwise.core.findings import Rule, RuleTable, Severity


class TestRuleTable:
    @staticmethod
    def table():
        table = RuleTable(Rule("a", Severity.INFO, "an a is wrong"))
        table.rule("b", Severity.WARNING, "a b is wrong")(len)
        table.add(Rule("c", Severity.ERROR, "a c is wrong"))
        table.rule("d", Severity.INFO, "a d is wrong")(max)
        return table

    def test_infos_come_last_and_others_in_order_of_addition(self):
        assert list(self.table()) == ["b", "c", "a", "d"]
        assert len(self.table()) == 4

    def test_functions_that_check_a_rule(self):
        assert list(self.table().checks.items()) == [("b", len), ("d", max)]

    def test_name_must_be_unique(self):
        with pytest.raises(InvalidConfig, match="expected each rule once, got a twice") as caught:
            self.table().add(Rule("a", Severity.ERROR, "another"))
        assert caught.value.hint == "give the second rule another name"

    def test_severity_defaults_to_that_of_the_rule(self):
        texts = {"wanted": "one", "had": "none", "hint": "do it"}
        assert self.table().finding("b", broker=1, **texts).severity == Severity.WARNING
        found = self.table().finding("b", severity=Severity.INFO, **texts)
        assert found.severity == Severity.INFO
