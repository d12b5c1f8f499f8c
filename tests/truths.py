"""A generated fleet analyzed and compared with the truth that was generated with it."""

from __future__ import annotations

import gzip
from collections import Counter, defaultdict
from decimal import Decimal
from functools import partial

import pyarrow.parquet

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
from rackwise.core.errors import InvalidSnapshot
from rackwise.core.fleet import FlowFormat, flow_file, generate_fleet, iter_looks, truth
from rackwise.core.json.strict import parse
from rackwise.core.traffic import prices_of
from rackwise.pipeline.fleet.snapshots import read_snapshots
from rackwise.pipeline.ingest.formats import FORMATS
from rackwise.pipeline.ingest.generate import flow_parquet
from rackwise.pipeline.job import analyze
from rackwise.pipeline.request import AnalyzeRequest

TABLES = {
    "by_kind": ("kind",),
    "by_kind_and_level": ("kind", "level"),
    "by_pair": ("from_rack", "to_rack"),
    "by_day": ("day",),
    "by_topic": ("topic",),
    "by_group": ("client_group",),
    "by_quality": ("quality",),
}
"""Table of the truth -> columns of CROSS_RACK beside the cluster."""
TEXTS = {
    FlowFormat.VPC_TEXT: write_flow_text,
    FlowFormat.GCP: write_gcp_json,
    FlowFormat.AZURE: write_azure_json,
    FlowFormat.TGW: write_flow_text,
    FlowFormat.OBI: write_obi_json,
}
"""Format of text -> the function that writes a file."""
ROLL_UPS = ("by_kind", "by_pair", "by_day", "by_topic", "by_group")


def write_fleet(options, out):
    """Write a fleet as `rackwise generate` does; its truth and the request that reads it."""
    fleet = generate_fleet(options)
    (out / "flows").mkdir(parents=True)
    for look, clusters in enumerate(iter_looks(fleet)):
        for number, cluster in enumerate(clusters):
            files.write_snapshot(cluster, out / f"cluster-{number}-{look}.json.gz")
    write_rack_table(out / "subnets.csv", "cidr", fleet.subnets)
    if fleet.client_racks:
        write_rack_table(out / "clients.csv", "client_id", fleet.client_racks)
    tallies = [_write(fleet, index, out / "flows") for index in range(options.files)]
    prices = prices_of(files.shipped_prices(), "aws")
    write_document(out / "truth.json", truth(fleet, tallies, prices))
    return request_of(out)


def request_of(folder):
    """The truth of a folder with snapshots, flows and tables, and the request that reads it."""
    told = parse((folder / "truth.json").read_bytes(), where="truth.json", error=InvalidSnapshot)
    contents = [
        (str(path), gzip.decompress(path.read_bytes())) for path in folder.glob("*.json.gz")
    ]
    read = partial(files.parse_snapshot, where="snapshot")
    snapshots, failed = read_snapshots(contents, read)
    assert not failed
    clients = folder / "clients.csv"
    generated = told["options"]["flow_format"]
    (flow_format,) = (each.name for each in FORMATS.values() if generated in each.generated_as)
    return told, AnalyzeRequest(
        version="0.1.0",
        snapshots=snapshots,
        parse=read,
        tables=str(folder / "tables"),
        prices=files.shipped_prices(),
        flows=(str(folder / "flows"),),
        flow_format=flow_format,
        subnets=files.read_subnets(folder / "subnets.csv"),
        clients=files.read_clients(clients) if clients.exists() else {},
        levels=tuple(told["levels"]),
        max_quarantine=Decimal("0.5"),
    )


def _write(fleet, index, folder):
    """Write one file; every second text is compressed."""
    file, tally = flow_file(fleet, index)
    if (write := TEXTS.get(fleet.options.flow_format)) is None:
        (folder / f"{file.name}.parquet").write_bytes(flow_parquet(file))
    else:
        write(folder / f"{file.name}.log{'.gz' * (index % 2)}", file)
    return tally


def check_truth(spark, told, request):
    """Law: `analyze` on generated files gives their truth, to the byte and nano-dollar."""
    made = analyze(spark, request)
    check_told(told, made.summary, f"{made.tables}/gold")
    return made


def check_told(told, summary, gold):
    """The same for a summary and the gold tables that it was made from, wherever they come from."""
    table = pyarrow.parquet.read_table(f"{gold}/../silver/cluster").to_pylist()
    ids = {row["name"]: row["cluster_id"] for row in table}
    rows = _with_ids(f"{gold}/cross_rack", ids)
    outcomes = {
        one["reason"]: {"rows": one["rows"], "bytes": one["bytes"] or 0}
        for one in summary["method"]["outcomes"]
    }
    assert outcomes == told["outcomes"], "law broken: outcomes"
    assert summary["method"]["rows_in"] == told["rows"], "law broken: rows"
    assert summary["method"]["bytes_in"] == told["bytes"], "law broken: bytes"
    for name, columns in {"total": (), **TABLES}.items():
        wanted = {_key(entry, columns): _sums(entry) for entry in told[name]}
        assert _summed(rows, columns) == wanted, f"law broken: {name}"
        if name in ROLL_UPS:
            found = _with_ids(f"{gold}/{name}", ids)
            assert {_key(row, columns): _sums(row) for row in found} == wanted, (
                f"law broken: {name}"
            )
    verdict = summary["verdict"]
    (total,) = told["total"] or [dict.fromkeys(("bytes_cross", "usd"))]
    assert (verdict["bytes_cross"], verdict["usd"]) == (total["bytes_cross"], total["usd"])
    _check_findings(_with_ids(f"{gold}/finding", ids), told)


def _with_ids(path, ids):
    """The rows of a gold table with cluster ids, as the truth has them, instead of names."""
    rows = pyarrow.parquet.read_table(path).to_pylist()
    return [row | {"cluster": ids[row["cluster"]]} for row in rows]


def _check_findings(rows, told):
    found = defaultdict(set)
    for row in rows:
        if row["partition"] is not None:
            found[row["cluster"], row["rule"]].add((row["topic"], row["partition"]))
    for cluster in told["clusters"]:
        had = {
            rule: len(rows) for (name, rule), rows in found.items() if name == cluster["cluster"]
        }
        assert had == cluster["violations"], "law broken: violations"


def _key(row, columns):
    names = ("cluster", *columns) if columns else ()
    return tuple(str(row[name]) for name in names)


def _sums(row):
    bytes_ = tuple(row[f"bytes_{place}"] for place in ("local", "cross", "unknown"))
    return bytes_, None if row["usd"] is None else Decimal(row["usd"])


def _summed(rows, columns):
    bytes_, usd = defaultdict(Counter), {}
    for row in rows:
        key = _key(row, columns)
        place = "unknown" if row["level"] < 0 else "cross" if row["level"] else "local"
        bytes_[key][place] += row["bytes"]
        if row["usd"] is not None:
            usd[key] = usd.get(key, Decimal(0)) + row["usd"]
    places = ("local", "cross", "unknown")
    return {key: (tuple(sums[p] for p in places), usd.get(key)) for key, sums in bytes_.items()}
