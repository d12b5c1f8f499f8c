"""Write lines to leaders in your rack with aiokafka: `with_aiokafka.py orders < FILE`."""

from __future__ import annotations

import argparse
import asyncio
import sys

from rackwise.aiokafka import RackAwareProducer, detect_rack


async def write(told: argparse.Namespace) -> None:
    """Write each line as a record without a key, then print the share that stayed in the rack."""
    async with RackAwareProducer(
        client_rack=told.rack, bootstrap_servers=told.bootstrap_server, acks="all"
    ) as producer:
        sent = [await producer.send(told.topic, line.rstrip("\n").encode()) for line in sys.stdin]
        await asyncio.gather(*sent)
        for topic, found in producer.counters().items():
            print(f"{topic}: {found.local_bytes} of {found.total_bytes} bytes to leaders near")


def main() -> None:
    """The command line."""
    rack = detect_rack()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("topic")
    parser.add_argument("--bootstrap-server", default="localhost:9092")
    parser.add_argument("--rack", default=rack, required=rack is None)
    asyncio.run(write(parser.parse_args()))


if __name__ == "__main__":
    main()
