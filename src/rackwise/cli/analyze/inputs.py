"""Reads the input files of `rackwise analyze`: snapshots, tables, prices and the policy."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rackwise.adapters import files
from rackwise.adapters.files.tables.addresses import parse_addresses
from rackwise.adapters.files.tables.subnets import read_subnets
from rackwise.cli.shell import installed
from rackwise.core.errors import (
    InputError,
    InvalidAddresses,
    InvalidBilled,
    InvalidOwners,
    InvalidPolicy,
    InvalidPrices,
    InvalidRates,
    InvalidSnapshot,
    InvalidSubnets,
)
from rackwise.core.inventory.addresses import check_one_rack
from rackwise.core.owners import NO_OWNERS, Owners
from rackwise.core.policy import DEFAULT_POLICY, Policy
from rackwise.core.text import alternatives, are, counted, escaped
from rackwise.pipeline.fleet.snapshots import FailedSnapshot, Snapshot, read_snapshots, with_names
from rackwise.pipeline.ingest.formats import FORMATS, input_format

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rackwise.cli.analyze.options import AnalyzeOptions
    from rackwise.cli.shell import Shell
    from rackwise.core.inventory.addresses import AddressRow
    from rackwise.core.racks import Rack
    from rackwise.core.subnets import Subnet
    from rackwise.core.traffic import Price, RateRow

SNAPSHOT_NAMES = ("*.json", "*.json.gz")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The content of the files that the options name."""

    snapshots: tuple[Snapshot, ...]
    """The snapshots that could be read."""
    failed: tuple[FailedSnapshot, ...]
    """The snapshots that could not be read, each with its error."""
    flows: tuple[str, ...]
    """Paths, globs or URIs of flow files, which Spark reads."""
    billed: tuple[str, ...]
    """Paths, globs or URIs of the provider's own bill, which Spark reads."""
    subnets: tuple[Subnet, ...]
    """Networks and their racks."""
    addresses: tuple[AddressRow, ...]
    """Racks of single addresses, each for a time."""
    clients: Mapping[str, Mapping[str, Rack]]
    """Column (`client_id`, `client_group` or `principal`) -> name -> rack."""
    rates: tuple[RateRow, ...]
    """Bytes per second of topics, from which traffic is modelled."""
    owners: Owners
    """Owners of topics and client groups; empty without a table."""
    prices: tuple[Price, ...]
    notes: tuple[str, ...]
    """What a reader of the bill must know of these inputs."""
    policy: Policy
    digests: Mapping[str, str]
    """SHA-256 of each further file, by the name of its option."""
    input_bytes: int | None
    """Bytes of decompressed snapshots, flow files and bills, for Spark's Java; None where some are
    not local. Files that tasks read count less, see `TASK_SHARE`."""


TASK_SHARE = 16
"""So many bytes of a file that tasks read count as one.

Java moves streams of sums between tasks, and reads none of their rows."""
_PARQUET, _TEXT = (".parquet", ".parq"), (".gz", ".log", ".txt")
"""Ends of names of files that tasks may read."""


class _FileReader:
    """Reads the files of options, each once, and keeps their digests."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self.digests: dict[str, str] = {}

    def read(self, what: str, path: str | Path, error: type[InputError]) -> bytes:
        """The content of a file, whose digest is kept under `what`."""
        data = files.read_bytes(path, error=error, max_bytes=self._shell.max_input)
        self.digests[what] = hashlib.sha256(data).hexdigest()
        return data


def read_inputs(shell: Shell, options: AnalyzeOptions) -> Inputs:
    """Read all files that are read before Spark starts.

    A snapshot that cannot be read is kept as failed if another one can be read; otherwise its error
    is raised. Raises the errors of the readers of the other files.
    """
    reader = _FileReader(shell)
    flows = options.flows or ()
    places = _snapshot_files(options.snapshots)
    read, failed, unpacked = _snapshots(shell, places)
    flow_bytes = _sizes(flows, _read_by_tasks(options))
    bill_bytes = _sizes(options.billed or ())
    used = options.flow_format if flows else None
    if not read:
        raise failed[0].error
    for one in failed:
        advice = f"; {escaped(one.error.hint)}" if one.error.hint else ""
        shell.warn(f"snapshot skipped: {escaped(one.error.message)}{advice}")
    return Inputs(
        snapshots=read,
        failed=failed,
        flows=tuple(flows),
        billed=_billed(options.billed or ()),
        subnets=_subnets(reader, options.subnets),
        addresses=_addresses(reader, options.addresses or ()),
        clients=_clients(shell, reader, options.clients, used),
        rates=_rates(reader, options.rates),
        owners=_owners(reader, options.owners),
        prices=_prices(reader, options.prices),
        notes=() if options.prices else files.shipped_price_notes(options.provider),
        policy=_policy(reader, options.policy, read),
        digests=reader.digests,
        input_bytes=None
        if flow_bytes is None or bill_bytes is None
        else unpacked + flow_bytes + bill_bytes,
    )


def _billed(paths: Sequence[str]) -> tuple[str, ...]:
    """The paths of a bill. Raises `InvalidBilled` for an empty file, which Spark would skip."""
    for text in paths:
        path = Path(text)
        if path.is_file() and path.stat().st_size == 0:
            raise InvalidBilled(
                f"invalid bill {escaped(text)}: expected a Cost and Usage Report, got an empty "
                "file",
                wanted="a Cost and Usage Report",
                had="an empty file",
                hint="download the file again",
                where=text,
            )
    return tuple(paths)


def _snapshot_files(given: Sequence[str]) -> list[str]:
    """The files of paths, folders and globs, each once, in order of their names."""
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
    """The snapshots, the failed ones, and the decompressed bytes."""
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
    return with_names(read), tuple(failed), unpacked


def _subnets(reader: _FileReader, path: Path | None) -> tuple[Subnet, ...]:
    if path is None:
        return ()
    data = reader.read("subnets", path, InvalidSubnets)
    return read_subnets(path, max_bytes=len(data))


def _addresses(reader: _FileReader, paths: Sequence[Path]) -> tuple[AddressRow, ...]:
    """The rows of all tables, which agree on the rack of each address."""
    rows: list[AddressRow] = []
    for number, path in enumerate(paths, 1):
        what = "addresses" if number == 1 else f"addresses {number}"
        rows += parse_addresses(reader.read(what, path, InvalidAddresses), where=str(path))
    check_one_rack(rows)
    return tuple(rows)


def _clients(
    shell: Shell, reader: _FileReader, path: Path | None, flow_format: str | None
) -> Mapping[str, Mapping[str, Rack]]:
    """The racks of clients. Warns about rows that cannot match flows of this format."""
    if path is None:
        return {}
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


def _rates(reader: _FileReader, path: Path | None) -> tuple[RateRow, ...]:
    if path is None:
        return ()
    if path.suffix not in {".parquet", ".parq"}:
        return files.parse_rates(reader.read("rates", path, InvalidRates), where=str(path))
    data = reader.read("rates", path, InvalidRates)
    with installed("spark", "analyze"):
        from rackwise.pipeline.bill.rate_files import parse_rate_parquet

        return parse_rate_parquet(data, where=str(path))


def _owners(reader: _FileReader, path: Path | None) -> Owners:
    if path is None:
        return NO_OWNERS
    return files.parse_owners(reader.read("owners", path, InvalidOwners), where=str(path))


def _prices(reader: _FileReader, path: Path | None) -> tuple[Price, ...]:
    if path is None:
        return files.shipped_prices()
    return files.parse_prices(reader.read("prices", path, InvalidPrices), where=str(path))


def _policy(reader: _FileReader, path: Path | None, read: Sequence[Snapshot]) -> Policy:
    if path is None:
        return DEFAULT_POLICY
    found = files.parse_policy(reader.read("policy", path, InvalidPolicy), where=str(path))
    last = {one.name: one for one in sorted(read, key=lambda one: (one.taken_at, one.file))}
    for name in sorted(last):
        found.check(last[name].cluster)
    return found.policy


def _read_by_tasks(options: AnalyzeOptions) -> tuple[str, ...]:
    """Ends of names of the flow files that tasks read. Raises `InvalidConfig`."""
    reads = input_format(options.flow_format)
    if options.dedupe == "exact" or not reads.is_by_file:
        return ()
    return (*_PARQUET, *_TEXT) if reads.deals_text else _PARQUET


def _sizes(places: Iterable[str], by_tasks: tuple[str, ...] = ()) -> int | None:
    """Bytes of all local files and folders; None where a path is neither.

    Files whose names end with one of `by_tasks` count one byte of `TASK_SHARE`.
    """
    total = 0
    for text in places:
        path = Path(text)
        if not path.exists():
            return None
        for file in path.rglob("*") if path.is_dir() else [path]:
            if file.is_file():
                share = TASK_SHARE if file.suffix in by_tasks else 1
                total += file.stat().st_size // share
    return total
