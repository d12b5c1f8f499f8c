"""What a type checker knows of the producers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[4]
SCRIPT = """\
from confluent_kafka import Producer, SerializingProducer
from confluent_kafka.aio import AIOProducer, AsyncSerializingProducer

from rackwise.adapters.clients.confluent import (
    RackAwareAIOProducer,
    RackAwareAsyncSerializingProducer,
    RackAwareProducer,
    RackAwareSerializingProducer,
)

conf = {"bootstrap.servers": "broker:9092"}
plain: Producer = RackAwareProducer(conf, client_rack="a")
typed: SerializingProducer[str, int] = RackAwareSerializingProducer[str, int](conf, client_rack="a")
aio: AIOProducer = RackAwareAIOProducer(conf, client_rack="a")
mine: type[AsyncSerializingProducer[str, int]] = RackAwareAsyncSerializingProducer[str, int]
with RackAwareProducer(conf, client_rack="a") as producer:
    producer.produce("t", b"value")
    producer.counters()["t"].local_bytes
    producer.produce("t", 7)
typed.produce("t", key="k", value=7)
typed.produce("t", key="k", value="7")
"""


def test_each_producer_is_one_of_the_client_to_mypy(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    words = ("--strict", "--follow-imports=silent", "--config-file=", "--no-error-summary")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *words, f"--cache-dir={tmp_path}", script],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT / "src",
    )
    lines = [SCRIPT.splitlines()[int(each.split(":")[1]) - 1] for each in done.stdout.splitlines()]
    assert lines == ['    producer.produce("t", 7)', 'typed.produce("t", key="k", value="7")']
