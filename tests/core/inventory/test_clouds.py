"""Rows from what clouds list: subnets have zones, machines have zones, interfaces have machines."""

from __future__ import annotations

from datetime import UTC, datetime
from ipaddress import ip_network

import pytest

from rackwise.core.errors import InvalidAddresses, InvalidSubnets
from rackwise.core.inventory.clouds import (
    AwsSubnet,
    CloudMachine,
    joined_machines,
    machine_rows,
    subnet_rows,
)
from rackwise.core.racks import Rack

BEGAN = datetime(2026, 11, 2, 10, tzinfo=UTC)


def subnet(number, zone, zone_id, *networks):
    return AwsSubnet(
        id=f"subnet-{number}",
        zone_name=zone,
        zone_id=zone_id,
        networks=tuple(ip_network(each) for each in networks),
    )


def machine(name, zone, *addresses, created=BEGAN):
    return CloudMachine(name=name, zone=zone, addresses=addresses, created=created)


class TestSubnets:
    @pytest.mark.parametrize(
        ("form", "racks"),
        [("id", ["use1-az6", "use1-az4"]), ("name", ["us-east-1b", "us-east-1a"])],
    )
    def test_the_rack_of_a_network_is_the_id_or_the_name_of_its_zone(self, form, racks):
        subnets = [
            subnet(1, "us-east-1a", "use1-az4", "10.0.1.0/24"),
            subnet(2, "us-east-1b", "use1-az6", "10.0.0.0/24"),
        ]
        rows = subnet_rows(subnets, form)
        assert [each.rack for each in rows] == [Rack(each) for each in racks]
        assert [each.where for each in rows] == ["subnet subnet-2", "subnet subnet-1"]

    def test_all_networks_of_subnets_are_in_order_ipv4_first(self):
        subnets = [
            subnet(1, "us-east-1a", "use1-az4", "2001:db8::/64", "10.0.10.0/24"),
            subnet(2, "us-east-1b", "use1-az6", "10.0.9.0/24"),
        ]
        assert [str(each.network) for each in subnet_rows(subnets, "id")] == [
            "10.0.9.0/24",
            "10.0.10.0/24",
            "2001:db8::/64",
        ]

    def test_a_network_of_two_subnets_in_one_zone_has_one_row(self):
        subnets = [subnet(each, "us-east-1a", "use1-az4", "10.0.1.0/24") for each in (1, 2)]
        assert len(subnet_rows(subnets, "id")) == 1

    def test_a_network_with_two_zones_is_rejected(self):
        subnets = [
            subnet(1, "us-east-1a", "use1-az4", "10.0.1.0/24"),
            subnet(2, "us-east-1b", "use1-az6", "10.0.1.0/24"),
        ]
        with pytest.raises(InvalidSubnets) as raised:
            subnet_rows(subnets, "id")
        assert raised.value.message == (
            "expected one rack for 10.0.1.0/24, got use1-az4 in subnet subnet-1 "
            "and use1-az6 in subnet subnet-2"
        )
        assert raised.value.hint == "delete subnet subnet-1 or subnet subnet-2"

    def test_no_subnet_gives_no_row(self):
        assert subnet_rows([], "id") == ()


class TestMachines:
    def test_each_address_has_the_zone_of_its_machine_since_it_was_created(self):
        found = machine_rows([machine("kafka-0", "europe-west1-b", "10.1.0.9", "2600:1900::1")])
        assert [(each.address, each.rack, each.owner, each.start) for each in found.rows] == [
            ("10.1.0.9", Rack("europe-west1-b"), "kafka-0", BEGAN),
            ("2600:1900::1", Rack("europe-west1-b"), "kafka-0", BEGAN),
        ]
        assert {each.where for each in found.rows} == {"machine kafka-0"}
        assert found.notes == ()

    def test_the_start_is_unknown_where_the_listing_does_not_have_it(self):
        rows = machine_rows([machine("kafka-0", "b", "10.1.0.9", created=None)]).rows
        assert [each.start for each in rows] == [None]

    def test_machines_without_a_zone_get_no_row_and_are_named(self):
        found = machine_rows(
            [
                machine("batch", None, "10.2.0.7"),
                machine("kafka-0", "westeurope-1", "10.2.0.4"),
                machine("evil\x1b", None, "10.2.0.8"),
            ]
        )
        assert [each.address for each in found.rows] == ["10.2.0.4"]
        assert found.notes == (r"2 machines without a zone (batch, evil\x1b): no row",)

    def test_an_address_of_two_machines_is_rejected(self):
        machines = [machine("a\x1b", "zone-b", "10.1.0.9"), machine("c", "zone-d", "10.1.0.9")]
        with pytest.raises(InvalidAddresses) as raised:
            machine_rows(machines)
        assert raised.value.message == (
            r"invalid machines: expected 10.1.0.9 once, got it in a\x1b in zone-b "
            "and in c in zone-d"
        )
        assert (raised.value.wanted, raised.value.had) == ("a\x1b", "c")
        assert raised.value.hint == (
            "list one network at a time: addresses of two networks may be equal"
        )

    def test_machines_of_one_name_in_two_zones_are_two_machines(self):
        machines = [machine("vm", zone, "10.1.0.9") for zone in ("zone-b", "zone-c")]
        with pytest.raises(InvalidAddresses, match="got it in vm in zone-b and in vm in zone-c"):
            machine_rows(machines)

    def test_an_address_of_a_machine_without_a_zone_is_free_for_another(self):
        machines = [machine("batch", None, "10.1.0.9"), machine("kafka-0", "zone-b", "10.1.0.9")]
        assert [each.owner for each in machine_rows(machines).rows] == ["kafka-0"]


MACHINES = {
    "/rg/VM/Kafka-0": machine("Kafka-0", "westeurope-1"),
    "/rg/VM/batch": machine("batch", None),
}


class TestJoinedMachines:
    def test_a_machine_has_the_addresses_of_all_its_interfaces(self):
        interfaces = [
            ("k0-nic", "/rg/VM/Kafka-0", ("10.2.0.4", "fd00::4")),
            ("b-nic", "/rg/VM/batch", ("10.2.0.7",)),
            ("k0-other", "/rg/VM/Kafka-0", ("10.3.0.4",)),
        ]
        assert joined_machines(interfaces, MACHINES) == (
            [
                machine("Kafka-0", "westeurope-1", "10.2.0.4", "fd00::4", "10.3.0.4"),
                machine("batch", None, "10.2.0.7"),
            ],
            [],
        )

    def test_ids_are_compared_without_case(self):
        interfaces = [
            ("k0-nic", "/RG/vm/KAFKA-0", ("10.2.0.4",)),
            ("k0-other", "/rg/vm/kafka-0", ("10.3.0.4",)),
        ]
        assert joined_machines(interfaces, MACHINES) == (
            [machine("Kafka-0", "westeurope-1", "10.2.0.4", "10.3.0.4")],
            [],
        )

    def test_interfaces_whose_machine_is_not_listed_are_named(self):
        interfaces = [
            ("lost-nic", "/rg/vm/deleted", ("10.2.0.8",)),
            ("k0-nic", "/rg/vm/kafka-0", ("10.2.0.4",)),
        ]
        found, missing = joined_machines(interfaces, MACHINES)
        assert [each.name for each in found] == ["Kafka-0"]
        assert missing == ["lost-nic"]

    def test_an_interface_of_no_machine_is_left_out_and_not_named(self):
        assert joined_machines([("free-nic", None, ("10.2.0.6",))], MACHINES) == ([], [])
