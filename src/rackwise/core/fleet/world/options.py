"""The options of the generator, and their check."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import TYPE_CHECKING

from rackwise.core.errors import InvalidConfig
from rackwise.core.fleet.world.placements import Shape, capacity, racks_of
from rackwise.core.racks import Rack, check_one_form

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_RACKS = 60
MAX_CLUSTERS = 250
MAX_BROKERS = 30_000
"""Brokers in all clusters; each rack has this many addresses for brokers."""
MAX_TOPICS = 1_000_000
MAX_DAYS = 3_660
MAX_FLOWS = 10**11
MAX_SHARE = 0.5
LOG_VERSIONS = (2, 5)
DIRECTION_SINCE = 5
"""Version of VPC flow logs of AWS that first had a direction."""
FILE_ROWS = 250_000
"""Greatest number of flows in one file, so that memory does not grow with the flows."""
MIN_FILES = 4
DAY_S = 86_400
EPOCH_ORDINAL = 719_163
"""Proleptic Gregorian ordinal of 1970-01-01."""
MAX_LOOKS = 10_000
LEAST_FLOWS = 100
"""Least number of flows of a file between looks, so that it holds whole batches."""


class FlowFormat(StrEnum):
    """The format of the flow files."""

    VPC = "vpc"
    """VPC flow logs of AWS as Parquet."""
    VPC_TEXT = "vpc-text"
    """VPC flow logs of AWS as text."""
    CANONICAL = "canonical"
    """Canonical flows as Parquet."""
    GCP = "gcp"
    """VPC flow logs of Google Cloud as JSON lines."""
    AZURE = "azure"
    """Virtual network flow logs of Azure as JSON."""
    TGW = "tgw"
    """Flow logs of AWS Transit Gateways as text."""
    OBI = "obi"
    """Network metrics of OpenTelemetry eBPF Instrumentation as JSON lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetOptions:
    """The input of the generator; equal options give equal files."""

    seed: int = 7
    clusters: int = 1
    brokers: int = 60
    """Of each cluster."""
    topics: int = 2000
    """Of each cluster."""
    racks: tuple[Rack, ...] = (Rack("/eu/a"), Rack("/eu/b"), Rack("/eu/c"))
    replication: int = 3
    first_day: date = date(2026, 11, 21)
    days: int = 1
    flows: int = 1_000_000
    """Connections in all files; a duplicate is one more row of a flow."""
    flow_format: FlowFormat = FlowFormat.VPC
    log_version: int = 5
    """Version of VPC flow logs: 2 has no direction and no packet addresses, 5 has both."""
    shape: Shape = Shape.EVEN
    violations: float = 0.02
    """Share of partitions that are placed in one rack on purpose."""
    bad_rows: float = 0.001
    """Malformed rows, as a share of flows, 0..0.5."""
    duplicates: float = 0.05
    """Flows that both ends log, as a share of flows, 0..0.5."""
    ipv6: float = 0.02
    """Share of flows over IPv6, 0..0.5."""
    looks: int = 1
    """Snapshots of each cluster; from 2 on they meter the traffic of the flows."""
    retention: float = 0.0
    """Share of topics whose oldest records are deleted as new ones come; requires `looks`."""

    @property
    def has_direction(self) -> bool:
        """Whether each row of a flow log says which end logged it."""
        is_versioned = self.flow_format in {FlowFormat.VPC, FlowFormat.VPC_TEXT}
        return not is_versioned or self.log_version >= DIRECTION_SINCE

    @property
    def files_per_day(self) -> int:
        """Number of flow files of one day; each covers an equal part of the day."""
        return max(MIN_FILES, -(-self.flows // (self.days * FILE_ROWS)))

    @property
    def files(self) -> int:
        """Number of all flow files."""
        return self.days * self.files_per_day

    def span(self, index: int) -> tuple[int, int]:
        """Epoch seconds of file `index`: its first, and the first after it."""
        day, part = divmod(index, self.files_per_day)
        first = (self.first_day.toordinal() - EPOCH_ORDINAL + day) * DAY_S
        low = DAY_S * part // self.files_per_day
        high = DAY_S * (part + 1) // self.files_per_day
        return first + low, first + high

    def look_times(self) -> tuple[int, ...]:
        """Epoch seconds of the looks, evenly spaced from the first second to the end."""
        first = (self.first_day.toordinal() - EPOCH_ORDINAL) * DAY_S
        whole = self.days * DAY_S
        return tuple(first + whole * look // max(self.looks - 1, 1) for look in range(self.looks))


def check_options(options: FleetOptions) -> None:
    """Check that the clusters and flows can be generated.

    Raises `InvalidConfig`, and `InvalidRack` for a malformed rack.
    """
    _check_bounds(
        {
            "--clusters": (options.clusters, 1, MAX_CLUSTERS),
            "--brokers": (options.brokers, 1, MAX_BROKERS // max(options.clusters, 1)),
            "--topics": (options.topics, 1, MAX_TOPICS),
            "--racks": (len(options.racks), 1, MAX_RACKS),
            "--rf": (options.replication, 1, options.brokers),
        }
    )
    check_flows(options)
    check_one_form(enumerate(options.racks))
    if len(set(options.racks)) != len(options.racks):
        raise InvalidConfig(
            f"expected distinct racks, got {len(options.racks)} racks of which "
            f"{len(set(options.racks))} are distinct",
            wanted=len(options.racks),
            had=len(set(options.racks)),
            hint="name each rack of --racks once",
        )
    rack_of = racks_of(options.shape, options.brokers, len(options.racks))
    room = capacity(options.shape, rack_of, len(options.racks))
    if options.replication > room:
        raise InvalidConfig(
            f"expected --rf of at most {room} for shape {options.shape} on {options.brokers} "
            f"brokers in {len(options.racks)} racks, got {options.replication}",
            wanted=options.replication,
            had=room,
            hint="give more --brokers, fewer --racks or a smaller --rf",
        )


def check_flows(options: FleetOptions) -> None:
    """Check the options about flows, not those about clusters. Raises `InvalidConfig`."""
    _check_bounds(
        {
            "--seed": (options.seed, 0, 2**63 - 1),
            "--days": (options.days, 1, MAX_DAYS),
            "--flows": (options.flows, 0, MAX_FLOWS),
            "--violations": (options.violations, 0, 1),
            "--bad-rows": (options.bad_rows, 0, MAX_SHARE),
            "--duplicates": (options.duplicates, 0, MAX_SHARE),
            "--ipv6": (options.ipv6, 0, MAX_SHARE),
            "--looks": (options.looks, 1, MAX_LOOKS),
            "--retention": (options.retention, 0, 1),
        }
    )
    _check_looks(options)
    room = (date.max - options.first_day).days
    if options.days > room:
        raise InvalidConfig(
            f"expected days that end before {date.max}, got {options.days} from "
            f"{options.first_day} on",
            wanted=room,
            had=options.days,
            hint="give an earlier --first-day or fewer --days",
        )
    if options.log_version not in LOG_VERSIONS:
        raise InvalidConfig(
            f"expected --log-version 2 or 5, got {options.log_version}",
            wanted="2 or 5",
            had=options.log_version,
            hint="give 5 for logs with flow direction and packet addresses, 2 for logs without",
        )


def _check_looks(options: FleetOptions) -> None:
    """Raise `InvalidConfig` for options that contradict the number of looks."""
    if options.looks == 1 and options.retention:
        raise InvalidConfig(
            "--retention requires --looks of at least 2: one snapshot shows no deletion",
            wanted="--looks of at least 2",
            had=options.looks,
            hint="give --looks 2, or omit --retention",
        )
    least = LEAST_FLOWS * options.files
    if options.looks > 1 and options.flows < least:
        raise InvalidConfig(
            f"expected --flows of at least {least} with --looks, got {options.flows}",
            wanted=least,
            had=options.flows,
            hint=f"give --flows {least}, or omit --looks",
        )


def _check_bounds(bounds: Mapping[str, tuple[float, float, float]]) -> None:
    for name, (value, low, high) in bounds.items():
        if not low <= value <= high:
            raise InvalidConfig(
                f"expected {name} of {low} to {high}, got {value}",
                wanted=f"{low}..{high}",
                had=value,
                hint=f"give {name} a number from {low} to {high}",
            )
