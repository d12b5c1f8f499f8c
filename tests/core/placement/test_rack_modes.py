"""Rack modes: what becomes of racks that are missing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placements import broker, brokers_of, placement_vectors, racked
from rackwise import RackMode
from rackwise.core.errors import InvalidAssignment, PartialRacks
from rackwise.core.placement import apply_mode

RACKS = st.lists(st.sampled_from(["", "a", "b", None]), min_size=1, max_size=6)


@pytest.mark.parametrize(
    "case", placement_vectors("rack_modes"), ids=lambda case: f"{case['name']}, {case['mode']}"
)
def test_the_vectors(case):
    brokers, mode = brokers_of(case["brokers"]), RackMode(case["mode"])
    if case["error"] is None:
        assert apply_mode(brokers, mode) == brokers_of(case["expected"])
    else:
        with pytest.raises(PartialRacks) as caught:
            apply_mode(brokers, mode)
        assert caught.value.upstream == (
            "org.apache.kafka.server.common.AdminOperationException",
            case["upstream_message"],
        )


class TestPartialRacksInCommandLineTools:
    """KIP-36: For command line tools (TopicCommand and ReassignPartitionsCommand), an exception
    will be thrown. This will alert the user that a broker may be misconfigured. An additional
    command line argument --ignore-racks can be supplied to suppress such error and continue with
    topic creation ignoring all rack information.
    """

    def test_enforced_names_the_brokers_without(self):
        racks = ["a", "a", "b", "b", None, "a", "b", None, "a", None]
        with pytest.raises(PartialRacks) as caught:
            apply_mode(racked(*racks), RackMode.ENFORCED)
        assert str(caught.value) == "all brokers must have a rack; 3 of 10 have none: 4, 7, 9"
        assert "broker.rack" in caught.value.hint
        assert "--disable-rack-aware" in caught.value.hint

    @given(RACKS)
    def test_disabled_ignores_all_rack_information(self, racks):
        assert {each.rack for each in apply_mode(racked(*racks), RackMode.DISABLED)} == {None}


class TestPartialRacksInAutoCreation:
    """KIP-36: For auto topic creation, AdminUtils.assignReplicasToBrokers will create the same
    assignment as the current implementation (as if no broker has the rack information) and continue
    with topic creation. This allows auto topic creation to work when doing rolling upgrade.
    """

    @given(RACKS)
    def test_safe_keeps_all_racks_or_none(self, racks):
        brokers = racked(*racks)
        expected = racked(*[None] * len(racks)) if None in racks else brokers
        assert apply_mode(brokers, RackMode.SAFE) == expected


@given(RACKS)
def test_one_rack_keeps_whatever_there_is(racks):
    assert apply_mode(racked(*racks), RackMode.ONE_RACK) == racked(*racks)


@given(RACKS.filter(lambda racks: None not in racks))
def test_an_empty_text_is_a_rack(racks):
    assert apply_mode(racked(*racks), RackMode.ENFORCED) == racked(*racks)


@given(st.permutations(racked("b", "a", None, "a")), st.sampled_from(["safe", "one-rack"]))
def test_the_order_of_brokers_changes_nothing(brokers, mode):
    assert [each.id for each in apply_mode(brokers, RackMode(mode))] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([3, 4, 4], "broker 4 appears twice"),
        ([0, -1], "invalid broker id: expected 0 to 2147483647, got -1"),
        ([2**31], "invalid broker id: expected 0 to 2147483647, got 2147483648"),
    ],
)
def test_ids_that_no_cluster_has_are_refused(ids, message):
    with pytest.raises(InvalidAssignment) as caught:
        apply_mode([broker(id_) for id_ in ids], RackMode.SAFE)
    assert str(caught.value) == message
