"""The leaders that are probed, and the findings from their answers."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.fetch_diagnosis import Probe, doubtful_questions, probe_questions
from rackwise.core.model import Note
from readings import LISTS, RACKS, SELECTORS, diagnosed, facts, finding_places, healthy, selectors
from small_clusters import small_cluster

NONE = dict.fromkeys((1, 2, 3))


def test_a_broker_that_is_too_old_is_not_also_found_by_the_probe():
    found = diagnosed(healthy(), versions={1: 18, 2: 10, 3: 11}, named={2: None})
    assert finding_places(found) == ["reading-fetch-version at broker 2"]
    assert found.not_checked["reading-probe"].endswith("why the leader keeps it: broker 2")


def test_a_leader_without_selector_is_found_once():
    found = diagnosed(healthy(values=NONE), client_racks=["a", "b", "c"], named=NONE)
    assert found.not_checked == {
        "reading-probe": "another finding says why the leader keeps it: "
        "broker 2, broker 3, broker 1"
    }


def test_a_leader_that_keeps_its_clients_without_reason_is_found_by_the_probe():
    found = diagnosed(healthy(), named={1: None})
    assert finding_places(found) == ["reading-probe at broker 1"]
    assert found[0].had == "none; 2 of 2 answers wrong"


def test_a_leader_that_sends_clients_elsewhere_is_found_by_the_probe():
    found = diagnosed(healthy(), client_racks=[], named={3: 3, 1: 9})
    assert finding_places(found) == ["reading-probe at broker 1", "reading-probe at broker 3"]
    assert found[0].had == "broker 9; 2 of 2 answers wrong"


def test_where_the_selector_cannot_be_read_the_probe_decides():
    cluster = replace(
        healthy(), configs=selectors({}), notes=(Note(kind="no-configs", text="refused"),)
    )
    found = diagnosed(cluster, named={2: None})
    assert finding_places(found) == ["reading-probe at broker 2"]
    assert found.not_checked == {
        "reading-selector": "replica.selector.class was not readable: broker 1, broker 2, broker 3"
    }


def test_a_replica_that_came_into_sync_later_is_accepted():
    cluster = small_cluster(
        {1: "a", 2: "b", 3: "b"},
        {"t-0": [1, 2, 3]},
        isr={"t-0": [1, 2]},
        configs=selectors(SELECTORS),
    )
    assert "reading-probe" not in diagnosed(cluster, named={1: 3}).counts
    assert diagnosed(cluster, named={1: 1}).counts["reading-probe"] == 1


class TestQuestions:
    def test_an_answer_that_would_be_a_finding_is_doubtful(self):
        known = facts(healthy(values={**SELECTORS, 3: None}), named={1: None, 3: None})
        answers = [*known.probes, Probe(question=known.probes[0].question, error="Timeout")]
        again = doubtful_questions(replace(known, probes=tuple(answers)))
        assert {each.leader for each in again} == {1}
        assert len(again) == 2

    def test_leaders_take_turns(self):
        lists = {"t-0": [1, 2], "t-1": [1, 2], "t-2": [2, 1], "t-3": [3, 2]}
        cluster = small_cluster(RACKS, lists)
        asked = probe_questions(cluster, ["b", "z", "b"], limit=2)
        assert [(each.topic, each.partition, each.leader, each.near) for each in asked] == [
            ("t", 0, 1, (2,)),
            ("t", 3, 3, (2,)),
        ]
        assert len(probe_questions(cluster, ["b"], limit=20)) == 3

    def test_only_in_sync_replicas_and_live_leaders_are_probed(self):
        cluster = small_cluster(
            RACKS,
            LISTS,
            isr={"t-0": [1, 3], "t-2": [3, 2]},
            leaders={"t-1": None},
            dead=[3],
        )
        assert probe_questions(cluster, ["b"], limit=20) == ()

    @given(st.data())
    def test_every_question_can_have_a_wrong_answer(self, data):
        brokers = list(range(6))
        racks = {each: data.draw(st.sampled_from(["a", "b", None])) for each in brokers}
        lists = {
            f"t-{number}": data.draw(st.lists(st.sampled_from(brokers), min_size=1, unique=True))
            for number in range(4)
        }
        cluster = small_cluster(racks, lists)
        for each in probe_questions(cluster, ["a", "b"], limit=3):
            assert racks[each.leader] != each.client_rack
            assert {racks[broker] for broker in each.near} == {each.client_rack}
            assert set(each.near) <= set(lists[f"t-{each.partition}"])
