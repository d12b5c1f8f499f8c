"""Every leaf command with inputs that are hostile wherever its readers accept it.

In the words of `COMMAND_LINES`, `@name` is a file of the folder, `@@name` a store in it, `%name` a
name and `^name` a rack; the last two may be hostile there.
"""

from __future__ import annotations

import gzip
import json
from contextlib import suppress
from functools import partial

import pyarrow as pa
from pyarrow import parquet

from directory_stores import Nodes
from hostile_readers import READERS
from hostile_text import HOSTILE, csv_bytes, dressed, dressed_table, json_bytes
from rackwise.adapters.files.snapshot.read import parse_snapshot
from rackwise.core.errors import InputError
from rackwise.core.json.strict import parse
from refusals import called
from writing_commands import DEMO, INPUTS

SNAPSHOT = ("--snapshot", "@s.json")
RATES = ("--rates", "@rates.json")
NOWHERE = ("--bootstrap-server", "nowhere")
STORE = ("--store", "@@store")
TABLES = ("--owners", "@owners.csv", "--clients", "@clients.csv", "--addresses", "@addresses.csv")
PRICED = ("--prices", "@prices.csv", "--provider", "aws")
BILL = ("@s.json", "--engine", "local", *PRICED)
PLACED = ("--partitions", "2", "--replication-factor", "1")
COMMAND_LINES = {
    "snapshot": [("--reassignment", "@reassignment.json", "--racks", "@racks.csv", "--out", "@o")],
    "audit": [
        (*SNAPSHOT, "--policy", "@policy.toml", "--metrics", "@a.prom"),
        (*SNAPSHOT, "--lose", "^use1-az1"),
        *((*SNAPSHOT, "--format", each) for each in ("junit", "sarif", "github")),
    ],
    "diff": [("@s.json", "@earlier.json"), ("@p.json", "@reassignment.json")],
    "what-if": [
        (*SNAPSHOT, "--lose", "^use1-az1"),
        (*SNAPSHOT, "--add", "99=^use1-az1", "--provider", "aws"),
    ],
    "plan": [
        ("balance", *SNAPSHOT, "--out", "@p2.json", "--kafka-json", "@k.json"),
        ("repair", *SNAPSHOT, "--policy", "@policy.toml", *PRICED),
    ],
    "proof": [("@p.json", *SNAPSHOT)],
    "explain": [("@p.json", "clicks-0", *SNAPSHOT)],
    "place": [
        (*PLACED, *SNAPSHOT, "--seed", "1"),
        (*PLACED, *SNAPSHOT, "--seed", "1", "--disable-rack-aware"),
    ],
    "placers": [()],
    "doctor": [(*SNAPSHOT,), (*SNAPSHOT, "--client-rack", "^use1-az1", "--group", "%analytics")],
    "consumer evaluate": [(*SNAPSHOT,), (*SNAPSHOT, "--group", "%analytics", "--provider", "aws")],
    "consumer simulate": [
        (*SNAPSHOT, "--out", "@c.json"),
        (*SNAPSHOT, "--group", "%analytics", "--add", "^use1-az1=4"),
    ],
    "producer simulate": [(*SNAPSHOT, *RATES, "--duration", "100ms")],
    "producer split": [(*SNAPSHOT, *RATES, "--out", "@split.json")],
    "analyze": [
        (*BILL, *TABLES, "--flows", "@flows", "--flow-format", "canonical", "--out", "@bill2"),
        (*BILL, *TABLES, "--rates", "@rates.csv", "--out", "@bill3"),
    ],
    "report": [("@bill", "--out", "@r.html", "--metrics", "@r.prom")],
    "racks kubernetes": [("@kubernetes.json", "--out", "@kubernetes.csv"), ("@kubernetes.json",)],
    "racks aws": [("@aws.json", "--out", "@aws.csv"), ("@aws.json",)],
    "racks gcp": [
        ("@gcp.json", "--out", "@gcp.csv", "--zones", "@zones.csv", "--as", "id"),
        ("@gcp.json",),
    ],
    "racks azure": [("@nics.json", "--vms", "@vms.json", "--out", "@azure.csv")],
    "generate": [("--out", "@fleet", "--seed", "7", "--flows", "40", "--topics", "9")],
    "scram-user": [("%alice",)],
    "broker-id show": [("--key", "%h7", *STORE), ("--id", "7", *STORE)],
    "broker-id list": [STORE],
    "broker-id missing": [STORE],
    "broker-id assign": [("%h9", "9", *STORE), ("%h7", "1", *STORE)],
    "broker-id adopt": [("7", "--key", "%{host}", *STORE)],
    "broker-id retire": [("7", *STORE), ("4", "--undo", *STORE)],
    "broker-id gc": [STORE, ("--apply", *STORE)],
    "broker-id init": [("--check", *STORE)],
    "upgrade check": [("--zookeeper", "/")],
    **{
        name: [("@p.json", *NOWHERE)]
        for name in ("apply", "resume", "cancel", "rollback", "status")
    },
    "throttle": [("@p.json", "5MB", *NOWHERE)],
    "throttles": [NOWHERE],
    "topic create": [("%t", *PLACED, *NOWHERE)],
    "topic alter": [("%t", "--partitions", "2", *NOWHERE)],
    "topic ensure": [("%t", *PLACED, *NOWHERE)],
    "serve": [(*SNAPSHOT, "--listen", "nowhere")],
    "spark-check": [("--topic", "%t", *NOWHERE)],
    "nightly": [("--fleet", "@rackwise.toml", "--out", "@night")],
    "stream run": [("--out", "@bill4", "--checkpoint", "@work", "--interval", "never", *NOWHERE)],
    "stream compact": [("@missing.json", "--out", "@bill4", "--date", "never")],
    "broker-id acquire": [("--server-properties", "@server.properties", "--", "true")],
    "broker-id watch": [("--store", "nowhere")],
    "sandbox": [("--kafka", "0.1")],
}
"""Leaf command -> its command lines; the first one is the base of the law of options.

A command that needs a server names none that could be asked.
"""
WITHOUT_INPUT = {"spark-cache": "it has no option and reads no file"}
"""Leaf command -> why it is in no table."""
WITHOUT_NAMES = {
    *("placers", "scram-user", "broker-id init", "broker-id acquire", "broker-id watch"),
    *("upgrade check", "throttles", "topic create", "topic alter", "topic ensure", "serve"),
    *("spark-check", "stream run", "stream compact", "sandbox"),
}
"""Commands that show no name of a file: they read none, or a server has the names."""
NEW = {"bill2", "bill3", "fleet"}
"""Folders that commands make: they are removed before each command."""
SHOWN = {".html", ".prom", ".csv"}
"""Endings of files that people open, or whose readers take U+2028 for a line feed.

Snapshots and the other canonical JSON keep UTF-8 as it is.
"""
UNTRIED = {"serve --listen", "sandbox --folder"}
"""Options whose value must be as in the table, else a server starts."""


def options_of(command):
    """The arguments and options of a command that take a value."""
    return [each for each in command.params if not getattr(each, "is_flag", False)]


def replaced_option(command, option, words, value):
    """The words of a command line, and this value for an option or argument."""
    words = list(words)
    if option.param_type_name == "option":
        name = option.opts[0]
        if name in words:
            at = words.index(name)
            del words[at : at + 2]
        return [*words, f"{name}={value}"]
    number = [each.name for each in command.params if each.param_type_name == "argument"].index(
        option.name
    )
    places = [
        at
        for at, word in enumerate(words)
        if not word.startswith("--") and (at == 0 or not takes_value(command, words[at - 1]))
    ]
    at = places[number] if number < len(places) else len(words)
    return [*words[:at], value, *words[at + 1 :]]


def takes_value(command, word):
    return any(word in each.opts for each in options_of(command))


def in_folder(words, folder, before="", rack=""):
    """The words of a command line with the paths of a folder and the names that it has."""

    def word(text):
        if text.startswith("@@"):
            return f"file://{folder / text[2:]}"
        if text.startswith("@"):
            return str(folder / text[1:])
        return text.replace("%", before).replace("^", rack)

    return [word(each) for each in words]


def accepts(reader, render, document):
    with suppress(InputError):
        READERS[reader](render(document))
        return True
    return False


JSON = {
    "aws.json": "AWS subnets",
    "gcp.json": "Google instances",
    "nics.json": "Azure interfaces",
    "kubernetes.json": "Kubernetes listing",
    "reassignment.json": "placement",
}
"""File -> its reader in `hostile_readers`."""
RATES_HEADER = "cluster,topic,bytes_in_per_s,client_group,bytes_out_per_s"
CSV = {
    "racks.csv": ("racks of brokers", "broker,rack\n1,use1-az1\n2,use1-az2\n"),
    "owners.csv": ("owners", "topic,group,owner\nclicks,,shop\n,analytics,data\n"),
    "clients.csv": ("clients", "client_group,rack\nanalytics,use1-az1\n"),
    "addresses.csv": (
        "addresses",
        "address,rack,owner,from,to\n127.1.1.13,use1-az1,shop,,\n127.2.1.13,use1-az2,,,\n",
    ),
    "zones.csv": ("zones", "name,id\neurope-west1-b,z1\neurope-west1-c,z2\n"),
    "rates.csv": ("rates", f"{RATES_HEADER}\nshop,clicks,3,,\nshop,clicks,,analytics,5\n"),
}
"""File -> its reader, and its harmless text."""
PRICES = (
    "provider,region,level,kind,usd_per_gb_out,usd_per_gb_in,gb_bytes,valid_from,valid_to,source,"
    "is_checked\naws,*,zone,*,0.01,0.01,1073741824,2013-08-10,,https://example.com,true\n"
)
POLICY = """format = "rackwise.policy/1"
cost = { prices = %s }
audit = { ignore = [] }
[[topics]]
match = [%s]
leader_racks = [%s]
"""


def toml(text):
    """A basic string of TOML, in ASCII."""
    return '"' + "".join(each if each.isalnum() else f"\\U{ord(each):08x}" for each in text) + '"'


def properties(before):
    """Settings of a broker without a store; in ASCII."""
    name = "".join(each if each.isalnum() else f"\\u{ord(each) & 0xFFFF:04x}" for each in before)
    return f"{name}key={name}value\nlog.dirs={name}\nbroker.rack={name}\n"


def write_inputs(folder, before="", *, racks=True):
    """Write the inputs of all commands, with `before` in front of what their readers accept.

    `racks`: also in front of the racks. Without them commands get further, because a rack that
    cannot be printed is no rack to place by. Returns the places of the snapshot that are edited.
    """
    folder.mkdir()
    places = write_snapshots(folder, before, racks=racks)
    for name, reader in JSON.items():
        write_json(folder / name, INPUTS[name], partial(accepts, reader, json_bytes), before)
    write_json(folder / "vms.json", INPUTS["vms.json"], lambda _: False, before)
    for name, (reader, text) in {**CSV, "prices.csv": ("prices", PRICES)}.items():
        rows = [line.split(",") for line in text.splitlines()]
        if before:
            rows, _ = dressed_table(rows, partial(accepts, reader, csv_bytes), before)
        (folder / name).write_bytes(csv_bytes(rows))
    rack = before * racks
    words = (before + "prices.csv", before + "clicks", rack + "use1-az1")
    (folder / "policy.toml").write_text(POLICY % tuple(map(toml, words)))
    rates = (DEMO.parent / "producers" / "rates.json").read_text()
    (folder / "rates.json").write_text(rates.replace("use1-az", json.dumps(rack)[1:-1] + "use1-az"))
    (folder / "rackwise.toml").write_text(f"[clusters.{toml(before + 'prod')}]\nbootstrap = 5\n")
    (folder / "server.properties").write_text(properties(before))
    write_flows(folder / "flows", before)
    write_store(folder / "store", before)
    return places


def write_snapshots(folder, before, *, racks):
    for name, source in {"s.json": "snapshot", "earlier.json": "earlier"}.items():
        data = gzip.decompress((DEMO / f"{source}.json.gz").read_bytes())
        document = parse(data, where=source, error=InputError)

        def is_accepted(edited):
            is_rack = not racks and changed_racks(edited)
            with suppress(InputError):
                parse_snapshot(json_bytes(edited), where="s.json")
                return not is_rack
            return False

        places = write_json(folder / name, document, is_accepted, before)
    return places


def changed_racks(document):
    return any(HOSTILE[:2] in (each["rack"] or "") for each in document["brokers"]) or any(
        HOSTILE[:2] in (member["rack"] or "")
        for group in document["groups"]
        for member in group["members"]
    )


def write_json(path, document, is_accepted, before):
    places = []
    if before:
        document, places = dressed(document, is_accepted, before)
    path.write_bytes(json_bytes(document))
    return places


def write_flows(folder, before):
    """The flows of the demo in the canonical format, and every text of the last rows hostile."""
    folder.mkdir()
    rows = [
        {
            "cluster": "shop",
            "window_start": "2026-11-24T18:00:00Z",
            "window_s": 60,
            "kind": "fetch",
            "client_address": "127.1.1.13",
            "client_id": f"{before}c",
            "client_group": f"{before}analytics",
            "client_rack": "use1-az1",
            "broker_id": 0,
            "topic": "clicks",
            "partition": 0,
            "bytes": 1000,
            "source": f"{before}s",
            "emitter": f"{before}e",
        }
    ]
    hostile = ("cluster", "kind", "client_address", "client_rack", "topic")
    rows += [{**rows[0], name: before + rows[0][name]} for name in hostile] if before else []
    table = pa.Table.from_pylist(rows)
    moment = pa.array(
        [1_795_543_200_000_000 + number for number in range(len(rows))], pa.timestamp("us", "UTC")
    )
    at = table.schema.get_field_index("window_start")
    table = table.set_column(at, "window_start", moment)
    for name in ("window_s", "broker_id", "partition"):
        at = table.schema.get_field_index(name)
        table = table.set_column(at, name, table[name].cast(pa.int32()))
    with (folder / "part.parquet").open("wb") as file:  # Arrow takes no path that is no UTF-8
        parquet.write_table(table, file)


def write_store(folder, before):
    """h1 lives under 1; h7 had 7 and is gone; 4 is retired; replicas on 1 and 7."""
    nodes = Nodes(folder)
    for key, broker_id in (("h1", 1), ("h7", 7)):
        with suppress(InputError):
            nodes.mapping(before + key, broker_id)
    nodes.registration(1, f"{before}h1.example")
    nodes.owner(1, f"{before}h1")
    nodes.retired(4)
    nodes.topic(f"{before}orders", (1, 7), (7, 1))


def make_results(folder):
    """The outputs that other commands read: a plan and a result."""
    for words in (
        ("plan", "balance", *SNAPSHOT, "--out", "@p.json"),
        ("analyze", *BILL, *TABLES, "--out", "@bill"),
    ):
        code, _, err = called(*in_folder(words, folder))
        assert code in {0, 2}, err
