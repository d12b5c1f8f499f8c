"""A bill of real brokers from two snapshots: against proxies that count, and against flow logs."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack, closing
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pytest
from kafka import KafkaProducer, TopicPartition
from pyarrow import parquet

from kafka_servers import KAFKA_VERSION
from kafka_traffic import consumer, create, delete
from rackwise.adapters.files import read_published, read_snapshot
from rackwise.adapters.kafka import connect
from rackwise.adapters.sandbox import Sandbox
from refusals import called

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.spark,
    pytest.mark.long,
    pytest.mark.timeout(900),
]

EXAMPLES = Path(__file__).parents[3] / "examples" / "consumers"
RACKS = ("a", "b", "c")
TOPICS = {
    "orders": [[0, 1, 2], [1, 2, 0], [2, 0, 1]],
    "payments": [[0, 1], [1, 2], [2, 0]],
    "zipped": [[1, 0], [2, 1]],
    "table": [[0, 2], [1, 0]],
    "again": [[2, 1]],
}
CONFIGS = {"table": {"cleanup_policy": "compact"}}
GROUPS = {"billing": ("orders", "payments", "zipped"), "fraud": ("payments", "table")}
"""Group -> its topics; a group's one member has the group's name as client id."""
GROUP_RACKS = {"billing": "b", "fraud": None}
SIZE = 2000
BEFORE, BETWEEN = 20, 400
"""Records per partition before the first snapshot, and between the two."""


@pytest.fixture(scope="module")
def proxies():
    sys.path.insert(0, str(EXAMPLES))
    from counting_proxy import CountingProxies

    with CountingProxies(len(RACKS)) as made:
        yield made


@pytest.fixture(scope="module")
def brokers(java_home, proxies, tmp_path_factory):
    options = {"racks": RACKS, "proxies": proxies.ports, "java_home": java_home}
    folder = tmp_path_factory.mktemp("brokers")
    with Sandbox.kraft(version=KAFKA_VERSION, brokers=3, folder=folder, **options) as cluster:
        proxies.targets = cluster.proxied_ports
        yield cluster


class Reader(threading.Thread):
    """Reads the topics of a group and commits what it has read, until it is closed."""

    def __init__(self, member):
        super().__init__(daemon=True)
        self._member, self._is_over = member, threading.Event()
        self.positions = {}

    def run(self):
        while not self._is_over.is_set():
            self._member.poll(timeout_ms=200)
            self._member.commit()
            self.positions = {
                each: self._member.position(each) for each in self._member.assignment()
            }

    def close(self):
        self._is_over.set()
        self.join(60)


def write(bootstrap, topics, count):
    """Write so many records to each partition: transactions, gzip, keys; wait for all acks."""
    for name in topics:
        options = {"compression_type": "gzip"} if name == "zipped" else {}
        if name == "payments":
            options["transactional_id"] = "payments"
        sender = KafkaProducer(
            bootstrap_servers=bootstrap.split(","),
            acks="all",
            linger_ms=20,
            client_id="writer",
            **options,
        )
        with closing(sender):
            if name == "payments":
                sender.init_transactions()
                sender.begin_transaction()
            for partition in range(len(TOPICS[name])):
                for number in range(count):
                    value = bytes((number * i) % 251 for i in range(SIZE))
                    key = str(number % 7).encode()
                    sender.send(name, value, key=key, partition=partition)
            if name == "payments":
                sender.commit_transaction()
            sender.flush()


def log_bytes(cluster, topics=TOPICS):
    """(topic, partition, broker) -> bytes of its log segments on disk."""
    return {
        (name, number, broker): sum(
            file.stat().st_size
            for file in (cluster.folder / f"broker-{broker}").rglob(f"{name}-{number}/*.log")
        )
        for name in topics
        for number, replicas in enumerate(TOPICS[name])
        for broker in replicas
    }


def wait_until_read(readers, admin):
    """Wait until every reader has committed the end of every partition of its topics."""

    def is_done(group):
        wanted = [
            TopicPartition(name, number)
            for name in GROUPS[group]
            for number in range(len(TOPICS[name]))
        ]
        ends = ends_of(admin, wanted)
        return all(readers[group].positions.get(each, -1) >= ends[each] for each in wanted)

    limit = time.monotonic() + 120
    while not all(is_done(group) for group in GROUPS):
        assert time.monotonic() < limit, {g: readers[g].positions for g in GROUPS}
        time.sleep(0.3)
    time.sleep(1)  # the commits of the last positions


def ends_of(admin, wanted):
    from kafka import KafkaConsumer

    with closing(KafkaConsumer(bootstrap_servers=admin.config["bootstrap_servers"])) as asking:
        return asking.end_offsets(wanted)


class Looks:
    """Two snapshots, and what was counted between them."""

    def __init__(self, cluster, proxies, folder):
        self.folder = folder
        self._cluster, self._proxies = cluster, proxies
        self.files = []
        self._counted = []

    def look(self):
        number = len(self.files)
        file = self.folder / "snapshots" / f"{number}.json.gz"
        file.parent.mkdir(exist_ok=True)
        words = ("--bootstrap-server", self._cluster.bootstrap, "--name", "real", "--out", file)
        code, _, err = called("snapshot", *words)
        assert code == 0, err
        self.files.append(file)
        proxies = self._proxies
        self._counted.append(
            {
                "logs": log_bytes(self._cluster),
                "fetched": {
                    (broker, group): proxies.fetched(broker, group)
                    for broker in range(3)
                    for group in GROUPS
                },
                "produced": {broker: proxies.produced(broker, "writer") for broker in range(3)},
            }
        )

    def between(self, what):
        """Key -> what was counted between the two snapshots."""
        first, second = (each[what] for each in self._counted)
        return {key: second[key] - first[key] for key in second}

    def written(self):
        """Topic -> bytes that its leaders have stored."""
        found = Counter()
        for (name, number, broker), grown in self.between("logs").items():
            if TOPICS[name][number][0] == broker:
                found[name] += grown
        return found

    def copied(self):
        """(leader, follower) -> bytes that the follower has stored."""
        found = Counter()
        for (name, number, broker), grown in self.between("logs").items():
            if TOPICS[name][number][0] != broker:
                found[TOPICS[name][number][0], broker] += grown
        return found


@pytest.fixture(scope="module")
def looks(brokers, proxies, tmp_path_factory):
    bootstrap = ",".join(f"127.0.0.1:{port}" for port in proxies.ports)
    made = Looks(brokers, proxies, tmp_path_factory.mktemp("looks"))
    with ExitStack() as opened:
        admin = opened.enter_context(closing(connect(brokers.bootstrap)))
        for name, placement in TOPICS.items():
            create(admin, name, placement, **CONFIGS.get(name, {}))
        write(bootstrap, TOPICS, BEFORE)
        readers = {}
        for group, topics in GROUPS.items():
            options = {"client_id": group, "rack": GROUP_RACKS[group]}
            member = opened.enter_context(consumer(bootstrap, group, topics, **options))
            readers[group] = Reader(member)
        for reader in readers.values():
            reader.start()
            opened.callback(reader.close)
        wait_until_read(readers, admin)
        made.look()
        delete(admin, "again")
        create(admin, "again", TOPICS["again"])
        write(bootstrap, TOPICS, BETWEEN)
        wait_until_read(readers, admin)
        made.look()
    return made


def analyzed(looks, name, *words):
    """The rows of the table cross_rack, and the summary."""
    out = looks.folder / name
    code, _, err = called(
        *("analyze", looks.files[0].parent, *words, "--provider", "aws"),
        *("--extrapolate", "--no-plans", "--out", out),
    )
    assert code == 0, err
    published = read_published(out)
    table = out / published.tables / "gold" / "cross_rack"
    return parquet.read_table(table).to_pylist(), published.summary


def sums(rows, *names):
    """Bytes by these columns."""
    found = Counter()
    for row in rows:
        found[tuple(row[name] for name in names)] += row["bytes"]
    return found


def test_two_snapshots_alone_give_a_bill_by_topic_and_group(spark, looks):
    assert spark.version
    rows, _ = analyzed(looks, "metered")
    kinds = sums(rows, "kind", "topic")
    for name, grown in looks.written().items():
        if name == "again":  # recreated: nothing is known, and nothing is 0
            assert ("produce", name) not in kinds
            continue
        assert kinds["produce", name] == pytest.approx(grown, rel=0.01), name
        assert kinds["replicate", name] == pytest.approx(
            grown * (len(TOPICS[name][0]) - 1), rel=0.01
        ), name
    exact = {row["topic"] for row in rows if row["quality"] == "metered"}
    assert exact == {"orders", "payments", "zipped"}
    fetched = looks.between("fetched")
    by_rack = sums([row for row in rows if row["kind"] == "fetch"], "client_group", "from_rack")
    for (broker, group), bytes_ in fetched.items():
        assert by_rack[group, RACKS[broker]] == pytest.approx(bytes_, rel=0.02, abs=20_000), group
    assert {row["to_rack"] for row in rows if row["client_group"] == "billing"} == {"b"}


def test_flow_logs_get_topics_and_groups_and_agree_with_the_snapshots(spark, looks):
    assert spark.version
    start = datetime.fromisoformat(read_snapshot(looks.files[0]).taken_at)
    end = datetime.fromisoformat(read_snapshot(looks.files[1]).taken_at)
    row = {"cluster": "real", "window_start": start, "window_s": int((end - start).total_seconds())}
    row |= {"client_address": "127.0.0.1", "peer_broker_id": None, "source": "flow log"}
    flows = [
        row | {"kind": "produce", "broker_id": broker, "bytes": bytes_}
        for broker, bytes_ in looks.between("produced").items()
    ]
    fetched = Counter()
    for (broker, _), bytes_ in looks.between("fetched").items():
        fetched[broker] += bytes_
    flows += [row | {"kind": "fetch", "broker_id": id_, "bytes": n} for id_, n in fetched.items()]
    flows += [
        row | {"kind": "replicate", "broker_id": a, "peer_broker_id": b, "bytes": bytes_}
        for (a, b), bytes_ in looks.copied().items()
    ]
    schema = pa.schema(
        [
            ("cluster", pa.string()),
            ("window_start", pa.timestamp("us", tz="UTC")),
            ("window_s", pa.int32()),
            ("client_address", pa.string()),
            ("peer_broker_id", pa.int32()),
            ("kind", pa.string()),
            ("broker_id", pa.int32()),
            ("bytes", pa.int64()),
            ("source", pa.string()),
        ]
    )
    (looks.folder / "flows").mkdir()
    table = pa.Table.from_pylist(flows, schema=schema)
    parquet.write_table(table, looks.folder / "flows" / "proxies.parquet")
    rows, summary = analyzed(
        looks, "flows-bill", "--flows", looks.folder / "flows", "--flow-format", "canonical"
    )
    assert sum(each["bytes"] for each in rows) == sum(each["bytes"] for each in flows)
    named = sum(each["bytes"] for each in rows if each["topic"] != "(unknown)")
    assert named >= 0.95 * sum(each["bytes"] for each in rows)
    groups = sums([each for each in rows if each["kind"] == "fetch"], "client_group")
    for group in GROUPS:
        counted = sum(n for (_, name), n in looks.between("fetched").items() if name == group)
        assert groups[(group,)] == pytest.approx(counted, rel=0.05), group
    assert summary["reconciliation"]["ratio"] == pytest.approx(1, rel=0.1)
