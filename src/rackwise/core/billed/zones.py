"""AWS regions and availability zones: of billing codes, and of racks.

Goals, in order: bytes are never counted in a region or as crossing zones if that is not certain;
names that people give to racks are understood without a table.

The region of a usage type is the billing code in front of it. Without a code it is us-east-1:

```
USE2-DataTransfer-Regional-Bytes    us-east-2        EU-DataTransfer-Regional-Bytes    eu-west-1
DataTransfer-Regional-Bytes         us-east-1        XYZ9-DataTransfer-Regional-Bytes  not known
```

The zone of a rack. One level of the rack is the id or the name of a zone, which has its region in
it; or one level is a region, and a later one is the level `zone`:

```
use1-az1                 zone id       us-east-1        /us-east-1/use1-az1/r7   zone id
us-east-1a               zone name     us-east-1        /us-east-1/a             path, by its level
rack-7, /eu/a            not known, except with a region that the user gives
```

AWS gives zone names to zones differently in each account, so a zone id and a zone name may be the
same zone. Two racks of one region are therefore compared only if both are written in the same way.

What this does not do: know local zones, wavelength zones or outposts; their racks are not known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from rackwise.core.racks import Rack, prefix

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

REGIONS: Final[Mapping[str, str]] = {
    "USE1": "us-east-1",
    "USE2": "us-east-2",
    "USW1": "us-west-1",
    "USW2": "us-west-2",
    "CAN1": "ca-central-1",
    "CAN2": "ca-west-1",
    "MXC1": "mx-central-1",
    "SAE1": "sa-east-1",
    "AFS1": "af-south-1",
    "CPT": "af-south-1",
    "APE1": "ap-east-1",
    "APE2": "ap-east-2",
    "APN1": "ap-northeast-1",
    "APN2": "ap-northeast-2",
    "APN3": "ap-northeast-3",
    "APS1": "ap-southeast-1",
    "APS2": "ap-southeast-2",
    "APS3": "ap-south-1",
    "APS4": "ap-southeast-3",
    "APS5": "ap-south-2",
    "APS6": "ap-southeast-4",
    "APS7": "ap-southeast-5",
    "APS8": "ap-southeast-6",
    "APS9": "ap-southeast-7",
    "EU": "eu-west-1",
    "EUW1": "eu-west-1",
    "EUW2": "eu-west-2",
    "EUW3": "eu-west-3",
    "EUC1": "eu-central-1",
    "EUC2": "eu-central-2",
    "EUN1": "eu-north-1",
    "EUS1": "eu-south-1",
    "EUS2": "eu-south-2",
    "ILC1": "il-central-1",
    "MES1": "me-south-1",
    "MEC1": "me-central-1",
    "UGW1": "us-gov-west-1",
    "UGE1": "us-gov-east-1",
    "CNN1": "cn-north-1",
    "CNW1": "cn-northwest-1",
}
"""Billing code -> region. Source: docs.aws.amazon.com/global-infrastructure, AWS Region billing
codes; CPT is in older bills."""
NO_CODE: Final = "us-east-1"
"""The region of a usage type without a billing code."""
REGIONAL: Final = "DataTransfer-Regional-Bytes"
"""The usage type of bytes between availability zones, after the billing code and a hyphen."""
ZONE: Final = "zone"
"""The rack level whose racks are availability zones."""

UNKNOWN: Final = "(unknown)"
"""The rack of an end whose rack is not known."""

_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9]+", re.ASCII)
_SHORT: Final = {
    "north": "n",
    "south": "s",
    "east": "e",
    "west": "w",
    "central": "c",
    "gov": "g",
    "northeast": "ne",
    "northwest": "nw",
    "southeast": "se",
    "southwest": "sw",
}
"""Word in a region -> its letters in zone ids."""


def _zone_id_prefix(region: str) -> str:
    """What zone ids of a region begin with.

    >>> _zone_id_prefix("us-east-1"), _zone_id_prefix("ap-northeast-3")
    ('use1', 'apne3')
    """
    country, *words, number = region.split("-")
    return country + "".join(_SHORT[word] for word in words) + number


_BY_ZONE_ID: Final = {_zone_id_prefix(region): region for region in REGIONS.values()}


class ZoneForm(Enum):
    """How a rack names its zone; zones of one region are comparable only within a form."""

    ID = "zone id"
    NAME = "zone name"
    PATH = "path"


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsZone:
    """The availability zone of a rack."""

    region: str
    zone: str
    """Unique in its region and form."""
    form: ZoneForm


class Crossing(Enum):
    """Whether bytes between two racks cross zones of one region."""

    YES = "yes"
    NO = "no"
    """Same zone, or different regions."""
    MAYBE = "maybe"
    """A zone is not known."""


def is_region(text: str) -> bool:
    """Whether the text has the form of an AWS region.

    >>> is_region("eu-west-1"), is_region("us-gov-east-1"), is_region("us-central1"), is_region("a")
    (True, True, False, False)
    """
    return _REGION.fullmatch(text) is not None


def region_of_usage(usage_type: str, product_region: str | None = None) -> str | None:
    """The region of a usage type of `REGIONAL`; None if it is not known.

    `product_region`: the region column of the line. It decides if there is no known code.

    >>> region_of_usage("EUC1-DataTransfer-Regional-Bytes")
    'eu-central-1'
    >>> region_of_usage("DataTransfer-Regional-Bytes")
    'us-east-1'
    """
    code = usage_type.removesuffix(REGIONAL).removesuffix("-")
    if code in REGIONS:
        return REGIONS[code]
    if product_region is not None and is_region(product_region):
        return product_region
    return None if code else NO_CODE


def zone_level(levels: Sequence[str]) -> int:
    """The number of the rack level that is a zone, from 1; 0 if no level is known to be one.

    >>> zone_level(["region", "zone"]), zone_level(["az"]), zone_level(["dc", "row"])
    (2, 1, 0)
    """
    if ZONE in levels:
        return levels.index(ZONE) + 1
    return 1 if len(levels) == 1 else 0


def zones_of_racks(
    racks: Iterable[str], levels: Sequence[str], region: str | None = None
) -> dict[str, AwsZone]:
    """The zone of each rack whose zone is known.

    `levels`: names of the rack levels; `region`: the region of the racks that do not name one. It
    is used only if these racks are not in several parents of zones, which would be regions.
    """
    depth = zone_level(levels)
    found: dict[str, AwsZone] = {}
    others: dict[str, tuple[str, ...]] = {}
    for text in sorted({*racks} - {UNKNOWN}):
        rack = Rack(text)
        names = rack.levels if rack.is_sound else ()
        zone = _named_zone(names) or _zone_below_region(names, depth)
        if zone is not None:
            found[text] = zone
        elif depth and len(names) >= depth and not any(map(is_region, names)):
            others[text] = names
    if region is not None and len({names[: depth - 1] for names in others.values()}) == 1:
        for text, names in others.items():
            found[text] = AwsZone(region=region, zone=prefix(names, depth), form=ZoneForm.PATH)
    return found


def _named_zone(names: Sequence[str]) -> AwsZone | None:
    """The first level that is the id or the name of a zone."""
    for name in names:
        start, hyphen, end = name.partition("-az")
        if hyphen and end.isdecimal() and start in _BY_ZONE_ID:
            return AwsZone(region=_BY_ZONE_ID[start], zone=name, form=ZoneForm.ID)
        if is_region(name[:-1]) and "a" <= name[-1] <= "z":
            return AwsZone(region=name[:-1], zone=name, form=ZoneForm.NAME)
    return None


def _zone_below_region(names: Sequence[str], depth: int) -> AwsZone | None:
    """The level `zone` below a level that is a region."""
    region = next((name for name in names[: max(depth - 1, 0)] if is_region(name)), None)
    if region is None or len(names) < depth:
        return None
    return AwsZone(region=region, zone=prefix(names, depth), form=ZoneForm.PATH)


def crossing(
    from_rack: str, to_rack: str, zones: Mapping[str, AwsZone]
) -> tuple[str | None, Crossing]:
    """The region in which bytes between two racks are billed, and whether they cross zones there.

    `zones`: rack -> zone of the racks whose zone is known. The region is None if the bytes may be
    in any region, or if they are between two regions.
    """
    one, other = zones.get(from_rack), zones.get(to_rack)
    if one is None or other is None:
        known = one or other
        is_same = from_rack == to_rack != UNKNOWN
        region = known.region if known else None
        return region, Crossing.NO if is_same else Crossing.MAYBE
    if one.region != other.region:
        return None, Crossing.NO
    if one.form is not other.form:
        return one.region, Crossing.MAYBE
    return one.region, Crossing.NO if one.zone == other.zone else Crossing.YES
