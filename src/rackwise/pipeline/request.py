"""The request of `analyze`, its checks, and the id and folder of its run."""

from __future__ import annotations

import hashlib
import json
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rackwise.core.constants import DEFAULT_PROVIDER
from rackwise.core.errors import OutputNotShared
from rackwise.core.policy import DEFAULT_POLICY, Policy
from rackwise.core.savings import EPS
from rackwise.core.text import escaped
from rackwise.core.traffic import named_levels, prices_of, rates_of
from rackwise.pipeline.fleet.fleet import histories
from rackwise.pipeline.fleet.snapshots import require_addresses
from rackwise.pipeline.ingest.formats import DEFAULT, input_format
from rackwise.pipeline.ingest.text import failure_line, spark_failures
from rackwise.pipeline.runtime.remotes import is_local

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import date

    from pyspark.sql import SparkSession

    from rackwise.core.racks import Rack
    from rackwise.core.subnets import Subnet
    from rackwise.core.traffic import Price, RateRow
    from rackwise.pipeline.fleet.snapshots import FailedSnapshot, Snapshot
    from rackwise.pipeline.ingest.files import FlowFile
    from rackwise.pipeline.ingest.formats import Dedupe
    from rackwise.pipeline.ingest.vpc_duplicates import Side
    from rackwise.pipeline.plans.task import Planning

RUN_ID_DIGITS = 12
RUNS = "runs"
PROBE = "rackwise-probe-"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalyzeRequest:
    """Everything one run of `analyze` is made from.

    `tables`: folder or URI below which the run's tables go, in `runs/<run_id>[-N]`; `flows`: paths
    or URIs; `clients`: `client_id`, `client_group` or `principal` -> name -> rack; `prices`: rows
    of all providers; `levels`: names, coarsest first; `first_day`, `last_day`: both are kept, None
    is open; `max_quarantine`: share of rows that may be malformed; `keep`: `bronze`, or nothing;
    `eps`: bounds on what a rack takes of its producers; `unkeyed`: topic -> share of its records
    without a key, 1 where absent; `digests`: SHA-256 of each further file that was read, by what it
    is; `planning`: None makes no plans; policy and prices of a plan are those of the request.
    """

    version: str
    snapshots: tuple[Snapshot, ...]
    tables: str
    prices: tuple[Price, ...]
    provider: str = DEFAULT_PROVIDER
    failed: tuple[FailedSnapshot, ...] = ()
    flows: tuple[str, ...] = ()
    flow_format: str = DEFAULT
    subnets: tuple[Subnet, ...] = ()
    clients: Mapping[str, Mapping[str, Rack]] = field(default_factory=lambda: MappingProxyType({}))
    rates: tuple[RateRow, ...] = ()
    policy: Policy = DEFAULT_POLICY
    levels: tuple[str, ...] = ()
    first_day: date | None = None
    last_day: date | None = None
    side: Side = "auto"
    dedupe: Dedupe = "side"
    max_quarantine: Decimal = Decimal("0.01")
    keep: tuple[str, ...] = ()
    eps: tuple[float, ...] = EPS
    unkeyed: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    digests: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    planning: Planning | None = None
    progress: Callable[[int, int, str], None] = lambda _number, _of, _name: None

    @property
    def options(self) -> dict[str, Any]:
        """The options as the summary shows them, JSON-able."""
        return {
            "provider": self.provider,
            "flow_format": self.flow_format,
            "levels": ",".join(self.levels) or None,
            "from": self.first_day.isoformat() if self.first_day else None,
            "to": self.last_day.isoformat() if self.last_day else None,
            "side": self.side,
            "dedupe": self.dedupe,
            "max_quarantine": str(self.max_quarantine),
            "keep": ",".join(self.keep) or None,
            "eps": ",".join(f"{eps:g}" for eps in self.eps),
            "unkeyed_share": ",".join(f"{topic}={s:g}" for topic, s in sorted(self.unkeyed.items()))
            or None,
            "plans": self.planning.goal_name if self.planning else None,
        }


def run_id(request: AnalyzeRequest, files: Sequence[FlowFile]) -> str:
    """12 hex digits over all that makes a difference; of flow files their names and sizes."""
    made_from = {
        "version": request.version,
        "options": request.options,
        "snapshots": sorted((one.name, one.fingerprint) for one in request.snapshots),
        "failed": sorted(one.file.rpartition("/")[2] for one in request.failed),
        "flows": sorted((file.path.rpartition("/")[2], file.size) for file in files),
        "digests": dict(sorted(request.digests.items())),
    }
    text = json.dumps(made_from, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:RUN_ID_DIGITS]


def claim_folder(spark: SparkSession, tables: str, run: str) -> str:
    """A folder of the run's own: `<tables>/runs/RUN`, or `RUN-2`, `RUN-3` where that is taken."""
    number = 1
    while True:
        name = run if number == 1 else f"{run}-{number}"
        folder = f"{tables.rstrip('/')}/{RUNS}/{name}"
        if "://" in tables:
            if not _exists(spark, folder):
                return folder
        elif _create_folder(Path(folder)):
            return folder
        number += 1


def check_request(request: AnalyzeRequest) -> None:
    """What is wrong with a request by itself, seen before Spark is asked for anything.

    Raises `InvalidPrices`, `InvalidRates`, and `InvalidSnapshot` for one name of two clusters and
    for a broker without address where logs are read that name brokers by address.
    """
    histories(request.snapshots)
    prices_of(request.prices, request.provider)
    rates_of(request.rates)
    if request.flows and input_format(request.flow_format).names_brokers_by_address:
        require_addresses(request.snapshots)
    if request.flows or request.rates:
        brokers = (broker for one in request.snapshots for broker in one.cluster.brokers)
        depth = max((len(broker.rack.levels) for broker in brokers if broker.rack), default=0)
        named_levels(depth, request.levels or request.policy.racks.levels)


def check_shared(spark: SparkSession, folder: str) -> None:
    """Refuse a folder of this machine that Spark, where it runs elsewhere, does not see as it is.

    A file is written here and read there. Raises `OutputNotShared`.
    """
    from pyspark.sql import is_remote

    if "://" in folder or (is_local(spark.conf.get("spark.master") or "") and not is_remote()):
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder, prefix=PROBE) as file:
        probe = Path(file.name)
        content = probe.name.encode()
        probe.write_bytes(content)
        probe.chmod(0o644)  # a server reads it as a user of its own
        try:
            seen = spark.read.format("binaryFile").load(probe.absolute().as_uri())
            had = "" if seen.select("content").collect() == [(content,)] else "another file"
        except spark_failures() as error:
            had = failure_line(error)
    if had:
        with suppress(OSError):  # what others have in it stays
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

    found = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    try:
        found.load(folder).schema  # noqa: B018 (Connect looks when it is asked something)
    except AnalysisException:
        return False
    return True
