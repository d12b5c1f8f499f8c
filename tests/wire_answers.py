"""Our bytes where Kafka 0.10.0 was asked for its bytes: `wire.*`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rackwise.core.errors import LocalProtocolError
from rackwise.core.wire.endpoints import Endpoint, SecurityProtocol
from rackwise.core.wire.headers import RequestHeader, read_request_header, write_request_header
from rackwise.core.wire.kip36.update_metadata import (
    UpdateMetadata,
    UpdateMetadataPartitionState,
    read_update_metadata,
    read_update_metadata_response,
    write_update_metadata,
    write_update_metadata_response,
)
from rackwise.core.wire.metadata import (
    MetadataBroker,
    MetadataResponse,
    PartitionMetadata,
    TopicMetadata,
    read_metadata_request,
    read_metadata_response,
    write_metadata_request,
    write_metadata_response,
)
from wire_messages import as_read

if TYPE_CHECKING:
    from collections.abc import Callable

NULL = "java.lang.NullPointerException"


def check_wire(operation: str, answer: dict[str, Any]) -> None:
    """Our bytes are upstream's and are read again; where upstream fails, we reject."""
    value, write, read = CODECS[operation](answer["in"])
    if "error" in answer:
        assert answer["error"]["class"] == NULL, answer
        assert _is_refused(value, write), answer
        return
    data = write(value)
    assert data.hex() == answer["out"]["hex"], answer
    assert write(read(data)) == data, answer


def _is_refused(value: Any, write: Callable[[Any], bytes]) -> bool:
    try:
        write(value)
    except LocalProtocolError:
        return True
    return False


def _versioned(value: Any, write: Callable, read: Callable, version: int) -> tuple:
    return (
        value,
        lambda told: write(told, version=version),
        lambda data: read(data, version=version),
    )


def _header(case: dict[str, Any]) -> tuple:
    value = RequestHeader(**case)
    write, read = write_request_header, read_request_header
    return _versioned(value, write, lambda data, version: read(data, version=version)[0], 1)


def _metadata_request(case: dict[str, Any]) -> tuple:
    write, read = write_metadata_request, read_metadata_request
    return _versioned(case["topics"], write, read, case["version"])


def _metadata_response(case: dict[str, Any]) -> tuple:
    value = MetadataResponse(
        brokers=tuple(
            MetadataBroker(node_id=b["id"], host=b["host"], port=b["port"], rack=b["rack"])
            for b in case["brokers"]
        ),
        controller_id=case["controller_id"],
        topics=tuple(
            TopicMetadata(**topic | {"partitions": tuple(map(_partition, topic["partitions"]))})
            for topic in case["topics"]
        ),
    )
    write, read = write_metadata_response, read_metadata_response
    return _versioned(value, write, read, case["version"])


def _partition(told: dict[str, Any]) -> PartitionMetadata:
    lists = {"replicas": tuple(told["replicas"]), "isr": tuple(told["isr"])}
    return PartitionMetadata(**told | lists)


def _update_metadata(case: dict[str, Any]) -> tuple:
    value = UpdateMetadata(
        controller_id=case["controller_id"],
        controller_epoch=case["controller_epoch"],
        partition_states=tuple(
            UpdateMetadataPartitionState(
                **state | {"isr": tuple(state["isr"]), "replicas": tuple(state["replicas"])}
            )
            for state in case["states"]
        ),
        live_brokers=tuple(
            as_read(b["id"], map(_endpoint, b["endpoints"]), rack=b["rack"])
            for b in case["brokers"]
        ),
    )
    return _versioned(value, write_update_metadata, read_update_metadata, case["version"])


def _endpoint(told: dict[str, Any]) -> Endpoint:
    protocol = SecurityProtocol(told["protocol"])
    return Endpoint(listener=protocol.name, protocol=protocol, host=told["host"], port=told["port"])


def _update_metadata_response(case: dict[str, Any]) -> tuple:
    return case["error_code"], write_update_metadata_response, read_update_metadata_response


CODECS: dict[str, Callable[[dict[str, Any]], tuple]] = {
    "wire.header": _header,
    "wire.metadata_request": _metadata_request,
    "wire.metadata_response": _metadata_response,
    "wire.update_metadata": _update_metadata,
    "wire.update_metadata_response": _update_metadata_response,
}
