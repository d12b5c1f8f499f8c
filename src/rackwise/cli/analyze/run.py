"""What `rackwise analyze` gathers, runs, publishes and shows."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rackwise.adapters import files
from rackwise.adapters.files.tables.subnets import read_subnets
from rackwise.cli.installed import installed
from rackwise.cli.shell import version
from rackwise.core.errors import (
    InputError,
    InvalidPolicy,
    InvalidPrices,
    InvalidRates,
    InvalidSnapshot,
    InvalidSubnets,
    PlanFailures,
    RackwiseError,
)
from rackwise.core.findings import Severity
from rackwise.core.policy import DEFAULT_POLICY, Policy
from rackwise.core.text import alternatives, are, counted, escaped
from rackwise.pipeline.fleet.snapshots import FailedSnapshot, Snapshot, read_snapshots
from rackwise.pipeline.ingest.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rackwise.cli.analyze.options import Wanted
    from rackwise.cli.shell import Shell
    from rackwise.core.racks import Rack
    from rackwise.core.subnets import Subnet
    from rackwise.core.traffic import Price, RateRow
    from rackwise.pipeline.job import Analysis

TABLES = "tables"
REPORT = "report.html"
SUMMARY = "summary.json"
SHOWN = 5
"""Clusters without a plan that are told one by one."""
SNAPSHOT_NAMES = ("*.json", "*.json.gz")


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The options that are files, read.

    `input_bytes`: of snapshots as unpacked, of flow files as they lie; None where not all are at
    hand.
    """

    snapshots: tuple[Snapshot, ...]
    failed: tuple[FailedSnapshot, ...]
    flows: tuple[str, ...]
    subnets: tuple[Subnet, ...]
    clients: Mapping[str, Mapping[str, Rack]]
    rates: tuple[RateRow, ...]
    prices: tuple[Price, ...]
    policy: Policy
    digests: Mapping[str, str]
    input_bytes: int | None


class _Reader:
    """Reads the files of options, each once, and keeps what they were."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self.digests: dict[str, str] = {}

    def read(self, what: str, path: str | Path, error: type[InputError]) -> bytes:
        """The content of a file, whose digest is kept under `what`."""
        data = files.read_bytes(path, error=error, max_bytes=self._shell.max_input)
        self.digests[what] = hashlib.sha256(data).hexdigest()
        return data


def gathered(
    shell: Shell,
    snapshots: Sequence[str],
    *,
    flows: Sequence[str],
    flow_format: str,
    subnets: Path | None,
    clients: Path | None,
    rates: Path | None,
    prices: Path | None,
    policy: Path | None,
) -> Given:
    """Everything that is read before Spark starts.

    A snapshot that cannot be read is kept as failed while another one can; else its error is
    raised. Raises what the readers of the other files raise.
    """
    reader = _Reader(shell)
    places = _snapshot_files(snapshots)
    read, failed, unpacked = _snapshots(shell, places)
    flow_bytes = _sizes(flows)
    used = flow_format if flows else None
    if not read:
        raise failed[0].error
    for one in failed:
        advice = f"; {escaped(one.error.hint)}" if one.error.hint else ""
        shell.warn(f"a snapshot was left out: {escaped(one.error.message)}{advice}")
    return Given(
        snapshots=read,
        failed=failed,
        flows=tuple(flows),
        subnets=_subnets(reader, subnets),
        clients={} if clients is None else _clients(shell, reader, clients, used),
        rates=() if rates is None else _rates(reader, rates),
        prices=_prices(reader, prices),
        policy=DEFAULT_POLICY if policy is None else _policy(reader, policy, read),
        digests=reader.digests,
        input_bytes=None if flow_bytes is None else unpacked + flow_bytes,
    )


def _snapshot_files(given: Sequence[str]) -> list[str]:
    """Files for files, folders and globs, each once, in order of their names."""
    found: set[str] = set()
    for text in given:
        path = Path(text)
        names = [text]
        if path.is_dir():
            names = [str(file) for kind in SNAPSHOT_NAMES for file in path.glob(kind)]
        elif not path.exists():
            pattern = str(path.relative_to(path.anchor))
            names = [str(file) for file in Path(path.anchor).glob(pattern)]
        if not names:
            raise InvalidSnapshot(
                f"expected a snapshot at {escaped(text)}, got none",
                wanted="FILE.json, FILE.json.gz, a folder or a glob",
                had=text,
                hint="create one with `rackwise snapshot --bootstrap-server HOST:PORT --out FILE`",
                where=text,
            )
        found.update(names)
    return sorted(found)


def _snapshots(
    shell: Shell, places: Sequence[str]
) -> tuple[tuple[Snapshot, ...], tuple[FailedSnapshot, ...], int]:
    """What was read, what could not be, and how many bytes it was, unpacked."""
    read: list[Snapshot] = []
    failed: list[FailedSnapshot] = []
    unpacked = 0
    with shell.progress("reading snapshots", total=len(places)) as advance:
        for place in places:
            try:
                data = files.read_bytes(place, error=InvalidSnapshot, max_bytes=shell.max_input)
            except InputError as error:
                failed.append(FailedSnapshot(file=place, error=error))
            else:
                unpacked += len(data)
                parse = partial(files.parse_snapshot, where=place)
                one, other = read_snapshots([(place, data)], parse)
                read += one
                failed += other
            advance(1)
    return tuple(read), tuple(failed), unpacked


def _subnets(reader: _Reader, path: Path | None) -> tuple[Subnet, ...]:
    if path is None:
        return ()
    data = reader.read("subnets", path, InvalidSubnets)
    return read_subnets(path, max_bytes=len(data))


def _clients(
    shell: Shell, reader: _Reader, path: Path, flow_format: str | None
) -> Mapping[str, Mapping[str, Rack]]:
    """The racks of clients. Warns about rows that cannot match flows of this format."""
    found = files.parse_clients(reader.read("clients", path, InvalidRates), where=str(path))
    if flow_format is None:
        return found
    used = FORMATS[flow_format]
    if not used.client_columns:
        shell.warn(
            f"{escaped(str(path))} is not used: {used.title} name no clients; "
            "give --subnets for their addresses"
        )
        return found
    for column, rows in found.items():
        if rows and column not in used.client_columns:
            shell.warn(
                f"{escaped(str(path))}: {counted(len(rows), 'row')} of {column} "
                f"{are(len(rows))} not used: "
                f"{used.title} have no {column}; give "
                f"{alternatives(used.client_columns)} instead"
            )
    return found


def _rates(reader: _Reader, path: Path) -> tuple[RateRow, ...]:
    if path.suffix not in {".parquet", ".parq"}:
        return files.parse_rates(reader.read("rates", path, InvalidRates), where=str(path))
    data = reader.read("rates", path, InvalidRates)
    with installed("spark", "analyze"):
        from rackwise.pipeline.bill.rate_files import parse_rate_parquet

        return parse_rate_parquet(data, where=str(path))


def _prices(reader: _Reader, path: Path | None) -> tuple[Price, ...]:
    if path is None:
        return files.shipped_prices()
    return files.parse_prices(reader.read("prices", path, InvalidPrices), where=str(path))


def _policy(reader: _Reader, path: Path, read: Sequence[Snapshot]) -> Policy:
    found = files.parse_policy(reader.read("policy", path, InvalidPolicy), where=str(path))
    last = {one.name: one for one in sorted(read, key=lambda one: (one.taken_at, one.file))}
    for name in sorted(last):
        found.check(last[name].cluster)
    return found.policy


def _sizes(places: Iterable[str]) -> int | None:
    """Bytes of all local files and folders; None where a place is no such thing."""
    total = 0
    for text in places:
        path = Path(text)
        if path.is_dir():
            total += sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        elif path.is_file():
            total += path.stat().st_size
        else:
            return None
    return total


class _Steps:
    """Tells each step on stderr when it is done: `4/9 gold: traffic  12 s`."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._running: tuple[str, float] | None = None

    def begin(self, number: int, of: int, name: str) -> None:
        """The step before is done, another one begins."""
        self.end()
        self._running = (f"{number}/{of} {name}", time.monotonic())

    def end(self) -> None:
        """The step that runs is done."""
        if self._running is not None:
            name, since = self._running
            self._shell.note(f"{name}  {time.monotonic() - since:.0f} s")
        self._running = None


def made(
    shell: Shell,
    given: Given,
    options: Wanted,
    out: Path,
    *,
    provider: str,
    tables: str | None,
    master: str | None,
    remote: str | None = None,
) -> Analysis:
    """Run the pipeline and publish what it made.

    Raises what `pipeline.job.analyze`, a session and publishing raise; the result that was in
    `out` then still is.
    """
    files.check_out(out)
    base = str(out / TABLES) if tables is None else tables
    if "://" not in base:
        base = str(Path(base).absolute())  # Spark may have been started elsewhere
    steps = _Steps(shell)
    with installed("spark", "analyze"):
        from rackwise.pipeline.job import STEPS, analyze
        from rackwise.pipeline.plans.task import Planning
        from rackwise.pipeline.request import AnalyzeRequest, check_request
        from rackwise.pipeline.runtime.session import SMALL_BELOW_BYTES, session
        from rackwise.report import html

        is_small = given.input_bytes is not None and given.input_bytes < SMALL_BELOW_BYTES
        request = AnalyzeRequest(
            version=version(),
            snapshots=given.snapshots,
            failed=given.failed,
            tables=base,
            flows=given.flows,
            flow_format=options.flow_format,
            subnets=given.subnets,
            clients=given.clients,
            rates=given.rates,
            prices=given.prices,
            provider=provider,
            policy=given.policy,
            levels=options.levels,
            first_day=options.first_day,
            last_day=options.last_day,
            side=options.side,
            dedupe=options.dedupe,
            max_quarantine=options.max_quarantine,
            keep=options.keep,
            eps=options.eps,
            unkeyed=options.unkeyed,
            digests=given.digests,
            planning=Planning(
                goal_name=options.goal,
                parse=partial(files.parse_snapshot, where="a snapshot"),
                sealed=files.sealed_for,
            )
            if options.goal
            else None,
            progress=steps.begin,
        )
        check_request(request)
        with session(
            master=master,
            remote=remote,
            profile="small" if is_small else "batch",
            conf=options.conf,
        ) as spark:
            found = analyze(spark, request)
        steps.begin(len(STEPS), len(STEPS), STEPS[-1])
        _publish(out, found, html.render)
        steps.end()
    return found


def _publish(out: Path, found: Analysis, render: Callable[[Mapping[str, object]], str]) -> None:
    summary = found.summary
    text = json.dumps(summary, ensure_ascii=False, sort_keys=True, allow_nan=False, indent=1)
    content = {
        REPORT: render(summary),
        SUMMARY: text + "\n",
        **{f"csv/{name}.csv": files.csv_text(*table) for name, table in found.csv.items()},
    }
    texts = {name: text.encode() for name, text in content.items()}
    files.publish(
        out,
        run_id=summary["run_id"],
        files=texts | dict(found.files),
        tables=_told(found.tables, out),
    )


def _told(tables: str, out: Path) -> str:
    """Where tables are, wherever it is read: below `out`, or the whole path."""
    if "://" in tables:
        return tables
    whole, home = Path(tables).resolve(), out.resolve()
    return str(whole.relative_to(home) if whole.is_relative_to(home) else whole)


def _tell_unplanned(shell: Shell, plans: Mapping[str, Any] | None) -> None:
    """Clusters without a plan, the first ones by name."""
    rows = [row for row in (plans["rows"] if plans else ()) if row["status"] != "planned"]
    for row in rows[:SHOWN]:
        advice = f"; {escaped(row['hint'])}" if row["hint"] else ""
        shell.warn(f"no plan for {escaped(row['cluster'])}: {escaped(row['reason'])}{advice}")
    if len(rows) > SHOWN:
        shell.warn(f"no plan for {len(rows) - SHOWN} more clusters; csv/plans.csv says why")


def _check_planned(plans: Mapping[str, Any] | None) -> None:
    """Refuse to call it done where a plan was asked for and there is none."""
    if plans is None or plans["planned"] == plans["clusters"]:
        return
    planned = [row["cluster"] for row in plans["rows"] if row["status"] == "planned"]
    failed = [
        RackwiseError(row["reason"], hint=row["hint"], where=row["cluster"])
        for row in plans["rows"]
        if row["status"] != "planned"
    ]
    first = failed[0]
    more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
    raise PlanFailures(
        f"no plan for {escaped(str(first.where))}{more}: {escaped(first.message)}",
        done=planned,
        failed=failed,
        hint="see csv/plans.csv for every reason, or use --no-plans; the report is published",
    )


def show(shell: Shell, found: Analysis, out: Path) -> None:
    """The summary on stdout, as a document or for people, with the path of the report."""
    _tell_unplanned(shell, found.summary["plans"])
    if shell.is_json:
        shell.document(found.summary)
        return
    from rackwise.report import terminal

    shell.text(terminal.render(found.summary, width=shell.width, color=shell.has_color()))
    shell.text(escaped(str(out / REPORT)))


def exit_code(found: Analysis, given: Given, *, is_asked: bool) -> int:
    """2 when asked and the policy fails on a finding or something is to move, else 0.

    Snapshots left out are only told. Raises `PlanFailures` where a cluster has no plan.
    """
    _check_planned(found.summary["plans"])
    order = [*map(str, Severity)]
    fail_on = given.policy.audit.fail_on
    failing = order[: order.index(fail_on) + 1] if fail_on in order else []
    is_found = any(row["severity"] in failing for row in found.summary["findings"]["by_rule"])
    plans = found.summary["plans"]
    return 2 if is_asked and (is_found or (plans and plans["moves"])) else 0
