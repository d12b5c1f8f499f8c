"""The service in its own process: `python tests/bench/bench_serve.py`.

Pairs: 1,000 requests of 12 partitions of 3 replicas on one connection / `place` alone; one call of
100,000 x 3 through `ReplicaAssignmentClient` / `place` and kafka-python decoding the answer. Rows
are compared with those of `place` and the seed of the service before anything is timed.
"""

from __future__ import annotations

import socket
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from pairs import compare

sys.path.insert(0, str(Path(__file__).parents[1]))

from hostile_connections import serving
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
BROKERS = small_cluster(dict(enumerate("abcabc")), {}).brokers
"""Those that `serving` serves."""


def placed(partitions, number=0):
    """What the service's placer answers to its request `number`."""
    rng = JavaRandom(seed_of(SEED, number))
    return place(BROKERS, partitions, 3, placer=Kip36(), rng=rng)


def requests(port):
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


def one_call(port):
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
    for pair in (requests, one_call):
        with (
            tempfile.TemporaryDirectory() as folder,
            serving(folder, "--placer", "kip36", "--seed", str(SEED)) as (_, port),
        ):
            pair(port)
