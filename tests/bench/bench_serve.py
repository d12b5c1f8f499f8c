"""The service in its own process: `python tests/bench/bench_serve.py`.

Pairs: 1,000 requests of 12 partitions of 3 replicas on one connection / `place` alone; one call of
100,000 x 3 through `ReplicaAssignmentClient` / `place` and kafka-python decoding the answer. Rows
are compared with those of `place` and the seed of the service before anything is timed.

Among 400 connections from 8 addresses that ask for 100,000 x 3 without a pause: the slowest of 20
requests of 6 partitions from another address / one second, and the memory of the service / 150 MB.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from pairs import compare, seconds, tell

sys.path.insert(0, str(Path(__file__).parents[1]))

from hostile_connections import Cost, serving
from kafka_messages import CreateReplicaAssignmentText
from rackwise.adapters.rpc.client import ReplicaAssignmentClient
from rackwise.core.placement import JavaRandom, Kip36, place
from rackwise.core.replica_service.answers import seed_of
from rackwise.core.wire.replica_assignment import AssignmentResponse, write_response
from rpc_servers import received, response_of
from service_frames import assignment, framed
from small_clusters import small_cluster

REQUESTS, SEED = 1000, 68
LARGE = 100_000
FLOOD = 400
ASKED = 20
MOST_BYTES = 150e6
BROKERS = small_cluster(dict(enumerate("abcabc")), {}).brokers
"""Those that `serving` serves."""


def placed(partitions, number=0):
    """What the service's placer answers to its request `number`."""
    rng = JavaRandom(seed_of(SEED, number))
    return place(BROKERS, partitions, 3, placer=Kip36(), rng=rng)


def flooded(port, process):
    """A small request among many large ones."""
    frame = framed(assignment(6, 3))
    flooding = Path(__file__).parents[1] / "flooding_clients.py"
    with (
        closing(socket.create_connection(("127.0.0.1", port))) as sock,
        subprocess.Popen(
            [sys.executable, flooding, str(port), str(FLOOD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as clients,
    ):

        def ask():
            sock.sendall(frame)
            if len(response_of(received(sock))[1].rows) != 6:
                raise SystemExit("the rows differ")

        clients.stdout.readline()
        slowest = max(seconds(ask) for _ in range(ASKED))
        clients.stdin.close()
    tell("serve: 6 x 3 among 400 connections of 100,000 x 3, slowest / 1 s", slowest, gate=1)
    peak = Cost.of(process.pid).peak
    tell("serve: peak memory with 400 connections / 150 MB", peak / MOST_BYTES, gate=1)


def requests(port, _process):
    """Many small requests on one connection."""
    frame = framed(assignment(12, 3))
    with closing(socket.create_connection(("127.0.0.1", port))) as sock:

        def ask():
            sock.sendall(frame)
            return response_of(received(sock))[1]

        if ask() != AssignmentResponse(rows=placed(12).rows):
            raise SystemExit("the rows differ")
        compare(
            "serve: 1,000 requests of 12 x 3 / place alone",
            lambda: [ask() for _ in range(REQUESTS)],
            lambda: [placed(12, number) for number in range(REQUESTS)],
            gate=10,
        )


def one_call(port, _process):
    """A large request through the client."""
    read = CreateReplicaAssignmentText._struct.compiled_decode_from(
        0, compact=True, tagged=True, data_class=CreateReplicaAssignmentText
    )
    with ReplicaAssignmentClient(bootstrap_servers=f"127.0.0.1:{port}") as admin:

        def ask():
            return admin.create_replica_assignment(LARGE, 3).assignments().result()

        if ask() != placed(LARGE).as_dict():
            raise SystemExit("the rows differ")
        compare(
            "serve: one call of 100,000 x 3 / place and kafka-python's decoding",
            ask,
            lambda: read(
                memoryview(write_response(AssignmentResponse(rows=placed(LARGE).rows))), 0
            ),
            gate=2,
        )


if __name__ == "__main__":
    for pair in (requests, one_call, flooded):
        with (
            tempfile.TemporaryDirectory() as folder,
            serving(folder, "--placer", "kip36", "--seed", str(SEED)) as (process, port),
        ):
            pair(port, process)
