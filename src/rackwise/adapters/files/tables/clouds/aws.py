"""Subnets of AWS, as `aws ec2 describe-subnets` prints them.

Source: the reference of EC2, DescribeSubnets.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_network
from typing import TYPE_CHECKING, Annotated

from rackwise.adapters.files.tables.listings import listing_root, not_that, open_codec
from rackwise.core.inventory.clouds import AwsSubnet
from rackwise.core.json.declare import OMITTED, Checked, Key, NameText

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwise.core.subnets import Network

HINT = "write the file with `aws ec2 describe-subnets --output json`"


def _network_hint(text: str) -> str | None:
    try:
        ip_network(text)
    except ValueError:
        return ""
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ipv6State:
    """Whether a network of IPv6 is in use."""

    state: Annotated[str, Key("State")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ipv6Association:
    """A network of IPv6 of a subnet."""

    network: Annotated[str, Checked(_network_hint, "a network"), Key("Ipv6CidrBlock")]
    state: Annotated[Ipv6State, Key("Ipv6CidrBlockState")]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedSubnet:
    """A subnet."""

    id: Annotated[NameText, Key("SubnetId")]
    zone_name: Annotated[NameText, Key("AvailabilityZone")]
    zone_id: Annotated[NameText, Key("AvailabilityZoneId")]
    network: Annotated[
        str | None, Checked(_network_hint, "a network"), OMITTED, Key("CidrBlock")
    ] = None
    ipv6: Annotated[
        tuple[Ipv6Association, ...] | None, OMITTED, Key("Ipv6CidrBlockAssociationSet")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedSubnets:
    """The whole document."""

    subnets: Annotated[tuple[DescribedSubnet, ...], Key("Subnets")]


_AWS = open_codec(Ipv6State, Ipv6Association, DescribedSubnet, DescribedSubnets)


def parse_aws_subnets(data: bytes, *, where: str) -> tuple[AwsSubnet, ...]:
    """The subnets of a listing, in the file's order. Raises `InvalidAddresses`."""
    root = listing_root(data, where=where, hint=HINT)
    if not isinstance(root.value, dict) or "Subnets" not in root.value:
        raise not_that(root, 'an object with "Subnets"', "another document")
    document = _AWS.object(DescribedSubnets).read(root)
    root.faults.raise_if_any()
    return tuple(
        AwsSubnet(
            id=each.id,
            zone_name=each.zone_name,
            zone_id=each.zone_id,
            networks=tuple(_networks(each)),
        )
        for each in document.subnets
    )


def _networks(subnet: DescribedSubnet) -> Iterator[Network]:
    if subnet.network:
        yield ip_network(subnet.network)
    for each in subnet.ipv6 or ():
        if each.state.state == "associated":
            yield ip_network(each.network)
