"""The rack of a group's member: by name, by address at a time, as reported, by subnet."""

from datetime import UTC, datetime
from ipaddress import ip_network

import pytest

from rackwise.core.inventory.addresses import AddressRow
from rackwise.core.model import Group, GroupMember
from rackwise.core.racks import Rack
from rackwise.core.subnets import Subnet
from rackwise.pipeline.fleet.rack_tables import RackTables
from small_fleets import cluster

BY_ID, BY_GROUP, BY_PRINCIPAL = Rack("by-id"), Rack("by-group"), Rack("by-principal")
AT_ADDRESS, REPORTED, IN_SUBNET = Rack("at-address"), Rack("reported"), Rack("in-subnet")
TABLES = RackTables(
    subnets=(Subnet(network=ip_network("10.0.0.0/24"), rack=IN_SUBNET),),
    addresses=(
        AddressRow(address="10.0.0.7", rack=AT_ADDRESS, start=datetime(2026, 11, 1, tzinfo=UTC)),
    ),
    clients={
        "client_id": {"known": BY_ID},
        "client_group": {"listed": BY_GROUP},
        "principal": {"user": BY_PRINCIPAL},
    },
)


@pytest.mark.parametrize(
    ("client", "group", "address", "reported", "rack"),
    [
        ("known", "listed", "10.0.0.7", REPORTED, BY_ID),
        ("other", "listed", "10.0.0.7", REPORTED, BY_GROUP),
        ("other", "other", "10.0.0.7", REPORTED, AT_ADDRESS),
        ("other", "other", "10.0.0.8", REPORTED, REPORTED),
        ("other", "other", "10.0.0.8", None, IN_SUBNET),
        ("other", "other", "10.0.1.8", None, None),
        ("other", "other", None, REPORTED, REPORTED),
        ("other", "other", None, None, None),
    ],
)
def test_the_first_table_that_knows_a_member_says_its_rack(client, group, address, reported, rack):
    member = GroupMember(
        member_id="m", client_id=client, address=address, rack=reported, partitions=()
    )
    of_member = TABLES.member_racks()
    assert of_member(cluster(), Group(group=group, members=(member,)), member) == rack


def test_a_row_of_an_address_counts_from_its_start():
    member = GroupMember(member_id="m", client_id="c", address="10.0.0.7", rack=None, partitions=())
    before = cluster(taken_at="2026-10-31T23:59:59Z")
    found = TABLES.member_racks()(before, Group(group="g", members=(member,)), member)
    assert found == IN_SUBNET


def test_the_racks_of_a_run_are_those_of_every_row():
    racks = [IN_SUBNET, AT_ADDRESS, BY_ID, BY_GROUP, BY_PRINCIPAL]
    assert TABLES.racks() == racks
    assert RackTables().racks() == []
