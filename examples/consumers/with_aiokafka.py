"""Read topics in your own rack with aiokafka: `with_aiokafka.py --rack use1-az1 orders`."""

from __future__ import annotations

import argparse
import asyncio

from rackwise.aiokafka import RackOptimal, detect_rack, rack_consumer


async def read(told: argparse.Namespace) -> None:
    """Read as a member of a group, in the given rack or the rack of this machine."""
    async with rack_consumer(
        *told.topics,
        client_rack=told.rack,
        partition_assignment_strategy=[RackOptimal],
        bootstrap_servers=told.bootstrap_server,
        group_id=told.group,
        auto_offset_reset="earliest",
    ) as consumer:
        for _ in range(told.records):
            record = await consumer.getone()
            print(f"{record.topic}-{record.partition} {record.offset}")


def main() -> None:
    """The command line."""
    rack = detect_rack()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("topics", nargs="+")
    parser.add_argument("--bootstrap-server", default="localhost:9092")
    parser.add_argument("--group", default="rackwise-example")
    parser.add_argument("--rack", default=rack, required=rack is None)
    parser.add_argument("--records", type=int, default=10, help="end after so many")
    asyncio.run(read(parser.parse_args()))


if __name__ == "__main__":
    main()
