"""Thousands of hostile connections to a server in its own process, and what they cost it.

Run `python tests/hostile_connections.py --connections 10000 --limit-mb 200`. It starts
`rackwise serve` on a snapshot and opens connections from many loopback addresses that send nothing,
begin a frame, send garbage or never read. At the end it checks that a good client is served, that
the number of descriptors is back at its base, and how much memory the server uses. It exits with 0
if all of this holds.
"""

from __future__ import annotations

import argparse
import random
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rackwise.adapters.files import write_snapshot
from rackwise.core.errors import InvalidConfig
from rackwise.core.json import strict as strict_json
from rpc_servers import PATIENCE_S, response_of, said
from service_frames import assignment, framed
from small_clusters import small_cluster

GOOD = framed(assignment(12, 3))
OPEN_AT_ONCE = 400
"""So many of ours are open; a server that closes them makes room."""
KINDS = ("idle", "begun", "garbage", "cut", "deaf")


@dataclass
class Cost:
    """What a server uses: open descriptors, resident bytes now and at most."""

    descriptors: int
    resident: int
    peak: int

    @classmethod
    def of(cls, pid):
        status = Path(f"/proc/{pid}/status").read_text()
        values = dict(line.partition(":")[::2] for line in status.splitlines())
        return cls(
            sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir()),
            int(values["VmRSS"].split()[0]) << 10,
            int(values["VmHWM"].split()[0]) << 10,
        )


@contextmanager
def serving(folder, *options, descriptors=None):
    """Run `rackwise serve` on a snapshot in its own process; yields the process and its port."""
    snapshot = Path(folder) / "snapshot.json"
    write_snapshot(small_cluster(dict(enumerate("abcabc")), {}), snapshot)
    words = [sys.executable, "-m", "rackwise.cli", "serve", "--snapshot", str(snapshot)]
    words += ["--listen", "127.0.0.1:0", *options]
    if descriptors is not None:
        words = ["sh", "-c", f'ulimit -n {descriptors}; exec "$@"', "sh", *words]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        first = strict_json.parse(
            process.stdout.readline().encode(), where="stdout", error=InvalidConfig
        )
        drain = threading.Thread(target=lambda: [None for _ in process.stdout], daemon=True)
        drain.start()
        yield process, first["port"]
    finally:
        process.terminate()
        process.wait(PATIENCE_S)
        drain.join(PATIENCE_S)
        process.stdout.close()


def attack(port, count, *, seed=0):
    """Open so many connections of each kind, from many addresses; close all at the end."""
    rng = random.Random(seed)
    ours = []
    try:
        for number in range(count):
            source = f"127.{1 + number // 50 % 200}.0.{1 + number // 10_000}"
            kind = KINDS[number % len(KINDS)]
            try:
                sock = socket.create_connection(("127.0.0.1", port), PATIENCE_S, (source, 0))
            except OSError:
                continue
            ours.append(sock)
            _misbehave(sock, kind, rng)
            if len(ours) > OPEN_AT_ONCE:
                ours.pop(0).close()
    finally:
        for sock in ours:
            sock.close()


def _misbehave(sock, kind, rng):
    data = {
        "idle": b"",
        "begun": GOOD[: rng.randrange(1, len(GOOD))],
        "garbage": rng.randbytes(rng.randrange(1, 200)),
        "cut": struct.pack(">i", 1 << 19) + rng.randbytes(100),
        "deaf": GOOD * 4,
    }[kind]
    try:
        sock.sendall(data)
        if kind == "deaf":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    except OSError:
        pass


def is_served(port):
    """Whether a good client gets its rows."""
    try:
        (frame,) = said(port, GOOD)
    except (OSError, ValueError):
        return False
    return len(response_of(frame)[1].rows) == 12


def settled(process, base):
    """The cost when descriptors are back at base, or after a minute."""
    deadline = time.monotonic() + PATIENCE_S
    pause = threading.Event()
    while (cost := Cost.of(process.pid)).descriptors > base and time.monotonic() < deadline:
        pause.wait(0.05)
    return cost


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--limit-mb", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    wanted = parser.parse_args(arguments)
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(folder, "--frame-timeout", "2", "--idle-timeout", "2") as (process, port),
    ):
        is_good = is_served(port)
        base = settled(process, 0 if not is_good else Cost.of(process.pid).descriptors)
        began = time.monotonic()
        attack(port, wanted.connections, seed=wanted.seed)
        took = time.monotonic() - began
        after = settled(process, base.descriptors)
        is_good = is_good and is_served(port)
        print(
            f"{wanted.connections} connections in {took:.1f} s; descriptors {base.descriptors} "
            f"before, {after.descriptors} after; resident {base.resident >> 20} MB before, "
            f"{after.resident >> 20} MB after, {after.peak >> 20} MB at most; a good client is "
            f"{'served' if is_good else 'NOT served'}"
        )
        is_small = after.peak >> 20 < wanted.limit_mb
        return 0 if is_good and is_small and after.descriptors <= base.descriptors else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
