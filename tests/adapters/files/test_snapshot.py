"""Snapshot files: what is written is read, what cannot be a cluster is refused by its JSON path."""

import hashlib
import json
from contextlib import suppress
from dataclasses import replace
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rackwise.adapters.files import (
    fingerprint,
    parse_snapshot,
    read_snapshot,
    snapshot_bytes,
    write_snapshot,
)
from rackwise.core.errors import InvalidConfig, InvalidSnapshot
from rackwise.core.json import strict as strict_json
from rackwise.core.json.canonical import canonical_json
from rackwise.core.model import (
    AnswerTimes,
    Broker,
    Cluster,
    Configs,
    Group,
    GroupMember,
    LogDir,
    LogTail,
    Note,
    Partition,
    PartitionTable,
    Topic,
)
from rackwise.core.racks import Rack
from strategies import TEXTS, clusters

IDS = "ids are integers from 0 to 2147483647, without quotes and without a point"
ID_KEYS = "write the key as a number from 0 to 2147483647, without leading zeros"
NAMES = "write the name as the cluster has it: not empty, no control character"
GROUP = {"group": "g", "protocol": "classic", "members": []}
MEMBER = {"address": None, "client_id": "c", "member_id": "m", "partitions": [], "rack": None}
AGAIN = "take the snapshot again; if it stays, the file was changed by hand"


def cluster():
    """A small cluster that uses every field."""
    return Cluster(
        cluster_id="4L6g3nShT-eMCtK--X86sw",
        taken_at="2026-11-21T08:30:00Z",
        brokers=(
            Broker(
                id=1,
                rack=Rack("/eu/a"),
                is_fenced=False,
                host="b1.example",
                port=9092,
                addresses=("10.0.0.1", "2001:db8::1"),
                log_dirs=(LogDir(path="/data", total_bytes=10**12, usable_bytes=5 * 10**11),),
            ),
            Broker(id=2, rack=Rack("/eu/b"), is_live=False, is_fenced=True),
            Broker(id=3),
        ),
        topics={
            "orders": Topic(name="orders", id="vNwWjCwaQwOV6nZ5pWPZ7A", min_insync_replicas=2),
            "__offsets": Topic(name="__offsets", is_internal=True, retention_bytes=-1),
        },
        partitions=PartitionTable.of(
            [
                Partition(
                    topic="orders",
                    partition=0,
                    replicas=(1, 2, 3),
                    leader=1,
                    isr=(1, 3),
                    adding=(3,),
                    removing=(2,),
                    bytes=10**10,
                    bytes_in_per_s=5,
                ),
                Partition(topic="orders", partition=1, replicas=(9,)),
                Partition(topic="__offsets", partition=0, replicas=(2, 1), leader=2, isr=(2,)),
            ]
        ),
        groups=(
            Group(
                group="billing",
                protocol="consumer",
                assignor="uniform",
                state="Stable",
                members=(
                    GroupMember(
                        member_id="m",
                        client_id="\x1b[31m",
                        address="10.0.0.9",
                        rack=Rack("/eu/a"),
                        instance_id="i-1",
                        topics=("orders",),
                        generation=7,
                        partitions=(("orders", 0),),
                    ),
                ),
            ),
        ),
        configs=Configs(
            brokers={1: {"leader.replication.throttled.rate": "1000"}},
            topics={"orders": {"leader.replication.throttled.replicas": ""}},
        ),
        notes=(Note(kind="torn", text="read three times"),),
    )


def document():
    """The cluster as a JSON value that a test may change."""
    return strict_json.parse(snapshot_bytes(cluster()), where="x", error=InvalidConfig)


def changed(change):
    value = document()
    change(value)
    return json.dumps(value).encode()


def refused(data, error=InvalidSnapshot):
    with pytest.raises(error) as raised:
        parse_snapshot(data, where="s.json")
    assert type(raised.value) is error
    return raised.value


def shuffled(value, rng):
    """The same JSON value with the keys of every object in another order."""
    if isinstance(value, dict):
        keys = rng.sample(sorted(value), len(value))
        return {key: shuffled(value[key], rng) for key in keys}
    return [shuffled(item, rng) for item in value] if isinstance(value, list) else value


def check_file(value, rng):
    """Laws of the file: round trip, canonical JSON in lines, any order in, one fingerprint."""
    data = snapshot_bytes(value)
    read = parse_snapshot(data, where="s.json")
    assert read == value
    assert snapshot_bytes(read) == data
    flat = strict_json.parse(data, where="x", error=InvalidConfig)
    assert data.replace(b"\n", b"") == canonical_json(flat).encode()
    loose = shuffled(flat, rng)
    rng.shuffle(loose["brokers"])
    rng.shuffle(loose["topics"])
    assert parse_snapshot(json.dumps(loose, indent=1).encode(), where="s.json") == value
    assert flat.pop("tool").startswith("rackwise ")
    assert fingerprint(value) == hashlib.sha256(canonical_json(flat).encode()).hexdigest()


class TestRoundTrip:
    @given(clusters(), st.integers(0, 99))
    def test_what_is_written_is_read(self, value, seed):
        check_file(value, Random(seed))

    def test_every_field(self):
        check_file(cluster(), Random(1))

    def test_every_change_changes_the_fingerprint(self):
        first = cluster()
        others = [
            replace(first, cluster_id=None),
            replace(first, taken_at="2026-11-21T08:30:01Z"),
            replace(first, brokers=first.brokers[:2]),
            replace(first, topics={**first.topics, "new": Topic(name="new")}),
            replace(first, partitions=PartitionTable.of(list(first.partitions)[:2])),
            replace(first, groups=()),
            replace(first, configs=Configs()),
            replace(first, notes=()),
            replace(first, source="suppose"),
        ]
        assert len({fingerprint(value) for value in (first, *others)}) == len(others) + 1

    def test_one_broker_and_one_topic_a_line(self):
        lines = snapshot_bytes(cluster()).decode().splitlines()
        assert [line[:24] for line in lines] == [
            '{"brokers":[',
            '{"addresses":["10.0.0.1"',
            '{"addresses":[],"host":n',
            '{"addresses":[],"host":n',
            '],"cluster_id":"4L6g3nSh',
            '{"assignor":"uniform","g',
            '],"notes":[{"kind":"torn',
            '{"id":null,"is_internal"',
            '{"id":"vNwWjCwaQwOV6nZ5p',
            "]}",
        ]
        assert lines[8] == (
            '{"id":"vNwWjCwaQwOV6nZ5pWPZ7A","is_internal":false,"min_insync_replicas":2,'
            '"name":"orders","partitions":[{"adding":[3],"bytes":10000000000,'
            '"bytes_in_per_s":5,"isr":[1,3],"leader":1,"removing":[2],"replicas":[1,2,3]},'
            '{"adding":[],"bytes":null,"bytes_in_per_s":null,"isr":[],"leader":null,'
            '"removing":[],"replicas":[9]}],"retention_bytes":null}'
        )

    @pytest.mark.parametrize("name", ["s.json", "s.json.gz"])
    def test_files_plain_and_packed(self, tmp_path, name):
        write_snapshot(cluster(), tmp_path / name)
        first = (tmp_path / name).read_bytes()
        assert read_snapshot(tmp_path / name) == cluster()
        write_snapshot(cluster(), tmp_path / name)
        assert (tmp_path / name).read_bytes() == first
        assert first.startswith(b"\x1f\x8b") == name.endswith(".gz")

    def test_the_cap_is_the_readers(self, tmp_path):
        write_snapshot(cluster(), tmp_path / "s.json.gz")
        with pytest.raises(InvalidConfig, match="expected at most 100 bytes"):
            read_snapshot(tmp_path / "s.json.gz", max_bytes=100)

    def test_a_topic_without_partitions_stays(self):
        value = replace(cluster(), topics={**cluster().topics, "new": Topic(name="new")})
        assert parse_snapshot(snapshot_bytes(value), where="s.json") == value


def large():
    """More partitions than are taken at once, of two topics that the file has in disorder."""
    rows = [
        Partition(
            topic="ab"[number % 2],
            partition=number // 2,
            replicas=tuple(range(1, number % 4 + 2)),
            leader=None if number % 3 else 1,
            isr=(1,) * (number % 5 > 0),
            bytes=None if number % 7 == 0 else number,
            bytes_in_per_s=2**62 + number if number % 600 == 0 else None,
        )
        for number in range(2500)
    ]
    return replace(
        cluster(),
        topics={name: Topic(name=name) for name in "ab"},
        partitions=PartitionTable.of(rows),
    )


class TestManyPartitions:
    def test_what_is_written_is_read(self):
        assert parse_snapshot(snapshot_bytes(large()), where="s.json") == large()

    @pytest.mark.parametrize("is_canonical", [True, False])
    def test_topics_in_any_order_and_keys_too(self, is_canonical):
        value = strict_json.parse(snapshot_bytes(large()), where="x", error=InvalidConfig)
        value["topics"].reverse()
        if not is_canonical:
            value["topics"][1]["partitions"] = [
                dict(reversed(row.items())) for row in value["topics"][1]["partitions"]
            ]
        assert parse_snapshot(json.dumps(value).encode(), where="s.json") == large()

    @pytest.mark.parametrize("row", [0, 511, 512, 1249])
    def test_a_fault_in_any_of_them_has_its_path(self, row):
        value = strict_json.parse(snapshot_bytes(large()), where="x", error=InvalidConfig)
        value["topics"][1]["partitions"][row]["isr"] = [True]
        assert refused(json.dumps(value).encode()).message == (
            f"invalid s.json at $.topics[1].partitions[{row}].isr[0]: expected a broker id, "
            "got true"
        )
        value["topics"][1]["partitions"][row]["isr"] = [9]
        assert f"$.topics[1].partitions[{row}].isr[0]: expected a broker of the replicas 1" in (
            refused(json.dumps(value).encode()).message
        )

    @pytest.mark.parametrize("place", ["notes", "topics", "groups"])
    def test_a_partition_where_none_belongs(self, place):
        value = strict_json.parse(snapshot_bytes(large()), where="x", error=InvalidConfig)
        value[place].append(value["topics"][0]["partitions"][0])
        error = refused(json.dumps(value).encode())
        assert error.message.startswith(
            f"invalid s.json at $.{place}[{len(value[place]) - 1}]: missing key "
        )

    def test_a_partition_is_no_snapshot(self):
        value = strict_json.parse(snapshot_bytes(large()), where="x", error=InvalidConfig)
        error = refused(json.dumps(value["topics"][0]["partitions"][0]).encode())
        assert "expected format rackwise.snapshot/1, got none" in error.message


def metered():
    """The cluster with everything that a meter needs."""
    plain = cluster()
    orders = replace(
        plain.topics["orders"],
        cleanup_policy="compact",
        retention_ms=604_800_000,
        tails=(LogTail(partition=0, bytes=65_000, offsets=120),),
    )
    rows = [
        replace(row, start_offset=5, end_offset=900 + row.partition, leader_epoch=row.partition)
        for row in plain.partitions
    ]
    return replace(
        plain,
        name="payments",
        topics={**plain.topics, "orders": orders},
        partitions=PartitionTable.of(rows),
        groups=(
            replace(
                plain.groups[0], committed={"orders": (7, None)}, committed_at_ms=1_700_000_000_000
            ),
        ),
        answered=AnswerTimes(offsets={1: 1_700_000_000_001}, sizes={1: 1_700_000_000_002}),
    )


class TestMeteredSnapshot:
    def test_what_is_written_is_read(self):
        check_file(metered(), Random(1))

    def test_each_partition_has_three_more_keys(self):
        text = snapshot_bytes(metered()).decode()
        assert '"bytes_in_per_s":5,"end_offset":900,"isr"' in text
        assert '"leader_epoch":0,"removing":[2],"replicas":[1,2,3],"start_offset":5}' in text

    def test_a_snapshot_without_offsets_has_none_of_the_keys(self):
        text = snapshot_bytes(cluster()).decode()
        for key in ("offset", "epoch", "answered", "committed", "tails", "retention_ms"):
            assert f'{key}"' not in text

    def test_partitions_with_and_without_offsets(self):
        value = strict_json.parse(snapshot_bytes(metered()), where="x", error=InvalidConfig)
        for key in ("end_offset", "leader_epoch", "start_offset"):
            del value["topics"][1]["partitions"][1][key]
        table = parse_snapshot(json.dumps(value).encode(), where="s.json").partitions
        assert [row.end_offset for row in table] == [900, 900, None]

    def test_offsets_that_are_all_null_are_none(self):
        value = strict_json.parse(snapshot_bytes(metered()), where="x", error=InvalidConfig)
        for topic in value["topics"]:
            for row in topic["partitions"]:
                row.update(dict.fromkeys(("end_offset", "leader_epoch", "start_offset")))
        assert parse_snapshot(json.dumps(value).encode(), where="s.json").partitions.offsets is None

    @pytest.mark.parametrize(
        ("key", "wrong", "message"),
        [
            ("end_offset", -1, "expected a number from 0 on or null, got -1"),
            ("leader_epoch", 2**31, "expected a leader epoch or null, got 2147483648"),
            ("start_offset", "0", 'expected a number from 0 on or null, got "0"'),
        ],
    )
    def test_an_offset_that_is_none(self, key, wrong, message):
        value = strict_json.parse(snapshot_bytes(metered()), where="x", error=InvalidConfig)
        value["topics"][1]["partitions"][1][key] = wrong
        error = refused(json.dumps(value).encode())
        assert f"$.topics[1].partitions[1].{key}: {message}" in error.message

    def test_a_key_of_no_offset(self):
        value = strict_json.parse(snapshot_bytes(metered()), where="x", error=InvalidConfig)
        value["topics"][1]["partitions"][1]["last_offset"] = 1
        assert "last_offset" in refused(json.dumps(value).encode()).message

    def test_two_tails_of_one_partition(self):
        value = strict_json.parse(snapshot_bytes(metered()), where="x", error=InvalidConfig)
        value["topics"][1]["tails"] *= 2
        assert "expected each partition once, got 0 twice" in (
            refused(json.dumps(value).encode()).message
        )


def test_an_older_snapshot_knows_less_of_groups():
    value = document()
    (group,) = value["groups"]
    for key in ("assignor", "state"):
        del group[key]
    for key in ("generation", "instance_id", "topics"):
        del group["members"][0][key]
    (found,) = parse_snapshot(json.dumps(value).encode(), where="s.json").groups
    assert (found.assignor, found.state) == (None, None)
    assert found.members == (
        replace(cluster().groups[0].members[0], instance_id=None, topics=None, generation=None),
    )


def put(*path, value):
    def change(document):
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = value

    return change


ORDERS = ("topics", 1, "partitions")


class TestNoCluster:
    @pytest.mark.parametrize(
        ("change", "message", "hint"),
        [
            (
                put(*ORDERS, 0, "replicas", value=[]),
                (
                    "$.topics[1].partitions[0].replicas: expected at least one broker, got "
                    "an empty list (and 5 more faults)"
                ),
                AGAIN,
            ),
            (
                put(*ORDERS, 0, "replicas", value=[1, 2, 3, 1]),
                ("$.topics[1].partitions[0].replicas[3]: expected each broker once, got 1 twice"),
                AGAIN,
            ),
            (
                put(*ORDERS, 0, "isr", value=[1, 3, 1]),
                "$.topics[1].partitions[0].isr[2]: expected each broker once, got 1 twice",
                AGAIN,
            ),
            (
                put(*ORDERS, 0, "isr", value=[1, 7]),
                (
                    "$.topics[1].partitions[0].isr[1]: expected a broker of the replicas "
                    "1,2,3, got "
                    "7"
                ),
                AGAIN,
            ),
            (
                put(*ORDERS, 0, "leader", value=7),
                (
                    "$.topics[1].partitions[0].leader: expected a broker of the replicas "
                    "1,2,3, got "
                    "7"
                ),
                AGAIN,
            ),
            (
                put(*ORDERS, 0, "adding", value=[8]),
                (
                    "$.topics[1].partitions[0].adding[0]: expected a broker of the "
                    "replicas 1,2,3, got 8"
                ),
                AGAIN,
            ),
            (
                put(*ORDERS, 0, "removing", value=[8]),
                (
                    "$.topics[1].partitions[0].removing[0]: expected a broker of "
                    "the replicas 1,2,3, got 8"
                ),
                AGAIN,
            ),
            (
                put(*ORDERS, 1, "replicas", 0, value=True),
                "$.topics[1].partitions[1].replicas[0]: expected a broker id, got true",
                IDS,
            ),
            (
                put(*ORDERS, 0, "isr", 0, value=1.0),
                "$.topics[1].partitions[0].isr[0]: expected a broker id, got 1.0",
                IDS,
            ),
            (
                put(*ORDERS, 0, "adding", 0, value=-1),
                "$.topics[1].partitions[0].adding[0]: expected a broker id, got -1",
                IDS,
            ),
            (
                put(*ORDERS, 0, "leader", value=-1),
                "$.topics[1].partitions[0].leader: expected a broker id or null, got -1",
                IDS,
            ),
            (
                put(*ORDERS, 0, "leader", value=2**31),
                ("$.topics[1].partitions[0].leader: expected a broker id or null, got 2147483648"),
                IDS,
            ),
            (
                put(*ORDERS, 0, "bytes", value=-1),
                "$.topics[1].partitions[0].bytes: expected a size in bytes or null, got -1",
                None,
            ),
            (
                put(*ORDERS, 0, "bytes_in_per_s", value="5"),
                (
                    "$.topics[1].partitions[0].bytes_in_per_s: expected bytes per "
                    'second or null, got "5"'
                ),
                None,
            ),
            (
                put(*ORDERS, 0, "replicas", value={"1": 2}),
                (
                    "$.topics[1].partitions[0].replicas: expected a list of broker ids, got "
                    "an object"
                ),
                None,
            ),
            (
                put(*ORDERS, 1, value=[1]),
                "$.topics[1].partitions[1]: expected an object, got a list",
                None,
            ),
            (
                put(*ORDERS, value=None),
                "$.topics[1].partitions: expected a list of partitions, got null",
                None,
            ),
            (
                put(*ORDERS, 1, "partition", value=1),
                '$.topics[1].partitions[1]: unknown key "partition"',
                "remove it; if a newer Rackwise wrote the file, upgrade Rackwise",
            ),
            (
                put(*ORDERS, 1, value={"replicas": [1]}),
                ('$.topics[1].partitions[1]: missing key "adding" (and 5 more faults)'),
                "write null for an unknown value, and keep the key",
            ),
            (
                put("topics", 1, "name", value="__offsets"),
                '$.topics[1].name: expected each topic once, got "__offsets" twice',
                "keep one of the two",
            ),
            (
                put("groups", value=[GROUP, {**GROUP, "members": []}]),
                '$.groups[1].group: expected each group once, got "g" twice',
                "keep one of the two",
            ),
            (
                put("groups", value=[{**GROUP, "members": [MEMBER, MEMBER]}]),
                ('$.groups[0].members[1].member_id: expected each member once, got "m" twice'),
                "keep one of the two",
            ),
            (
                put("topics", 1, "name", value="a\x00b\x1b"),
                '$.topics[1].name: expected a topic name, got "a\\x00b\\x1b"',
                NAMES,
            ),
            (
                put("topics", 1, "min_insync_replicas", value=0),
                (
                    "$.topics[1].min_insync_replicas: expected a number of "
                    "replicas from 1, or null, got 0"
                ),
                None,
            ),
            (
                put("topics", 1, "retention_bytes", value=-2),
                (
                    "$.topics[1].retention_bytes: expected a size in bytes, -1 for "
                    "no limit, or null, got -2"
                ),
                None,
            ),
            (
                put("topics", 1, "is_internal", value=1),
                "$.topics[1].is_internal: expected true or false, got 1",
                None,
            ),
            (
                put("brokers", 2, "id", value=1),
                "$.brokers[2].id: expected each broker once, got 1 twice",
                "keep one of the two",
            ),
            (
                put("brokers", 0, "id", value=True),
                "$.brokers[0].id: expected a broker id, got true",
                IDS,
            ),
            (
                put("brokers", 0, "addresses", 0, value="b1.example"),
                '$.brokers[0].addresses[0]: expected an IP address, got "b1.example"',
                "rackwise snapshot --resolve writes them",
            ),
            (
                put("brokers", 0, "port", value=65536),
                "$.brokers[0].port: expected a port or null, got 65536",
                None,
            ),
            (
                put("brokers", 0, "rack", value=5),
                "$.brokers[0].rack: expected a rack or null, got 5",
                None,
            ),
            (
                put("brokers", value={}),
                "$.brokers: expected a list of brokers, got an object",
                None,
            ),
            (
                put("groups", 0, "members", 0, "partitions", 0, value=["orders"]),
                (
                    "$.groups[0].members[0].partitions[0]: expected a pair of "
                    "topic and partition, got a list"
                ),
                None,
            ),
            (
                put("groups", 0, "members", 0, "generation", value=-2),
                "$.groups[0].members[0].generation: expected a generation or null, got -2",
                None,
            ),
            (
                put("groups", 0, "members", 0, "topics", value="orders"),
                ('$.groups[0].members[0].topics: expected a list of topics or null, got "orders"'),
                None,
            ),
            (
                put("groups", 0, "members", 0, "partitions", 0, value="orders-0"),
                (
                    "$.groups[0].members[0].partitions[0]: expected a pair of "
                    'topic and partition, got "orders-0"'
                ),
                None,
            ),
            (
                put("configs", "brokers", value={"01": {}}),
                '$.configs.brokers: expected a broker id as key, got "01"',
                ID_KEYS,
            ),
            (
                put("configs", "brokers", value={"9" * 5000: {}}),
                f'$.configs.brokers: expected a broker id as key, got "{"9" * 60}"...',
                ID_KEYS,
            ),
            (
                put("configs", "topics", value={"a\x1b": {}}),
                ('$.configs.topics: expected a name without control characters, got "a\\x1b"'),
                NAMES,
            ),
            (
                put("configs", "topics", value=[]),
                "$.configs.topics: expected an object, got an empty list",
                None,
            ),
            (
                put("configs", "topics", "orders", "k", value=5),
                "$.configs.topics.orders.k: expected a text, got 5",
                None,
            ),
            (
                put("taken_at", value="2026-11-21 08:30"),
                (
                    "$.taken_at: expected a time such as 2026-11-21T08:30:00Z, got "
                    '"2026-11-21 08:30"'
                ),
                None,
            ),
            (
                put("taken_at", value="2026-13-21T08:30:00Z"),
                (
                    "$.taken_at: expected a time such as 2026-11-21T08:30:00Z, got "
                    '"2026-13-21T08:30:00Z"'
                ),
                None,
            ),
            (
                put("source", value="guess"),
                '$.source: expected one of kafka, reassignment, suppose, got "guess"',
                None,
            ),
            (
                put("colour", value="red"),
                '$: unknown key "colour"',
                "remove it; if a newer Rackwise wrote the file, upgrade Rackwise",
            ),
            (
                put("format", value="rackwise.snapshot/2"),
                "$.format: expected format 1, got 2",
                "upgrade Rackwise, a newer one wrote this file",
            ),
            (
                put("format", value="rackwise.snapshot/0"),
                "$.format: expected format 1, got 0",
                "write the file again with this Rackwise",
            ),
            (
                put("format", value="rackwise.plan/1"),
                '$.format: expected format rackwise.snapshot/1, got "rackwise.plan/1"',
                "is it the right file for this option?",
            ),
            (
                put("format", value=None),
                "$.format: expected format rackwise.snapshot/1, got none",
                "is it the right file for this option?",
            ),
        ],
    )
    def test_the_sentence_has_the_path_what_was_wanted_and_what_was_read(
        self, change, message, hint
    ):
        error = refused(changed(change))
        assert error.message == f"invalid s.json at {message}"
        assert error.hint == hint
        assert error.where == message.partition(": ")[0]

    def test_a_document_of_another_kind(self):
        assert refused(b"[]").message == (
            "invalid s.json at $.format: expected format rackwise.snapshot/1, got none"
        )

    def test_the_first_row_is_told_first(self):
        value = document()
        rows = [
            {"adding": [], "bytes": None, "bytes_in_per_s": None, "isr": [], "leader": None}
            | {"removing": [], "replicas": [1]}
            for _ in range(5)
        ]
        rows[4]["replicas"] = []
        rows[3]["replicas"] = [2, 2]
        rows[2]["leader"] = 5
        rows[1]["isr"] = [1, 4, 5]
        value["topics"][0]["partitions"] = rows
        error = refused(json.dumps(value).encode())
        assert error.message.startswith(
            "invalid s.json at $.topics[0].partitions[1].isr[1]: expected a broker of"
        )
        assert error.message.endswith("(and 4 more faults)")

    @given(TEXTS)
    @example("/l" * 17)
    @example("/a//b")
    @example("/eu/")
    @example("/a\x1b")
    @example("use1-az1")
    @example("")
    def test_any_text_is_read_and_written_as_the_rack_of_a_broker(self, text):
        read = parse_snapshot(changed(put("brokers", 2, "rack", value=text)), where="s.json")
        assert read.brokers[2].rack == Rack(text)
        assert parse_snapshot(snapshot_bytes(read), where="s.json") == read


class TestNothingUnreadableIsWritten:
    @pytest.mark.parametrize(
        ("partition", "message"),
        [
            (
                Partition(topic="orders", partition=0, replicas=(1, 2), leader=5),
                (
                    "invalid snapshot at orders-0.leader: expected a broker of the "
                    "replicas 1,2, got 5"
                ),
            ),
            (
                Partition(topic="orders", partition=0, replicas=()),
                (
                    "invalid snapshot at orders-0.replicas: expected at least one "
                    "broker, got an empty list"
                ),
            ),
            (
                Partition(topic="orders", partition=1, replicas=(1,)),
                (
                    "invalid snapshot at orders: expected partitions without a gap, "
                    "got none with number 0"
                ),
            ),
            (
                Partition(topic="new", partition=0, replicas=(1,)),
                (
                    "invalid snapshot at new: expected a topic of the cluster, got an "
                    "unknown topic with partitions"
                ),
            ),
        ],
    )
    def test_a_table_that_no_cluster_has(self, tmp_path, partition, message):
        value = replace(cluster(), partitions=PartitionTable.of([partition]))
        with pytest.raises(InvalidSnapshot) as raised:
            write_snapshot(value, tmp_path / "s.json")
        assert raised.value.message == message
        assert raised.value.hint
        assert list(tmp_path.iterdir()) == []


GOLDEN = snapshot_bytes(cluster())
TOKENS = [
    b"null",
    b"true",
    b"-1",
    b"1e9",
    b"[]",
    b"{}",
    b'""',
    b'"\\u0000"',
    b"9" * 25,
    b",",
    b"[[",
]


class TestHostileFiles:
    def test_every_truncation_is_refused(self):
        for end in range(len(GOLDEN) - 1):
            assert refused(GOLDEN[:end]).message.startswith("invalid s.json")

    @given(
        st.lists(st.tuples(st.integers(0, len(GOLDEN) - 1), st.integers(0, 255)), max_size=3),
        st.integers(0, len(GOLDEN)),
        st.integers(0, 6),
        st.sampled_from([b"", *TOKENS]),
    )
    def test_only_our_errors_leave_and_what_is_accepted_is_written_canonically(
        self, changes, at, cut, token
    ):
        data = bytearray(GOLDEN)
        for place, byte in changes:
            data[place] = byte
        data[at : at + cut] = token
        with suppress(InvalidSnapshot):
            read = parse_snapshot(bytes(data), where="s.json")
            assert parse_snapshot(snapshot_bytes(read), where="s.json") == read

    @given(st.data())
    def test_any_value_of_any_type_in_any_place(self, data):
        value = document()
        odd = st.sampled_from(
            [None, True, -1, 2**63 - 1, 1.5, "", "\x00", [], {}, [[]], [None], {"a": 1}, [1, 1]]
        )
        place = value
        for _ in range(data.draw(st.integers(1, 6))):
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                break
            key = data.draw(st.sampled_from(keys))
            if isinstance(place[key], dict | list) and data.draw(st.booleans()):
                place = place[key]
            else:
                place[key] = data.draw(odd)
                break
        with suppress(InvalidSnapshot):
            read = parse_snapshot(json.dumps(value).encode(), where="s.json")
            assert parse_snapshot(snapshot_bytes(read), where="s.json") == read
