"""The watcher of missing ids, event by event."""

from dataclasses import replace

import pytest

from rackwise.core.errors import LocalProtocolError
from rackwise.core.identity.model import Owner
from rackwise.core.identity.nodes.nodes import MissingMarker
from rackwise.core.identity.nodes.store import (
    IDS,
    KNOWN,
    MISSING,
    MISSING_LEADER,
    RETIRED,
    Check,
    Create,
    Delete,
    Put,
)
from rackwise.core.identity.start.actions import (
    Commit,
    CommitEnded,
    Sightings,
    Sleep,
    Slept,
    Started,
)
from rackwise.core.identity.start.missing import forget_changed, id_of, missing_since, since_markers
from rackwise.core.identity.watch import (
    OPS_AT_ONCE,
    Survey,
    Surveyed,
    Watching,
    watch_step,
)

MINE, LEADER = 31, 40
WATCHING = Watching(name=b"w")
NOTHING = Surveyed(
    at_ms=0,
    session=MINE,
    leader=(MINE, LEADER),
    known=frozenset({1, 7}),
    registered=frozenset({1, 7}),
    retired=frozenset(),
    markers={},
    owners={},
    used=frozenset(),
)
MARKED = MissingMarker(broker_id=7, leader=LEADER, since_ms=100, node_version=3)


def played(*events):
    state, action = watch_step(WATCHING, Started(at_ms=0))
    for event in events:
        state, action = watch_step(state, event)
    return state, action


def seen(**changes):
    return replace(NOTHING, **changes)


def ended(outcome="done"):
    return CommitEnded(at_ms=0, outcome=outcome)


def told(action):
    assert action.ops[0] == Check(MISSING_LEADER, 0)
    return [(type(op).__name__, op.path) for op in action.ops[1:]]


class TestWhoLeads:
    def test_where_nobody_leads_it_does(self):
        assert played()[1] == Survey(topics=False)
        action = played(seen(leader=None))[1]
        assert action == Commit(ops=(Create(MISSING_LEADER, b"w", ephemeral=True),))
        assert played(seen(leader=None), ended("conflict"))[1] == Survey(topics=False)

    def test_others_wait_for_the_leader_to_go(self):
        action = played(seen(leader=(MINE + 1, LEADER)))[1]
        assert action == Sleep(on=(MISSING_LEADER,), most_ms=60_000)

    def test_a_new_leader_reads_the_topics_first(self):
        assert played(seen(used=None))[1] == Survey(topics=True)

    def test_and_again_at_each_rescan(self):
        asleep = (seen(), Slept(at_ms=3_599_999))
        assert played(*asleep)[1] == Survey(topics=False)
        assert played(seen(), Slept(at_ms=3_600_000))[1] == Survey(topics=True)

    def test_what_answers_nothing_is_refused(self):
        with pytest.raises(LocalProtocolError, match="while looking: got Slept"):
            played(Slept(at_ms=0))


class TestMarkers:
    def test_it_sleeps_where_nothing_is_missing(self):
        action = played(seen())[1]
        assert action == Sleep(on=(MISSING_LEADER, IDS, RETIRED), most_ms=60_000)

    def test_ids_are_known_from_registrations_and_replicas(self):
        action = played(seen(known=frozenset({1}), used=frozenset({9})))[1]
        assert told(action)[:2] == [("Create", f"{KNOWN}/7"), ("Create", f"{KNOWN}/9")]
        assert told(action)[2:] == [("Create", f"{MISSING}/9")]

    def test_a_missing_id_is_marked_with_who_had_it(self):
        owner = Owner(broker_id=7, key="h7", endpoints=frozenset({"h7:9092"}))
        action = played(seen(registered=frozenset({1}), owners={7: owner}))[1]
        assert action.ops[1] == Create(
            f"{MISSING}/7",
            b'{"version":0,"leader":40,"last_key":"h7","last_endpoints":["h7:9092"]}',
        )
        assert played(seen(registered=frozenset({1})), ended())[1] == Survey(topics=False)

    def test_a_key_that_only_reserves_the_id_had_it_never(self):
        reserved = {7: Owner(broker_id=7, key="h7")}
        action = played(seen(registered=frozenset({1}), owners=reserved))[1]
        assert action.ops[1] == Create(
            f"{MISSING}/7", b'{"version":0,"leader":40,"last_key":null,"last_endpoints":[]}'
        )

    def test_a_marker_of_its_own_stays_and_its_id_is_watched(self):
        action = played(seen(registered=frozenset({1}), markers={7: MARKED}))[1]
        assert action.on == (MISSING_LEADER, IDS, RETIRED, f"{IDS}/7")

    def test_a_marker_of_another_leader_is_written_again(self):
        old = replace(MARKED, leader=LEADER - 1)
        action = played(seen(registered=frozenset({1}), markers={7: old}))[1]
        assert isinstance(action.ops[1], Put)
        assert action.ops[1].version == 3

    def test_an_id_that_is_back_or_retired_loses_its_marker(self):
        assert played(seen(markers={7: MARKED}))[1].ops[1] == Delete(f"{MISSING}/7", 3)
        retired = seen(registered=frozenset({1}), retired=frozenset({7}), markers={7: MARKED})
        assert played(retired)[1].ops[1] == Delete(f"{MISSING}/7", 3)

    def test_an_id_that_was_back_unseen_is_marked_anew(self):
        gone = seen(registered=frozenset({1}), markers={7: MARKED})
        fired = Slept(at_ms=5, changed=frozenset({IDS, f"{IDS}/7", f"{IDS}/1"}))
        action = played(gone, fired, replace(gone, used=None))[1]
        assert [type(op).__name__ for op in action.ops] == ["Check", "Put"]
        again = played(gone, fired, replace(gone, used=None), ended(), replace(gone, used=None))[1]
        assert isinstance(again, Sleep)

    def test_what_was_not_written_is_written_by_the_next(self):
        gone = seen(registered=frozenset({1}), markers={7: MARKED})
        events = (
            gone,
            Slept(at_ms=5, changed=frozenset({f"{IDS}/7"})),
            gone,
            ended("unknown"),
            gone,
        )
        assert isinstance(played(*events)[1], Commit)

    def test_many_are_written_in_parts(self):
        many = frozenset(range(250))
        survey = seen(known=many, registered=frozenset(), used=many)
        action = played(survey)[1]
        assert len(action.ops) == OPS_AT_ONCE + 1


class TestMissingSince:
    def test_paths_of_registrations_alone_are_ids(self):
        assert id_of(f"{IDS}/7") == 7
        assert id_of(f"{IDS}/x") is None
        assert id_of("/brokers/claims/7") is None

    def test_a_dead_leaders_marker_proves_nothing(self):
        markers = [MARKED, replace(MARKED, broker_id=8, leader=1)]
        assert since_markers(markers, leader=LEADER) == {7: 100}
        assert since_markers(markers, leader=None) == {}

    def test_a_sighting_ends_with_its_session_its_watch_and_its_id(self):
        before = Sightings(session=MINE, since_ms={7: 10, 8: 10})
        assert missing_since(before, [7, 9], session=MINE, now_ms=50) == {7: 10, 9: 50}
        assert missing_since(before, [7], session=MINE + 1, now_ms=50) == {7: 50}
        assert forget_changed(before, {f"{IDS}/7"}).since_ms == {8: 10}
