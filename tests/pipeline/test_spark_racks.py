"""Two real Spark workers in racks of their own read real brokers: which broker sends the bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from kafka_traffic import create
from rackwise.adapters.files.strict_json import parse
from rackwise.adapters.kafka import connect
from rackwise.adapters.sandbox import Sandbox
from rackwise.core.errors import InvalidConfig
from rackwise.pipeline.recipes import client_rack_options
from spark_clusters import SparkCluster

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(2000)]

TESTS = Path(__file__).parents[1]
EXAMPLES = TESTS.parent / "examples" / "consumers"
RACKS = ("az1", "az2", "az3")
FOREIGN = 2
TOPIC = "clicks"
PARTITIONS, RECORDS, SIZE = 6, 4000, 4096
CLIENT = "job"
PATIENCE_S = 900


@pytest.fixture(scope="module")
def proxies():
    sys.path.insert(0, str(EXAMPLES))
    from counting_proxy import CountingProxies

    with CountingProxies(len(RACKS)) as made:
        yield made


@pytest.fixture(scope="module")
def brokers(java_home, proxies, tmp_path_factory):
    folder = tmp_path_factory.mktemp("brokers")
    options = {"racks": RACKS, "proxies": proxies.ports, "folder": folder}
    with Sandbox.kraft(brokers=3, java_home=java_home, **options) as cluster:
        proxies.targets = cluster.proxied_ports
        rows = [[(p + k) % 3 for k in range(3)] for p in range(PARTITIONS)]
        with closing(connect(cluster.bootstrap)) as admin:
            create(admin, TOPIC, rows)
        fill(cluster.bootstrap, TOPIC, [n.to_bytes(4) * (SIZE // 4) for n in range(RECORDS)])
        yield cluster


def fill(bootstrap, topic, values):
    from kafka import KafkaProducer

    with closing(KafkaProducer(bootstrap_servers=bootstrap.split(","), acks="all")) as producer:
        for number, value in enumerate(values):
            producer.send(topic, value, partition=number % PARTITIONS)
        producer.flush()


@pytest.fixture(scope="module")
def workers(java_home, tmp_path_factory):
    folder = tmp_path_factory.mktemp("workers")
    with SparkCluster(RACKS[:2], java_home=java_home, folder=folder) as cluster:
        yield cluster


def run(*command, rack="az1"):
    """A driver of its own, as there is one Spark session a process; its exit code and document."""
    environment = {**os.environ, "CLIENT_RACK": rack}
    done = subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE_S,
    )
    assert done.returncode in {0, 2}, done.stderr
    return done.returncode, parse(done.stdout.encode(), where="stdout", error=InvalidConfig)


def bootstrap_of(proxies):
    return ",".join(f"127.0.0.1:{port}" for port in proxies.ports)


def read(proxies, workers, options):
    """Read the topic with these options; the share of the bytes that each broker sent."""
    given = {
        "master": workers.master,
        "conf": workers.conf,
        "options": {
            "kafka.bootstrap.servers": bootstrap_of(proxies),
            "kafka.client.id": CLIENT,
            "subscribe": TOPIC,
            "startingOffsets": "earliest",
            **options,
        },
    }
    with counted(proxies, CLIENT) as shares:
        _, told = run(str(TESTS / "rack_reading_job.py"), json.dumps(given))
    assert told == {"rows": RECORDS, "bytes": RECORDS * SIZE}
    return shares


@contextmanager
def counted(proxies, client):
    """The share of the bytes that each broker has sent a client in the block, told at its end."""
    before = [proxies.fetched(broker, client) for broker in range(3)]
    shares = []
    yield shares
    sent = [proxies.fetched(broker, client) - had for broker, had in enumerate(before)]
    assert sum(sent) > 4_000_000
    print("bytes sent by the brokers of", dict(zip(RACKS, sent, strict=True)))
    shares += [each / sum(sent) for each in sent]


@pytest.mark.usefixtures("brokers")
def test_each_executor_reads_from_its_own_rack(proxies, workers):
    """The law: the broker of a rack without executors sends next to nothing with the recipe."""
    without = read(proxies, workers, {})
    assert without[FOREIGN] >= 0.25
    shares = read(proxies, workers, client_rack_options())
    assert shares[FOREIGN] <= 0.05
    assert min(shares[:FOREIGN]) > 0.1


def conf_of(workers):
    return [f"--conf={key}={value}" for key, value in workers.conf.items()]


def command(brokers, workers, *more):
    server = ["--bootstrap-server", brokers.bootstrap, "--topic", TOPIC]
    start = ["-m", "rackwise.cli", "spark-check", "--json", "--master", workers.master]
    return [*start, *conf_of(workers), *server, *more]


def test_the_check_tells_two_executors_apart_and_finds_nothing(brokers, workers):
    code, told = run(*command(brokers, workers))
    assert (code, told["findings"], told["not_checked"]) == (0, [], {})
    assert told["racks"] == {"az1": 1, "az2": 1}
    assert [each["rack"] for each in told["executors"]] != ["az1", "az1"]
    assert {each["kafka_clients"] for each in told["executors"]} == {"3.9.2"}
    assert told["asked"] == 8


def test_a_constant_is_found_where_executors_differ(brokers, workers):
    code, told = run(*command(brokers, workers, "--kafka-option=kafka.client.rack=az9"))
    assert code == 2
    assert [each["rule"] for each in told["findings"]] == [
        "rack-is-constant",
        "reading-client-rack",
    ]
    assert told["findings"][0]["had"] == "az9 for executors in az1, az2"
