"""What the steps of `nightly` get from the fleet file."""

from __future__ import annotations

from rackwise.cli.fleet.nightly.drive import night_cluster
from rackwise.core.fleet_file import FleetCluster, FleetFile


def test_each_table_of_addresses_is_an_option_of_the_price():
    eu = FleetCluster(
        name="eu", servers=("k:1",), addresses=("pods.csv", "machines.csv"), flows=("flows",)
    )
    us = FleetCluster(name="us", servers=("k:2",))
    fleet = FleetFile(name="rackwise.toml", clusters=(eu, us))
    tables = ("--addresses", "pods.csv", "--addresses", "machines.csv")
    assert night_cluster(fleet, eu).bill == (*tables, "--flows", "flows")
    assert night_cluster(fleet, us).bill == ()
