"""The last batches of compacted topics, from Fetch requests to the leaders.

Where the log cleaner removes records, neither the growth of a log nor its mean says how many bytes
producers write for an offset. The newest batches do: the cleaner does not touch the active segment.

Goals, in order: only batches as they were sent count; at most `TAIL_BYTES` per partition and
request; few requests, all leaders in parallel.

Algorithm. Two rounds, each with one request for `PARTITIONS_PER_REQUEST` partitions of a leader:

```
offsets of the log   0 ............. 9000 .... 9990  9999 | 10000 = end
round 1              from 9999: the batch that contains it, 9990..9999, 800 bytes
round 2              from 10000 - TAIL_BYTES * 3/4 / 80 bytes = 9386: batches until the end
tail                 the last neighbours that lost no record
```

A batch of more than `TAIL_BYTES` is not read: its partition gets no tail, with a note.

What this does not do: decide what a byte per offset means, or read topics that are not compacted.

Source: KIP-74 (limits of a Fetch), KIP-516 (topics by id), `core.wire.batches`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import UUID

from kafka.protocol.consumer import FetchRequest

from rackwise.adapters.kafka.connect import Message, reason, send_in_turn
from rackwise.adapters.kafka.probe import FETCH_BY_NAME, topic_uuid
from rackwise.core.errors import RemoteProtocolError
from rackwise.core.model import LogTail, Note
from rackwise.core.text import counted
from rackwise.core.wire.batches import read_batch_spans, whole_tail

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kafka.admin import KafkaAdminClient

    from rackwise.core.model import PartitionTable
    from rackwise.core.wire.batches import BatchSpan

TAIL_BYTES: Final = 64 * 1024
_AIM: Final = TAIL_BYTES * 3 // 4
"""Bytes that the second round aims at: batches differ in size."""
PARTITIONS_PER_REQUEST: Final = 200
_LEAST_VERSION: Final = 10
"""The first version of Fetch that returns batches compressed with zstd."""
_NO_RIGHT: Final = 29
_UNREADABLE: Final = "its record batches are not of the format since Kafka 0.11"
_LARGE: Final = f"the last batch takes more than {TAIL_BYTES // 1024} KiB"
_CLEANED: Final = "the log cleaner has removed records of the last batch; write a record"


@dataclass(frozen=True, slots=True)
class _Place:
    """A partition, and where to read it."""

    row: int
    topic: str
    partition: int
    leader: int
    offset: int


def read_tails(
    admin: KafkaAdminClient,
    table: PartitionTable,
    topics: Mapping[str, str | None],
    *,
    progress: Callable[[int], None],
) -> tuple[dict[str, tuple[LogTail, ...]], tuple[Note, ...]]:
    """Topic -> the tails of its partitions, and notes about those that could not be read.

    `table`: with offsets; empty logs have no tail. `topics`: name -> id, or None where it has none.
    Needs Topic:Read.
    """
    ids = {name: topic_uuid(text) for name, text in topics.items()}
    ends = list(_ends(table, topics))
    found, problems = _read(admin, ends, ids, progress)
    further = [each for each in (_further(table, one, found.get(one.row)) for one in ends) if each]
    more, _ = _read(admin, further, ids, progress)
    for row, spans in more.items():
        if sum(each.bytes for each in spans) > sum(each.bytes for each in found[row]):
            found[row] = spans
    tails: dict[str, list[LogTail]] = {}
    for place in ends:
        spans = found.get(place.row, ())
        if spans:
            tail = LogTail(
                partition=place.partition,
                bytes=sum(each.bytes for each in spans),
                offsets=spans[-1].next_offset - spans[0].base_offset,
            )
            tails.setdefault(place.topic, []).append(tail)
    return {topic: tuple(of) for topic, of in tails.items()}, _notes(table, problems)


def _ends(table: PartitionTable, topics: Mapping[str, object]) -> Iterator[_Place]:
    """The last offset of each partition of these topics that has one."""
    offsets = table.offsets
    if offsets is None:
        return
    wanted = {number for number, name in enumerate(table.topics) if name in topics}
    for row, topic in enumerate(table.topic.tolist()):
        end = int(offsets.end[row])
        if topic in wanted and end > max(0, int(offsets.start[row])):
            yield _Place(
                row=row,
                topic=table.topics[topic],
                partition=int(table.partition[row]),
                leader=int(table.leader[row]),
                offset=end - 1,
            )


def _further(
    table: PartitionTable, end: _Place, spans: Sequence[BatchSpan] | None
) -> _Place | None:
    """Where the second round begins; None where the first has read enough, or nothing."""
    if not spans or table.offsets is None:
        return None
    first, bytes_read = spans[0].base_offset, sum(each.bytes for each in spans)
    per_offset = bytes_read / (spans[-1].next_offset - first)
    begin = max(int(table.offsets.start[end.row]), 0, end.offset + 1 - int(_AIM / per_offset))
    if begin >= first or bytes_read >= _AIM:
        return None
    return _Place(end.row, end.topic, end.partition, end.leader, begin)


def _read(
    admin: KafkaAdminClient,
    places: Sequence[_Place],
    ids: Mapping[str, UUID | None],
    progress: Callable[[int], None],
) -> tuple[dict[int, Sequence[BatchSpan]], dict[int, str]]:
    """Row -> the last batches as they were sent; row -> why there are none."""
    by_leader: dict[int, list[_Place]] = {}
    for place in places:
        by_leader.setdefault(place.leader, []).append(place)
    chunks = {leader: _chunks(of) for leader, of in sorted(by_leader.items())}
    answers = send_in_turn(
        admin,
        {leader: [_request(chunk, ids) for chunk in of] for leader, of in chunks.items()},
    )
    found: dict[int, Sequence[BatchSpan]] = {}
    problems: dict[int, str] = {}
    for leader, of in chunks.items():
        for chunk, answer in zip(of, answers[leader], strict=True):
            _take(chunk, answer.message, ids, found, problems)
    if answers:
        progress(len(answers))
    return found, problems


def _take(
    places: Sequence[_Place],
    answer: Message,
    ids: Mapping[str, UUID | None],
    found: dict[int, Sequence[BatchSpan]],
    problems: dict[int, str],
) -> None:
    """Sort the answer to one request into `found` and `problems`."""
    if isinstance(answer, Exception) or answer.error_code:
        why = reason(answer if isinstance(answer, Exception) else answer.error_code)
        problems.update(dict.fromkeys((each.row for each in places), why))
        return
    names = {ids[each.topic]: each.topic for each in places}
    answered = {
        (topic.topic or names.get(topic.topic_id), each.partition_index): each
        for topic in answer.responses
        for each in topic.partitions
    }
    for place in places:
        each = answered.get((place.topic, place.partition))
        if each is None:
            problems[place.row] = "the leader left them out of its answer"
        elif each.error_code:
            right = "; grant Topic:Read" if each.error_code == _NO_RIGHT else ""
            problems[place.row] = f"{reason(each.error_code)}{right}"
        else:
            spans, problem = _spans(bytes(each.records or b""))
            found[place.row] = spans
            if problem is not None:
                problems[place.row] = problem


def _spans(records: bytes) -> tuple[Sequence[BatchSpan], str | None]:
    """The tail in fetched bytes, and why there is none."""
    try:
        spans = read_batch_spans(records)
    except RemoteProtocolError:
        return (), _UNREADABLE
    if not spans:
        return (), _LARGE
    tail = whole_tail(spans)
    return tail, None if tail else _CLEANED


def _request(places: Sequence[_Place], ids: Mapping[str, UUID | None]) -> Message:
    """Topics are sent by id where all have one, else by name in versions that support names."""
    topics: dict[str, list[_Place]] = {}
    for place in places:
        topics.setdefault(place.topic, []).append(place)
    has_ids = all(ids[topic] for topic in topics)
    partition_of = FetchRequest.FetchTopic.FetchPartition
    return FetchRequest(
        min_version=_LEAST_VERSION,
        max_version=None if has_ids else FETCH_BY_NAME,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=TAIL_BYTES * len(places),
        isolation_level=0,
        rack_id="",
        topics=[
            FetchRequest.FetchTopic(
                topic=topic,
                topic_id=ids[topic] or UUID(int=0),
                partitions=[
                    partition_of(
                        partition=each.partition,
                        fetch_offset=each.offset,
                        partition_max_bytes=TAIL_BYTES,
                    )
                    for each in of
                ],
            )
            for topic, of in topics.items()
        ],
        forgotten_topics_data=[],
    )


def _chunks(places: Sequence[_Place]) -> list[Sequence[_Place]]:
    return [
        places[first : first + PARTITIONS_PER_REQUEST]
        for first in range(0, len(places), PARTITIONS_PER_REQUEST)
    ]


def _notes(table: PartitionTable, problems: Mapping[int, str]) -> tuple[Note, ...]:
    """One note for each reason, with the number of partitions and one example."""
    rows: dict[str, list[int]] = {}
    for row, why in problems.items():
        rows.setdefault(why, []).append(row)
    return tuple(
        Note(
            kind="not-visible",
            text=f"last batches of {counted(len(those), 'partition')}, such as "
            f"{table.name(min(those))}: {why}",
        )
        for why, those in sorted(rows.items())
    )
