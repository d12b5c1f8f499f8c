"""What a decision writes: one commit, and nothing but what the decision rests on."""

from dataclasses import replace

from identities import BASE, mapping, seen
from rackwise.core.identity.model import Take
from rackwise.core.identity.nodes.store import Absent, Check, Create, Delete, Put
from rackwise.core.identity.start.operations import (
    claim_operations,
    literal_operations,
    mapping_operations,
    operations,
)

CLAIM = Create(
    "/brokers/claims/7",
    b'{"key":"h7","host":"host","pid":12,"nonce":"n7","since_ms":5}',
    ephemeral=True,
)
HERE = {"host": "host", "pid": 12, "now_ms": 5, "fence": 40}
NEW = Create("/brokers/hosts/h7", b'{"version":0,"broker.id":7}')
FREE, IN_USE = Absent("/brokers/ids/7"), Absent("/brokers/retired_ids/7")
RESERVED = Create(
    "/brokers/id_owners/7", b'{"version":0,"key":"h7","incarnation":null,"endpoints":[]}'
)


def fence(version=None):
    return Put("/brokers/id_alloc", b"", version)


def take(how, **more):
    return Take(id=7, how=how, row="D1", **more)


def test_a_key_without_a_mapping_gets_one():
    for how in ("configured", "meta", "gen"):
        assert operations(take(how), seen(**HERE)) == (
            fence(),
            FREE,
            IN_USE,
            CLAIM,
            RESERVED,
            NEW,
        )


def test_an_id_that_has_an_owner_keeps_it():
    observation = seen(**HERE, owned=frozenset({7}))
    assert operations(take("meta"), observation) == (fence(), FREE, IN_USE, CLAIM, NEW)
    assert RESERVED not in mapping_operations(take("meta"), observation)


def test_a_mapping_is_written_though_it_says_the_same_at_the_version_read():
    observation = seen(**HERE, mapping=mapping("h7", 7, node_version=3))
    written = Put("/brokers/hosts/h7", b'{"version":0,"broker.id":7}', 3)
    assert operations(take("a"), observation)[-1] == written


def test_what_else_stands_in_a_newer_mapping_is_kept():
    newer = mapping("h7", 9, version=3, node_version=2, extra={"x": 1})
    written = operations(take("meta"), seen(**HERE, mapping=newer))[-1]
    assert written == Put("/brokers/hosts/h7", b'{"version":3,"broker.id":7,"x":1}', 2)


def test_a_mapping_that_cannot_be_read_is_replaced():
    written = operations(take("meta"), seen(**HERE, mapping_problem="not JSON"))[-1]
    assert written == Put("/brokers/hosts/h7", b'{"version":0,"broker.id":7}', None)


def test_a_spare_rests_on_the_fence_that_was_read_and_takes_the_mapping_away():
    taken = (mapping("g", 7, node_version=6),)
    assert operations(take("b1", takes_from=taken), seen(**HERE)) == (
        fence(40),
        FREE,
        IN_USE,
        CLAIM,
        RESERVED,
        NEW,
        Delete("/brokers/hosts/g", 6),
    )


def test_what_an_earlier_commit_wrote_is_not_written_again():
    assert operations(take("already"), BASE) == ()
    assert claim_operations(take("already"), BASE) == ()


def test_a_store_without_registrations_takes_two_commits():
    taken = (mapping("g", 7, node_version=6),)
    spare = take("b1", takes_from=taken)
    assert claim_operations(spare, seen(**HERE)) == (fence(40), IN_USE, CLAIM)
    assert mapping_operations(spare, seen(**HERE)) == (
        fence(),
        Check("/brokers/claims/7", 0),
        RESERVED,
        NEW,
        Delete("/brokers/hosts/g", 6),
    )


class TestToTheLetter:
    """This is done after broker registers itself in ZooKeeper."""

    def test_the_mapping_alone_at_any_version(self):
        assert literal_operations(take("gen"), seen(**HERE)) == (NEW,)
        before = replace(mapping("h7", 9), node_version=3)
        assert literal_operations(take("gen"), seen(**HERE, mapping=before)) == (
            Put("/brokers/hosts/h7", b'{"version":0,"broker.id":7}', None),
        )
