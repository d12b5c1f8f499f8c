"""A broker that only registers, as Kafka 3.9 does: one multi of create and setData, or it exits.

Run as a process: `python stand_in_broker.py SERVER_PROPERTIES [--override KEY=VALUE]...`. It reads
`broker.id`, `log.dirs`, `zookeeper.connect`, `zookeeper.session.timeout.ms` and
`advertised.listeners`. Its order is Kafka's: the id from the configuration, else from the files,
else a number from `/brokers/seqid`; then `meta.properties` into each dir that has none; then it
registers. It prints `registered ID CZXID PID` and runs until it gets a signal; SIGTERM closes the
session and exits with 143 as a JVM does. After its session has expired it registers again, as
Kafka does: until it succeeds, and a registration of its own session is one. If another registration
exists already, it exits with 1 and leaves the file behind. It does the same if the id is not
RACKWISE_BROKER_ID, where that is set.

`boot.ms` in its file: the time from the file to the registration. `null.host=true`: registers as a
cluster without a plaintext listener does. `end.status`: the exit status after SIGTERM.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import traceback
from itertools import pairwise
from pathlib import Path

from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss, NodeExistsError, SessionExpiredError
from kazoo.protocol.states import KazooState

RESERVED = 1000
POLL_S = 0.2
PATIENCE_S = 30.0


def settings_of(path, arguments):
    pairs = [
        line.partition("=")[::2]
        for line in Path(path).read_text(encoding="latin-1").splitlines()
        if "=" in line and not line.startswith("#")
    ]
    settings = {key.strip(): value.strip() for key, value in pairs}
    for flag, pair in pairwise(arguments):
        if flag == "--override":
            key, _, value = pair.partition("=")
            settings[key] = value
    return settings


def stored_id(dirs):
    ids = set()
    for each in dirs:
        file = each / "meta.properties"
        if file.is_file():
            lines = dict(line.partition("=")[::2] for line in file.read_text().splitlines())
            ids.add(int(lines.get("broker.id", lines.get("node.id"))))
    if len(ids) > 1:
        sys.exit(f"inconsistent ids {sorted(ids)}")
    return ids.pop() if ids else None


def generated_id(client):
    client.ensure_path("/brokers/seqid")
    return client.set("/brokers/seqid", b"").version + RESERVED


def write_files(dirs, broker_id):
    for each in dirs:
        each.mkdir(parents=True, exist_ok=True)
        file = each / "meta.properties"
        if not file.exists():
            file.write_text(f"version=0\nbroker.id={broker_id}\n")


def register(client, broker_id, listener, *, has_host):
    name, _, address = listener.rpartition("://")
    host, _, port = address.rpartition(":")
    data = {
        "listener_security_protocol_map": {name: "PLAINTEXT"},
        "endpoints": [listener],
        "jmx_port": -1,
        "features": {},
        "host": host if has_host else None,
        "timestamp": "0",
        "port": int(port) if has_host else -1,
        "version": 5,
    }
    path = f"/brokers/ids/{broker_id}"
    transaction = client.transaction()
    transaction.create(path, json.dumps(data).encode(), ephemeral=True)
    transaction.set_data(path, json.dumps(data).encode(), 0)
    results = transaction.commit_async().get(timeout=PATIENCE_S)
    node = client.exists(path)
    if node is None:
        raise SessionExpiredError
    if any(isinstance(each, NodeExistsError) for each in results):
        if node.ephemeralOwner != client.client_id[0]:
            sys.exit(f"broker.id {broker_id} is registered already")
    elif failed := [each for each in results if isinstance(each, Exception)]:
        sys.exit(f"not registered: {failed}")
    return node.czxid


def main(arguments):
    settings = settings_of(arguments[0], arguments[1:])
    dirs = [Path(each.strip()) for each in settings["log.dirs"].split(",")]
    ended, expired = threading.Event(), threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    client = KazooClient(
        settings["zookeeper.connect"],
        timeout=int(settings.get("zookeeper.session.timeout.ms", "18000")) / 1000,
    )
    client.add_listener(lambda state: expired.set() if state == KazooState.LOST else None)
    client.start(timeout=30)
    configured = int(settings.get("broker.id", "-1"))
    on_disk = stored_id(dirs)
    broker_id = configured if configured >= 0 else on_disk
    if broker_id is None:
        broker_id = generated_id(client)
    elif on_disk is not None and on_disk != broker_id:
        sys.exit(f"configured {configured}, stored {on_disk}")
    if os.environ.get("RACKWISE_BROKER_ID", str(broker_id)) != str(broker_id):
        sys.exit(f"id {broker_id}, RACKWISE_BROKER_ID {os.environ['RACKWISE_BROKER_ID']}")
    write_files(dirs, broker_id)
    if not ended.wait(int(settings.get("boot.ms", "0")) / 1000):
        listener = settings.get("advertised.listeners", "PLAINTEXT://localhost:9092")
        has_host = settings.get("null.host") != "true"
        expired.clear()
        czxid = register(client, broker_id, listener, has_host=has_host)
        print(f"registered {broker_id} {czxid} {os.getpid()}", flush=True)
        while not ended.wait(POLL_S):
            if expired.is_set() and client.connected:
                expired.clear()
                try:
                    register(client, broker_id, listener, has_host=has_host)
                except (ConnectionLoss, SessionExpiredError):
                    expired.set()
    client.stop()
    os._exit(int(settings.get("end.status", 128 + signal.SIGTERM)))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except SystemExit as ended:
        print(ended, file=sys.stderr, flush=True)
    except Exception:  # noqa: BLE001 (a session lost at any step, as a fatal error of Kafka)
        traceback.print_exc()
    os._exit(1)  # at once: the client's threads may wait for a server
