"""Kafka's reassignment JSON: written as Kafka writes it, refused where Kafka refuses it."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.adapters.files import (
    parse_placement,
    parse_snapshot,
    read_placement,
    read_reassignment,
    reassignment_text,
    snapshot_bytes,
    write_reassignment,
)
from rackwise.core.errors import InvalidConfig, InvalidPlan, InvalidSnapshot
from rackwise.core.json import strict as strict_json
from rackwise.core.model import Broker, Partition, Topic
from rackwise.core.racks import Rack
from strategies import TOPIC_NAMES

GOLDEN = Path(__file__).parents[2] / "golden"
IDS = "ids are integers from 0 to 2147483647, without quotes and without a point"
NAMES = "write the name as the cluster has it: not empty, no control character"
ONE = '{"version":1,"partitions":[{"topic":"e","partition":0,"replicas":[3,1]}]}'
PLACEMENTS = st.dictionaries(
    st.tuples(TOPIC_NAMES, st.integers(0, 2**31 - 1)),
    st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=4, unique=True).map(tuple),
    min_size=1,
    max_size=6,
)


def upstream(operation):
    """The frozen answers of Kafka's own tool."""
    lines = (GOLDEN / f"{operation}.4.3.1.jsonl").read_bytes().splitlines()[1:]
    return [strict_json.parse(line, where="golden", error=InvalidConfig) for line in lines]


def refused(text):
    with pytest.raises(InvalidPlan) as raised:
        parse_placement(text.encode(), where="r.json")
    return raised.value


def placement_of(rows):
    return {(row["topic"], row["partition"]): tuple(row["replicas"]) for row in rows}


class TestAsKafkaDoes:
    @pytest.mark.parametrize("case", upstream("reassignment.write"))
    def test_the_same_text(self, case):
        assert reassignment_text(placement_of(case["in"]["partitions"])) == case["out"]["json"]

    @pytest.mark.parametrize("case", upstream("reassignment.read"))
    def test_the_same_is_read_and_the_same_is_refused(self, case):
        text = case["in"]["json"]
        if "out" in case:
            read = parse_placement(text.encode(), where="r.json")
            assert read == placement_of(case["out"]["partitions"])
        else:
            error = refused(text)
            assert error.hint
            assert error.where

    def test_the_vectors(self):
        vectors = strict_json.parse(
            (GOLDEN / "vectors-planner.json").read_bytes(), where="v", error=InvalidConfig
        )["kafka_json"]
        for key, text in (("after", "reassignment_json"), ("before", "rollback_json")):
            placement = {(m["topic"], m["partition"]): tuple(m[key]) for m in vectors["moves"]}
            assert reassignment_text(placement) == vectors[text]
            assert parse_placement(vectors[text].encode(), where="r.json") == placement

    @given(PLACEMENTS)
    def test_what_is_written_is_read(self, placement):
        text = reassignment_text(placement)
        read = parse_placement(text.encode(), where="r.json")
        assert read == placement
        assert list(read) == sorted(placement, key=lambda key: (key[0].encode(), key[1]))
        assert reassignment_text(read) == text

    def test_files(self, tmp_path):
        write_reassignment({("e", 0): (3, 1)}, tmp_path / "r.json")
        assert read_placement(tmp_path / "r.json") == {("e", 0): (3, 1)}
        assert (tmp_path / "r.json").read_text().endswith('"log_dirs":["any","any"]}]}\n')


class TestBadInput:
    @pytest.mark.parametrize(
        ("text", "message", "hint"),
        [
            (
                ONE.replace('"version":1', '"version":2'),
                "invalid r.json at $.version: expected version 1, got 2",
                "Kafka's rule: version 1 is the only one supported",
            ),
            (
                ONE.replace('"version":1', '"version":true'),
                "invalid r.json at $.version: expected version 1, got true",
                "Kafka's rule: version 1 is the only one supported",
            ),
            (
                '{"partitions":[]}',
                (
                    "invalid r.json at $.partitions: expected at least one partition, got an empty "
                    "list"
                ),
                "Kafka's rule: Partition reassignment list cannot be empty",
            ),
            (
                ONE.replace("[3,1]", "[]"),
                (
                    "invalid r.json at $.partitions[0].replicas: expected at least one broker, got "
                    "an empty list"
                ),
                "Kafka's rule: Partition replica list cannot be empty",
            ),
            (
                ONE.replace("[3,1]", "[3,1,3]"),
                "invalid r.json at $.partitions[0].replicas[2]: expected each broker once, got 3",
                "Kafka's rule: Partition replica lists may not contain duplicate entries",
            ),
            (
                ONE.replace("}]}", '},{"topic":"e","partition":0,"replicas":[2]}]}'),
                'invalid r.json at $.partitions[1]: expected each partition once, got "e-0" twice',
                "Kafka's rule: no duplicate topic partitions in a reassignment",
            ),
            (
                ONE.replace("[3,1]", '[3,1],"log_dirs":["any"]'),
                (
                    "invalid r.json at $.partitions[0].log_dirs: expected 2 "
                    "log_dirs, one for each replica, got 1"
                ),
                "Kafka's rule: replicas and log_dirs are of one size; leave log_dirs out",
            ),
            (
                ONE.replace("[3,1]", '[3,1],"log_dirs":["any","/data/1"]'),
                'invalid r.json at $.partitions[0].log_dirs[1]: expected "any", got "/data/1"',
                "racks do not decide the log folder; leave it out",
            ),
            (
                ONE.replace("[3,1]", "[3,true]"),
                "invalid r.json at $.partitions[0].replicas[1]: expected a broker id, got true",
                IDS,
            ),
            (
                ONE.replace(":0", ":-1"),
                "invalid r.json at $.partitions[0].partition: expected a partition number, got -1",
                None,
            ),
            (
                ONE.replace('"e"', '"a\\u0000"'),
                'invalid r.json at $.partitions[0].topic: expected a topic name, got "a\\x00"',
                NAMES,
            ),
            (
                "[]",
                "invalid r.json at $: expected an object, got an empty list",
                None,
            ),
        ],
    )
    def test_the_sentence_has_the_path_and_the_hint_is_kafkas_own_rule(self, text, message, hint):
        error = refused(text)
        assert (error.message, error.hint) == (message, hint)

    def test_every_truncation_is_refused(self):
        for end in range(len(ONE)):
            assert refused(ONE[:end]).message.startswith("invalid r.json")

    @given(st.integers(0, len(ONE)), st.integers(0, 5), st.binary(max_size=3))
    def test_only_our_errors_leave(self, at, cut, inserted):
        data = ONE.encode()[:at] + inserted + ONE.encode()[at + cut :]
        with suppress(InvalidPlan):
            read = parse_placement(data, where="r.json")
            assert parse_placement(reassignment_text(read).encode(), where="x") == read


class TestACluster:
    @pytest.fixture
    def cluster(self, tmp_path):
        def read(partitions, racks):
            (tmp_path / "r.json").write_text(f'{{"partitions":[{partitions}]}}')
            (tmp_path / "racks.csv").write_text(racks)
            return read_reassignment(
                tmp_path / "r.json", tmp_path / "racks.csv", taken_at="2026-11-21T08:30:00Z"
            )

        return read

    def test_from_replicas_and_racks(self, cluster):
        read = cluster(
            '{"topic":"e","partition":1,"replicas":[3,1]},{"topic":"e","partition":0,'
            '"replicas":[1,9]}',
            "broker,rack\n3,/eu/b\n1,/eu/a\n2,\n",
        )
        assert read.brokers == (
            Broker(id=1, rack=Rack("/eu/a")),
            Broker(id=2),
            Broker(id=3, rack=Rack("/eu/b")),
        )
        assert list(read.partitions) == [
            Partition(topic="e", partition=0, replicas=(1, 9), leader=1, isr=(1, 9)),
            Partition(topic="e", partition=1, replicas=(3, 1), leader=3, isr=(3, 1)),
        ]
        assert (read.cluster_id, read.source, read.topics) == (
            None,
            "reassignment",
            {"e": Topic(name="e")},
        )
        assert read.taken_at == "2026-11-21T08:30:00Z"
        assert parse_snapshot(snapshot_bytes(read), where="s.json") == read

    @pytest.mark.parametrize(
        ("partitions", "message"),
        [
            (
                '{"topic":"e","partition":1,"replicas":[1]}',
                "r.json at topic e: expected partition 0, got 1",
            ),
            (
                (
                    '{"topic":"e","partition":0,"replicas":[1]},'
                    '{"topic":"e","partition":2,"replicas":[1]}'
                ),
                "r.json at topic e: expected partition 1, got 2",
            ),
        ],
    )
    def test_a_gap_is_no_cluster(self, cluster, partitions, message):
        with pytest.raises(InvalidSnapshot) as raised:
            cluster(partitions, "broker,rack\n1,a\n")
        assert raised.value.message.endswith(message)
        assert raised.value.hint == (
            "give all partitions of each topic; kafka-reassign-partitions --generate prints them"
        )

    @pytest.mark.parametrize(
        ("racks", "message", "where"),
        [
            ("1,a\n", 'missing column "broker"; the header is "1,a"', ":1"),
            ("broker,rack\nx,a\n", 'broker: expected a broker id, got "x"', ":2"),
            ("broker,rack\n-1,a\n", 'broker: expected a broker id, got "-1"', ":2"),
            (
                "broker,rack\n2147483648,a\n",
                'broker: expected a broker id of at most 2147483647, got "2147483648"',
                ":2",
            ),
            (
                "broker,rack\n1,a\n\n1,b\n",
                'broker: expected a broker listed once, got "1"',
                ":4",
            ),
        ],
    )
    def test_a_racks_table_that_is_none(self, cluster, racks, message, where):
        with pytest.raises(InvalidSnapshot) as raised:
            cluster('{"topic":"e","partition":0,"replicas":[1]}', racks)
        assert raised.value.message.endswith(f"racks.csv{where}: {message}")
        assert raised.value.where.endswith(f"racks.csv{where}")

    def test_any_text_is_a_rack(self, cluster):
        racks = "broker,rack\n1,/a//b\n2,c\n"
        read = cluster('{"topic":"e","partition":0,"replicas":[1]}', racks)
        assert [broker.rack for broker in read.brokers] == [Rack("/a//b"), Rack("c")]
