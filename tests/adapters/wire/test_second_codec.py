"""kafka-python reads what we write and writes the same; where ours is stricter is said by name."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.api_header import RequestHeader as PeerHeader
from kafka.protocol.metadata import ApiVersionsRequest as PeerApiVersionsRequest
from kafka.protocol.metadata import ApiVersionsResponse as PeerApiVersionsResponse
from kafka.protocol.metadata import MetadataRequest as PeerMetadataRequest
from kafka.protocol.metadata import MetadataResponse as PeerMetadataResponse

from kafka_messages import (
    CreateReplicaAssignmentAnswer,
    CreateReplicaAssignmentQuestion,
    CreateReplicaAssignmentText,
)
from rackwise.core.errors import RemoteProtocolError
from rackwise.core.wire import api_versions, headers, metadata, replica_assignment
from wire_messages import (
    ASSIGNMENT_ANSWERS,
    ASSIGNMENT_QUESTIONS,
    ASSIGNMENT_REQUESTS,
    HEADERS,
    TEXTS,
    api_versions_responses,
    assignment_responses,
    metadata_responses,
    octets,
)

QUESTION = ASSIGNMENT_QUESTIONS["three brokers"][1]


def peer_metadata(m: metadata.MetadataResponse):
    peer = PeerMetadataResponse
    return peer(
        brokers=[
            peer.MetadataResponseBroker(node_id=b.node_id, host=b.host, port=b.port, rack=b.rack)
            for b in m.brokers
        ],
        controller_id=-1 if m.controller_id is None else m.controller_id,
        topics=[
            peer.MetadataResponseTopic(
                error_code=t.error_code,
                name=t.topic,
                is_internal=t.is_internal,
                partitions=[
                    peer.MetadataResponseTopic.MetadataResponsePartition(
                        error_code=p.error_code,
                        partition_index=p.partition,
                        leader_id=p.leader,
                        replica_nodes=list(p.replicas),
                        isr_nodes=list(p.isr),
                    )
                    for p in t.partitions
                ],
            )
            for t in m.topics
        ],
    )


def peer_api_versions(r: api_versions.ApiVersionsResponse):
    peer = PeerApiVersionsResponse
    return peer(
        error_code=r.error_code,
        api_keys=[
            peer.ApiVersion(api_key=k.api_key, min_version=k.least, max_version=k.most)
            for k in r.ranges
        ],
        throttle_time_ms=r.throttle_time_ms,
        supported_features=[
            peer.SupportedFeatureKey(name=name, min_version=least, max_version=most)
            for name, (least, most) in r.features.items()
        ],
    )


def peer_answer(response: replica_assignment.AssignmentResponse):
    peer = CreateReplicaAssignmentAnswer
    rows = [] if response.rows is None else response.rows.tolist()
    return peer(
        replica_assignment=[
            peer.ReplicaAssignment(
                partition_id=partition, replicas=[broker for broker in row if broker >= 0]
            )
            for partition, row in enumerate(rows, start=response.first)
        ],
        error_code=response.error_code,
        error_message=response.error_message,
        throttle_time_ms=response.throttle_time_ms,
    )


class TestMetadata:
    @pytest.mark.parametrize("version", [0, 1])
    @given(drawn=st.data())
    def test_responses_are_the_same(self, version, drawn):
        ours = drawn.draw(metadata_responses(version))
        data = metadata.write_metadata_response(ours, version=version)
        assert peer_metadata(ours).encode(version=version) == data
        read = PeerMetadataResponse.decode(data, version=version)
        assert [b.host for b in read.brokers] == [b.host for b in ours.brokers]
        assert [len(t.partitions) for t in read.topics] == [len(t.partitions) for t in ours.topics]

    @given(st.lists(TEXTS, max_size=3) | st.none())
    def test_requests_are_the_same(self, topics):
        peer = PeerMetadataRequest
        told = topics and [peer.MetadataRequestTopic(name=topic) for topic in topics]
        data = metadata.write_metadata_request(topics, version=1)
        assert peer(topics=told).encode(version=1) == data


class TestApiVersions:
    @pytest.mark.parametrize("version", range(5))
    @given(drawn=st.data())
    def test_responses_are_the_same(self, version, drawn):
        told = drawn.draw(api_versions_responses(version))
        ours = replace(told, error_code=0, unknown_tags=())  # it reads any error as version 0
        data = api_versions.write_api_versions_response(ours, version=version)
        assert peer_api_versions(ours).encode(version=version) == data
        read = PeerApiVersionsResponse.decode(data, version=version)
        assert [k.api_key for k in read.api_keys] == [k.api_key for k in ours.ranges]

    @pytest.mark.parametrize("version", range(5))
    @given(name=TEXTS, software=TEXTS)
    def test_requests_are_read(self, version, name, software):
        peer = PeerApiVersionsRequest(client_software_name=name, client_software_version=software)
        read = api_versions.read_api_versions_request(peer.encode(version=version), version=version)
        named = (name, software) if version > 2 else ("", "")
        assert (read.client_software_name, read.client_software_version) == named


@pytest.mark.parametrize("version", [1, 2])
@given(header=HEADERS)
def test_request_headers_are_the_same(version, header):
    peer = PeerHeader(
        request_api_key=header.api_key,
        request_api_version=header.api_version,
        correlation_id=header.correlation_id,
        client_id=header.client_id,
    )
    data = headers.write_request_header(header, version=version)
    assert peer.encode(flexible=version == 2) == data


class TestCreateReplicaAssignment:
    @given(ASSIGNMENT_REQUESTS)
    def test_requests_are_the_same(self, told):
        ours = replace(told, unknown_tags=())
        peer = CreateReplicaAssignmentQuestion(
            num_partitions=ours.num_partitions,
            replication_factor=ours.replication_factor,
            force_simple_assignment=ours.force_simple_assignment,
            node_id=list(ours.node_ids),
            timeout_ms=ours.timeout_ms,
        )
        data = replica_assignment.write_request(ours)
        assert peer.encode(version=0, header=False) == data

    @given(assignment_responses())
    def test_responses_are_the_same(self, told):
        ours = replace(told, unknown_tags=())
        data = replica_assignment.write_response(ours)
        assert peer_answer(ours).encode(version=0, header=False) == data
        read = CreateReplicaAssignmentAnswer.decode(data, version=0, header=False)
        assert read.error_code == ours.error_code

    @pytest.mark.parametrize("name", ASSIGNMENT_ANSWERS)
    def test_whoever_knows_the_text_alone_reads_our_answers(self, name):
        response, data = ASSIGNMENT_ANSWERS[name]
        read = CreateReplicaAssignmentText.decode(data, version=0, header=False)
        assert len(read.replica_assignment) == (0 if response.rows is None else 2)

    @pytest.mark.parametrize(
        "data",
        [QUESTION + b"JUNK", octets("00000006 0003 00 00 0000ea60 00")],
        ids=["trailing bytes", "null array"],
    )
    def test_what_kafka_python_accepts_we_refuse(self, data):
        CreateReplicaAssignmentQuestion.decode(data, version=0, header=False)
        with pytest.raises(RemoteProtocolError):
            replica_assignment.read_request(data)
