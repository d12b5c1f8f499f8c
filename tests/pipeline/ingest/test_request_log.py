"""Request logs of real brokers, and malformed lines: the outcome of each row."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from flow_rows import BROKER, SECOND, THIRD, buckets_of, fleet_of
from rackwise.core.errors import InvalidFlows
from rackwise.core.model import Topic
from rackwise.core.racks import Rack
from small_fleets import DEMO_READERS, cluster, group

pytestmark = pytest.mark.spark

GOLDEN = Path(__file__).parents[2] / "golden"
LOCALHOST = "127.0.0.1"
AT = datetime(2026, 11, 1, 12, 0, 0, 105_000, tzinfo=UTC)
ORDERS_ID = "21xo6C0xS2u_RLM6rnjIwA"
CLIENT = "10.1.5.20"
B = "/eu/b"


def read(spark, folder, fleet, **options):
    """Facts of the request logs in a folder, with names instead of codes."""
    from rackwise.pipeline.ingest.formats import flow_facts, read_flows

    rows = read_flows(spark, [str(folder)], "request-log")
    facts = flow_facts(rows, fleet, buckets_of(fleet), format="request-log", **options)
    return facts.collect()


def values_of(fleet, fact):
    """Kind, topic, partition, bytes, broker, receiving broker and the client's rack of a fact."""
    from rackwise.pipeline.schemas import KINDS

    names = {code: name for name, code in fleet.codes.topics.items()}
    racks = {code: name for name, code in fleet.codes.racks.items()}
    brokers = {code: id_ for (_, id_), code in fleet.codes.brokers.items()} | {0: None}
    return (
        KINDS[fact.kind],
        names.get(fact.topic),
        *(fact.partition, fact.bytes, brokers[fact.broker], brokers[fact.peer]),
        racks.get(fact.client_rack),
    )


BROKERS = {
    "3.9.2": ({0: 35645, 1: 49039}, "BJpVTaGXSc-2ZuKHFdN7Mw", 16312, 22041, 1),
    "4.3.1": ({0: 59681, 1: 41899}, ORDERS_ID, 16313, 22151, 2),
}
"""Values in each file: ports, the topic id, bytes produced and fetched, controllers."""


@pytest.mark.parametrize("version", BROKERS)
@pytest.mark.connect
def test_lines_of_real_brokers(spark, tmp_path, version):
    ports, topic_id, written, fetched, strangers = BROKERS[version]
    small = cluster({0: "a", 1: "b"}, {"orders": ((0, 1), (1, 0))})
    brokers = tuple(
        replace(broker, host=LOCALHOST, port=ports[broker.id], addresses=(LOCALHOST,))
        for broker in small.brokers
    )
    orders = {"orders": Topic(name="orders", id=topic_id)}
    fleet = fleet_of({"demo.json": replace(small, brokers=brokers, topics=orders)})
    log = (GOLDEN / f"request-log.{version}.log").read_bytes()
    (tmp_path / "server.log").write_bytes(log)
    facts = read(spark, tmp_path, fleet)
    assert Counter(fact.reason for fact in facts) == Counter(
        {"kept": 5, "nodata": 2, "other-request": 1, "no-bytes": strangers}
        | ({"not-kafka": 2} if version == "4.3.1" else {})
    )
    kept = [fact for fact in facts if fact.reason == "kept"]
    assert sorted(map(str, (values_of(fleet, fact) for fact in kept))) == sorted(
        map(
            str,
            [
                ("replicate", "orders", 0, 0, 0, 1, None),
                ("replicate", "orders", 1, written, 1, 0, None),
                ("produce", "orders", 1, written, 1, None, None),
                ("fetch", "orders", 0, 0, 0, None, "b"),
                ("fetch", "orders", 1, fetched, 1, None, "b"),
            ],
        )
    )
    assert {fact.source for fact in kept} == {4}
    assert {str(fact.window_start.astimezone(UTC).date()) for fact in kept} == {"2026-11-22"}


def line(
    *,
    at="2026-11-01 12:00:00,105",
    api=0,
    request=None,
    response=None,
    connection=f"{BROKER}:9092-{CLIENT}:40000-0-3",
    client_id="web-1",
    principal="User:ANONYMOUS",
):
    """A line as brokers write it; by default a Produce of 100 bytes to orders-2."""
    document = {
        "requestHeader": {"requestApiKey": api, "correlationId": 7, "clientId": client_id},
        "request": produce(("orders", 2, 100)) if request is None else request,
        "response": {} if response is None else response,
        "connection": connection,
        "principal": principal,
    }
    text = json.dumps(document, ensure_ascii=False)
    return f"[{at}] DEBUG Completed request:{text} (kafka.request.logger)"


def produce(*sizes):
    return {
        "topicData": [
            {"name": topic, "partitionData": [{"index": partition, "recordsSizeInBytes": size}]}
            for topic, partition, size in sizes
        ]
    }


def fetch(*sizes, replica=-1, rack="", key="topic", **more):
    """A Fetch of the oldest version with `replicaId`; without it if `replica` is None."""
    topics = [
        {key: topic, "partitions": [{"partitionIndex": partition, "recordsSizeInBytes": size}]}
        for topic, partition, size in sizes
    ]
    request = {"rackId": rack} | ({} if replica is None else {"replicaId": replica})
    return line(api=1, request=request, response={"responses": topics}, **more)


MALFORMED = [
    (line()[:-40], "json"),
    (line(request=produce(("orders", 0, "many"))), "json"),
    (line(request={"topicData": "none"}), "json"),
    ("Completed request:", "json"),
    ("Completed request:{}", "json"),
    (line(at="yesterday"), "time"),
    (line(at="2026-13-01 12:00:00"), "time"),
    (line(connection="10.0.0.1:9092"), "connection"),
    (line(connection=""), "connection"),
    (line(client_id="\udcff"), "charset"),
    (line(client_id="x" * (4 << 20)), "line"),
    (line(request=produce(("orders", 0, -1))), "bytes"),
    (line(request=produce(("orders", -1, 1))), "partition"),
    (line(connection=f"{BROKER}:9092-nowhere:40000-0-3"), "client_address"),
    (fetch(("orders", 0, 1), rack="/eu//a"), "client_rack"),
    (fetch(("orders", 0, 1), replica=9), "peer_broker_id"),
]
FATES = [
    (line(api=3), "other-request"),
    (fetch(), "nodata"),
    (line(request=""), "no-bytes"),
    (line(api=1, request={"rackId": "b"}, response=""), "no-bytes"),
    (line(api=1, request="", response={"responses": []}), "no-bytes"),
    (line(request={"topicData": []}), "no-bytes"),
    (line(request=produce(("orders", 0, None))), "no-bytes"),
    (line(connection=f"10.9.9.9:9092-{CLIENT}:40000-0-3"), "not-kafka"),
    (line(at="2026-10-31 23:59:59,999"), "other-day"),
    (line(), "kept"),
]


@pytest.fixture(scope="module")
def fleet():
    """Three brokers, a topic id, and a client id that is in two groups."""
    both = ("both", None, None, [("orders", 1)])
    groups = [DEMO_READERS, group("first", both), group("second", both)]
    small = cluster(groups=groups)
    orders = {"orders": replace(small.topics["orders"], id=ORDERS_ID)}
    return fleet_of({"demo.json": replace(small, topics=orders)})


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("requests")
    texts = [text for text, _ in (*MALFORMED, *FATES)]
    data = "\n".join(["INFO started", *texts, "", "bye"]).encode(errors="surrogateescape")
    (folder / "server.log.gz").write_bytes(gzip.compress(data))
    return folder


@pytest.mark.connect
def test_every_line_has_its_outcome(spark, fleet, written):
    facts = read(spark, written, fleet, days=(date(2026, 11, 1), date(2026, 11, 1)))
    wanted = [f"malformed:{what}" for _, what in MALFORMED] + [fate for _, fate in FATES]
    assert Counter(fact.reason for fact in facts) == Counter(wanted)


def test_racks_that_only_clients_have_get_codes(spark, tmp_path):
    from rackwise.pipeline.ingest.formats import read_flows
    from rackwise.pipeline.ingest.names import FoundNames, find_names

    lines = [line(), fetch(("orders", 0, 1), rack="/mars"), fetch(("orders", 0, 1), rack="/eu//a")]
    (tmp_path / "server.log").write_text("\n".join(lines))
    rows = read_flows(spark, [str(tmp_path)], "request-log")
    assert find_names(rows) == FoundNames(racks=(Rack("/mars"),))


@pytest.mark.long
def test_malformed_lines_have_their_line_number(spark, fleet, written):
    from rackwise.pipeline.ingest.files import flow_files
    from rackwise.pipeline.ingest.formats import flow_facts, read_bronze
    from rackwise.pipeline.ingest.silver import quarantined_rows

    files = flow_files(spark, [str(written)])
    rows = read_bronze(spark, files, "request-log")
    facts = flow_facts(rows, fleet, buckets_of(fleet), format="request-log")
    found = quarantined_rows(facts, files).collect()
    assert sorted((row.row_offset, row.reason) for row in found) == [
        (number, f"malformed:{what}") for number, (_, what) in enumerate(MALFORMED, start=2)
    ]
    assert all("Completed request:" in row.raw and len(row.raw) <= 4096 for row in found)


SIX = "2001:db8:0:42::7"
KEPT = [
    (line(), ("produce", "orders", 2, 100, 1, None, "/eu/c")),
    (
        line(client_id="a\u2028Completed request:{}"),
        ("produce", "orders", 2, 100, 1, None, "/eu/c"),
    ),
    (line(connection=f"{SECOND}:9092-{SIX}:40000-5"), ("produce", "orders", 2, 100, 2, None, B)),
    (
        line(connection=f"{THIRD}:19093-{CLIENT}:1-0-3"),
        ("produce", "orders", 2, 100, 3, None, "/eu/c"),
    ),
    (line(request=produce(("odd", 0, 5))), ("produce", None, 0, 5, 1, None, "/eu/c")),
    (fetch(("orders", 0, 7), rack=B, client_id="m1"), ("fetch", "orders", 0, 7, 1, None, B)),
    (fetch(("orders", 0, 7), replica=None), ("fetch", "orders", 0, 7, 1, None, "/eu/c")),
    (
        fetch((ORDERS_ID, 1, 9), key="topicId", client_id="both"),
        ("fetch", "orders", 1, 9, 1, None, "/eu/c"),
    ),
    (fetch(("orders", 1, 9), replica=3, rack=B), ("replicate", "orders", 1, 9, 1, 3, None)),
    (
        fetch(("orders", 1, 9), replica=-2, client_id="web-2", principal="User:shop"),
        ("fetch", "orders", 1, 9, 1, None, "/eu/a"),
    ),
    (line(principal="User:shop"), ("produce", "orders", 2, 100, 1, None, B)),
    (line(principal=None), ("produce", "orders", 2, 100, 1, None, "/eu/c")),
]


TIMES = [
    ("2026-11-01 12:00:00", AT.replace(microsecond=0)),
    ("2026-11-01T12:00:00.105Z", AT),
    ("2026-11-01T13:00:00,105+01:00", AT),
    ("2026-11-01 05:30:00.105-0630", AT),
]
"""Times without a zone are UTC, independent of the session's time zone."""


@pytest.fixture(scope="module")
def kept(spark, fleet, tmp_path_factory):
    """The facts of the lines above, each from a separate file, in order."""
    folder = tmp_path_factory.mktemp("kept")
    texts = [*(text for text, _ in KEPT), *(line(at=text) for text, _ in TIMES)]
    for place, text in enumerate(texts):
        (folder / f"server-{place:02}.log").write_text(f"{text}\n", newline="\n")
    clients = {"client_id": {"web-2": Rack("/eu/a")}, "principal": {"User:shop": Rack(B)}}
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kathmandu")
    try:
        facts = read(spark, folder, fleet, clients=clients)
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    return sorted(facts, key=lambda fact: fact.source_file)


@pytest.mark.parametrize("place", range(len(KEPT)))
def test_values_of_a_line(fleet, kept, place):
    text, wanted = KEPT[place]
    assert len(kept) == len(KEPT) + len(TIMES)
    fact = kept[place]
    assert (fact.reason, values_of(fleet, fact)) == ("kept", wanted)
    assert (fact.window_start.astimezone(UTC), fact.source, fact.quality) == (AT, 4, 0)
    groups = {code: name for name, code in fleet.codes.clients.items()}
    assert groups.get(fact.client) == ("readers" if '"m1"' in text else None)


def test_times_are_instants(kept):
    instants = [fact.window_start.astimezone(UTC) for fact in kept[len(KEPT) :]]
    assert instants == [instant for _, instant in TIMES]


def test_an_address_belongs_to_the_broker_of_that_hour(spark, tmp_path):
    """A history: at 13:00 broker 2 has the address that broker 1 had before."""

    def snapshot_at(taken_at, addresses):
        small = cluster(taken_at=taken_at)
        brokers = (replace(broker, addresses=(addresses[broker.id],)) for broker in small.brokers)
        return replace(small, brokers=tuple(brokers))

    before = snapshot_at("2026-11-01T11:00:00Z", {1: BROKER, 2: SECOND, 3: THIRD})
    after = snapshot_at("2026-11-01T13:00:00Z", {1: "10.0.0.9", 2: BROKER, 3: THIRD})
    fleet = fleet_of({"a.json": before, "b.json": after})
    hours = [line(at=f"2026-11-01 {hour}:30:00") for hour in (12, 13)]
    third = f"{THIRD}:1-{CLIENT}:40000-0-3"
    hours.append(
        line(at="2026-11-01 13:30:00", connection=third, request=produce(("orders", 0, 7)))
    )
    (tmp_path / "server.log").write_text("\n".join(hours))
    facts = sorted(read(spark, tmp_path, fleet), key=lambda fact: (fact.bytes, fact.window_start))
    assert [values_of(fleet, fact)[4] for fact in facts] == [3, 1, 2]


def test_each_partition_of_a_request_is_a_row(spark, fleet, tmp_path):
    many = fetch(("orders", 0, 1), ("orders", 1, 2), ("orders", 2, 4), ("odd", 0, 8))
    (tmp_path / "server.log").write_text(f"{many}\n{many}\n")
    once = read(spark, tmp_path, fleet, dedupe="exact")
    assert sorted(fact.bytes for fact in once) == [1, 1, 2, 2, 4, 4, 8, 8]
    assert Counter(fact.reason for fact in once) == {"kept": 4, "duplicate-row": 4}


def test_a_broken_file_is_one_row_and_the_others_are_read(spark, fleet, tmp_path):
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(line().encode())[:-9])
    (tmp_path / "b.log").write_text(line())
    facts = read(spark, tmp_path, fleet)
    assert sorted(fact.reason for fact in facts) == ["kept", "malformed:file"]


def test_a_log_without_requests_is_rejected(spark, tmp_path):
    from rackwise.pipeline.ingest.formats import read_flows

    (tmp_path / "server.log").write_text("[2026-11-01 12:00:00,105] INFO started\n")
    with pytest.raises(InvalidFlows, match='expected lines with "Completed request:"') as caught:
        read_flows(spark, [str(tmp_path)], "request-log")
    assert caught.value.hint.endswith("kafka.request.logger is set to DEBUG")
