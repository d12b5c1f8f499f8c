"""Stands in for a broker: reads its id from its disk, registers it in ZooKeeper, serves till TERM.

`python stand_in_broker.py CONNECT DIR HOST`, CONNECT with the chroot. It says its id and
its process on stdout. As Kafka does, it dies where a stale registration is still there. After
SIGTERM it ends with 33, so that its status is not a signal's.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from kazoo.client import KazooClient

ENDED = 33
SESSION_S = 4.0


def id_on(folder):
    lines = (Path(folder) / "meta.properties").read_text().splitlines()
    pairs = dict(line.partition("=")[::2] for line in lines if not line.startswith("#"))
    return int(pairs["broker.id"])


def main(connect, folder, host):
    number = id_on(folder)
    if str(number) != os.environ["RACKWISE_BROKER_ID"]:
        return 1
    is_over = []
    signal.signal(signal.SIGTERM, lambda *_: is_over.append(True))
    client = KazooClient(hosts=connect, timeout=SESSION_S)
    client.start()
    told = {"version": 5, "host": None, "port": -1, "endpoints": [f"SSL://{host}:9092"]}
    client.create(f"/brokers/ids/{number}", json.dumps(told).encode(), ephemeral=True)
    print(f"serving as {number} in {os.getpid()}", flush=True)
    while not is_over:
        signal.sigtimedwait([], 0.1)
    client.stop()
    client.close()
    return ENDED


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
