"""Read topics in your own rack with confluent-kafka, which needs no plug-in: set `client.rack`."""

from __future__ import annotations

import argparse

from confluent_kafka import Consumer, KafkaException

from rackwise.confluent import detect_rack


def main() -> None:
    """Read as a member of a group, in the given rack or the rack of this machine."""
    rack = detect_rack()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("topics", nargs="+")
    parser.add_argument("--bootstrap-server", default="localhost:9092")
    parser.add_argument("--group", default="rackwise-example")
    parser.add_argument("--rack", default=rack, required=rack is None)
    parser.add_argument("--records", type=int, default=10, help="end after so many")
    told = parser.parse_args()
    consumer = Consumer(
        {
            "bootstrap.servers": told.bootstrap_server,
            "group.id": told.group,
            "client.rack": told.rack or "",
            "partition.assignment.strategy": "cooperative-sticky",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe(told.topics)
    left = told.records
    try:
        while left:
            record = consumer.poll(1.0)
            if record is None:
                continue
            if record.error() is not None:
                raise KafkaException(record.error())
            print(f"{record.topic()}-{record.partition()} {record.offset()}")
            left -= 1
    finally:
        consumer.close()


if __name__ == "__main__":
    main()
