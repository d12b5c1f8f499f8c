"""Generated flow logs of other networks as JSON.

```
Google Cloud   one LogEntry a line, as a sink of Cloud Logging writes them to a bucket
Azure          one document with the tuples of each interface
OpenTelemetry  one export request a line, as the file exporter of the Collector writes them
```

What this does not do: read; decide what is in the rows.
"""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from rackwise.adapters.files.tables.flow_text import GZIP_LEVEL
from rackwise.adapters.files.writing import write_bytes
from rackwise.core.fleet import FlowTextColumn, LineEdit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rackwise.core.fleet import FlowNumberColumn, GeneratedFile

Cell: TypeAlias = "str | int | None"
PROJECT = "generated"
POINTS = 100
"""Data points of an export request."""
PROTOCOLS = {6: "TCP"}
MILLIS = "123"
"""The milliseconds of times."""


def write_gcp_json(path: str | Path, file: GeneratedFile) -> None:
    """Write VPC flow logs of Google Cloud atomically; as gzip if the name ends with `.gz`.

    Raises `InvalidConfig`, `WorldError` if the path cannot be written.
    """
    lines = [_dumped(_gcp_entry(row, f"{file.name}-{at}")) for at, row in enumerate(_rows(file))]
    for spoil in file.spoiled:
        if spoil.edit is LineEdit.CUT:
            lines[spoil.row] = lines[spoil.row][: len(lines[spoil.row]) // 2]
    _write(path, "".join(f"{line}\n" for line in lines))


def _gcp_entry(row: Mapping[str, Cell], id_: str) -> dict[str, Any]:
    connection = {
        "src_ip": row["srcaddr"],
        "src_port": row["srcport"],
        "dest_ip": row["dstaddr"],
        "dest_port": row["dstport"],
        "protocol": row["protocol"],
    }
    payload = {
        "connection": _known(connection),
        "reporter": row["reporter"],
        # Numbers of 64 bits are texts in the JSON of Google.
        "bytes_sent": None if row["bytes"] is None else str(row["bytes"]),
        "packets_sent": None if row["packets"] is None else str(row["packets"]),
        "start_time": _instant(row["start"]),
        "end_time": _instant(row["end"]),
        "src_instance": _gcp_instance(row["src_zone"]),
        "dest_instance": _gcp_instance(row["dst_zone"]),
    }
    return {
        "insertId": id_,
        "jsonPayload": _known(payload),
        "logName": f"projects/{PROJECT}/logs/compute.googleapis.com%2Fvpc_flows",
        "resource": {
            "labels": {"project_id": PROJECT, "subnetwork_id": row["interface_id"]},
            "type": "gce_subnetwork",
        },
    }


def _gcp_instance(zone: Cell) -> dict[str, Cell] | None:
    if zone is None:
        return None
    return {"project_id": PROJECT, "region": str(zone).rpartition("-")[0], "zone": zone}


def write_azure_json(path: str | Path, file: GeneratedFile) -> None:
    """Write virtual network flow logs of Azure atomically; as gzip like `write_gcp_json`.

    Raises `InvalidConfig`, `WorldError` if the path cannot be written.
    """
    edits = {spoil.row: spoil.edit for spoil in file.spoiled}
    tuples: dict[str, list[str]] = {}
    for at, row in enumerate(_rows(file)):
        cells = _azure_tuple(row)
        if edits.get(at) is LineEdit.CUT:
            del cells[-1]
        if edits.get(at) is LineEdit.MORE:
            cells.append("more")
        tuples.setdefault(str(row["interface_id"]), []).append(",".join(cells))
    records = [
        {
            "time": file.name[:10] + "T00:00:00.0000000Z",
            "flowLogVersion": 4,
            "macAddress": interface.removeprefix("eni-").upper()[:12],
            "category": "FlowLogFlowEvent",
            "operationName": "FlowLogFlowEvent",
            "flowRecords": {
                "flows": [{"aclID": PROJECT, "flowGroups": [{"rule": "Any", "flowTuples": lines}]}]
            },
        }
        for interface, lines in tuples.items()
    ]
    _write(path, _dumped({"records": records}) + "\n")


def _azure_tuple(row: Mapping[str, Cell]) -> list[str]:
    """The values of a tuple: of the flow, or of the connection that the flow answers."""
    start, is_begin = row["start"], row["flow_state"] == "B"
    here = [row["srcaddr"], row["srcport"], row["packets"], row["bytes"]]
    there = [row["dstaddr"], row["dstport"], 0, 0]
    directions = {"egress": "O", "ingress": "I"}
    if row["is_answer"]:
        here, there = there, here
        directions = {"egress": "I", "ingress": "O"}
    if is_begin:
        here[2:] = there[2:] = [0, 0]
    values = [
        f"{start}{MILLIS}" if isinstance(start, int) else start,
        *(here[0], there[0], here[1], there[1], row["protocol"]),
        directions.get(str(row["flow_direction"]), row["flow_direction"]),
        *(row["flow_state"], "NX", *here[2:], *there[2:]),
    ]
    return ["" if value is None else str(value) for value in values]


def write_obi_json(path: str | Path, file: GeneratedFile) -> None:
    """Write network metrics of OBI atomically; as gzip like `write_gcp_json`.

    An unreadable request has one point. Raises `InvalidConfig`, `WorldError` if the
    path cannot be written.
    """
    lines: list[str] = []
    points: list[dict[str, Cell]] = []
    cut = {spoil.row for spoil in file.spoiled if spoil.edit is LineEdit.CUT}
    damaged = {spoil.row for spoil in file.spoiled if spoil.column == "interface_id"}
    for at, row in enumerate(_rows(file)):
        if at in cut | damaged:
            line = _dumped(_obi_request([row]))
            lines.append(line[: len(line) // 2] if at in cut else line)
            continue
        points.append(row)
        if len(points) == POINTS:
            lines.append(_dumped(_obi_request(points)))
            points.clear()
    if points:
        lines.append(_dumped(_obi_request(points)))
    _write(path, "".join(f"{line}\n" for line in lines))


def _obi_request(rows: Sequence[Mapping[str, Cell]]) -> dict[str, Any]:
    """An export request with the metrics of each node."""
    by_node: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_node.setdefault(str(row["interface_id"]), []).append(_obi_point(row))
    return {
        "resourceMetrics": [
            {
                "resource": {"attributes": _attributes({"service.name": "obi", "host.id": node})},
                "scopeMetrics": [
                    {
                        "scope": {"name": "network_ebpf_events"},
                        "metrics": [
                            {
                                "name": "obi.network.flow.bytes",
                                "unit": "{bytes}",
                                "sum": {
                                    "dataPoints": points,
                                    "aggregationTemporality": 1,
                                    "isMonotonic": True,
                                },
                            }
                        ],
                    }
                ],
            }
            for node, points in by_node.items()
        ]
    }


def _obi_point(row: Mapping[str, Cell]) -> dict[str, Any]:
    attributes = {
        "k8s.cluster.name": PROJECT,
        "transport": PROTOCOLS.get(int(row["protocol"] or 0)),
        "src.address": row["srcaddr"],
        "dst.address": row["dstaddr"],
        "src.port": row["srcport"],
        "dst.port": row["dstport"],
        "obi.ip": row["obi_ip"],
        "k8s.src.node.ip": row["src_node"],
        "k8s.dst.node.ip": row["dst_node"],
        "src.zone": row["src_zone"],
        "dst.zone": row["dst_zone"],
    }
    point = {
        "attributes": _attributes(attributes),
        "startTimeUnixNano": _nanos(row["start"]),
        "timeUnixNano": _nanos(row["end"]),
        "asInt": None if row["bytes"] is None else str(row["bytes"]),
    }
    return _known(point)


def _attributes(values: Mapping[str, Cell]) -> list[dict[str, Any]]:
    """Attributes as OTLP has them: a number of 64 bits is a text in its JSON."""
    return [
        {
            "key": name,
            "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value},
        }
        for name, value in values.items()
        if value is not None
    ]


def _nanos(second: Cell) -> Cell:
    return f"{second}000000000" if isinstance(second, int) else second


def _instant(second: Cell) -> Cell:
    """An epoch second as RFC 3339; a text is unchanged."""
    if not isinstance(second, int):
        return second
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _known(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _rows(file: GeneratedFile) -> Iterator[dict[str, Cell]]:
    """The rows with their edited fields; None where a value is missing."""
    edits = {spoil.row: spoil for spoil in file.spoiled if spoil.edit is LineEdit.FIELD}
    columns = [_cells(column) for column in file.columns.values()]
    for at, cells in enumerate(zip(*columns, strict=True)):
        row = dict(zip(file.columns, cells, strict=True))
        if at in edits:
            row[edits[at].column] = edits[at].text
        yield row


def _cells(column: FlowTextColumn | FlowNumberColumn) -> Sequence[Cell]:
    if isinstance(column, FlowTextColumn):
        words = [*column.words, None]
        return [words[code] for code in column.codes.tolist()]
    pairs = zip(column.values.tolist(), column.is_missing.tolist(), strict=True)
    return [None if is_missing else value for value, is_missing in pairs]


def _dumped(document: Any) -> str:  # noqa: ANN401 (any JSON)
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def _write(path: str | Path, text: str) -> None:
    """Write text; bytes that are not UTF-8 are lone surrogates in it."""
    data = text.encode(errors="surrogateescape")
    if Path(path).suffix == ".gz":
        data = gzip.compress(data, compresslevel=GZIP_LEVEL, mtime=0)
    write_bytes(path, data)
