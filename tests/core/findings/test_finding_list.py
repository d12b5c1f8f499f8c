from rackwise.core.findings import FindingList, Rule, RuleTable, Severity, Unchecked


class TestFindingList:
    @staticmethod
    def found():
        table = RuleTable(
            Rule("b", Severity.WARNING, "a b is wrong"),
            Rule("c", Severity.ERROR, "a c is wrong"),
            Rule("a", Severity.INFO, "an a is wrong"),
            Rule("d", Severity.INFO, "a d is wrong"),
        )
        texts = {"wanted": "one", "had": "none", "hint": "do it"}
        return FindingList(
            table,
            [
                table.finding("a", **texts),
                table.finding("b", broker=2, **texts),
                Unchecked("d", "no reason"),
                table.finding("b", broker=1, **texts),
                Unchecked("c", "not read", "broker 2"),
                Unchecked("c", "not read", "broker 1"),
                Unchecked("c", "not read", "broker 1"),
            ],
        )

    def test_ordered_by_rule_then_place(self):
        assert [(each.place, each.rule) for each in self.found()] == [
            ("broker 1", "b"),
            ("broker 2", "b"),
            ("cluster", "a"),
        ]
        assert len(self.found()) == 3
        assert self.found()[0].broker == 1
        assert [each.rule for each in self.found()[1:]] == ["b", "a"]

    def test_counts_and_reasons_in_listing_order(self):
        assert list(self.found().counts.items()) == [("b", 2), ("a", 1)]
        assert list(self.found().not_checked.items()) == [
            ("c", "not read: broker 2, broker 1"),
            ("d", "no reason"),
        ]

    def test_repr_shows_counts(self):
        assert repr(self.found()).startswith("FindingList({'b': 2, 'a': 1}, not_checked=")
