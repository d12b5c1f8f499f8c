"""Clients that ask for large placements without a pause: `python tests/flooding_clients.py PORT N`.

N connections from N / 50 loopback addresses; each sends a request for 100,000 x 3 replicas, reads
its answer and sends the next, until stdin is closed. Prints `flooding` once each has sent one.
"""

from __future__ import annotations

import asyncio
import sys

from service_frames import assignment, framed

LARGE = framed(assignment(100_000, 3, timeout_ms=300_000))
PER_ADDRESS = 50


async def ask(port, number, is_sent):
    """One client, which connects again if the server closes."""
    source = f"127.2.0.{1 + number // PER_ADDRESS}"
    while True:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0))
        try:
            while True:
                writer.write(LARGE)
                is_sent.set()
                size = int.from_bytes(await reader.readexactly(4), "big")
                await reader.readexactly(size)
        except (OSError, asyncio.IncompleteReadError):
            continue
        finally:
            writer.close()


async def flood(port, count):
    """All clients, until stdin is closed."""
    sent = [asyncio.Event() for _ in range(count)]
    clients = [asyncio.create_task(ask(port, number, each)) for number, each in enumerate(sent)]
    for each in sent:
        await each.wait()
    print("flooding", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    for client in clients:
        client.cancel()


if __name__ == "__main__":
    asyncio.run(flood(int(sys.argv[1]), int(sys.argv[2])))
