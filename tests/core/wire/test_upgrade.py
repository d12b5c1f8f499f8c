"""KIP-36's rolling upgrade: which step is next, and who would break."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from rackwise.core.errors import InvalidConfig
from rackwise.core.findings import Severity
from rackwise.core.wire.upgrade import RACKS_TARGET, UpgradeMember, upgrade_findings
from registrations import endpoint, sample


def registered(broker_id, version, *, rack=None, host="h"):
    return sample(broker_id=broker_id, version=version, rack=rack, host=host)


def member(broker_id, version, software=None, ibp=None, *, rack=None, of=None):
    registration = registered(broker_id, version, rack=rack)
    return UpgradeMember(registration=registration, software=software, ibp=ibp, rack=of)


def told(advice):
    """The findings, without the one about versions that are not known."""
    return [each for each in advice.findings if each.rule != "version-unknown"]


def codes(advice):
    return [(each.rule, each.broker, str(each.severity)) for each in told(advice)]


def only(members, *clients, to=RACKS_TARGET):
    (finding,) = told(upgrade_findings(members, clients, to=to))
    return finding


class TestSteps:
    """KIP-36: "rolling upgrade requires these steps": the property, the upgrade, the bump of
    inter.broker.protocol.version, the restarts.
    """

    def test_the_four_steps_of_the_kip_one_broker_at_a_time(self):
        old = member(1, 2, "0.9.0.1", "")
        stages = [
            (old, 1),
            (replace(old, ibp="0.9.0.X"), 2),
            (replace(old, ibp="0.9.0.X", software="0.10.0"), 3),
            (replace(old, ibp="0.10.0", software="0.10.0"), 4),
            (member(1, 3, "0.10.0", "0.10.0", rack="a"), None),
        ]
        for (here, step), (there, later) in pairwise(stages):
            other = replace(here, registration=registered(2, here.registration.version))
            both = upgrade_findings([here, other])
            assert (both.step, both.waiting) == (step, (1, 2))
            one = upgrade_findings([there, other])
            assert (one.step, one.waiting) == (step, (2,))
            assert upgrade_findings([there]).step == later

    def test_nobody_is_done_at_once(self):
        advice = upgrade_findings([])
        assert (advice.step, advice.waiting, advice.findings) == (None, (), ())
        assert (advice.target, advice.wanted_version) == ("0.10.0-IV1", 3)

    def test_what_is_not_told_is_not_guessed(self):
        advice = upgrade_findings([member(1, 2), member(2, 2, "0.10.0", "0.9.0")])
        assert (advice.step, advice.waiting, advice.unknown) == (1, (1,), (1,))
        advice = upgrade_findings([member(1, 2, None, "0.9.0"), member(2, 2, "0.9.0.1", "0.9.0")])
        assert (advice.step, advice.waiting, advice.unknown) == (2, (1, 2), (1,))
        advice = upgrade_findings([member(1, 2, "0.9.0.1", "")])
        assert (advice.step, advice.unknown) == (1, ())

    @pytest.mark.parametrize("version", [3, 4, 5, 100])
    def test_a_registration_proves_software_and_ibp(self, version):
        assert upgrade_findings([member(1, version)]).step is None

    def test_a_registration_proves_no_more_than_its_least(self):
        assert upgrade_findings([member(1, 4)], to="2.7").step == 1
        assert upgrade_findings([member(1, 5)], to="2.7").step is None
        later = upgrade_findings([member(1, 5, "3.9", "2.7")], to="3.4")
        assert (later.step, later.wanted_version, later.unknown) == (3, 5, ())
        assert upgrade_findings([member(1, 5, "3.9", "3.4")], to="3.4").step is None

    def test_an_ibp_that_is_not_set_is_that_of_the_software(self):
        advice = upgrade_findings([member(1, 2, "0.10.0", "")])
        assert (advice.step, advice.unknown) == (1, ())
        assert codes(
            upgrade_findings([member(1, 2, "0.10.0", ""), member(2, 2, "0.9.0.1", "")])
        ) == [("ibp-too-early", 1, "error")]

    @pytest.mark.parametrize(
        ("to", "version"), [("0.9.0", 2), ("0.10.2", 4), ("2.6", 4), ("3.9", 5)]
    )
    def test_the_version_that_the_target_brings(self, to, version):
        assert upgrade_findings([], to=to).wanted_version == version

    @pytest.mark.parametrize(
        ("members", "clients", "to"),
        [
            ([], [], "abc"),
            ([member(1, 2, "abc")], [], "3.9"),
            ([member(1, 2, None, "abc")], [], "3.9"),
            ([], ["abc"], "3.9"),
            ([], ["abc"], "0.9.0"),
            ([member(1, 3)], ["abc"], "3.9"),
        ],
    )
    def test_what_is_no_version(self, members, clients, to):
        with pytest.raises(InvalidConfig, match="got abc"):
            upgrade_findings(members, clients, to=to)


class TestReaderBreaks:
    """KIP-36: "0.9.0.0 clients must be upgraded to 0.9.0.1 before 0.10.0 upgrade can start"."""

    @pytest.mark.parametrize("software", ["0.9.0", "0.9.0.0"])
    def test_a_broker_of_0_9_0_0_beside_a_later_registration(self, software):
        advice = upgrade_findings([member(1, 2, software, "0.9.0"), member(2, 3)])
        assert codes(advice) == [("reader-breaks", 1, "error"), ("ibp-too-early", 2, "error")]
        found = advice.findings[0]
        assert "version 3 exists" in found.message
        assert found.hint

    def test_before_the_target_comes(self):
        members = [member(1, 2, "0.9.0.0", "0.9.0")]
        assert codes(upgrade_findings(members, to="0.10.0-IV0")) == []
        assert "version 3 will be written" in only(members).message
        assert "version 5 will be written" in only(members, to="2.7").message

    @pytest.mark.parametrize("software", ["0.9.0.1", "0.8.2.2", "3.9.2"])
    def test_other_brokers_read_them(self, software):
        assert codes(upgrade_findings([member(1, 2, software, "0.9.0")], to="0.10.0")) == []

    def test_software_that_is_not_known_is_said_so(self):
        found = only([member(1, 2), member(2, 3)])
        assert (found.rule, found.broker, found.severity) == ("reader-breaks", 1, Severity.WARNING)
        assert "not known" in found.message
        assert found.hint == "give its version: --member 1=SOFTWARE,IBP"
        assert codes(upgrade_findings([member(1, 2)])) == [("reader-breaks", 1, "warning")]

    def test_a_registration_of_version_1_is_of_software_that_reads_all(self):
        assert codes(upgrade_findings([member(1, 1)], to="0.10.0")) == []

    def test_clients(self):
        found = only([member(1, 3)], "0.8.2.2", "0.9.0.1")
        assert (found.rule, found.broker, found.severity) == ("reader-breaks", None, Severity.ERROR)
        assert found.message.startswith("clients of version 0.8.2.2: reader-breaks: wanted ")
        found = only([member(1, 2, "0.9.0.1", "0.9.0")], "0.9.0.0")
        assert "version 3 will be written" in found.message
        advice = upgrade_findings([member(1, 2, "0.9.0.1", "0.9.0")], ["0.9.0.0"], to="0.9.0")
        assert codes(advice) == []


class TestVersionUnknown:
    """Not known is never fine: a step that cannot be told is a finding with what to give."""

    def test_the_protocol_version_of_step_1_and_3(self):
        advice = upgrade_findings([member(1, 2, "0.9.0.1"), member(2, 2, "0.9.0.1", "0.9.0")])
        (found,) = advice.findings
        assert (advice.step, advice.unknown) == (1, (1,))
        assert (found.rule, found.severity) == ("version-unknown", Severity.WARNING)
        assert found.wanted == "the inter.broker.protocol.version of every broker"
        assert found.had == "not known of broker 1; ZooKeeper does not have it"
        assert found.hint == "give it for each of them, such as --member 1=SOFTWARE,IBP"

    def test_the_software_of_step_2(self):
        members = [member(1, 1, "0.8.2", "0.9.0"), member(7, 1, None, "0.9.0")]
        (found,) = upgrade_findings(members).findings
        assert found.wanted == "the software of every broker"
        assert found.hint == "give it for each of them, such as --member 7=SOFTWARE,IBP"

    def test_nothing_more_is_needed_once_registrations_prove_it(self):
        assert upgrade_findings([member(1, 3), member(2, 5)]).findings == ()


class TestIbpTooEarly:
    def test_an_ibp_with_racks_while_old_software_runs(self):
        members = [member(1, 2, "0.9.0.1", "0.9.0"), member(2, 2, "0.10.0", "0.10.0")]
        found = only(members)
        assert (found.rule, found.broker, found.severity) == ("ibp-too-early", 2, Severity.ERROR)
        assert found.message.endswith("software before 0.10.0 on broker 1")

    def test_a_registration_proves_it(self):
        found = only(
            [member(3, 1), member(1, 1), *(member(20 + n, 1) for n in range(9)), member(2, 3)]
        )
        assert (found.rule, found.broker) == ("ibp-too-early", 2)
        assert found.message.endswith("brokers 1, 3, 20, 21, 22, 23, 24, 25 and 3 more")

    def test_not_while_all_are_upgraded(self):
        members = [member(1, 2, "0.10.0", "0.9.0"), member(2, 2, "0.10.0", "0.10.0")]
        assert codes(upgrade_findings(members)) == []

    def test_nobody_is_too_early_beside_itself(self):
        assert codes(upgrade_findings([member(1, 2, "0.9.0.1", "0.10.0")])) == []


class TestWarnings:
    @pytest.mark.parametrize("given", [{"rack": "a"}, {"of": "a"}])
    def test_a_rack_that_nobody_sees_yet(self, given):
        found = only([member(1, 2, "0.10.0", "0.9.0", **given)])
        assert (found.rule, found.broker, found.severity) == ("rack-hidden", 1, Severity.WARNING)
        assert "rack a" in found.message
        assert codes(upgrade_findings([member(1, 3, **given)])) == []

    def test_some_have_a_rack_and_some_have_none(self):
        found = only([member(1, 3, rack="a"), member(2, 4), member(3, 5, rack="")])
        assert (found.rule, found.broker, found.severity) == (
            "partial-racks",
            None,
            Severity.WARNING,
        )
        assert found.had == "brokers 1, 3 with a rack, broker 2 without"
        assert codes(upgrade_findings([member(1, 3), member(2, 5)])) == []

    def test_clients_that_read_host_and_port_find_none(self):
        hostless = sample(host=None, port=-1, rack=None, endpoints=(endpoint("SSL://h:1"),))
        found = only([UpgradeMember(registration=hostless)])
        assert (found.rule, found.broker) == ("listener-only-new", 1)
        assert codes(upgrade_findings([member(1, 1, "0.8.2", "")])) == []

    def test_a_rack_of_more_than_249_characters(self):
        found = only([member(1, 3, rack="r" * 250)])
        assert (found.rule, found.broker) == ("rack-too-long", 1)
        assert "250 characters" in found.message
        assert len(found.message) < 200
        assert codes(upgrade_findings([member(1, 3, rack="r" * 249)])) == []


def test_findings_are_ordered_by_rule_and_then_by_broker_whatever_the_order():
    members = [
        member(3, 5, rack="a"),
        member(1, 2, "0.9.0.0", "0.9.0", of="b"),
        member(2, 2, "0.9.0.0", "0.9.0", of="c"),
        member(4, 5),
    ]
    advice = upgrade_findings(members, ["0.9.0.0"])
    assert codes(advice) == [
        ("reader-breaks", 1, "error"),
        ("reader-breaks", 2, "error"),
        ("reader-breaks", None, "error"),
        ("ibp-too-early", 3, "error"),
        ("ibp-too-early", 4, "error"),
        ("rack-hidden", 1, "warning"),
        ("rack-hidden", 2, "warning"),
        ("partial-racks", None, "warning"),
    ]
    assert upgrade_findings(members[::-1], ["0.9.0.0"]) == advice
    assert all(each.message.isprintable() and each.hint for each in advice.findings)
    assert advice.findings[0].as_dict()["severity"] == "error"


def test_racks_are_shown_escaped():
    found = only([member(1, 2, "0.10.0", "0.9.0", of="\x1b" * 100)])
    assert found.message.isprintable()
