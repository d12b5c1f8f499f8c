"""Frames of clients of the service, as bytes on the wire."""

from __future__ import annotations

from rackwise.core.wire.headers import RequestHeader, write_frame, write_request_header
from rackwise.core.wire.replica_assignment import AssignmentRequest, write_request

CORRELATION_ID = 7


def header(api_key, api_version, *, version, client_id="rackwise", correlation_id=CORRELATION_ID):
    """A request header's bytes."""
    return write_request_header(
        RequestHeader(
            api_key=api_key,
            api_version=api_version,
            correlation_id=correlation_id,
            client_id=client_id,
        ),
        version=version,
    )


def assignment(partitions=6, replication=3, *, api_key=68, correlation_id=CORRELATION_ID, **fields):
    """The whole message of a CreateReplicaAssignment request, without its size."""
    request = AssignmentRequest(num_partitions=partitions, replication_factor=replication, **fields)
    return header(api_key, 0, version=2, correlation_id=correlation_id) + write_request(request)


def framed(*messages):
    """Messages with their sizes, one after the other."""
    return b"".join(write_frame(message) for message in messages)
