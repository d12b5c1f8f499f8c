"""`python tests/stored_stream.py`: writes `tests/pipeline/stored_stream` again, on a real broker.

The stored folder is the contract of the format: write it again if `stream_store.FORMAT` changes,
and keep the old one as a format that must be rejected.
"""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from pathlib import Path

from kafka_servers import KAFKA_VERSION
from kafka_traffic import create
from rackwise.adapters.kafka import connect
from rackwise.adapters.sandbox import Sandbox
from rackwise.pipeline.runtime.java import find_java
from stream_runs import reading, run, send
from telemetry import stored_messages

TOPIC = "stored"
PLACE = Path(__file__).parent / "pipeline" / "stored_stream"


def main():
    shutil.rmtree(PLACE, ignore_errors=True)
    values = stored_messages()
    java_home = find_java(os.environ).home
    with Sandbox.kraft(
        version=KAFKA_VERSION, brokers=1, racks=("a",), java_home=java_home
    ) as cluster:
        with closing(connect(cluster.bootstrap)) as admin:
            create(admin, TOPIC, [[0], [0]], retention_ms="-1")
        for some in (values[:4], values[4:]):
            send(cluster.bootstrap, TOPIC, some)
            run(*reading(cluster.bootstrap, TOPIC, PLACE))
    for path in PLACE.rglob(".*.crc"):
        path.unlink()


if __name__ == "__main__":
    main()
