"""Probe: the replica that a leader names to a client of a rack, found by a fetch without records.

For each question the leader returns the end offset, and then the records after it, for the rack of
the client and at most one byte. A leader that knows a nearer replica names it instead of returning
records. No group is joined, no offset is committed, no fetch session is opened.

```
ListOffsets  orders-3 latest          -> 1207
Fetch 11+    orders-3 1207, rack b    -> preferred read replica 4, or none
```

Source: KIP-392; Fetch from version 11 on (`RackId`, `PreferredReadReplica`).
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING
from uuid import UUID

from kafka.protocol.consumer import FetchRequest, ListOffsetsRequest
from kafka.protocol.metadata import ApiVersionsRequest

from rackwise.adapters.kafka.connect import Message, reason, send_to_each
from rackwise.core.fetch_diagnosis.facts import FETCH_WITH_RACK, Probe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kafka.admin import KafkaAdminClient

    from rackwise.core.fetch_diagnosis.facts import ProbeQuestion
    from rackwise.core.model import Cluster, PartitionId, Topic

FETCH_BY_NAME = 12
"""The last version of Fetch that names topics."""
LATEST = -1
NONE = -1
_FETCH = 1
_MISSING = "NoAnswer"


def read_fetch_versions(
    admin: KafkaAdminClient, live: Sequence[int], *, progress: Callable[[int], None]
) -> dict[int, int]:
    """Broker -> highest version of Fetch that it supports; silent brokers are left out."""
    answers = send_to_each(
        admin,
        {
            broker: ApiVersionsRequest(client_software_name="rackwise", client_software_version="1")
            for broker in live
        },
    )
    progress(len(answers))
    return {
        broker: each.max_version
        for broker, answer in sorted(answers.items())
        if not isinstance(answer, Exception) and not answer.error_code
        for each in answer.api_keys
        if each.api_key == _FETCH
    }


def ask_leaders(
    admin: KafkaAdminClient,
    cluster: Cluster,
    questions: Sequence[ProbeQuestion],
    *,
    progress: Callable[[int], None],
) -> tuple[Probe, ...]:
    """The answer to each question, in order; a failed one has the name of its error.

    Needs Topic:Describe and Topic:Read. `progress(count)` is called when brokers answer.
    """
    ends, errors = _end_offsets(admin, questions)
    progress(len({each.leader for each in questions}))
    answers: dict[ProbeQuestion, Probe] = {
        each: Probe(question=each, error=errors.get(_partition_id(each), _MISSING))
        for each in questions
        if _partition_id(each) not in ends
    }
    for rack in sorted({each.client_rack for each in questions}):
        asked = [each for each in questions if each.client_rack == rack and each not in answers]
        leaders = _by_leader(asked)
        answered = send_to_each(
            admin,
            {
                leader: _fetch(cluster.topics, those, ends, rack)
                for leader, those in leaders.items()
            },
        )
        progress(len(answered))
        for leader, those in leaders.items():
            answers.update(_answers(cluster.topics, those, answered[leader]))
    return tuple(answers[each] for each in questions)


def _end_offsets(
    admin: KafkaAdminClient, questions: Sequence[ProbeQuestion]
) -> tuple[dict[PartitionId, int], dict[PartitionId, str]]:
    """Partition -> its high watermark; partition -> the name of its error."""
    leaders = _by_leader(questions)
    answered = send_to_each(admin, {leader: _latest(those) for leader, those in leaders.items()})
    ends: dict[PartitionId, int] = {}
    errors: dict[PartitionId, str] = {}
    for leader, those in leaders.items():
        answer = answered[leader]
        if isinstance(answer, Exception):
            errors.update((_partition_id(each), reason(answer)) for each in those)
            continue
        for topic in answer.topics:
            for each in topic.partitions:
                place = (topic.name, each.partition_index)
                if each.error_code:
                    errors[place] = reason(each.error_code)
                else:
                    ends[place] = each.offset
    return ends, errors


def _latest(questions: Iterable[ProbeQuestion]) -> Message:
    partition_of = ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition
    return ListOffsetsRequest(
        replica_id=NONE,
        isolation_level=0,
        topics=[
            ListOffsetsRequest.ListOffsetsTopic(
                name=topic,
                partitions=[
                    partition_of(partition_index=number, timestamp=LATEST) for number in numbers
                ],
            )
            for topic, numbers in _by_topic(questions).items()
        ],
    )


def _fetch(
    topics: Mapping[str, Topic],
    questions: Sequence[ProbeQuestion],
    ends: Mapping[PartitionId, int],
    rack: str,
) -> Message:
    """Topics are sent by id where all have one, else by name in versions that support names."""
    partition_of = FetchRequest.FetchTopic.FetchPartition
    ids = {each.topic: topic_uuid(topics[each.topic].id) for each in questions}
    return FetchRequest(
        min_version=FETCH_WITH_RACK,
        max_version=FETCH_BY_NAME if None in ids.values() else None,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1,
        rack_id=rack,
        topics=[
            FetchRequest.FetchTopic(
                topic=topic,
                topic_id=ids[topic] or UUID(int=0),
                partitions=[
                    partition_of(
                        partition=number,
                        fetch_offset=ends[topic, number],
                        partition_max_bytes=1,
                    )
                    for number in numbers
                ],
            )
            for topic, numbers in _by_topic(questions).items()
        ],
        forgotten_topics_data=[],
    )


def _answers(
    topics: Mapping[str, Topic], questions: Sequence[ProbeQuestion], answer: Message
) -> dict[ProbeQuestion, Probe]:
    if isinstance(answer, Exception) or answer.error_code:
        error = reason(answer if isinstance(answer, Exception) else answer.error_code)
        return {each: Probe(question=each, error=error) for each in questions}
    names = {topic_uuid(topics[each.topic].id): each.topic for each in questions}
    answered = {
        (topic.topic or names.get(topic.topic_id), each.partition_index): each
        for topic in answer.responses
        for each in topic.partitions
    }
    return {each: _probe(each, answered.get(_partition_id(each))) for each in questions}


def _probe(question: ProbeQuestion, answered: Message) -> Probe:
    if answered is None:
        return Probe(question=question, error=_MISSING)
    if answered.error_code:
        return Probe(question=question, error=reason(answered.error_code))
    named = answered.preferred_read_replica
    return Probe(question=question, named=None if named == NONE else named)


def topic_uuid(text: str | None) -> UUID | None:
    """A topic id from its text in Kafka, 22 characters of URL-safe base64.

    >>> topic_uuid("a5rIsYulSjyPjV-xorDH0w")
    UUID('6b9ac8b1-8ba5-4a3c-8f8d-5fb1a2b0c7d3')
    """
    return None if text is None else UUID(bytes=base64.urlsafe_b64decode(text + "=="))


def _by_leader(questions: Iterable[ProbeQuestion]) -> dict[int, list[ProbeQuestion]]:
    found: dict[int, list[ProbeQuestion]] = {}
    for each in questions:
        found.setdefault(each.leader, []).append(each)
    return found


def _by_topic(questions: Iterable[ProbeQuestion]) -> dict[str, list[int]]:
    found: dict[str, set[int]] = {}
    for each in questions:
        found.setdefault(each.topic, set()).add(each.partition)
    return {topic: sorted(numbers) for topic, numbers in found.items()}


def _partition_id(question: ProbeQuestion) -> PartitionId:
    return question.topic, question.partition
