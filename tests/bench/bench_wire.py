"""CreateReplicaAssignment, ours and kafka-python's codec, and registrations: `python
tests/bench/bench_wire.py`.

Pairs: the answer of 100,000 partitions of 3 replicas written, and read; the request of 20,000
brokers read. kafka-python's halves are the functions that it compiles for a schema, and what it
writes is built before; what both give is compared before anything is timed.

And 1,000 registrations of version 5 read / the standard parser of JSON on the same bytes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from pairs import compare

sys.path.insert(0, str(Path(__file__).parents[1]))

from kafka.protocol.schemas.fields.codecs import EncodeBufferPool

from kafka_messages import CreateReplicaAssignmentQuestion, CreateReplicaAssignmentText
from rackwise.core.wire.registration import read_registration
from rackwise.core.wire.replica_assignment import (
    AssignmentRequest,
    AssignmentResponse,
    read_request,
    read_response,
    write_request,
    write_response,
)
from registrations import SAMPLES, sample

PARTITIONS, REPLICATION, BROKERS = 100_000, 3, 20_000
REGISTRATIONS = 1000


def writer(schema):
    """The compiled writer of a schema: data -> bytes."""
    write = schema._struct.compiled_encode_into(0, compact=True, tagged=True)

    def encoded(data):
        with EncodeBufferPool.acquire() as out:
            write(data, out)
            return bytes(out.result())

    return encoded


def reader(schema):
    """The compiled reader of a schema: bytes -> data."""
    read = schema._struct.compiled_decode_from(0, compact=True, tagged=True, data_class=schema)
    return lambda octets: read(memoryview(octets), 0)[0]


def answers():
    """The answer, written and read."""
    rows = np.random.default_rng(68).integers(0, 300, (PARTITIONS, REPLICATION), dtype=np.int32)
    ours = AssignmentResponse(rows=rows)
    row = CreateReplicaAssignmentText.ReplicaAssignment
    peer = CreateReplicaAssignmentText(
        replica_assignment=[
            row(partition_id=partition, replicas=replicas)
            for partition, replicas in enumerate(rows.tolist())
        ]
    )
    encoded, decoded = writer(CreateReplicaAssignmentText), reader(CreateReplicaAssignmentText)
    data = write_response(ours)
    if encoded(peer) != data or read_response(data) != ours or decoded(data) != peer:
        raise SystemExit("the two codecs differ")
    size = f"{PARTITIONS:,} x {REPLICATION}"
    name = f"wire: write_response, {size} / kafka-python"
    compare(name, lambda: write_response(ours), lambda: encoded(peer), gate=1 / 20)
    name = f"wire: read_response, {size} / kafka-python"
    compare(name, lambda: read_response(data), lambda: decoded(data), gate=1 / 20)


def questions():
    """The request, read."""
    request = AssignmentRequest(
        num_partitions=PARTITIONS, replication_factor=REPLICATION, node_ids=tuple(range(BROKERS))
    )
    data = write_request(request)
    decoded = reader(CreateReplicaAssignmentQuestion)
    if read_request(data) != request or tuple(decoded(data).node_id) != request.node_ids:
        raise SystemExit("the two codecs differ")
    name = f"wire: read_request, {BROKERS:,} ids / kafka-python"
    compare(name, lambda: read_request(data), lambda: decoded(data), gate=1)


def registrations():
    """Brokers with two listeners, each on its own host."""
    if read_registration(1, SAMPLES[5]) != sample():
        raise SystemExit("the registration differs")
    nodes = [SAMPLES[5].replace(b"host1", b"host%d" % id_) for id_ in range(REGISTRATIONS)]
    compare(
        f"wire: read_registration, {REGISTRATIONS:,} of version 5 / json.loads",
        lambda: [read_registration(1, node) for node in nodes],
        lambda: [json.loads(node) for node in nodes],  # noqa: TID251 (the peer)
        gate=6,
    )


if __name__ == "__main__":
    answers()
    questions()
    registrations()
