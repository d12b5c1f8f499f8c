"""Write lines to leaders in your rack with aiokafka: `with_aiokafka.py orders < FILE`."""

from __future__ import annotations

import argparse
import asyncio
import sys

from aiokafka import AIOKafkaProducer

from rackwise.adapters.clients import detect_rack
from rackwise.adapters.clients.aiokafka import RackAwareAIOProducer
from rackwise.core.partitioner import PartitionerConfig


async def write(told: argparse.Namespace) -> None:
    """Write each line as a record without a key, then print the share that stayed in the rack."""
    inner = AIOKafkaProducer(bootstrap_servers=told.bootstrap_server, acks="all")
    config = PartitionerConfig(rack_aware=True, rack=told.rack)
    async with RackAwareAIOProducer(inner, config) as producer:
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
