"""An audit as SARIF 2.1.0, which GitHub code scanning and others read.

A result names the rule, its level, and two places: the snapshot as an artifact, because services
show results at files, and the partition, topic or broker as a logical location. Its fingerprint is
rule and place, so that a finding that stays is one alert and no new one. GitHub reads the
fingerprint `primaryLocationLineHash` alone, and would otherwise compute one from the line of the
snapshot, which is the same for all findings. A rule that was not checked is a notification of the
invocation.

Source: SARIF 2.1.0 (OASIS Standard), sections 3.13, 3.14, 3.19, 3.27, 3.28, 3.33.
"""

from __future__ import annotations

from hashlib import sha256
from string import ascii_letters, digits
from typing import TYPE_CHECKING, Any

from rackwise.core.findings import Severity
from rackwise.core.json.pieces import json_pieces
from rackwise.core.text import escaped
from rackwise.report.gate.model import message_text, place_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwise.core.findings import Finding
    from rackwise.report.gate.model import GateReport

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
PROJECT = "https://github.com/rackwise/rackwise"
LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
FINGERPRINT = "rackwiseFinding/v1"
GITHUB_FINGERPRINT = "primaryLocationLineHash"
"""The fingerprint that GitHub reads."""
UNRESERVED = {*ascii_letters, *digits, *"-._~", "/"}
"""Characters that stay in a path of a URI (RFC 3986)."""


def sarif_pieces(report: GateReport) -> Iterator[str]:
    """One JSON document, some results at a time: a large cluster has more than fits into memory."""
    numbers = {name: number for number, name in enumerate(report.rules)}
    driver = {
        "name": "rackwise",
        "version": report.version,
        "informationUri": PROJECT,
        "rules": [
            {
                "id": name,
                "shortDescription": {"text": escaped(rule.sentence)},
                "helpUri": f"{PROJECT}/blob/main/docs/reference/findings.md",
                "defaultConfiguration": {"level": LEVELS[rule.severity]},
            }
            for name, rule in report.rules.items()
        ],
    }
    notifications = [
        {
            "level": "note",
            "message": {"text": escaped(f"not checked: {why}")},
            "associatedRule": {"id": name, "index": numbers[name]},
        }
        for name, why in report.not_checked.items()
        if name in numbers
    ]
    run = {
        "tool": {"driver": driver},
        "invocations": [
            {"executionSuccessful": True, "toolConfigurationNotifications": notifications}
        ],
        "results": (_result(report, finding, numbers) for finding in report.findings),
    }
    return json_pieces({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def path_uri(path: str) -> str:
    """A path as a relative URI.

    >>> path_uri("a b/é.json")
    'a%20b/%C3%A9.json'
    """
    octets = path.encode("utf-8", "surrogateescape")
    return "".join(chr(o) if chr(o) in UNRESERVED else f"%{o:02X}" for o in octets)


def _result(report: GateReport, finding: Finding, numbers: dict[str, int]) -> dict[str, Any]:
    place = escaped(place_text(finding))
    identity = f"{finding.rule}/{place}"
    artifact = {"uri": path_uri(report.source)}
    return {
        "ruleId": finding.rule,
        "ruleIndex": numbers[finding.rule],
        "level": LEVELS[finding.severity],
        "message": {"text": message_text(finding)},
        "locations": [
            {
                "physicalLocation": {"artifactLocation": artifact, "region": {"startLine": 1}},
                "logicalLocations": [{"fullyQualifiedName": place, "kind": "resource"}],
            }
        ],
        "partialFingerprints": {
            FINGERPRINT: identity,
            GITHUB_FINGERPRINT: sha256(identity.encode()).hexdigest()[:32],
        },
    }
