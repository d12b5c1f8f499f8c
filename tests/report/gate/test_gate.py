"""An audit as JUnit XML, SARIF and workflow commands of GitHub."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest

from rackwise.core.findings import Finding, Rule, Severity
from rackwise.report.gate.github import data_text, github_pieces, property_text
from rackwise.report.gate.junit import junit_pieces
from rackwise.report.gate.model import GateReport
from rackwise.report.gate.sarif import FINGERPRINT, GITHUB_FINGERPRINT, sarif_pieces

RULES = {
    "offline": Rule("offline", Severity.ERROR, "a partition has no leader"),
    "rack-missing": Rule("rack-missing", Severity.ERROR, "a live broker has no rack"),
    "balance": Rule("balance", Severity.WARNING, "loads differ by 10 % & more"),
    "size": Rule("size", Severity.INFO, "a size is <unknown>"),
}
EVIL = 'a"<&>%\n::error::x\x1b]'


def finding(rule, **more):
    given = {"wanted": "a leader", "had": "none", "topic": "orders", "partition": 1}
    return Finding(rule=rule, severity=RULES[rule].severity, **given | more)


def report(*findings, failing=(Severity.ERROR,), not_checked=None, source="a b/snapshot.json"):
    return GateReport(
        version="0.1.0",
        source=source,
        rules=RULES,
        findings=findings,
        by_rule={
            name: [each for each in findings if each.rule == name]
            for name in dict.fromkeys(each.rule for each in findings)
        },
        not_checked=not_checked or {},
        failing=frozenset(failing),
    )


def junit_text(report):
    return "".join(junit_pieces(report))


def sarif_text(report):
    return "".join(sarif_pieces(report))


def github_text(report):
    return "".join(github_pieces(report))


MIXED = report(
    finding("offline"),
    finding("balance", topic=None, partition=None, broker=4, level="zone"),
    finding("size", topic=EVIL),
    not_checked={"rack-missing": "rack_missing is off"},
)


class TestJunit:
    def test_each_failing_finding_is_a_test_that_failed(self):
        root = ET.fromstring(junit_text(MIXED))  # noqa: S314 (our own text)
        cases = {case.get("classname"): case for case in root.iter("testcase")}
        failure = cases["offline"].find("failure")
        assert failure.get("type") == "error"
        assert failure.get("message") == "orders-1: offline: wanted a leader; had none"
        assert failure.text == failure.get("message")
        assert cases["offline"].get("name") == "orders-1"
        assert cases["rack-missing"].find("skipped").get("message") == "rack_missing is off"
        assert cases["balance"].get("name") == "broker 4 at zone"
        assert cases["balance"].find("failure") is None
        assert "broker 4" in cases["balance"].find("system-out").text
        suite = root.find("testsuite")
        counts = {"tests": "4", "failures": "1", "errors": "0", "skipped": "1"}
        assert {name: suite.get(name) for name in counts} == counts
        assert {name: root.get(name) for name in counts} == counts

    def test_a_rule_without_findings_is_a_test_that_passed(self):
        root = ET.fromstring(junit_text(report()))  # noqa: S314 (our own text)
        assert [(case.get("classname"), len(case)) for case in root.iter("testcase")] == [
            (name, 0) for name in RULES
        ]

    def test_names_of_topics_cannot_break_the_document(self):
        root = ET.fromstring(junit_text(report(finding("offline", topic=EVIL, had=EVIL))))  # noqa: S314 (our own text)
        failure = root.find(".//failure")
        assert '"<&>%\\x0a::error::x\\x1b]' in failure.text
        assert failure.text == failure.get("message")


class TestSarif:
    def test_the_required_members_of_the_standard_are_there(self):
        """3.13: version, runs. 3.14: tool. 3.18: driver. 3.19: name. 3.27: message, .."""
        document = json.JSONDecoder().decode(sarif_text(MIXED))
        assert document["version"] == "2.1.0"
        (run,) = document["runs"]
        driver = run["tool"]["driver"]
        assert driver["name"] == "rackwise"
        assert [rule["id"] for rule in driver["rules"]] == [*RULES]
        levels = {"none", "note", "warning", "error"}
        for rule in driver["rules"]:
            assert rule["shortDescription"]["text"]
            assert rule["defaultConfiguration"]["level"] in levels
        for result in run["results"]:
            assert result["message"]["text"]
            assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
            assert result["level"] in levels
            (location,) = result["locations"]
            assert location["physicalLocation"]["artifactLocation"]["uri"] == "a%20b/snapshot.json"
            assert location["physicalLocation"]["region"]["startLine"] >= 1
            assert result["partialFingerprints"][FINGERPRINT]
        (invocation,) = run["invocations"]
        assert invocation["executionSuccessful"] is True
        (note,) = invocation["toolConfigurationNotifications"]
        assert note["message"]["text"] == "not checked: rack_missing is off"
        assert driver["rules"][note["associatedRule"]["index"]]["id"] == "rack-missing"

    def test_levels_follow_from_severities(self):
        (run,) = json.JSONDecoder().decode(sarif_text(MIXED))["runs"]
        assert [result["level"] for result in run["results"]] == ["error", "warning", "note"]

    def test_the_fingerprint_of_a_finding_stays_when_its_values_change(self):
        texts = [sarif_text(report(finding("offline", had=had))) for had in ("none", "broker 2")]
        runs = [json.JSONDecoder().decode(text)["runs"][0] for text in texts]
        one, other = (run["results"][0]["partialFingerprints"] for run in runs)
        assert one == other
        assert one[FINGERPRINT] == "offline/orders-1"
        assert set(one) == {FINGERPRINT, GITHUB_FINGERPRINT}

    def test_github_sees_another_fingerprint_for_each_rule_and_place(self):
        found = [finding("offline"), finding("offline", partition=2), finding("size")]
        (run,) = json.JSONDecoder().decode(sarif_text(report(*found)))["runs"]
        hashes = {each["partialFingerprints"][GITHUB_FINGERPRINT] for each in run["results"]}
        assert len(hashes) == 3

    def test_no_control_character_leaves(self):
        text = sarif_text(report(finding("offline", topic=EVIL, had=EVIL), source="\u202ea"))
        assert text.isprintable()


class TestGithub:
    def test_one_command_per_finding_worst_first(self):
        had = "wanted a leader; had none"
        assert github_text(MIXED).splitlines() == [
            f"::error title=rackwise offline::orders-1: offline: {had}",
            f"::warning title=rackwise balance::broker 4: balance at zone: {had}",
            f'::notice title=rackwise size::a"<&>%25\\x0a::error::x\\x1b]-1: size: {had}',
            "rackwise audit of a b/snapshot.json: 3 findings, 1 of them failing",
        ]

    def test_errors_that_were_not_checked_are_counted(self):
        reasons = {"offline": "no data", "balance": "no data", "pin": "not asked for"}
        text = github_text(report(not_checked=reasons))
        assert text.endswith(
            ": 0 findings, 0 of them failing; 1 rule of severity error not checked"
        )

    def test_ten_of_each_level_are_shown_and_all_are_counted(self):
        many = report(*(finding("offline", partition=number) for number in range(25)))
        lines = github_text(many).splitlines()
        assert len(lines) == 11
        assert lines[-1].endswith("25 findings, 25 of them failing")

    @pytest.mark.parametrize("text", ["%", "\r", "\n", "a%0Ab", "::error::", "a,b:c"])
    def test_escapes_are_those_of_the_toolkit(self, text):
        data = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
        assert data_text(text) == data
        assert property_text(text) == data.replace(":", "%3A").replace(",", "%2C")
