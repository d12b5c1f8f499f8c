"""Write lines to leaders in your rack with kafka-python: `with_kafka_python.py orders < FILE`."""

from __future__ import annotations

import argparse
import sys

from kafka import KafkaProducer

from rackwise.adapters.clients import detect_rack
from rackwise.adapters.clients.kafka_python import RackAwarePartitioner, RackAwareProducer
from rackwise.core.partitioner import PartitionerConfig


def main() -> None:
    """Write each line as a record without a key, then print the share that stayed in the rack."""
    rack = detect_rack()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("topic")
    parser.add_argument("--bootstrap-server", default="localhost:9092")
    parser.add_argument("--rack", default=rack, required=rack is None)
    told = parser.parse_args()
    partitioner = RackAwarePartitioner(PartitionerConfig(rack_aware=True, rack=told.rack))
    inner = KafkaProducer(
        bootstrap_servers=told.bootstrap_server.split(","), acks="all", partitioner=partitioner
    )
    with RackAwareProducer(inner, partitioner) as producer:
        for line in sys.stdin:
            producer.send(told.topic, line.rstrip("\n").encode())
        producer.flush()
        for topic, found in producer.counters().items():
            print(f"{topic}: {found.local_bytes} of {found.total_bytes} bytes to leaders near")


if __name__ == "__main__":
    main()
