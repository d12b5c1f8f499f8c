"""`rackwise racks aws|gcp|azure`: listings in the shapes of the vendors' references."""

from __future__ import annotations

import csv
import io
import json

import pytest

from rackwise.adapters.files import read_subnets
from rackwise.adapters.files.tables.addresses import read_addresses
from rackwise.cli.main import run


def aws_subnet(number, zone, zone_id, cidr, *, ipv6=None, state="associated"):
    association = {
        "AssociationId": "subnet-cidr-assoc-1",
        "Ipv6CidrBlock": ipv6,
        "Ipv6CidrBlockState": {"State": state},
    }
    return {
        "AvailabilityZone": zone,
        "AvailabilityZoneId": zone_id,
        "AvailableIpAddressCount": 251,
        "CidrBlock": cidr,
        "DefaultForAz": False,
        "Ipv6CidrBlockAssociationSet": [association] if ipv6 else [],
        "State": "available",
        "SubnetId": f"subnet-{number}",
        "VpcId": "vpc-1",
    }


AWS = {
    "Subnets": [
        aws_subnet(1, "us-east-1a", "use1-az4", "10.0.1.0/24", ipv6="2001:db8:1:1::/64"),
        aws_subnet(2, "us-east-1b", "use1-az6", "10.0.0.0/24"),
        aws_subnet(3, "us-east-1b", "use1-az6", "10.0.2.0/24", ipv6="2001:db8:1:2::/64", state="x"),
    ]
}


def instance(name, zone, ip, **interface):
    return {
        "creationTimestamp": "2026-11-02T10:00:00.123-07:00",
        "id": "1",
        "kind": "compute#instance",
        "name": name,
        "networkInterfaces": [
            {"kind": "compute#networkInterface", "name": "nic0", "networkIP": ip, **interface}
        ],
        "status": "RUNNING",
        "zone": f"https://www.googleapis.com/compute/v1/projects/p/zones/{zone}",
    }


GCP = [
    instance("kafka-0", "europe-west1-b", "10.1.0.9"),
    instance("kafka-1", "europe-west1-c", "10.1.0.10", ipv6Address="2600:1900::1"),
]
GCP_SUBNETS = [
    {
        "ipCidrRange": "10.1.0.0/20",
        "kind": "compute#subnetwork",
        "name": "default",
        "region": "https://www.googleapis.com/compute/v1/projects/p/regions/europe-west1",
    }
]
VM = "/subscriptions/s/resourceGroups/RG/providers/Microsoft.Compute/virtualMachines/"


def nic(name, vm, ip, key="privateIPAddress"):
    return {
        "ipConfigurations": [{key: ip, "name": "ipconfig1", "primary": True}],
        "location": "westeurope",
        "name": name,
        "virtualMachine": vm and {"id": VM + vm, "resourceGroup": "RG"},
    }


def vm(name, zones):
    return {
        "hardwareProfile": {"vmSize": "Standard_D4s_v5"},
        "id": VM.replace("RG", "rg") + name,
        "location": "westeurope",
        "name": name,
        "timeCreated": "2026-11-02T10:00:00.123456+00:00",
        "zones": zones,
    }


NICS = [
    nic("k0-nic", "kafka-0", "10.2.0.4"),
    nic("k1-nic", "kafka-1", "10.2.0.5", key="privateIpAddress"),
    nic("free-nic", None, "10.2.0.6"),
    nic("b-nic", "batch", "10.2.0.7"),
    nic("lost-nic", "deleted", "10.2.0.8"),
]
VMS = [vm("kafka-0", ["1"]), vm("kafka-1", ["3"]), vm("batch", None)]
VNETS = [{"addressSpace": {"addressPrefixes": ["10.2.0.0/16"]}, "name": "v", "subnets": []}]


@pytest.fixture
def racks(tmp_path, capsys):
    """Run a command on documents: its exit code, rows of its table, and stderr."""

    def call(cloud, document, *options, **files):
        path = tmp_path / "listing.json"
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        for name, content in files.items():
            (tmp_path / name).write_text(
                content if isinstance(content, str) else json.dumps(content)
            )
            options += (f"--{name}", str(tmp_path / name))
        code = run(["racks", cloud, str(path), *options])
        shown = capsys.readouterr()
        return code, list(csv.reader(io.StringIO(shown.out)))[1:], shown.err

    return call


def test_a_subnet_of_aws_has_the_id_of_its_zone(racks):
    assert racks("aws", AWS) == (
        0,
        [
            ["10.0.0.0/24", "use1-az6"],
            ["10.0.1.0/24", "use1-az4"],
            ["10.0.2.0/24", "use1-az6"],
            ["2001:db8:1:1::/64", "use1-az4"],
        ],
        "",
    )


def test_a_subnet_of_aws_has_the_name_of_its_zone_if_asked(racks):
    _, rows, _ = racks("aws", AWS, "--as", "name")
    assert {row[1] for row in rows} == {"us-east-1a", "us-east-1b"}


def test_analyze_reads_the_table_of_aws(racks, tmp_path):
    assert racks("aws", AWS, "--out", str(tmp_path / "subnets.csv"))[0] == 0
    assert len(read_subnets(tmp_path / "subnets.csv")) == 4


def test_an_instance_of_google_has_its_zone(racks, tmp_path):
    start = "2026-11-02T17:00:00.123000Z"
    code, rows, _ = racks("gcp", GCP)
    assert (code, rows) == (
        0,
        [
            ["10.1.0.9", "europe-west1-b", "kafka-0", start, ""],
            ["10.1.0.10", "europe-west1-c", "kafka-1", start, ""],
            ["2600:1900::1", "europe-west1-c", "kafka-1", start, ""],
        ],
    )
    assert racks("gcp", GCP, "--out", str(tmp_path / "addresses.csv"))[0] == 0
    assert len(read_addresses(tmp_path / "addresses.csv")) == 3


def test_an_interface_of_azure_has_the_zone_of_its_machine(racks):
    code, rows, said = racks("azure", NICS, vms=VMS)
    assert code == 0
    assert [row[:3] for row in rows] == [
        ["10.2.0.4", "westeurope-1", "kafka-0"],
        ["10.2.0.5", "westeurope-3", "kafka-1"],
    ]
    assert "1 machine without a zone (batch): no row" in said
    assert "1 interface of machines not in --vms (lost-nic): no row" in said


def test_zones_of_a_subscription_are_converted_by_a_table(racks):
    zones = "name,id\nwesteurope-1,westeurope-az2\nwesteurope-3,westeurope-az1\n"
    _, rows, _ = racks("azure", NICS, "--as", "id", vms=VMS, zones=zones)
    assert [row[1] for row in rows] == ["westeurope-az2", "westeurope-az1"]


def test_a_zone_that_the_table_lacks_is_no_guess(racks):
    zones = "name,id\nwesteurope-1,westeurope-az2\n"
    code, rows, said = racks("azure", NICS, "--as", "id", vms=VMS, zones=zones)
    assert (code, rows) == (1, [])
    assert "invalid zone westeurope-3: expected one of the table" in said


@pytest.mark.parametrize(
    ("zones", "message"),
    [
        ("name\nx\n", 'missing column "id"'),
        ("name,id\nx,\n", "id: expected the id of a zone, got an empty cell"),
        ("name,id\nx,1\nx,2\n", "expected each zone once, got x"),
    ],
)
def test_a_wrong_table_of_zones(racks, zones, message):
    code, _, said = racks("gcp", GCP, "--as", "id", zones=zones)
    assert code == 1
    assert message in said


@pytest.mark.parametrize(
    ("cloud", "document", "message"),
    [
        ("aws", "{", "invalid"),
        ("aws", [], 'expected an object with "Subnets", got another document'),
        ("aws", {"Subnets": [{"SubnetId": "s"}]}, 'missing key "AvailabilityZone"'),
        (
            "aws",
            {"Subnets": [aws_subnet(1, "a", "az1", "10.0.1.0/33")]},
            "$.Subnets[0].CidrBlock: expected a network",
        ),
        (
            "aws",
            {
                "Subnets": [
                    aws_subnet(1, "a", "az1", "10.0.1.0/24"),
                    aws_subnet(2, "b", "az2", "10.0.1.0/24"),
                ]
            },
            "expected one rack for 10.0.1.0/24, got az1 in subnet subnet-1 and az2 in subnet",
        ),
        ("gcp", AWS, "expected a list of instances, got no list"),
        ("gcp", GCP_SUBNETS, "expected instances, got subnets, which have a region but no zone"),
        ("gcp", [{"name": "x"}], 'got an object without "networkInterfaces" at [0]'),
        (
            "gcp",
            [instance("a", "z", "10.0.0.1"), instance("b", "y", "10.0.0.1")],
            "expected 10.0.0.1 once, got it in a in z and in b in y",
        ),
        (
            "gcp",
            [instance("a", "z", "10.0.0.1"), instance("a", "y", "10.0.0.1")],
            "expected 10.0.0.1 once, got it in a in z and in a in y",
        ),
        ("gcp", [instance("a", "z", "10.0.0.300")], "networkIP: expected an IP address"),
        ("azure", VNETS, "got virtual networks, which span all zones"),
        ("azure", VMS, 'got an object without "ipConfigurations" at [0]'),
    ],
)
def test_another_document_is_rejected_with_what_to_write(racks, cloud, document, message):
    more = {"vms": VMS} if cloud == "azure" else {}
    code, rows, said = racks(cloud, document, **more)
    assert (code, rows) == (1, [])
    assert message in said
    assert "hint: " in said


def test_the_machines_of_azure_are_a_list_of_machines(racks):
    code, _, said = racks("azure", NICS, vms=NICS[:1])
    assert code == 1
    assert 'missing key "id"' in said
