"""Parsed snapshots: invalid racks of clients do not stop a run."""

from __future__ import annotations

import pytest

from rackwise.core.model import Note
from rackwise.core.racks import Rack
from rackwise.pipeline.fleet.snapshots import read_snapshots
from small_fleets import cluster, group, parsed

TORN = Note(kind="torn", text="read three times")


def members_of(*racks, **more):
    """The racks of group members after reading, and the notes."""
    members = [(f"m{n}", rack, None, [("orders", n % 3)]) for n, rack in enumerate(racks)]
    given = cluster(groups=[group("other", ("m", "/eu/c", None, [])), group("g", *members)], **more)
    (read,), failed = read_snapshots(*parsed({"a.json": given}))
    assert failed == ()
    _, own = read.cluster.groups
    assert [m.partitions for m in own.members] == [(("orders", n % 3),) for n in range(len(racks))]
    return [m.rack for m in own.members], read.cluster.notes


@pytest.mark.parametrize("odd", ["/l" * 17, "/eu//a", "", "x\x1b[2J"])
def test_a_member_with_an_invalid_rack_gets_no_rack_and_a_note(odd):
    racks, (note,) = members_of("/eu/a", odd, None, odd)
    assert racks == [Rack("/eu/a"), None, None, None]
    assert note.kind == "client-rack"
    assert note.text.startswith("client racks that are not valid: 1; ")
    assert "\x1b" not in note.text


def test_invalid_racks_are_counted_and_the_first_is_shown():
    _, (note,) = members_of("/b//", "/a//", "/a//")
    assert note.text.endswith('that are not valid: 2; one is "/a//"')


def test_racks_of_clients_may_have_another_form_than_those_of_brokers():
    assert members_of("use1-az1", "/us/a") == ([Rack("use1-az1"), Rack("/us/a")], ())
