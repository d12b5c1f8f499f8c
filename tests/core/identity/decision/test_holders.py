"""Who holds an id, said for people and compared with a key."""

import pytest

from identities import ME, STRANGER, claim, mapping, owner, registered, seen, unreadable
from rackwise.core.identity.decision.holders import (
    describe_holder,
    looks_like,
    owner_of,
    wait_reason,
)
from rackwise.core.identity.model import Registration

SILENT = Registration(broker_id=7)


def words(**more):
    given = {"registration": None, "claim": None, "owners": {}, "now_ms": 41_000, **more}
    return describe_holder(**given)


def test_told_for_people():
    assert words() == "nobody"
    assert words(claim=claim(7, key="g\n")) == "a start of key g\\x0a, session 0x71"
    assert words(registration=SILENT) == "a broker"
    there = registered(7, at=frozenset({"b:1", "a:1"}), since_ms=1_000)
    assert words(registration=there) == "a broker at a:1 b:1, session 0x99, for 40 s"
    assert words(registration=there, now_ms=1_000).endswith("for 0 s")


def test_since_when_where_the_clock_was_not_read():
    there = registered(7, since_ms=1_793_527_200_500)
    assert words(registration=there, now_ms=0).endswith("0x99, since 2026-11-01T10:00:00Z")
    beyond = registered(7, since_ms=2**63 - 1)
    assert words(registration=beyond, now_ms=0).endswith("since 9999-12-31T23:59:59Z")


@pytest.mark.parametrize(
    ("mine", "theirs", "key_of_claim", "key_of_owner", "expected"),
    [
        (ME, STRANGER, "h7", None, True),
        (ME, STRANGER, None, "h7", True),
        (ME, ME, None, None, True),
        (ME, ME, "g", "g", True),
        (ME, STRANGER, None, None, False),
        (ME, frozenset(), None, None, True),
        (frozenset(), STRANGER, None, None, True),
        (frozenset(), STRANGER, "g", None, False),
        (frozenset(), STRANGER, None, "g", False),
    ],
)
def test_it_may_be_me(mine, theirs, key_of_claim, key_of_owner, expected):
    found = looks_like(
        "h7",
        mine,
        registration=registered(7, at=theirs),
        claim=key_of_claim and claim(7, key=key_of_claim),
        owners={7: owner(7, key=key_of_owner)} if key_of_owner else {},
    )
    assert found is expected


def test_a_claim_alone_is_its_keys():
    for key, expected in (("h7", True), ("g", False)):
        wait_reason = {"registration": None, "claim": claim(7, key=key), "owners": {}}
        assert looks_like("h7", ME, **wait_reason) is expected


def test_an_owner_is_of_one_registration():
    assert owner_of(registered(7), {7: owner(7)}) == owner(7)
    assert owner_of(registered(7, incarnation=501), {7: owner(7)}) is None
    assert owner_of(registered(7), {}) is None
    plain = registered(7, at=ME, incarnation=None)
    assert owner_of(plain, {7: owner(7, at=ME)}) == owner(7, at=ME)
    assert owner_of(plain, {7: owner(7, at=STRANGER)}) is None


def test_why_an_id_is_waited_for():
    mine = claim(7, key="h7", session=0x1F)
    assert wait_reason(seen(claims={7: mine}), 7) == "held by session 0x1f, same key"
    assert (
        wait_reason(seen(claims={7: claim(7, key="g\n")}), 7) == "held by session 0x71, key g\\x0a"
    )
    at_mine = registered(7, at=ME)
    assert wait_reason(seen(registered={7: at_mine}), 7) == "held by session 0x99, same endpoints"
    assert (
        wait_reason(seen(registered={7: registered(7, at=STRANGER)}), 7) == "held by session 0x99"
    )
    ours = {7: owner(7, key="h7", incarnation=at_mine.incarnation)}
    assert (
        wait_reason(seen(registered={7: at_mine}, owners=ours), 7)
        == "held by session 0x99, same key"
    )
    assert wait_reason(seen(registered={7: SILENT}), 7) == "held"
    assert wait_reason(seen(reserved={}), 7) == "not missing long enough"
    reserved = {7: (mapping("g\n", 7), mapping("h", 7))}
    assert wait_reason(seen(reserved=reserved), 7) == "reserved for g\\x0a, h"
    doubtful = {"f\n": unreadable("f"), "e": unreadable("e")}
    assert wait_reason(seen(reserved={}, unreadable=doubtful), 7) == "reserved for e, f\\x0a"
    assert wait_reason(seen(reserved=reserved, unreadable=doubtful), 7) == "reserved for g\\x0a, h"
