"""Two Spark workers in two racks read from real brokers; counts the bytes of each broker."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from kafka_servers import KAFKA_VERSION
from kafka_traffic import create
from rackwise.adapters.kafka import connect
from rackwise.adapters.sandbox import Sandbox, resolve
from rackwise.core.errors import InvalidConfig
from rackwise.core.json.strict import parse
from rackwise.pipeline.spark_racks.check import AUTOMATIC
from rackwise.pipeline.spark_racks.recipes import client_rack_options
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
    with Sandbox.kraft(version=KAFKA_VERSION, brokers=3, java_home=java_home, **options) as cluster:
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
    """Exit code and document of a command; a new process, because it has one Spark session."""
    environment = {name: value for name, value in os.environ.items() if name != "CLIENT_RACK"}
    if rack is not None:
        environment["CLIENT_RACK"] = rack
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
    """Read the topic with these options; returns the share of the bytes that each broker sent."""
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
    with counted(proxies.fetched, CLIENT) as shares:
        _, document = run(str(TESTS / "rack_reading_job.py"), json.dumps(given))
    assert document == {"rows": RECORDS, "bytes": RECORDS * SIZE}
    return shares


@contextmanager
def counted(count, client):
    """The share of a client's bytes on each broker during the block; filled at its end."""
    before = [count(broker, client) for broker in range(3)]
    shares = []
    yield shares
    bytes_ = [count(broker, client) - had for broker, had in enumerate(before)]
    assert sum(bytes_) > 4_000_000
    print("bytes by broker", dict(zip(RACKS, bytes_, strict=True)))
    shares += [each / sum(bytes_) for each in bytes_]


@pytest.mark.usefixtures("brokers")
def test_each_executor_reads_from_its_own_rack(proxies, workers):
    """Law: with the recipe, the broker of a rack without executors sends almost no bytes."""
    without = read(proxies, workers, {})
    assert without[FOREIGN] >= 0.25
    shares = read(proxies, workers, client_rack_options())
    assert shares[FOREIGN] <= 0.05
    assert min(shares[:FOREIGN]) > 0.1


@pytest.mark.usefixtures("brokers")
def test_each_task_of_the_connector_in_python_reads_from_its_executors_rack(
    proxies, workers, tmp_path
):
    """The same law; the rack of the driver, az3, has no effect."""
    place = ["--out", str(tmp_path / "out"), "--checkpoint", str(tmp_path / "mark")]
    start = ["-m", "rackwise.cli", "--json", "stream", "run", "--connector", "python", *place]
    server = ["--bootstrap-server", bootstrap_of(proxies), "--topic", TOPIC]
    spark = ["--master", workers.master, *conf_of(workers)]
    with counted(proxies.fetched, "rackwise") as shares:
        code, document = run(*start, *server, *spark, rack="az3")
    assert (code, document["messages"]) == (0, RECORDS)
    assert shares[FOREIGN] <= 0.05
    assert min(shares[:FOREIGN]) > 0.1


def test_each_task_of_the_sink_writes_to_leaders_in_its_executors_rack(proxies, workers, brokers):
    """The same law for written bytes; the columns are those of Spark's connector."""
    with closing(connect(brokers.bootstrap)) as admin:
        create(admin, "sunk", [[(p + k) % 3 for k in range(3)] for p in range(PARTITIONS)])
    given = {
        "master": workers.master,
        "conf": workers.conf,
        "bootstrap": bootstrap_of(proxies),
        "topic": "sunk",
        "rows": 4000,
        "size": SIZE,
        "partitions": 8,
    }
    with counted(proxies.produced, "rackwise") as shares:
        _, document = run(str(TESTS / "rack_writing_job.py"), json.dumps(given), rack="az3")
    assert document == {"rows": 4000, "is_same": True}
    assert shares[FOREIGN] <= 0.05
    assert min(shares[:FOREIGN]) > 0.1


def conf_of(workers):
    return [f"--conf={key}={value}" for key, value in workers.conf.items()]


def command(brokers, workers, *more):
    server = ["--bootstrap-server", brokers.bootstrap, "--topic", TOPIC]
    start = ["-m", "rackwise.cli", "spark-check", "--json", "--master", workers.master]
    return [*start, *conf_of(workers), *server, *more]


def test_the_check_sees_two_executors_and_has_no_findings(brokers, workers):
    code, document = run(*command(brokers, workers))
    assert (code, document["findings"], document["not_checked"]) == (0, [], {})
    assert document["racks"] == {"az1": 1, "az2": 1}
    assert [each["rack"] for each in document["executors"]] != ["az1", "az1"]
    assert {each["kafka_clients"] for each in document["executors"]} == {"3.9.2"}
    assert document["asked"] == 8


def test_a_constant_is_a_finding_if_executors_differ(brokers, workers):
    code, document = run(*command(brokers, workers, "--kafka-option=kafka.client.rack=az9"))
    assert code == 2
    assert [each["rule"] for each in document["findings"]] == [
        "rack-is-constant",
        "reading-client-rack",
    ]
    assert document["findings"][0]["had"] == "az9 for executors in az1, az2"


def test_a_driver_without_the_variable_is_reported(brokers, workers):
    code, document = run(*command(brokers, workers), rack=None)
    assert code == 2
    (only,) = document["findings"]
    assert (only["rule"], only["where"], only["severity"]) == ("variable-unset", "driver", "info")
    assert document["racks"] == {"az1": 1, "az2": 1}


def test_a_java_that_forbids_the_provider_is_reported(brokers, workers):
    forbidding = f"spark.executor.extraJavaOptions=-D{AUTOMATIC}=none"
    code, document = run(*command(brokers, workers, "--conf", forbidding))
    assert code == 2
    assert [each["rule"] for each in document["findings"]] == ["providers-disabled"]
    assert document["findings"][0]["had"].startswith("none on ")


def test_clients_that_cannot_read_the_environment_are_reported():
    jar = next(each for each in resolve("kafka-clients-0.10.0.1") if "kafka-clients" in each.name)
    spark = ["--master", "local[2]", "--conf", f"spark.jars={jar}"]
    code, document = run("-m", "rackwise.cli", "spark-check", "--json", *spark)
    assert code == 2
    (only,) = document["findings"]
    assert (only["rule"], only["had"]) == ("clients-too-old", "0.10.0.1")
