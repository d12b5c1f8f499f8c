"""Write lines to leaders in your rack with confluent-kafka: `with_confluent.py orders < FILE`."""

from __future__ import annotations

import argparse
import sys

from rackwise.confluent import RackAwareProducer, detect_rack


def main() -> None:
    """Write each line as a record without a key, then print the share that stayed in the rack."""
    rack = detect_rack()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("topic")
    parser.add_argument("--bootstrap-server", default="localhost:9092")
    parser.add_argument("--rack", default=rack, required=rack is None)
    told = parser.parse_args()
    conf = {"bootstrap.servers": told.bootstrap_server, "acks": "all"}
    with RackAwareProducer(conf, client_rack=told.rack) as producer:
        for line in sys.stdin:
            producer.produce(told.topic, line.rstrip("\n").encode())
        producer.flush()
        for topic, found in producer.counters().items():
            print(f"{topic}: {found.local_bytes} of {found.total_bytes} bytes to leaders near")


if __name__ == "__main__":
    main()
