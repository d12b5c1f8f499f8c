"""The files of a generated fleet: options checked, files written, the result printed."""

from __future__ import annotations

import shlex
import shutil
from contextlib import suppress
from datetime import date, timedelta
from typing import TYPE_CHECKING

from rackwise.adapters import files
from rackwise.adapters.files.tables.flow_json import (
    write_azure_json,
    write_gcp_json,
    write_obi_json,
)
from rackwise.adapters.files.tables.flow_text import (
    write_document,
    write_flow_text,
    write_rack_table,
)
from rackwise.core.errors import InvalidConfig, MissingDependency
from rackwise.core.fleet import (
    FleetOptions,
    FlowFormat,
    GeneratedFleet,
    Shape,
    fleet_of_clusters,
    flow_file,
    generate_fleet,
    iter_looks,
    level_names_of,
    replace_addresses,
    truth,
)
from rackwise.core.racks import Rack
from rackwise.core.text import escaped
from rackwise.core.traffic import Price
from rackwise.pipeline.ingest.formats import DEFAULT, FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rackwise.cli.analyze.options import GenerateOptions
    from rackwise.cli.shell import Shell
    from rackwise.core.fleet import GeneratedFile
    from rackwise.core.model import Cluster

SNAPSHOTS = "snapshots"
FLOWS = "flows"
SUBNETS = "subnets.csv"
CLIENTS = "clients.csv"
TRUTH = "truth.json"
QUARANTINE_SHARE = 0.01
"""The default of `analyze --max-quarantine`."""
OF_CLUSTERS = ("clusters", "brokers", "topics", "racks", "rf", "shape", "violations")
"""Options that describe clusters."""
OF_FLOWS = (
    *("seed", "days", "flows", "flow_format"),
    *("log_version", "bad_rows", "duplicates", "ipv6", "looks", "retention"),
)
"""Options that describe flows and have the names of `FleetOptions`."""


def read_snapshots(shell: Shell, paths: Sequence[Path]) -> tuple[Cluster, ...]:
    """The clusters of snapshot files. Raises what reading them raises."""
    return tuple(files.read_snapshot(path, max_bytes=shell.max_input) for path in paths)


def build_fleet(options: GenerateOptions, existing: tuple[Cluster, ...]) -> GeneratedFleet:
    """The fleet to write; `existing`: the clusters of --snapshot.

    Raises `InvalidConfig`, `InvalidRack`, `InvalidSnapshot`.
    """
    checked = _fleet_options(options, existing)
    if not existing and options.addresses:
        raise InvalidConfig("--addresses requires --snapshot", hint="omit --addresses")
    if not existing:
        return generate_fleet(checked)
    return fleet_of_clusters(
        checked, replace_addresses(checked, existing) if options.addresses else existing
    )


def _fleet_options(options: GenerateOptions, existing: Sequence[Cluster]) -> FleetOptions:
    """The options of the generator. Raises `InvalidConfig`."""
    values = {name: getattr(options, name) for name in (*OF_CLUSTERS, *OF_FLOWS)}
    values["replication"] = values.pop("rf")
    values = {name: value for name, value in values.items() if value is not None}
    if existing and any(getattr(options, name) is not None for name in OF_CLUSTERS):
        names = [f"--{name}" for name in OF_CLUSTERS]
        raise InvalidConfig(
            f"--snapshot excludes {', '.join(names[:-1])} and {names[-1]}",
            hint="omit them: the clusters of --snapshot are used as they are",
        )
    if "racks" in values:
        values["racks"] = tuple(map(Rack, values["racks"].split(",")))
    for name, kind in (("shape", Shape), ("flow_format", FlowFormat)):
        if name in values:
            values[name] = kind(values[name])
    values["first_day"] = _first_day(options.first_day, existing)
    return FleetOptions(**values)


def write_fleet(
    shell: Shell, fleet: GeneratedFleet, out: Path, prices: Sequence[Price], *, has_snapshots: bool
) -> None:
    """Write all files, the truth last; if that fails, none of them is left.

    Raises `InvalidConfig` where the folder is not empty or not writable, `WorldError` if the disk
    fails.
    """
    _writer(fleet.options.flow_format)  # a missing package is found before anything is made
    _check_empty(out)
    is_new = not out.exists()
    _create_folder(out / FLOWS)  # of two runs one gets it; the other removes nothing
    try:
        _write_files(shell, fleet, out, prices, has_snapshots=has_snapshots)
    except BaseException:
        for place in [out] if is_new else [*out.iterdir()]:
            if place.is_dir():
                shutil.rmtree(place, ignore_errors=True)
            else:
                with suppress(OSError):  # nothing was made, or the disk fails: that error counts
                    place.unlink()
        raise


def _write_files(
    shell: Shell, fleet: GeneratedFleet, out: Path, prices: Sequence[Price], *, has_snapshots: bool
) -> None:
    options = fleet.options
    write_flows, suffix = _writer(options.flow_format)
    if has_snapshots:
        _create_folder(out / SNAPSHOTS)
        _write_snapshots(shell, fleet, out / SNAPSHOTS)
    write_rack_table(out / SUBNETS, "cidr", fleet.subnets)
    if fleet.client_racks:
        write_rack_table(out / CLIENTS, "client_id", fleet.client_racks)
    tallies = []
    with shell.progress("writing flow files", total=options.files) as advance:
        for index in range(options.files):
            file, tally = flow_file(fleet, index)
            write_flows(out / FLOWS / f"{file.name}{suffix}", file)
            tallies.append(tally)
            advance(1)
    write_document(out / TRUTH, truth(fleet, tallies, prices))


def _write_snapshots(shell: Shell, fleet: GeneratedFleet, folder: Path) -> None:
    """Write the snapshots of all looks; from two looks on, the file's name has the time."""
    looks = fleet.options.looks
    with shell.progress("writing snapshots", total=looks * len(fleet.clusters)) as advance:
        for clusters in iter_looks(fleet):
            for number, cluster in enumerate(clusters, start=1):
                time = f"-{cluster.taken_at.replace(':', '')}" if looks > 1 else ""
                files.write_snapshot(cluster, folder / f"cluster-{number:03d}{time}.json.gz")
                advance(1)


def show_fleet(shell: Shell, fleet: GeneratedFleet, out: Path, given: Sequence[Path]) -> None:
    """Print what was written and the command that reads it; `given`: the files of --snapshot."""
    command = ["rackwise", "analyze", *map(str, given or [out / SNAPSHOTS]), *_inputs(fleet, out)]
    counts = {
        "clusters": len(fleet.clusters),
        "brokers": sum(len(cluster.brokers) for cluster in fleet.clusters),
        "partitions": sum(len(cluster.partitions) for cluster in fleet.clusters),
        "flows": fleet.options.flows,
        "files": fleet.options.files,
        "looks": fleet.options.looks,
    }
    if shell.is_json:
        from rackwise.cli.analyze.documents import CODEC, GeneratedDocument

        document = GeneratedDocument(
            out=str(out),
            truth=str(out / TRUTH),
            analyze=tuple(command),
            clusters=counts["clusters"],
            brokers=counts["brokers"],
            partitions=counts["partitions"],
            flows=counts["flows"],
            files=counts["files"],
            looks=counts["looks"],
        )
        shell.document(document, CODEC)
        return
    text = ", ".join(
        f"{count} {noun.removesuffix('s' if count == 1 else '')}"
        for noun, count in counts.items()
        if noun != "looks" or count > 1
    )
    shell.text(f"{escaped(str(out))}: {text}")
    shell.data(escaped(shlex.join(command)))


def _inputs(fleet: GeneratedFleet, out: Path) -> list[str]:
    arguments = ["--flows", str(out / FLOWS), "--subnets", str(out / SUBNETS)]
    read_as = next(
        each for each in FORMATS.values() if fleet.options.flow_format in each.generated_as
    )
    if read_as.name != DEFAULT:
        arguments += ["--flow-format", read_as.name]
    if fleet.client_racks:
        arguments += ["--clients", str(out / CLIENTS)]
    if len(levels := level_names_of(fleet.racks)) > 1:
        arguments += ["--levels", ",".join(levels)]
    if fleet.options.bad_rows > QUARANTINE_SHARE:
        arguments += ["--max-quarantine", str(fleet.options.bad_rows)]
    return [*arguments, "--out", str(out / "result")]


def _first_day(text: str | None, known: Sequence[Cluster]) -> date:
    if text is None:
        taken = [date.fromisoformat(cluster.taken_at[:10]) for cluster in known]
        return max(taken) + timedelta(days=1) if taken else FleetOptions().first_day
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InvalidConfig(
            f"invalid --first-day: expected a date such as 2026-11-21, got {escaped(text)}",
            wanted="2026-11-21",
            had=text,
            hint="write year, month and day with hyphens",
        ) from None


def _writer(flow_format: FlowFormat) -> tuple[Callable[[Path, GeneratedFile], None], str]:
    """The function that writes files of a format, and their suffix. Raises `MissingDependency`."""
    if flow_format in {FlowFormat.VPC_TEXT, FlowFormat.TGW}:
        return write_flow_text, ".log.gz"
    if flow_format is FlowFormat.GCP:
        return write_gcp_json, ".json.gz"
    if flow_format is FlowFormat.AZURE:
        return write_azure_json, ".json.gz"
    if flow_format is FlowFormat.OBI:
        return write_obi_json, ".json.gz"
    try:
        from rackwise.pipeline.ingest.generate import flow_parquet
    except ModuleNotFoundError as error:
        raise MissingDependency(
            f"writing Parquet requires {error.name}, which is not installed",
            wanted=error.name,
            hint='pip install "rackwise[spark]", or use --flow-format vpc-text',
        ) from None
    return lambda path, file: files.write_bytes(path, flow_parquet(file)), ".parquet"


def _check_empty(out: Path) -> None:
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise InvalidConfig(
            f"invalid --out: expected a new or empty folder, got {escaped(str(out))}",
            wanted="a new or empty folder",
            had=str(out),
            hint="choose another --out: the truth describes the files of one fleet",
        )


def _create_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise InvalidConfig(
            f"cannot create {escaped(str(folder))}: {error.strerror}",
            wanted="a folder to write to",
            had=error.strerror,
            hint="choose another --out",
        ) from None
