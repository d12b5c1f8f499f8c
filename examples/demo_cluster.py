"""How the data of `make demo` is made: 24 real brokers in 3 racks, 600 partitions, real clients.

Most topics are placed without regard to racks, as a tool that shuffles brokers would; some are
rack-safe. Three producers write to all topics and five consumer groups read them, each client in a
rack. The brokers do not send readers to near replicas: `replica.selector.class` is not set.

```
snapshot 1      a minute of traffic through proxies that count it      snapshot 2
    |---------|--------------------------------------------------|---------|     --> time
              flow logs, truth.json
```

`rackwise snapshot` takes both snapshots. Needs about 8 GiB of memory and some minutes on a machine
that does nothing else: `python examples/demo_cluster.py`.
"""

from __future__ import annotations

import gzip
import json
import multiprocessing
import os
import tempfile
import threading
import time
from collections import Counter
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
from confluent_kafka import Consumer, Producer
from flow_proxies import FlowProxies
from kafka import KafkaAdminClient
from kafka.admin import NewTopic
from pyarrow import parquet
from steps import ROOT, rackwise

from rackwise.adapters.sandbox import Sandbox
from rackwise.pipeline.runtime.java import find_java

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from multiprocessing.synchronize import Event

    from flow_proxies import Connection

BROKERS = 24
RACKS = ("use1-az1", "use1-az2", "use1-az4")
REPLICATION = 3
BLIND = {
    "orders": 48,
    "clicks": 96,
    "page-views": 72,
    "inventory.levels": 24,
    "inventory.moves": 24,
    "shipments": 24,
    "carts": 36,
    "search.queries": 48,
    "recommendations": 24,
    "emails": 12,
    "sms": 6,
    "fraud.scores": 24,
    "audit-log": 12,
    "metrics": 30,
    "logs.web": 18,
    "logs.api": 12,
    "sessions": 12,
    "prices": 6,
}
SAFE = {"payments.authorised": 24, "payments.settled": 24, "payments.refunds": 12, "customers": 12}
PARTITIONS = {**BLIND, **SAFE}
KB_PER_S = {
    "clicks": 420,
    "page-views": 300,
    "orders": 260,
    "search.queries": 150,
    "carts": 120,
    "payments.authorised": 120,
    "recommendations": 90,
    "payments.settled": 80,
    "logs.web": 80,
    "logs.api": 60,
    "inventory.moves": 60,
    "metrics": 60,
    "shipments": 50,
    "inventory.levels": 40,
    "fraud.scores": 40,
    "sessions": 40,
    "audit-log": 30,
    "payments.refunds": 20,
    "customers": 15,
    "emails": 15,
    "prices": 10,
    "sms": 5,
}
"""What the three producers write together."""
GROUPS = {
    "analytics": ("clicks", "page-views"),
    "checkout": ("orders", "carts"),
    "ranking": ("search.queries", "recommendations"),
    "billing": ("payments.authorised", "payments.settled"),
    "warehouse": ("inventory.moves", "shipments"),
}
RECORD_BYTES = 4096
TICKS_PER_S = 4
WARM_UP_S = 60
OBSERVED_S = 60
PATIENCE_MS = 300_000
"""24 brokers on two cores are slow, not dead."""
OVERRIDES = {
    "replica.selector.class": None,
    "replica.fetch.min.bytes": "65536",
    "replica.fetch.wait.max.ms": "1000",
    "inter.broker.listener.name": "PROXIED",
    "broker.session.timeout.ms": "60000",
    "replica.lag.time.max.ms": "120000",
}
"""Followers wait for 64 KiB or a second, so that copies and not requests fill the network."""
CLIENT = {
    "api.version.request.timeout.ms": 120_000,
    "socket.timeout.ms": 120_000,
    "log_level": 3,
}
"""Of every client: patience with a busy machine."""
DATA = ROOT / "examples" / "demo"
NAME = "shop"


def host(broker: int) -> str:
    """A separate address on loopback: second number the rack, last number the broker."""
    return f"127.{1 + broker % len(RACKS)}.0.{10 + broker // len(RACKS)}"


def client_racks() -> dict[str, int]:
    """Client id -> number of its rack: one producer and one member of each group in each rack."""
    return {
        f"{client}-{rack}": rack for client in ("producer", *GROUPS) for rack in range(len(RACKS))
    }


def address_of(client: str) -> str | None:
    """The address of a broker's fetcher, a producer or a member; None for other clients."""
    if client.startswith("broker-"):
        return host(int(client.split("-")[1]))
    known = client_racks()
    if client not in known:
        return None
    return f"127.{1 + known[client]}.1.{10 + [*known].index(client)}"


def blind(rng: Random) -> list[int]:
    """Any three brokers."""
    return rng.sample(range(BROKERS), REPLICATION)


def safe(rng: Random) -> list[int]:
    """One broker of each rack, in a random order."""
    each = [rng.randrange(BROKERS // len(RACKS)) * len(RACKS) + rack for rack in range(len(RACKS))]
    return rng.sample(each, REPLICATION)


def create(admin: KafkaAdminClient, rng: Random) -> None:
    """Create all topics, each partition with explicit replicas."""
    for place, topics in ((blind, BLIND), (safe, SAFE)):
        for name, partitions in topics.items():
            placement = {partition: place(rng) for partition in range(partitions)}
            configs = {"min.insync.replicas": "2"}
            admin.create_topics(
                [NewTopic(name, replica_assignments=placement, topic_configs=configs)],
                timeout_ms=PATIENCE_MS,
            )


def write(bootstrap: str, is_over: Event) -> None:
    """Write to all topics at their rates, from one producer in each rack in turn, until the end."""
    producers = cycle(
        [
            Producer(
                {
                    **CLIENT,
                    "bootstrap.servers": bootstrap,
                    "client.id": f"producer-{rack}",
                    "acks": "1",
                    "linger.ms": 200,
                }
            )
            for rack in range(len(RACKS))
        ]
    )
    rng = Random(7)
    partitions = {name: cycle(rng.sample(range(n), n)) for name, n in PARTITIONS.items()}
    owed = dict.fromkeys(KB_PER_S, 0.0)
    due = time.monotonic()
    while not is_over.wait(max(0.0, due - time.monotonic())):
        # A machine that was too busy does not make up for it: the rate stays even.
        due = max(due + 1 / TICKS_PER_S, time.monotonic())
        for name, rate in KB_PER_S.items():
            owed[name] += rate * 1000 / TICKS_PER_S / RECORD_BYTES
            while owed[name] >= 1:
                owed[name] -= 1
                producer = next(producers)
                producer.produce(
                    name, rng.randbytes(RECORD_BYTES), partition=next(partitions[name])
                )
                producer.poll(0)
    for _ in range(len(RACKS)):
        next(producers).flush(10)


def read(bootstrap: str, joined: Event, is_over: Event) -> None:
    """Three members in each group, one in each rack, which poll until the end."""
    have_partitions = threading.Barrier(len(GROUPS) * len(RACKS), action=joined.set)

    def member(group: str, rack: int) -> None:
        consumer = Consumer(
            {
                **CLIENT,
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "client.id": f"{group}-{rack}",
                "client.rack": RACKS[rack],
                "partition.assignment.strategy": "roundrobin",
                "auto.offset.reset": "earliest",
                "session.timeout.ms": 60_000,
                "fetch.min.bytes": 65_536,
                "fetch.wait.max.ms": 1000,
            }
        )
        consumer.subscribe([*GROUPS[group]])
        while not consumer.assignment():
            consumer.poll(0.5)
        have_partitions.wait(PATIENCE_MS / 1000)
        while not is_over.is_set():
            consumer.consume(500, 0.5)
        consumer.close()

    threads = [
        threading.Thread(target=member, args=(group, rack))
        for group in GROUPS
        for rack in range(len(RACKS))
    ]
    for thread in threads:
        thread.start()
        time.sleep(1)
    for thread in threads:
        thread.join()


@contextmanager
def clients(bootstrap: str) -> Iterator[None]:
    """Producers and consumers in processes of their own, until the block ends."""
    spawn = multiprocessing.get_context("spawn")
    joined, is_over = spawn.Event(), spawn.Event()
    processes = [
        spawn.Process(target=read, args=(bootstrap, joined, is_over)),
        spawn.Process(target=write, args=(bootstrap, is_over)),
    ]
    for process in processes:
        process.start()
    try:
        if not joined.wait(PATIENCE_MS / 1000):
            raise SystemExit("expected all members with partitions")
        yield
    finally:
        is_over.set()
        for process in processes:
            process.join(60)
            process.kill()


def snapshot(bootstrap: str, path: Path, folder: Path) -> None:
    """Take a snapshot; the folder of the sandbox becomes one of a usual broker."""
    rackwise(
        *("snapshot", "--bootstrap-server", bootstrap, "--name", NAME),
        *("--out", path),
    )
    text = gzip.decompress(path.read_bytes()).decode()
    text = text.replace(str(folder), "/var/lib/kafka")
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def now() -> float:
    """Seconds since 1970, UTC."""
    return datetime.now(UTC).timestamp()  # noqa: TID251 (flow logs are of today)


def observe(proxies: FlowProxies) -> int:
    """Count the bytes of a minute, from second to second; returns its first second."""
    start = int(now()) + 1
    time.sleep(start - now())
    proxies.open()
    time.sleep(start + OBSERVED_S - now())
    proxies.close()
    return start


def flow_logs(proxies: FlowProxies, start: int, end: int) -> list[dict[str, object]]:
    """VPC flow logs of the brokers' interfaces: each connection, both directions."""
    number = {host(broker): broker for broker in range(BROKERS)}
    rows = []
    for one in proxies.connections:
        listener = (host(one.broker), proxies.ports[one.broker])
        client = (one.address, one.port)
        for source, target, bytes_ in (
            (client, listener, one.sent),
            (listener, client, one.received),
        ):
            ends = (("egress", source[0]), ("ingress", target[0]))
            rows += [
                {
                    "version": 5,
                    "account_id": "123456789010",
                    "interface_id": f"eni-{number[own]:017x}",
                    "srcaddr": source[0],
                    "dstaddr": target[0],
                    "srcport": source[1],
                    "dstport": target[1],
                    "protocol": 6,
                    "packets": -(-bytes_ // 1448),
                    "bytes": bytes_,
                    "start": start,
                    "end": end,
                    "action": "ACCEPT",
                    "log_status": "OK",
                    "az_id": RACKS[number[own] % len(RACKS)],
                    "flow_direction": direction,
                }
                for direction, own in ends
                if own in number and bytes_
            ]
    return rows


def kind_of(one: Connection, *, is_answer: bool) -> str:
    """What a flow log of one direction is to a bill."""
    if one.client.startswith("broker-"):
        return "replicate"
    return "fetch" if is_answer else "produce"


def truth(
    proxies: FlowProxies, names: Mapping[str, str], start: int, end: int
) -> dict[str, object]:
    """What was counted: wire bytes by kind and racks; record batches by kind, topic and group."""
    wire: Counter[tuple[str, str, str]] = Counter()
    rack = {f"127.{1 + number}": name for number, name in enumerate(RACKS)}
    for one in proxies.connections:
        own = RACKS[one.broker % len(RACKS)]
        other = rack.get(".".join(one.address.split(".")[:2]), "(unknown)")
        if not one.client.startswith("broker-") and address_of(one.client) is None:
            other = "(unknown)"
        wire[kind_of(one, is_answer=False), other, own] += one.sent
        wire[kind_of(one, is_answer=True), own, other] += one.received
    batches: Counter[tuple[str, str, str | None]] = Counter()
    for (key, client, topic), bytes_ in proxies.batches.items():
        group = client.rpartition("-")[0] if key else None
        batches["fetch" if key else "produce", names.get(topic, topic), group] += bytes_
    return {
        "start": datetime.fromtimestamp(start, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "seconds": end - start,
        "wire": [
            {"kind": kind, "from_rack": source, "to_rack": target, "bytes": bytes_}
            for (kind, source, target), bytes_ in sorted(wire.items())
            if bytes_
        ],
        "batches": [
            {"kind": kind, "topic": topic, "client_group": group, "bytes": bytes_}
            for (kind, topic, group), bytes_ in sorted(batches.items(), key=str)
        ],
    }


def topic_names(admin: KafkaAdminClient) -> dict[str, str]:
    """Topic id -> name."""
    return {str(each["topic_id"]): each["name"] for each in admin.describe_topics()}


def settle(admin: KafkaAdminClient) -> None:
    """Wait until every topic is known and every replica is in sync."""
    deadline = time.monotonic() + PATIENCE_MS / 1000
    while sum(
        len(each["isr_nodes"]) == REPLICATION
        for topic in admin.describe_topics()
        for each in topic["partitions"]
    ) < sum(PARTITIONS.values()):
        if time.monotonic() > deadline:
            raise SystemExit("expected all replicas in sync")
        time.sleep(2)


def keep(proxies: FlowProxies, names: Mapping[str, str], start: int, end: int) -> None:
    """Write flow logs, subnets and the truth."""
    flows = DATA / "flows"
    flows.mkdir(exist_ok=True)
    for old in flows.iterdir():
        old.unlink()
    table = pa.Table.from_pylist(flow_logs(proxies, start, end))
    day = datetime.fromtimestamp(start, UTC).date()
    parquet.write_table(table, flows / f"{day}.parquet", compression="zstd")
    subnets = [f"127.{1 + number}.0.0/16,{name}\n" for number, name in enumerate(RACKS)]
    (DATA / "subnets.csv").write_text("cidr,rack\n" + "".join(subnets))
    text = json.dumps(truth(proxies, names, start, end), indent=1)
    (DATA / "truth.json").write_text(text + "\n")


def main() -> None:
    """Start the cluster and its clients, observe them, write the data, stop everything."""
    hosts = [host(broker) for broker in range(BROKERS)]
    with tempfile.TemporaryDirectory() as home, FlowProxies(hosts, address_of) as proxies:
        folder = Path(home) / "shop"
        with Sandbox.kraft(
            brokers=BROKERS,
            racks=RACKS,
            hosts=hosts,
            proxies=proxies.ports,
            folder=folder,
            java_home=find_java(os.environ).home,
            heap_mib=192,
            overrides=OVERRIDES,
        ) as cluster:
            proxies.targets = cluster.proxied_ports
            run(cluster, proxies, hosts, folder)


def run(cluster: Sandbox, proxies: FlowProxies, hosts: Sequence[str], folder: Path) -> None:
    """Create the topics, start the clients, take both snapshots."""
    few = ",".join(f"{host}:{port}" for host, port in zip(hosts[:3], proxies.ports, strict=False))
    with closing(
        KafkaAdminClient(
            bootstrap_servers=cluster.bootstrap.split(","), request_timeout_ms=PATIENCE_MS
        )
    ) as admin:
        create(admin, Random(24))
        settle(admin)
        names = topic_names(admin)
        print("topics created", flush=True)
    with clients(few):
        print("all members have partitions", flush=True)
        time.sleep(WARM_UP_S)
        snapshot(few, DATA / "earlier.json.gz", folder)
        start = observe(proxies)
        snapshot(few, DATA / "snapshot.json.gz", folder)
    keep(proxies, names, start, start + OBSERVED_S)


if __name__ == "__main__":
    main()
