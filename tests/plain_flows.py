"""A slow reader of flow rows, one by one as the rules say: what a generated file must hold.

It does not know how rows were drawn. Racks come from the snapshots and the two tables, outcomes
from the rules in their order, own addresses from the rows themselves.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from ipaddress import ip_address, ip_network

from rackwise.core.fleet import FlowTextColumn, LineEdit

DAY_S = 86_400
UNKNOWN = "(unknown)"
LONGEST_LINE = 2**16
ENDS = {"srcport": 2**16, "dstport": 2**16, "protocol": 2**8}
REQUIRED_LOG = (
    *("srcaddr", "dstaddr", "srcport", "dstport", "protocol", "packets", "bytes", "start", "end"),
)


def rows_of(file):
    """Rows as dicts of text, number or None; for a line that cannot be read, the reason."""
    columns = {name: _values(column) for name, column in file.columns.items()}
    rows = [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
    for spoil in file.spoiled:
        is_field = spoil.edit is LineEdit.FIELD and len(spoil.text) < LONGEST_LINE
        if is_field and spoil.text.isascii():
            rows[spoil.row] = {**rows[spoil.row], spoil.column: spoil.text}
        else:
            rows[spoil.row] = _whole(spoil)
    return rows


def _whole(spoil):
    """The reason why no field of a line can be read."""
    if spoil.edit is LineEdit.HEADER:
        return "malformed:header"
    if spoil.edit is not LineEdit.FIELD:
        return "malformed:columns"
    return "malformed:charset" if not spoil.text.isascii() else "malformed:line"


def _values(column):
    if isinstance(column, FlowTextColumn):
        return [None if code < 0 else column.words[code] for code in column.codes.tolist()]
    pairs = zip(column.values.tolist(), column.is_missing.tolist(), strict=True)
    return [None if is_missing else value for value, is_missing in pairs]


class Reader:
    """The inputs beside the rows: brokers by address, subnets, racks of clients."""

    def __init__(self, fleet):
        self.fleet = fleet
        self.nets = [(ip_network(cidr), rack) for cidr, rack in fleet.subnets]
        self.clients = dict(fleet.client_racks)
        self.cache = {}
        self.broker_at = {}
        self.by_id = {}
        for cluster in fleet.clusters:
            for broker in cluster.brokers:
                rack = broker.rack.text if broker.rack else UNKNOWN
                self.by_id[cluster.cluster_id, broker.id] = rack
                for address in broker.addresses:
                    self.broker_at[address] = (cluster.cluster_id, broker.id, rack, broker.port)

    def rack_of(self, address):
        """The rack by longest prefix, over all networks."""
        if address not in self.cache:
            found = [
                (net.prefixlen, rack)
                for net, rack in self.nets
                if net.version == ip_address(address).version and ip_address(address) in net
            ]
            self.cache[address] = max(found)[1] if found else UNKNOWN
        return self.cache[address]


def read_logs(fleet, files):
    """VPC logs: outcome -> [rows, bytes], and (day, cluster, kind, pair, from, to) -> bytes."""
    reader = Reader(fleet)
    outcomes, kept = defaultdict(Counter), Counter()
    rows = [row for file in files for row in rows_of(file)]
    reasons = [malformed_log(row) for row in rows]
    own = _own_addresses(rows, reasons, reader)
    logged = defaultdict(set)
    for place, address in own.items():
        logged[rows[place]["start"] // DAY_S].add(address)
    for place, (row, reason) in enumerate(zip(rows, reasons, strict=True)):
        outcome, key = _log_outcome(row, reason, own.get(place), logged, reader)
        bytes_ = known_bytes(row)
        outcomes[outcome].update(rows=1, bytes=bytes_)
        if outcome == "kept":
            kept[key] += bytes_
    return {outcome: dict(sums) for outcome, sums in outcomes.items()}, dict(kept)


def known_bytes(row):
    """Bytes that can be counted: from a line of the right length, a non-negative number."""
    value = None if isinstance(row, str) else row["bytes"]
    return value if isinstance(value, int) and value >= 0 else 0


def malformed_log(row):
    """The reason why a row contradicts itself, or None."""
    if isinstance(row, str):
        return row
    if row["log_status"] in {"NODATA", "SKIPDATA"}:
        return None
    for column in REQUIRED_LOG:
        value = row[column]
        if column.endswith("addr"):
            if not _is_address(value):
                return f"malformed:{column}"
        elif not _is_number(value, ENDS.get(column, 2**63)):
            return f"malformed:{column}"
    if not row["start"] <= row["end"] <= row["start"] + DAY_S:
        return "malformed:end"
    return _malformed_word(row)


def _malformed_word(row):
    for column in ("pkt_srcaddr", "pkt_dstaddr"):
        if row.get(column) is not None and not _is_address(row[column]):
            return f"malformed:{column}"
    if row["log_status"] != "OK":
        return "malformed:log_status"
    is_told = row.get("flow_direction", "egress") in {"egress", "ingress"}
    return None if is_told else "malformed:flow_direction"


def _is_number(value, end):
    return isinstance(value, int) and 0 <= value < end


def _is_address(text):
    try:
        return text is not None and ip_address(text) is not None
    except ValueError:
        return False


def _ends(row):
    return row.get("pkt_srcaddr") or row["srcaddr"], row.get("pkt_dstaddr") or row["dstaddr"]


def _own_addresses(rows, reasons, reader):
    """Row number -> the address whose interface logged it, for rows that have addresses."""
    told = [
        place
        for place, (row, reason) in enumerate(zip(rows, reasons, strict=True))
        if reason is None and row["log_status"] == "OK"
    ]
    if all("flow_direction" in rows[place] for place in told):
        return {
            place: _ends(rows[place])[rows[place]["flow_direction"] == "ingress"] for place in told
        }
    common = {}
    for place in told:
        row = rows[place]
        here = {row["srcaddr"], row["dstaddr"]}
        common[row["interface_id"]] = common.get(row["interface_id"], here) & here
    own = {}
    for place in told:
        row = rows[place]
        candidates = common[row["interface_id"]]
        brokers = sorted(address for address in candidates if address in reader.broker_at)
        own[place] = (brokers or [row["srcaddr"]])[0] if len(candidates) > 1 else min(candidates)
    return own


def _log_outcome(row, reason, own, logged, reader):
    if reason is not None:
        return reason, None
    if row["log_status"] != "OK":
        return row["log_status"].lower(), None
    if row["action"] != "ACCEPT":
        return "rejected", None
    source, target = _ends(row)
    sender, receiver = reader.broker_at.get(source), reader.broker_at.get(target)
    is_from = sender is not None and sender[3] == row["srcport"]
    is_to = receiver is not None and receiver[3] == row["dstport"]
    if not is_from and not is_to:
        return "not-kafka", None
    day = row["start"] // DAY_S
    if own == target and source in logged[day]:
        return "duplicate-side", None
    from_rack = sender[2] if sender else reader.rack_of(source)
    to_rack = receiver[2] if receiver else reader.rack_of(target)
    if sender and receiver:
        key = (day, sender[0], "replicate", (sender[1], receiver[1]), from_rack, to_rack)
    elif is_to:
        key = (day, receiver[0], "produce", None, from_rack, to_rack)
    else:
        key = (day, sender[0], "fetch", None, from_rack, to_rack)
    return "kept", key
