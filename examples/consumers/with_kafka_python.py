"""Read topics in your own rack with kafka-python: `with_kafka_python.py --rack use1-az1 orders`."""

from __future__ import annotations

import argparse
from contextlib import closing

from rackwise.kafka_python import RackOptimal, detect_rack, rack_consumer


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
    consumer = rack_consumer(
        *told.topics,
        client_rack=told.rack,
        partition_assignment_strategy=[RackOptimal],
        bootstrap_servers=told.bootstrap_server.split(","),
        group_id=told.group,
        auto_offset_reset="earliest",
    )
    with closing(consumer):
        for _ in range(told.records):
            record = next(consumer)
            print(f"{record.topic}-{record.partition} {record.offset}")


if __name__ == "__main__":
    main()
