"""Write lines to leaders in your rack with confluent-kafka: `with_confluent.py orders < FILE`."""

from __future__ import annotations

import argparse
import sys

from confluent_kafka.admin import AdminClient

from rackwise.adapters.clients import detect_rack
from rackwise.adapters.clients.confluent import RackAwareProducer
from rackwise.adapters.clients.rack_source import admin_racks
from rackwise.core.partitioner import PartitionerConfig


def main() -> None:
    """Write each line as a record without a key, then print the share that stayed in the rack."""
    rack = detect_rack()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("topic")
    parser.add_argument("--bootstrap-server", default="localhost:9092")
    parser.add_argument("--rack", default=rack, required=rack is None)
    told = parser.parse_args()
    servers: dict[str, object] = {"bootstrap.servers": told.bootstrap_server}
    config = PartitionerConfig(rack_aware=True, rack=told.rack)
    with RackAwareProducer(
        servers | {"acks": "all"}, config, racks=admin_racks(AdminClient(servers))
    ) as producer:
        for line in sys.stdin:
            producer.produce(told.topic, line.rstrip("\n").encode())
        producer.flush()
        for topic, found in producer.counters().items():
            print(f"{topic}: {found.local_bytes} of {found.total_bytes} bytes to leaders near")


if __name__ == "__main__":
    main()
