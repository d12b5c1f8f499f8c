"""One wrong setting gives one finding, and every rule is checked or reported as not checked."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.fetch_diagnosis import (
    READING_RULES,
    GroupBest,
    Probe,
    ReadingFacts,
    diagnose_reading,
)
from rackwise.core.findings import Finding
from rackwise.core.model import Note
from rackwise.core.racks import Rack
from readings import LISTS, SELECTORS, diagnosed, facts, finding_places, group, healthy, selectors
from small_clusters import small_cluster

NONE = dict.fromkeys((1, 2, 3))
OTHER_SELECTOR = "com.example.Selector"


LIMITED = GroupBest(partitions=3, local=2, best_local=2, is_better=False)


def test_no_finding_where_all_is_set():
    found = diagnosed(healthy())
    assert finding_places(found) == []
    assert found.not_checked == {}


WRONG = {
    "no broker.rack": (
        {"racks": NONE, "groups": []},
        ["reading-broker-rack at cluster"],
    ),
    "no broker.rack, members with racks": (
        {"racks": NONE},
        ["reading-broker-rack at cluster"],
    ),
    "one broker without rack": (
        {"racks": {1: "a", 2: None, 3: "c"}},
        ["reading-broker-rack at broker 2"],
    ),
    "an empty rack is no rack": (
        {"racks": {1: "a", 2: "", 3: "c"}},
        ["reading-broker-rack at broker 2"],
    ),
    "no selector": (
        {"values": NONE},
        ["reading-selector at cluster"],
    ),
    "selector on one broker only": (
        {"values": {**NONE, 2: SELECTORS[2]}},
        ["reading-selector at broker 1", "reading-selector at broker 3"],
    ),
    "selector missing on one broker": (
        {"values": {**SELECTORS, 2: None}},
        ["reading-selector at broker 2"],
    ),
    "another selector": (
        {"values": {**SELECTORS, 3: OTHER_SELECTOR}},
        ["reading-selector at broker 3"],
    ),
    "two kinds of racks": (
        {"racks": {1: "use1-az1", 2: "us-east-1b", 3: "use1-az3"}, "groups": []},
        ["reading-rack-kinds at cluster"],
    ),
    "consumer protocol": (
        {"groups": [group(protocol="consumer", assignor="uniform")]},
        ["reading-protocol at group billing"],
    ),
    "a share group": (
        {"groups": [group(protocol="share", assignor="simple")]},
        ["reading-protocol at group billing"],
    ),
    "a share group with too few replicas for followers": (
        {
            "lists": {"t-0": [1, 2], "t-1": [2, 3], "t-2": [3, 1]},
            "groups": [group(protocol="share", assignor="simple")],
        },
        ["reading-protocol at group billing"],
    ),
    "a streams group": (
        {"groups": [group(protocol="streams", assignor=None)]},
        ["reading-protocol at group billing"],
    ),
    "a share group whose members send no rack": (
        {"groups": [group("a-c", protocol="share", assignor="simple", topics=None)]},
        ["reading-member-rack at group billing", "reading-protocol at group billing"],
    ),
    "round robin": (
        {"groups": [group(assignor="roundrobin")]},
        ["reading-assignor at group billing"],
    ),
    "an assignor of one's own": (
        {"groups": [group(assignor="mine")]},
        ["reading-assignor at group billing"],
    ),
    "members without rack": (
        {"groups": [group("a-c")]},
        ["reading-member-rack at group billing"],
    ),
    "members in a rack that no broker has": (
        {"groups": [group("aBc")]},
        ["reading-client-rack at group billing, client rack B"],
    ),
    "too few replicas": (
        {"lists": {"t-0": [1, 2], "t-1": [2, 3], "t-2": [3, 1]}},
        ["reading-coverage at group billing, topic t"],
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_one_wrong_setting_is_one_finding(name):
    options, expected = WRONG[name]
    cluster = healthy(**options)
    lacking = [
        broker
        for broker, configs in cluster.configs.brokers.items()
        if SELECTORS[1] not in configs.values()
    ]
    racks = () if options.get("groups") == [] else ("b",)
    if name.startswith(("one broker", "an empty")):
        racks = ("a",)
    best = {"billing": LIMITED} if name == "too few replicas" else None
    found = diagnosed(cluster, client_racks=racks, named=dict.fromkeys(lacking), best=best)
    assert finding_places(found) == expected
    assert all(each.hint and each.wanted and each.had for each in found)


def test_a_broker_that_is_too_old_is_not_also_without_selector():
    found = diagnosed(
        healthy(values={**SELECTORS, 2: None}), versions={1: 18, 2: 10, 3: 11}, named={2: None}
    )
    assert finding_places(found) == ["reading-fetch-version at broker 2"]
    assert "2.4" in found[0].hint


def test_the_consumer_protocol_shows_racks_even_without_topics():
    pattern = group("a-c", protocol="consumer", assignor="mine", topics=None)
    assert finding_places(diagnosed(healthy(groups=[pattern]))) == [
        "reading-member-rack at group billing"
    ]


def test_listed_topics_without_partitions_need_coverage():
    readers = group(topics=("t", "u"))
    cluster = healthy(lists={**LISTS, "u-0": [1, 2]}, groups=[readers])
    found = diagnosed(cluster, best={"billing": LIMITED})
    assert finding_places(found) == ["reading-coverage at group billing, topic u"]
    assert found[0].wanted == "1 partition with a replica in each of a, b, c"
    assert found[0].had == "1 without one in c"


def test_no_coverage_finding_where_an_assignment_makes_all_local():
    cluster = healthy(lists={"t-0": [1], "t-1": [2], "t-2": [3]})
    assert finding_places(diagnosed(cluster)) == []
    assert "reading-coverage" not in diagnosed(cluster).not_checked
    found = diagnosed(cluster, best={"billing": LIMITED})
    assert finding_places(found) == ["reading-coverage at group billing, topic t"]


ALONE = {"t-0": [1], "t-1": [2], "t-2": [3]}
"""Led from a, b, c, without another replica."""


def static(racks):
    """The group with static members, of which member i reads partition i."""
    dynamic = group(racks)
    members = (replace(each, instance_id=f"pod-{n}") for n, each in enumerate(dynamic.members))
    return replace(dynamic, members=tuple(members))


def test_a_static_member_that_came_back_in_another_rack_is_found():
    seen = GroupBest(partitions=3, local=1, best_local=3, is_better=True, after_rebalance=3)
    found = diagnosed(healthy(lists=ALONE, groups=[static("bac")]), best={"billing": seen})
    assert finding_places(found) == ["reading-static-member at group billing"]
    assert found[0].wanted == (
        "3 of 3 partitions read in the reader's rack, as range assigns them now"
    )
    assert found[0].had == "1; 2 static members without a replica near: pod-0, pod-1"
    assert "reading-best" in found.not_checked


@pytest.mark.parametrize(
    ("racks", "after", "wanted"),
    [
        ("abc", 3, []),
        ("-bc", 3, ["reading-member-rack at group billing"]),
        ("bac", 1, []),
    ],
)
def test_static_members_that_a_rebalance_would_not_help_are_no_finding(racks, after, wanted):
    seen = GroupBest(partitions=3, local=1, best_local=1, is_better=False, after_rebalance=after)
    found = diagnosed(healthy(lists=ALONE, groups=[static(racks)]), best={"billing": seen})
    assert [each for each in finding_places(found) if "coverage" not in each] == wanted


@pytest.mark.parametrize("protocol", ["consumer", "share", "streams"])
def test_static_members_are_found_in_groups_of_the_classic_protocol_alone(protocol):
    seen = GroupBest(partitions=3, local=1, best_local=3, is_better=True, after_rebalance=3)
    moved = replace(static("bac"), protocol=protocol)
    found = diagnosed(healthy(lists=ALONE, groups=[moved]), best={"billing": seen})
    assert "reading-static-member at group billing" not in finding_places(found)


def test_static_members_of_an_unknown_assignor_are_not_checked():
    found = diagnosed(healthy(lists=ALONE, groups=[static("bac")]), best={"billing": LIMITED})
    assert "reading-static-member" in found.not_checked
    found = diagnosed(healthy(lists=ALONE, groups=[static("bac")]), best={})
    assert "reading-static-member" in found.not_checked


def test_a_better_assignment_is_reported_with_its_moves():
    best = {"billing": GroupBest(partitions=60, local=51, best_local=60, is_better=True, moves=9)}
    found = diagnosed(healthy(), best=best)
    assert finding_places(found) == ["reading-best at group billing"]
    assert found[0].wanted == "60 of 60 partitions read in the reader's rack"
    assert found[0].had == "51; 9 moves to get there"


def test_a_best_that_is_better_only_at_coarser_levels():
    best = {"billing": GroupBest(partitions=60, local=51, best_local=51, is_better=True, moves=2)}
    found = diagnosed(healthy(), best=best)
    assert found[0].wanted.endswith("read in the reader's rack, less across coarser levels")


def test_unknown_moves_are_left_out():
    best = {"billing": GroupBest(partitions=60, local=51, best_local=60, is_better=True)}
    assert diagnosed(healthy(), best=best)[0].had == "51"


def test_a_finding_about_the_consumer_protocol_has_its_loss():
    best = {"billing": GroupBest(partitions=60, local=20, best_local=60, is_better=True)}
    cluster = healthy(groups=[group(protocol="consumer", assignor="uniform")])
    found = diagnosed(cluster, best=best)
    assert finding_places(found) == ["reading-protocol at group billing"]
    assert found[0].had == (
        "the consumer protocol, assignor uniform; 20 of 60 partitions read in the reader's rack, "
        "60 possible"
    )
    assert "reading-best" in found.not_checked


def test_what_kafkas_assignors_on_the_broker_would_give():
    known = GroupBest(
        partitions=60,
        local=20,
        best_local=60,
        is_better=True,
        on_server={"uniform": 20, "range": 24},
    )
    cluster = healthy(groups=[group(protocol="consumer", assignor="uniform")])
    found = diagnosed(cluster, best={"billing": known})
    assert found[0].had.endswith("60 possible; on average after a restart: uniform 20, range 24")
    assert "set group.remote.assignor=rack-optimal, or put a replica" in found[0].hint


@pytest.mark.parametrize(
    ("protocol", "had"),
    [
        ("share", "a share group, which reads from leaders alone"),
        ("streams", "a streams group, whose tasks the broker assigns without racks"),
    ],
)
def test_groups_whose_assignment_nobody_can_choose(protocol, had):
    """KIP-932, KIP-1071."""
    cluster = healthy(groups=[group(protocol=protocol, assignor=None)])
    (unknown,) = diagnosed(cluster, best={})
    assert unknown.had == had
    (known,) = diagnosed(cluster, best={"billing": LIMITED})
    assert known.had == f"{had}; 2 of 3 partitions read in the reader's rack"


def test_a_server_side_assignor_of_your_own_may_respect_racks():
    assert (
        finding_places(diagnosed(healthy(groups=[group(protocol="consumer", assignor="mine")])))
        == []
    )
    found = diagnosed(healthy(groups=[group(protocol="consumer", assignor=None)]))
    assert found[0].had == "the consumer protocol"


class TestNotChecked:
    """No rule is skipped silently."""

    def test_every_rule_is_named_without_facts(self):
        found = diagnose_reading(ReadingFacts(cluster=small_cluster({}, {})))
        assert finding_places(found) == []
        assert set(found.not_checked) == set(READING_RULES) - {"reading-fetch-version"}

    def test_unread_facts_are_named_with_the_callers_reason(self):
        why = dict.fromkeys(READING_RULES, "a reason")
        reasons = diagnosed(healthy(), versions={}, best={}, not_read=why).not_checked
        assert list(reasons) == list(READING_RULES)
        assert reasons["reading-fetch-version"] == reasons["reading-best"] == "a reason"

    def test_a_broker_that_did_not_report_its_versions(self):
        reasons = diagnosed(healthy(), versions={1: 18}).not_checked
        assert reasons == {
            "reading-fetch-version": "the broker did not report its versions: broker 2, broker 3"
        }

    def test_a_broker_that_is_not_live(self):
        found = diagnosed(healthy(values={**NONE}, dead=[3]))
        assert found.not_checked["reading-selector"] == "the broker is not live: broker 3"
        assert found.counts["reading-selector"] == 2

    @pytest.mark.parametrize("source", ["suppose", "reassignment"])
    def test_a_cluster_from_a_file_has_no_configs(self, source):
        cluster = replace(healthy(), source=source, configs=selectors({}))
        assert "reading-selector" in diagnosed(cluster).not_checked

    def test_no_configs_at_all_is_no_selector(self):
        assert finding_places(diagnosed(replace(healthy(), configs=selectors({})), named={})) == [
            "reading-selector at cluster"
        ]

    def test_a_rack_that_may_be_of_the_broker_without_one(self):
        found = diagnosed(healthy({1: "a", 2: None, 3: "c"}, groups=[]), client_racks=["b", "C"])
        assert finding_places(found) == [
            "reading-broker-rack at broker 2",
            "reading-client-rack at client rack C",
        ]
        assert found.not_checked["reading-client-rack"] == (
            "a broker without rack may be in it: client rack b"
        )

    def test_groups_without_members(self):
        reasons = diagnosed(healthy(groups=[group(""), group(name="x")])).not_checked
        assert set(reasons.values()) == {"the group has no members: group billing"}

    def test_a_group_that_is_not_stable(self):
        rebalancing = group("--", assignor=None, state="PreparingRebalance", topics=None)
        rebalancing = replace(
            rebalancing, members=tuple(replace(m, partitions=()) for m in rebalancing.members)
        )
        found = diagnosed(healthy(groups=[rebalancing]), best={})
        assert finding_places(found) == []
        why = "the group is PreparingRebalance, not Stable: group billing"
        assert found.not_checked["reading-member-rack"] == why
        assert found.not_checked["reading-assignor"] == why
        assert found.not_checked["reading-coverage"] == why
        assert found.not_checked["reading-best"] == why

    def test_a_group_that_reads_nothing_known_and_one_that_is_in_no_rack(self):
        gone = group(name="gone", topics=("gone",))
        gone = replace(gone, members=tuple(replace(m, partitions=()) for m in gone.members))
        best = {"gone": GroupBest(partitions=0, local=0, best_local=0, is_better=False)}
        found = diagnosed(healthy(groups=[gone, group("--", name="rackless")]), best=best)
        assert found.not_checked["reading-coverage"] == (
            "no topic that it reads is known: group gone; "
            "no member is in a rack of a broker: group rackless"
        )

    def test_a_group_whose_best_the_caller_does_not_give(self):
        known = replace(facts(healthy(), best={}), no_best={"billing": "a reason"})
        assert diagnose_reading(known).not_checked == {"reading-best": "a reason: group billing"}
        known = replace(known, not_read={"reading-best": "no solver"})
        assert diagnose_reading(known).not_checked == {
            "reading-best": "no solver; a reason: group billing"
        }

    def test_a_group_of_a_snapshot_without_subscriptions(self):
        cluster = healthy(
            groups=[group("--", assignor=None, state=None, protocol=None, topics=None)]
        )
        reasons = diagnosed(cluster).not_checked
        assert reasons["reading-protocol"] == "its protocol is not known: group billing"
        assert "sent when they joined" in reasons["reading-assignor"]

    def test_a_fetch_that_failed(self):
        known = facts(healthy(), client_racks=[])
        failed = tuple(Probe(question=each.question, error="Timeout") for each in known.probes)
        found = diagnose_reading(replace(known, probes=failed))
        assert finding_places(found) == []
        assert found.not_checked["reading-probe"].startswith(
            "the fetch failed with Timeout: t-1 at broker 2"
        )

    def test_a_client_rack_without_probe(self):
        cluster = healthy(lists={"t-0": [2, 1], "t-1": [2, 3]}, groups=[])
        found = diagnosed(cluster, client_racks=["b", "z"])
        assert found.not_checked["reading-probe"] == (
            "no partition that is led elsewhere has a replica in sync in the rack: client rack b; "
            "no broker is in the rack: client rack z"
        )

    def test_a_replica_on_a_broker_that_is_not_known(self):
        cluster = healthy(lists={"t-0": [1, 2, 9], "t-1": [1, 2], "t-2": [3, 1, 2]})
        found = diagnosed(cluster, best={"billing": LIMITED})
        assert found.not_checked["reading-coverage"] == (
            "a replica's broker has no known rack: topic t"
        )
        assert found[0].had == "1 without one in c"

    def test_a_group_without_a_best(self):
        assert diagnosed(healthy(), best={}).not_checked == {
            "reading-best": "the best assignment is not known: group billing"
        }


def test_two_groups_are_checked_separately():
    groups = [group(name="one"), group("a-c", name="two"), group("b", name="three")]
    lists = {"t-0": [1, 2], "t-1": [2, 3], "t-2": [3, 1]}
    best = {each.group: LIMITED for each in groups}
    assert finding_places(diagnosed(healthy(lists=lists, groups=groups), best=best)) == [
        "reading-member-rack at group two",
        "reading-coverage at group one, topic t",
        "reading-coverage at group three, topic t",
        "reading-coverage at group two, topic t",
    ]


def test_groups_that_were_not_visible_are_named():
    notes = (
        Note(kind="not-visible", text="group x: GroupAuthorizationFailed"),
        Note(kind="torn", text="all changed"),
    )
    reasons = diagnosed(replace(healthy(), notes=notes)).not_checked
    assert set(reasons.values()) == {"not visible: group x: GroupAuthorizationFailed"}
    assert "reading-member-rack" in reasons


def test_unknown_topics_of_a_group_are_ignored():
    assert finding_places(diagnosed(healthy(groups=[group(topics=("gone", "t"))]))) == []


def test_members_without_topics_are_checked_by_their_partitions():
    lists = {"t-0": [1, 2], "t-1": [2, 3], "t-2": [3, 1]}
    found = diagnosed(healthy(lists=lists, groups=[group(topics=None)]), best={})
    assert finding_places(found) == ["reading-coverage at group billing, topic t"]
    assert found[0].had == "1 without one in a, 1 without one in b, 1 without one in c"


def test_a_finding_as_dict():
    (only,) = diagnosed(healthy(groups=[group("aBc")]), client_racks=[])
    assert isinstance(only, Finding)
    told_of = only.as_dict("group", "client_rack", "hint")
    assert (told_of["group"], told_of["client_rack"]) == ("billing", "B")
    assert told_of["message"] == (
        "group billing, client rack B: reading-client-rack: "
        "wanted a rack of a broker: a, b, c; had B"
    )
    assert told_of["hint"] == 'racks are compared with their case: write "b"'


def test_findings_are_a_sequence():
    found = diagnosed(healthy(values=NONE, groups=[group(assignor="mine")]), named=NONE)
    assert len(found) == len(found[:]) == 2
    assert dict(found.counts) == {"reading-selector": 1, "reading-assignor": 1}
    assert repr(found).startswith("FindingList({'reading-selector': 1")


@given(st.data())
def test_every_rule_is_checked_or_named(data):
    """No cluster raises an exception, and the order of brokers does not matter."""
    racks = {
        each: data.draw(st.sampled_from(["a", "b", "A", None, "", "/eu/a"])) for each in range(1, 4)
    }
    values = {
        each: data.draw(st.sampled_from([None, SELECTORS[1], OTHER_SELECTOR]))
        for each in data.draw(st.sets(st.integers(1, 3)))
    }
    cluster = small_cluster(racks, LISTS, configs=selectors(values))
    cluster = replace(cluster, groups=(group(data.draw(st.text("ab-B", max_size=3))),))
    first = diagnosed(cluster)
    turned = diagnosed(replace(cluster, brokers=tuple(reversed(cluster.brokers))))
    assert list(first) == list(turned)
    assert {each.rule for each in first} <= set(READING_RULES)


def test_a_rack_is_compared_as_a_whole_text():
    cluster = healthy({1: "a", 2: "b", 3: "c"})
    assert cluster.brokers[0].rack == Rack("a")
    assert finding_places(diagnosed(cluster, client_racks=["a", "b", "c"])) == []
