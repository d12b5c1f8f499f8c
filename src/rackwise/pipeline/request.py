"""The request of `analyze`, its checks, and the id and folder of its run."""

from __future__ import annotations

import hashlib
import json
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from rackwise.core.constants import DEFAULT_PROVIDER
from rackwise.core.errors import InvalidBilled, InvalidFlows, OutputNotShared
from rackwise.core.owners import NO_OWNERS, Owners
from rackwise.core.policy import DEFAULT_POLICY, Policy
from rackwise.core.savings import EPS
from rackwise.core.text import escaped
from rackwise.core.traffic import named_levels, prices_of, rates_of
from rackwise.pipeline.bill.gold.inputs import RequestedDays
from rackwise.pipeline.fleet.fleet import histories
from rackwise.pipeline.fleet.rack_tables import RackTables
from rackwise.pipeline.fleet.snapshots import require_addresses, with_settled_racks
from rackwise.pipeline.ingest.files import escape_glob
from rackwise.pipeline.ingest.formats import DEFAULT, input_format
from rackwise.pipeline.ingest.formats.base import FactOptions
from rackwise.pipeline.runtime.failures import failure_line, spark_failures
from rackwise.pipeline.runtime.remotes import is_local
from rackwise.pipeline.runtime.stores.filesystems import check_no_password
from rackwise.pipeline.runtime.stores.folders import check_writable
from rackwise.pipeline.stream.table_formats import PARQUET

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import date

    from pyspark.sql import SparkSession

    from rackwise.core.history import StandingDay
    from rackwise.core.inventory.addresses import AddressRow
    from rackwise.core.model import Cluster
    from rackwise.core.racks import Rack
    from rackwise.core.subnets import Subnet
    from rackwise.core.traffic import Price, RateRow
    from rackwise.pipeline.fleet.snapshots import FailedSnapshot, Snapshot
    from rackwise.pipeline.ingest.files import FlowFile
    from rackwise.pipeline.ingest.formats import Dedupe
    from rackwise.pipeline.ingest.vpc_duplicates import Side
    from rackwise.pipeline.plans.earlier import EarlierResult
    from rackwise.pipeline.plans.task import Planning
    from rackwise.pipeline.runtime.running import Jobs

RUN_ID_DIGITS = 12
RUNS = "runs"
PROBE = "rackwise-probe-"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalyzeRequest:
    """The inputs of one run of `analyze`."""

    version: str
    """Version of Rackwise."""
    snapshots: tuple[Snapshot, ...]
    tables: str
    """Folder or URI; the tables of the run are below it, in `runs/<run_id>[-N]`."""
    prices: tuple[Price, ...]
    """Rows of all providers."""
    provider: str = DEFAULT_PROVIDER
    failed: tuple[FailedSnapshot, ...] = ()
    flows: tuple[str, ...] = ()
    """Paths or URIs."""
    flow_format: str = DEFAULT
    billed: tuple[str, ...] = ()
    """Paths or URIs of the provider's own bill."""
    billed_region: str | None = None
    """The region, in the bill, of racks that do not name one."""
    subnets: tuple[Subnet, ...] = ()
    addresses: tuple[AddressRow, ...] = ()
    """Racks of single addresses, each for a time."""
    clients: Mapping[str, Mapping[str, Rack]] = field(default_factory=lambda: MappingProxyType({}))
    """`client_id`, `client_group` or `principal` -> name -> rack."""
    rates: tuple[RateRow, ...] = ()
    parse: Callable[[bytes], Cluster] | None = None
    """The parser of snapshots, for Spark tasks; None meters no traffic."""
    owners: Owners = NO_OWNERS
    """Owners of topics and client groups."""
    policy: Policy = DEFAULT_POLICY
    levels: tuple[str, ...] = ()
    """Names of the rack levels, coarsest first."""
    first_day: date | None = None
    """The first day to keep; None keeps all earlier days."""
    last_day: date | None = None
    """The last day to keep; None keeps all later days."""
    side: Side = "auto"
    dedupe: Dedupe = "side"
    max_quarantine: Decimal = Decimal("0.01")
    """Share of rows that may be malformed."""
    standing: tuple[StandingDay, ...] = ()
    """The days of earlier runs in the result; this run keeps those that it does not compute."""
    earlier: EarlierResult | None = None
    """The result that the run continues; None if there is none."""
    keep_days: int | None = None
    """Number of days to keep, up to the last day of the result; None keeps all."""
    keep: tuple[str, ...] = ()
    """Temporary tables to keep: `bronze`, `facts`, or none."""
    table_format: str = PARQUET
    """The format of the tables: `parquet`, or one of `stream.table_formats.FORMATS`."""
    eps: tuple[float, ...] = EPS
    """Bounds of the saving `producing`: a rack takes at most 1 + eps times its even share."""
    unkeyed: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    """Topic -> share of its records without a key; 1 for other topics."""
    extrapolate: bool = False
    """Whether less than one hour of traffic is extrapolated to 30 days."""
    digests: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Role of each other input file -> SHA-256 of its content."""
    notes: tuple[str, ...] = ()
    """What a reader must know of the inputs; they are notes of the summary."""
    unpublished: tuple[str, ...] = ()
    """URIs of tables that killed runs have left; they are removed first."""
    claim: Callable[[str], None] = lambda _uri: None
    """Receives the URI of the tables of this run, before the first of them is written."""
    release: Callable[[str], None] = lambda _uri: None
    """Receives the URI of tables that are removed."""
    planning: Planning | None = None
    """None creates no plans; the run replaces its policy and prices by those of the request."""
    progress: Callable[[int, int, str], None] = lambda _number, _of, _name: None
    """Receives the number of a step, the number of steps, and the step's name."""
    watch: Callable[[Jobs], None] = lambda _jobs: None
    """Receives the jobs of the run, whose state can be asked until the run ends."""

    def settled(self) -> AnalyzeRequest:
        """The request with the racks of brokers that count under its policy, also in tasks."""
        names = dict(self.policy.racks.map)
        parse = None if self.parse is None else partial(_parse_settled, self.parse, names)
        return replace(self, snapshots=with_settled_racks(self.snapshots, names), parse=parse)

    @property
    def days(self) -> RequestedDays:
        """The days to keep."""
        return RequestedDays(first=self.first_day, last=self.last_day)

    def fact_options(self, count_rows: Callable[[int], None] | None) -> FactOptions:
        """How rows become facts; `count_rows`: see `FactOptions`."""
        return FactOptions(
            side=self.side,
            days=self.days.bounds,
            clients=self.clients,
            is_exact=self.dedupe == "exact",
            count_rows=count_rows,
        )

    @property
    def rack_tables(self) -> RackTables:
        """The tables with racks of clients."""
        return RackTables(subnets=self.subnets, addresses=self.addresses, clients=self.clients)

    @property
    def level_names(self) -> tuple[str, ...]:
        """The names of the rack levels, coarsest first: the given ones, else the policy's."""
        return self.levels or self.policy.racks.levels

    @property
    def named_policy(self) -> Policy:
        """The policy with the given names of the rack levels, which prices refer to."""
        policy, levels = self.policy, self.levels
        return replace(policy, racks=replace(policy.racks, levels=levels)) if levels else policy

    @property
    def options(self) -> dict[str, Any]:
        """The options as JSON values, for the summary."""
        return {
            "provider": self.provider,
            "flow_format": self.flow_format,
            "levels": ",".join(self.levels) or None,
            "from": self.first_day.isoformat() if self.first_day else None,
            "to": self.last_day.isoformat() if self.last_day else None,
            "side": self.side,
            "dedupe": self.dedupe,
            "max_quarantine": str(self.max_quarantine),
            "keep_days": self.keep_days,
            "keep": ",".join(self.keep) or None,
            "eps": ",".join(f"{eps:g}" for eps in self.eps),
            "unkeyed_share": ",".join(f"{topic}={s:g}" for topic, s in sorted(self.unkeyed.items()))
            or None,
            "extrapolate": self.extrapolate,
            "plans": self.planning.goal_name if self.planning else None,
            **({"billed_region": self.billed_region} if self.billed_region else {}),
            **({} if self.table_format == PARQUET else {"table_format": self.table_format}),
        }


def run_id(
    request: AnalyzeRequest, files: Sequence[FlowFile], billed: Sequence[FlowFile] = ()
) -> str:
    """12 hex digits of a digest of all inputs; files of flows and bills count by name and size."""
    inputs = {
        "version": request.version,
        "options": request.options,
        "snapshots": sorted((one.name, one.fingerprint) for one in request.snapshots),
        "failed": sorted(one.file.rpartition("/")[2] for one in request.failed),
        "flows": _names_and_sizes(files),
        "digests": dict(sorted(request.digests.items())),
        **({"billed": _names_and_sizes(billed)} if billed else {}),
    }
    text = json.dumps(inputs, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:RUN_ID_DIGITS]


def _names_and_sizes(files: Sequence[FlowFile]) -> list[tuple[str, int]]:
    return sorted((file.path.rpartition("/")[2], file.size) for file in files)


def claim_folder(spark: SparkSession | None, tables: str, run: str) -> str:
    """A new folder for the run: `<tables>/runs/RUN`, or `RUN-2`, `RUN-3` if it exists.

    `spark`: None if `tables` is no URI.
    """
    number = 1
    while True:
        name = run if number == 1 else f"{run}-{number}"
        folder = f"{tables.rstrip('/')}/{RUNS}/{name}"
        if spark is not None and "://" in tables:
            if not _exists(spark, folder):
                return folder
        elif _create_folder(Path(folder)):
            return folder
        number += 1


def _parse_settled(
    parse: Callable[[bytes], Cluster], names: Mapping[str, str], data: bytes
) -> Cluster:
    return parse(data).settled(names)


def check_request(request: AnalyzeRequest) -> None:
    """Check a request before an engine does any work.

    Raises `InvalidFlows`, `OutputNotShared` or `InvalidBilled` for a URI with a password.
    Raises `InvalidPrices` and `InvalidRates`. Raises `InvalidSnapshot` if two clusters have the
    same name, or if the flow format names brokers by address and a broker has none.
    """
    for option, places, error in (
        ("--flows", request.flows, InvalidFlows),
        ("--tables", [request.tables], OutputNotShared),
        ("--billed", request.billed, InvalidBilled),
    ):
        check_no_password(option, places, error)
    histories(request.snapshots)
    prices_of(request.prices, request.provider)
    rates_of(request.rates)
    if request.flows and input_format(request.flow_format).names_brokers_by_address:
        require_addresses(request.snapshots)
    if request.flows or request.rates:
        brokers = (broker for one in request.snapshots for broker in one.cluster.brokers)
        depth = max((len(broker.rack.levels) for broker in brokers if broker.rack), default=0)
        named_levels(depth, request.level_names)


def check_shared(spark: SparkSession, folder: str) -> None:
    """Check that Spark can write to a URI, or sees the content that this process has in a folder.

    In a folder, this process writes a file, and a remote Spark reads it. Raises `OutputNotShared`.
    """
    check_no_password("--tables", [folder], OutputNotShared)
    from pyspark.sql import is_remote

    if "://" in folder:
        check_writable(spark, folder, probe=f"{PROBE}{uuid4().hex}")
        return
    if is_local(spark.conf.get("spark.master") or "") and not is_remote():
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder, prefix=PROBE) as file:
        probe = Path(file.name)
        content = probe.name.encode()
        probe.write_bytes(content)
        probe.chmod(0o644)  # the server may read it as another user
        try:
            content_seen = spark.read.format("binaryFile").load(probe.absolute().as_uri())
            had = "" if content_seen.select("content").collect() == [(content,)] else "another file"
        except spark_failures() as error:
            had = failure_line(error)
    if had:
        with suppress(OSError):  # the folder stays if it has other files
            Path(folder).rmdir()
        raise OutputNotShared(
            f"expected a folder for tables that Spark can read, got {escaped(folder)}: {had}",
            wanted=folder,
            had=had,
            hint="set --tables to a URI that this machine and every executor share",
            where=folder,
        )


def _create_folder(folder: Path) -> bool:
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder.mkdir()
    except FileExistsError:
        return False
    return True


def _exists(spark: SparkSession, folder: str) -> bool:
    from pyspark.errors import AnalysisException

    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    try:
        reader.load(escape_glob(folder)).schema  # noqa: B018 (Connect reads only on a request)
    except AnalysisException:
        return False
    return True
