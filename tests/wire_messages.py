"""Messages of Kafka's binary formats: byte vectors, and Hypothesis strategies for values."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from rackwise.core.wire.api_versions import ApiRange, ApiVersionsRequest, ApiVersionsResponse
from rackwise.core.wire.endpoints import Endpoint, SecurityProtocol
from rackwise.core.wire.headers import RequestHeader
from rackwise.core.wire.kip36.update_metadata import UpdateMetadata, UpdateMetadataPartitionState
from rackwise.core.wire.metadata import (
    MetadataBroker,
    MetadataResponse,
    PartitionMetadata,
    TopicMetadata,
)
from rackwise.core.wire.registration import BrokerRegistration
from rackwise.core.wire.replica_assignment import AssignmentRequest, AssignmentResponse

INT16 = st.integers(-(2**15), 2**15 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
IDS = st.integers(0, 2**31 - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NULLABLE_TEXTS = st.none() | TEXTS
UNKNOWN_TAGS = st.dictionaries(st.integers(3, 2**32 - 1), st.binary(max_size=6), max_size=3).map(
    lambda found: tuple(sorted(found.items()))
)


def many(strategy, most=3):
    return st.lists(strategy, max_size=most).map(tuple)


def plaintext(host, port=9092):
    return Endpoint(listener="PLAINTEXT", protocol=SecurityProtocol.PLAINTEXT, host=host, port=port)


def as_read(broker_id, endpoints, *, rack=None, version=2):
    """A registration as a block of `version` returns it."""
    endpoints = tuple(endpoints)
    first = next((e for e in endpoints if e.protocol == SecurityProtocol.PLAINTEXT), None)
    return BrokerRegistration(
        broker_id=broker_id,
        version=version + 1,
        endpoints=endpoints[:1] if version == 0 else endpoints,
        rack=rack if version > 1 else None,
        host=first.host if first else None,
        port=first.port if first else -1,
    )


ENDPOINTS = st.builds(
    lambda protocol, host, port: Endpoint(
        listener=protocol.name, protocol=protocol, host=host, port=port
    ),
    st.sampled_from(SecurityProtocol),
    TEXTS,
    INT32,
)


def brokers(version):
    """Registrations that a block of this version holds completely."""
    endpoints = (
        st.builds(plaintext, TEXTS, INT32).map(lambda found: (found,))
        if version == 0
        else many(ENDPOINTS)
    )
    racks = NULLABLE_TEXTS if version > 1 else st.none()
    return st.builds(
        lambda broker_id, found, rack: as_read(broker_id, found, rack=rack, version=version),
        INT32,
        endpoints,
        racks,
    )


PARTITION_STATES = st.builds(
    UpdateMetadataPartitionState,
    topic=TEXTS,
    partition=INT32,
    controller_epoch=INT32,
    leader=INT32,
    leader_epoch=INT32,
    isr=many(INT32),
    zk_version=INT32,
    replicas=many(INT32),
)


def update_metadatas(version):
    return st.builds(
        UpdateMetadata,
        controller_id=INT32,
        controller_epoch=INT32,
        partition_states=many(PARTITION_STATES),
        live_brokers=many(brokers(version)),
    )


PARTITIONS = st.builds(
    PartitionMetadata,
    error_code=INT16,
    partition=INT32,
    leader=INT32,
    replicas=many(INT32),
    isr=many(INT32),
)


def metadata_responses(version):
    """Answers that this version holds completely."""
    is_new = version > 0
    return st.builds(
        MetadataResponse,
        brokers=many(
            st.builds(
                MetadataBroker,
                node_id=INT32,
                host=TEXTS,
                port=INT32,
                rack=NULLABLE_TEXTS if is_new else st.none(),
            )
        ),
        controller_id=st.none() | IDS if is_new else st.none(),
        topics=many(
            st.builds(
                TopicMetadata,
                error_code=INT16,
                topic=TEXTS,
                is_internal=st.booleans() if is_new else st.just(value=False),
                partitions=many(PARTITIONS),
            )
        ),
    )


HEADERS = st.builds(
    RequestHeader,
    api_key=INT16,
    api_version=INT16,
    correlation_id=INT32,
    client_id=NULLABLE_TEXTS,
)

API_VERSIONS_REQUESTS = st.builds(
    ApiVersionsRequest, client_software_name=TEXTS, client_software_version=TEXTS
)


def api_versions_responses(version):
    """Answers that this version holds completely."""
    is_flexible = version > 2
    return st.builds(
        ApiVersionsResponse,
        error_code=INT16,
        ranges=many(st.builds(ApiRange, api_key=INT16, least=INT16, most=INT16)),
        throttle_time_ms=INT32 if version > 0 else st.just(0),
        features=st.dictionaries(TEXTS, st.tuples(INT16, INT16), max_size=3)
        if is_flexible
        else st.just({}),
        unknown_tags=UNKNOWN_TAGS if is_flexible else st.just(()),
    )


ASSIGNMENT_REQUESTS = st.builds(
    AssignmentRequest,
    num_partitions=INT32,
    replication_factor=INT16,
    force_simple_assignment=st.booleans(),
    node_ids=many(INT32, 6),
    timeout_ms=INT32,
    unknown_tags=UNKNOWN_TAGS,
)


@st.composite
def assignment_rows(draw):
    """int32 [partitions, replicas], padded with -1 where rows have different lengths; or None."""
    width = draw(st.integers(0, 4) | st.just(130))
    even = draw(st.booleans())
    lengths = draw(st.lists(st.just(width) if even else st.integers(0, width), max_size=5))
    widest = max(lengths, default=0)
    drawn = [draw(st.lists(IDS, min_size=n, max_size=n)) for n in lengths]
    padded = [row + [-1] * (widest - len(row)) for row in drawn]
    return np.array(padded, dtype=np.int32).reshape(len(drawn), widest) if drawn else None


@st.composite
def assignment_responses(draw):
    rows = draw(assignment_rows())
    least = 0 if rows is None else len(rows)
    return AssignmentResponse(
        rows=rows,
        first=0 if rows is None else draw(st.integers(0, 2**31 - least)),
        error_code=draw(INT16),
        error_message=draw(NULLABLE_TEXTS),
        throttle_time_ms=draw(INT32),
        unknown_tags=draw(UNKNOWN_TAGS),
    )


def octets(*parts):
    """Octets from hex digits, without blanks."""
    return bytes.fromhex("".join(parts))


MARKER_HEX = "7261636b776973652e7265706c6963612e61737369676e6d656e74"
BLOCK_1 = {
    0: octets("00000001 0005686f737431 00002384"),
    1: octets("00000001 00000002  00002384 0005686f737431 0000  00002385 0005686f737431 0001"),
}
BLOCK_1[2] = BLOCK_1[1] + octets("0003646331")
BLOCK_2 = {
    0: octets("00000002 0005686f737432 00002384"),
    1: octets("00000002 00000001 00002384 0005686f737432 0000"),
}
BLOCK_2[2] = BLOCK_2[1] + octets("ffff")
SSL_1 = Endpoint(listener="SSL", protocol=SecurityProtocol.SSL, host="host1", port=9093)
BROKER_1 = BrokerRegistration(
    broker_id=1,
    version=5,
    endpoints=(plaintext("host1"), SSL_1),
    rack="dc1",
    host="host1",
    port=9092,
    jmx_port=9999,
    timestamp_ms=2233345666,
)
BROKER_2 = BrokerRegistration(
    broker_id=2, version=5, endpoints=(plaintext("host2"),), host="host2", port=9092
)

STATES = octets(
    "00000001 000174 00000000 00000003 00000001 00000005",
    "00000002 00000001 00000002  00000007  00000002 00000001 00000002",
)
UPDATE_METADATA = {
    version: octets("00000001 00000003")
    + STATES
    + octets("00000002")
    + BLOCK_1[version]
    + BLOCK_2[version]
    for version in range(3)
}
UPDATE = UpdateMetadata(
    controller_id=1,
    controller_epoch=3,
    partition_states=(
        UpdateMetadataPartitionState(
            topic="t",
            partition=0,
            controller_epoch=3,
            leader=1,
            leader_epoch=5,
            isr=(1, 2),
            zk_version=7,
            replicas=(1, 2),
        ),
    ),
    live_brokers=(BROKER_1, BROKER_2),
)

METADATA_PARTITIONS = octets(
    "00000001 0000 00000000 00000001 00000002 00000001 00000002 00000001 00000001"
)
METADATA_BROKERS_1 = octets(
    "00000002 00000001 0005686f737431 00002384 0003646331",
    "00000002 0005686f737432 00002384 ffff",
)
METADATA = {
    0: octets("00000002 00000001 0005686f737431 00002384 00000002 0005686f737432 00002384")
    + octets("00000001 0000 000174")
    + METADATA_PARTITIONS,
    1: METADATA_BROKERS_1 + octets("00000001 00000001 0000 000174 00") + METADATA_PARTITIONS,
}
METADATA_TEXT_1 = METADATA_BROKERS_1 + octets("00000001 0000 000174") + METADATA_PARTITIONS
"""Version 1 as the text of KIP-36 has it; no broker sends that."""
METADATA_TOPIC = TopicMetadata(
    topic="t",
    partitions=(PartitionMetadata(partition=0, leader=1, replicas=(1, 2), isr=(1,)),),
)
METADATA_VALUE = {
    0: MetadataResponse(
        brokers=(
            MetadataBroker(node_id=1, host="host1", port=9092),
            MetadataBroker(node_id=2, host="host2", port=9092),
        ),
        topics=(METADATA_TOPIC,),
    ),
    1: MetadataResponse(
        brokers=(
            MetadataBroker(node_id=1, host="host1", port=9092, rack="dc1"),
            MetadataBroker(node_id=2, host="host2", port=9092),
        ),
        controller_id=1,
        topics=(METADATA_TOPIC,),
    ),
}

SERVER_RANGES = tuple(
    ApiRange(api_key=key, least=0, most=most) for key, most in ((3, 1), (18, 4), (68, 0))
)
SERVER_VERSIONS = ApiVersionsResponse(
    ranges=SERVER_RANGES, features={"rackwise.replica.assignment": (1, 1)}
)
SERVER_VERSIONS_3 = octets(
    "00000045 00000007 0000 04 0003 0000 0001 00 0012 0000 0004 00 0044 0000 0000 00 00000000",
    "01 00 22 02 1c",
    MARKER_HEX,
    "0001 0001 00",
)
SERVER_VERSIONS_OTHER = octets(
    "0000001c 00000007 0023 00000003 0003 0000 0001 0012 0000 0004 0044 0000 0000"
)

ASSIGNMENT_QUESTIONS = {
    "three brokers": (
        AssignmentRequest(num_partitions=6, replication_factor=3, node_ids=(1, 2, 300)),
        octets("00000006 0003 00 04 00000001 00000002 0000012c 0000ea60 00"),
    ),
    "simple, all brokers": (
        AssignmentRequest(
            num_partitions=1, replication_factor=1, force_simple_assignment=True, timeout_ms=5000
        ),
        octets("00000001 0001 01 01 00001388 00"),
    ),
}
TOO_FEW = "Replication factor: 4 larger than available brokers: 3."
ASSIGNMENT_ANSWERS = {
    "rows": (
        AssignmentResponse(rows=np.array([[1, 2, 300], [2, -1, -1]], dtype=np.int32)),
        octets("03 00000000 04 00000001 00000002 0000012c 00 00000001 02 00000002 00 00"),
    ),
    "error with text": (
        AssignmentResponse(rows=None, error_code=38, error_message=TOO_FEW),
        octets("01 02 00 02 0026 01 38 38") + TOO_FEW.encode(),
    ),
    "error without text": (
        AssignmentResponse(rows=None, error_code=7, throttle_time_ms=250),
        octets("01 02 00 02 0007 02 04 000000fa"),
    ),
    "nothing": (AssignmentResponse(rows=None), octets("01 00")),
}
