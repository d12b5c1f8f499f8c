"""Documents keep to their JSON Schemas, and broken ones do not."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from json_schemas import check, fault
from plans import plan_of
from rackwise.adapters.files import (
    SplitFile,
    SplitSources,
    parse_snapshot,
    plan_bytes,
    publish,
    rack_rates_text,
    snapshot_bytes,
    split_text,
)
from rackwise.adapters.files.journal import open_journal
from rackwise.core.applying.journal.codec import fields_of
from rackwise.core.applying.journal.lines import (
    BatchIntent,
    Begin,
    End,
    Go,
    Setting,
    ThrottleIntent,
)
from rackwise.core.applying.model import ThrottleKey
from rackwise.core.applying.throttle_configs import RATES
from rackwise.core.errors import InvalidConfig, InvalidPolicy, InvalidSnapshot
from rackwise.core.identity.model import KeyMapping, Owner
from rackwise.core.identity.nodes.nodes import (
    MissingMarker,
    format_claim,
    format_mapping,
    format_missing,
    format_owner,
)
from rackwise.core.json.strict import parse
from rackwise.core.model import (
    Broker,
    Cluster,
    Configs,
    Group,
    GroupMember,
    LogDir,
    Note,
    Partition,
    PartitionTable,
    Topic,
)
from rackwise.core.partitioner.split.rates import RackRates
from rackwise.core.policy import Policy, policy_of, policy_table
from rackwise.core.racks import Rack
from report.summaries import summary

SCHEMAS = Path(__file__).parents[3] / "docs" / "reference" / "schemas"


def schema_of(name):
    return read((SCHEMAS / f"{name}.schema.json").read_bytes())


def read(data):
    return parse(data, where="document", error=InvalidConfig)


def identity_node(kind, data):
    schema = schema_of("identity-nodes")
    return read(data), {"$ref": f"#/$defs/{kind}"}, schema


def test_the_nodes_of_an_identity_store():
    owner = Owner(broker_id=7, key="h7", incarnation=4, endpoints=frozenset({"b:1", "a:1"}))
    claim = format_claim(key="h7", host="h", pid=1, nonce="n", since_ms=9)
    mapping = KeyMapping(key="h", broker_id=7, extra={"later": [1]})
    check(*identity_node("MappingNode", format_mapping(mapping)))
    check(*identity_node("ClaimNode", claim))
    check(*identity_node("OwnerNode", format_owner(owner)))
    check(*identity_node("MissingNode", format_missing(MissingMarker(broker_id=7, leader=9))))


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("MappingNode", b'{"version":0,"broker.id":-1}'),
        ("MappingNode", b'{"version":0}'),
        ("ClaimNode", b'{"key":"","host":"h","pid":1,"nonce":"n","since_ms":9}'),
        ("OwnerNode", b'{"version":0,"key":"h","incarnation":1.5,"endpoints":[]}'),
        ("MissingNode", b'{"version":0,"leader":1,"last_key":null,"last_endpoints":[7]}'),
    ],
)
def test_what_is_no_node_of_an_identity_store(kind, data):
    assert fault(*identity_node(kind, data))


def test_a_plan():
    schema = schema_of("plan")
    document = read(plan_bytes(plan_of()))
    check(document, schema, schema)
    document["goal"] = {"name": "drain", "brokers": [7], "rebalance": False}
    check(document, schema, schema)


@pytest.mark.parametrize(
    ("key", "value"),
    [("format", "rackwise.plan/2"), ("sha256", "x"), ("moves", [{}]), ("goal", {"name": "x"})],
)
def test_what_is_no_plan(key, value):
    schema = schema_of("plan")
    document = read(plan_bytes(plan_of())) | {key: value}
    assert fault(document, schema, schema)
    assert fault(read(plan_bytes(plan_of())) | {"more": 1}, schema, schema)


CLUSTER = Cluster(
    cluster_id="c",
    taken_at="2026-11-21T08:30:00Z",
    brokers=(
        Broker(id=1, rack=Rack("/a"), addresses=("10.0.0.1",), log_dirs=(LogDir(path="/d"),)),
        Broker(id=2, host="b2", port=9092),
    ),
    topics={"orders": Topic(name="orders", min_insync_replicas=2, retention_bytes=-1)},
    partitions=PartitionTable.of(
        [Partition(topic="orders", partition=0, replicas=(1, 2), leader=1, isr=(1,), bytes=9)]
    ),
    groups=(
        Group(
            group="g",
            members=(
                GroupMember(
                    member_id="m", client_id="", topics=("orders",), partitions=(("orders", 0),)
                ),
            ),
        ),
    ),
    configs=Configs(brokers={1: {"leader.replication.throttled.rate": "9"}}, topics={"orders": {}}),
    notes=(Note(kind="torn", text="x"),),
)


def test_a_snapshot():
    schema = schema_of("snapshot")
    check(read(snapshot_bytes(CLUSTER)), schema, schema)


@pytest.mark.parametrize(
    ("place", "key", "value"),
    [
        ((), "format", "rackwise.snapshot/2"),
        ((), "source", "guess"),
        ((), "more", 1),
        (("brokers", 0), "port", 65536),
        (("brokers", 0), "rack", 5),
        (("topics", 0), "min_insync_replicas", 0),
        (("topics", 0), "partitions", None),
        (("topics", 0, "partitions", 0), "replicas", ["1"]),
        (("topics", 0, "partitions", 0), "partition", 0),
        (("groups", 0, "members", 0), "partitions", [["orders"]]),
        (("configs",), "brokers", {"01": {}}),
    ],
)
def test_what_is_no_snapshot(place, key, value):
    schema = schema_of("snapshot")
    document = read(snapshot_bytes(CLUSTER))
    inner = document
    for step in place:
        inner = inner[step]
    inner[key] = value
    assert fault(document, schema, schema)
    with pytest.raises(InvalidSnapshot):
        parse_snapshot(json.dumps(document).encode(), where="s.json")


RACK_RATES = RackRates({"a": 1.0, "b": 2.5}, {"a": 3.0})
SPLIT = SplitFile(
    topic="orders",
    eps=0.5,
    capacity="leaders",
    weights={"a": 1.0, "b": 1.0},
    rates=RACK_RATES,
    shares={"a": {"a": 0.25, "b": 0.75}},
    made_from=SplitSources(rates="5" * 64, snapshot="f" * 64),
    made_at_ms=7,
    valid_for_ms=9,
)


def documents(tmp_path):
    """Documents of the producers, and a manifest, by the name of their schema."""
    files = {"summary.json": b"{}"}
    publish(tmp_path, run_id="0123456789ab", files=files, tables="tables/runs/0123456789ab")
    return {
        "rates": read(rack_rates_text("orders", RACK_RATES, made_at_ms=7).encode()),
        "split": read(split_text(SPLIT).encode()),
        "manifest": read((tmp_path / "manifest.json").read_bytes()),
    }


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("rates", "format", "rackwise-split/1"),
        ("rates", "free_bytes_per_s", {"a": -1}),
        ("rates", "made_at_ms", 7.5),
        ("rates", "more", 1),
        ("split", "capacity", "disks"),
        ("split", "shares", {"a": {"a": 1.5}}),
        ("split", "made_from", {"rates": "F" * 64, "snapshot": "f" * 64}),
        ("split", "valid_for_ms", 0),
        ("manifest", "format", "rackwise.manifest/2"),
        ("manifest", "files", {"a": {"bytes": -1, "sha256": ""}}),
        ("manifest", "tables", None),
    ],
)
def test_documents_of_producers_and_a_manifest(tmp_path, name, key, value):
    schema, document = schema_of(name), documents(tmp_path)[name]
    check(document, schema, schema)
    assert fault(document | {key: value}, schema, schema)


FULL_POLICY = """
format = "rackwise.policy/1"
racks = { levels = ["region", "zone"] }
brokers = { drain = [7], weights = { 4 = 2 } }
balance = { replicas = { slack = 1 } }
audit = { rack_loss = "off" }
[[topics]]
match = ["*"]
spread = { region = "off", zone = { at_least = 2 } }
pin = { 0 = [4] }
[[topics]]
match = ["a"]
count = [{ rack = "/eu", exactly = 2 }, { rack = "/us", max = 1 }]
"""


def test_a_policy():
    schema = schema_of("policy")
    table = tomllib.loads(FULL_POLICY)
    check(table, schema, schema)
    check(policy_table(policy_of(table)), schema, schema)
    check(policy_table(Policy()), schema, schema)


@pytest.mark.parametrize(
    "wrong",
    [
        {"format": "rackwise.policy/2"},
        {"more": 1},
        {"brokers": {"weights": {"x": 1}}},
        {"brokers": {"weights": {"4": 0}}},
        {"topics": [{}]},
        {"topics": [{"match": ["*"], "spread": {"zone": "evne"}}]},
        {"topics": [{"match": ["*"], "replication": None}]},
    ],
)
def test_what_is_no_policy(wrong):
    schema = schema_of("policy")
    table = {"format": "rackwise.policy/1"} | wrong
    assert fault(table, schema, schema)
    with pytest.raises(InvalidPolicy):
        policy_of(table)


@pytest.mark.parametrize("case", [{}, {"has_traffic": False}, {"clusters": 3, "days": 2}])
def test_a_summary(case):
    schema = schema_of("summary")
    check(summary(**case), schema, schema)
    assert fault(summary(**case) | {"levels": 1}, schema, schema)
    assert fault(summary(**case) | {"format": "rackwise.plan/1"}, schema, schema)


def test_the_lines_of_a_journal(tmp_path):
    schema = schema_of("journal")
    plan = "5f" * 32
    journal = open_journal(tmp_path, plan)
    key = ThrottleKey("broker", "4", RATES[0])
    for line in (
        Begin(plan=plan, mode="apply", throttle=None, dropped=(("orders", 4),)),
        ThrottleIntent(settings=(Setting(key=key, prior=None, ours="9"),)),
        BatchIntent(batch=1, act="move", partitions=(("orders", 5),)),
        Go(),
        End(done=1, failed=0, skipped=0, dropped=1, stop=None),
    ):
        fields = fields_of(line)
        journal.append(fields.pop("type"), fields, at="2026-11-21T08:30:00Z")
    journal.close()
    lines = [read(line) for line in journal.path.read_bytes().splitlines()]
    assert len(lines) == 5
    for line in lines:
        check(line, schema, schema)
        assert fault(line | {"why": 1}, schema, schema)
