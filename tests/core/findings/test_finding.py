import pytest

from rackwise.core.findings import Finding, Severity
from rackwise.core.rules import RULES


class TestFinding:
    def finding(self, **fields):
        plain = dict.fromkeys(("topic", "partition", "broker", "level"))
        return Finding(
            **plain | fields, rule="pin", severity=Severity.ERROR, wanted="one", had="none"
        )

    @pytest.mark.parametrize(
        ("fields", "place"),
        [
            ({}, "cluster"),
            ({"broker": 4}, "broker 4"),
            ({"topic": "t"}, "topic t"),
            ({"topic": "t", "broker": 4}, "topic t on broker 4"),
            ({"topic": "t", "partition": 0}, "t-0"),
            ({"group": "g", "topic": "t"}, "group g, topic t"),
            ({"group": "g", "client_rack": "a"}, "group g, client rack a"),
            ({"where": "option\n", "topic": "t"}, r"option\x0a"),
        ],
    )
    def test_place(self, fields, place):
        assert self.finding(**fields).place == place

    def test_hostile_names_are_escaped(self):
        finding = self.finding(topic="a\x1b[31m", partition=0, level="z\n")
        assert finding.message == r"a\x1b[31m-0: pin at z\x0a: wanted one; had none"

    def test_as_a_json_object(self):
        assert self.finding(topic="t", partition=0, level="zone").as_dict() == {
            "rule": "pin",
            "severity": "error",
            "topic": "t",
            "partition": 0,
            "broker": None,
            "level": "zone",
            "wanted": "one",
            "had": "none",
            "message": "t-0: pin at zone: wanted one; had none",
        }

    def test_optional_fields_come_last(self):
        texts = self.finding(where="here", hint="do it").as_dict("where", "hint")
        assert list(texts.items())[-3:] == [
            ("message", "here: pin: wanted one; had none"),
            ("where", "here"),
            ("hint", "do it"),
        ]


def test_rule_sentences_describe_the_broken_state():
    for name, rule in RULES.items():
        assert rule.name == name
        assert rule.sentence[0].islower()
        assert not rule.sentence.endswith(".")
