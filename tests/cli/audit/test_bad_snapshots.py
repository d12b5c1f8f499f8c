"""Snapshots and reassignments that are none: exit 1, one sentence with its place, and a hint."""

from __future__ import annotations

import gzip
import os

import pytest

from rackwise.adapters.files import snapshot_bytes
from rackwise.core.errors import InvalidConfig
from rackwise.core.json.strict import parse
from refusals import called, check_refused, replaced
from small_fleets import cluster

SNAPSHOT = snapshot_bytes(cluster())
LINES = SNAPSHOT.count(b"\n")
OFFSET = SNAPSHOT.index(b'"bytes":null') + len('"bytes":')
FIRST = "$.topics[0].partitions[0]"
IDS = "ids are integers from 0 to 2147483647, without quotes and without a point"
NAMES = "write the name as the cluster has it: not empty, no control character"
AGAIN = "take the snapshot again; if it stays, the file was changed by hand"
REGULAR = "give the path of a file; of a pipe, write its output to a file first"
NAN = "write null for an unknown number"


class TestSnapshot:
    """F22: hostile snapshots."""

    @pytest.mark.parametrize(
        ("old", "new", "message", "hint"),
        [
            (
                '"replicas":[1,2]',
                '"replicas":[]',
                (
                    f"invalid FILE at {FIRST}.replicas: expected at least one broker, got an "
                    "empty list "
                    "(and 3 more faults)"
                ),
                AGAIN,
            ),
            (
                '"replicas":[1,2]',
                '"replicas":[1,2,1]',
                f"invalid FILE at {FIRST}.replicas[2]: expected each broker once, got 1 twice",
                AGAIN,
            ),
            (
                '"leader":1',
                '"leader":7',
                f"invalid FILE at {FIRST}.leader: expected a broker of the replicas 1,2, got 7",
                AGAIN,
            ),
            (
                '"isr":[1,2]',
                '"isr":[1,7]',
                f"invalid FILE at {FIRST}.isr[1]: expected a broker of the replicas 1,2, got 7",
                AGAIN,
            ),
            (
                '"adding":[]',
                '"adding":[7]',
                f"invalid FILE at {FIRST}.adding[0]: expected a broker of the replicas 1,2, got 7",
                AGAIN,
            ),
            (
                '"id":2,',
                '"id":1,',
                ("invalid FILE at $.brokers[1].id: expected each broker once, got 1 twice"),
                "keep one of the two",
            ),
        ],
    )
    def test_what_no_cluster_has(self, tmp_path, old, new, message, hint):
        file = tmp_path / "s.json"
        file.write_bytes(replaced(SNAPSHOT, old, new))
        command = ["audit", "--snapshot", file]
        check_refused(command, message.replace("FILE", str(file)), hint, file=file)

    @pytest.mark.parametrize(
        ("old", "new", "message", "hint"),
        [
            (
                '"name":"orders"',
                '"name":"a","name":"orders"',
                'invalid FILE at $.topics[0]: key "name" appears twice',
                "remove one of the two; Rackwise cannot know which one is meant",
            ),
            *(
                (
                    '"bytes":null',
                    f'"bytes":{number}',
                    f"invalid FILE at {FIRST}.bytes: expected a finite number, got {number}",
                    NAN,
                )
                for number in ("NaN", "Infinity", "1e400")
            ),
            *(
                (
                    '"replicas":[1,2]',
                    f'"replicas":[1,{id_}]',
                    f"invalid FILE at {FIRST}.replicas[1]: expected a broker id, got {id_}",
                    IDS,
                )
                for id_ in ("true", "1.0", "-1")
            ),
            (
                '"orders"',
                '"a\\ud800"',
                (
                    "invalid FILE at $.topics[0].name: expected text without a lone surrogate, "
                    'got "a\\ud800"'
                ),
                "a lone surrogate has no UTF-8; write the name as the cluster has it",
            ),
            *(
                (
                    '"orders"',
                    f'"a\\u00{code}"',
                    f'invalid FILE at $.topics[0].name: expected a topic name, got "a\\x{code}"',
                    NAMES,
                )
                for code in ("00", "1b", "9b")
            ),
            (
                '"bytes":null',
                '"bytes":9223372036854775808',
                (
                    f"invalid FILE at {FIRST}.bytes: offset {OFFSET}: expected an integer of "
                    "64 bits, got "
                    "9223372036854775808"
                ),
                "integers run from -9223372036854775808 to 9223372036854775807",
            ),
            (
                "null",
                "[" * 70 + "]" * 70,
                ("invalid FILE: offset 137: expected at most 64 levels of nesting, got more"),
                "no file of Rackwise is nested so deep; is it the right file?",
            ),
            (
                '{"brokers"',
                '\ufeff{"brokers"',
                "invalid FILE: offset 0: expected JSON without a byte order mark, got one",
                "save the file as UTF-8 without a byte order mark",
            ),
            (
                "snapshot/1",
                "snapshot/2",
                "invalid FILE at $.format: expected format 1, got 2",
                "upgrade Rackwise, a newer one wrote this file",
            ),
            (
                "rackwise.snapshot/1",
                "rackwise.plan/1",
                (
                    "invalid FILE at $.format: expected format rackwise.snapshot/1, got "
                    '"rackwise.plan/1"'
                ),
                "is it the right file for this option?",
            ),
        ],
    )
    def test_what_is_no_strict_json(self, tmp_path, old, new, message, hint):
        file = tmp_path / "s.json"
        file.write_bytes(replaced(SNAPSHOT, old, new))
        command = ["audit", "--snapshot", file]
        check_refused(command, message.replace("FILE", str(file)), hint, file=file)

    @pytest.mark.parametrize(
        ("data", "message", "hint"),
        [
            (
                SNAPSHOT[:298],
                (
                    "invalid FILE:4: column 34, offset 298: expected a whole JSON document, got "
                    "the end of the file"
                ),
                "the file is cut off; write or fetch it again",
            ),
            (
                SNAPSHOT * 2,
                (
                    f"invalid FILE:{LINES + 1}: column 1, offset {len(SNAPSHOT)}: "
                    "expected one document, got a second one"
                ),
                "keep one document in the file",
            ),
            (
                gzip.compress(SNAPSHOT, mtime=0)[:-9],
                "invalid FILE: expected whole gzip data, got the end of the file within a member",
                "fetch or pack the file again",
            ),
        ],
    )
    def test_what_was_cut_or_joined(self, tmp_path, data, message, hint):
        file = tmp_path / "s.json"
        file.write_bytes(data)
        check_refused(
            ["audit", "--snapshot", file], message.replace("FILE", str(file)), hint, file=file
        )

    def test_as_json_it_has_its_class_and_its_path(self, tmp_path):
        file = tmp_path / "s.json"
        file.write_bytes(replaced(SNAPSHOT, '"leader":1', '"leader":7'))
        code, out, err = called("audit", "--snapshot", file, "--json")
        assert (code, out) == (1, "")
        assert parse(err.encode(), where="stderr", error=InvalidConfig) == {
            "error": "InvalidSnapshot",
            "message": f"invalid {file} at {FIRST}.leader: expected a broker of the replicas "
            "1,2, got 7",
            "wanted": "a broker of the replicas 1,2",
            "had": "7",
            "hint": AGAIN,
            "where": f"{FIRST}.leader",
        }


class TestNoFile:
    @pytest.fixture
    def places(self, tmp_path):
        os.mkfifo(tmp_path / "FIFO")
        (tmp_path / "folder").mkdir()
        (tmp_path / "s.json").write_bytes(SNAPSHOT)
        return tmp_path

    @pytest.mark.parametrize("kind", ["FIFO", "folder"])
    @pytest.mark.parametrize("option", ["--snapshot", "--policy"])
    def test_only_regular_files_are_opened(self, places, kind, option):
        whole = {"--snapshot": places / "s.json", option: places / kind}
        command = ["audit", *(part for pair in whole.items() for part in pair)]
        message = f"invalid {places / kind}: expected a regular file, got a {kind}"
        check_refused(command, message, REGULAR)

    @pytest.mark.parametrize("option", ["--snapshot", "--policy"])
    def test_only_up_to_the_cap(self, places, option):
        large = places / "large"
        large.write_bytes(b" " * 2001)
        whole = {"--snapshot": places / "s.json", option: large}
        command = ["audit", *(part for pair in whole.items() for part in pair)]
        check_refused(
            [*command, "--max-input", "2kB"],
            f"invalid {large}: expected at most 2000 bytes, got 2001",
            "if the file is meant to be so large, raise --max-input",
            file=large,
        )


REASSIGNMENT = (
    '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2]},'
    '{"topic":"t","partition":1,"replicas":[2,1]}]}'
)


class TestReassignment:
    def refused(self, folder, file, message, hint, *, text=REASSIGNMENT, racks="1,a\n2,b\n"):
        (folder / "r.json").write_text(text)
        (folder / "racks.csv").write_text(f"broker,rack\n{racks}")
        files = ["--reassignment", folder / "r.json", "--racks", folder / "racks.csv"]
        command = ["snapshot", *files, "--out", folder / "out"]
        check_refused(command, message.replace("FILE", str(folder / file)), hint)
        assert sorted(path.name for path in folder.iterdir()) == ["r.json", "racks.csv"]

    @pytest.mark.parametrize(
        ("old", "new", "message", "hint"),
        [
            (
                "[2,1]",
                '[2,1],"log_dirs":["/data","any"]',
                'invalid FILE at $.partitions[1].log_dirs[0]: expected "any", got "/data"',
                "racks do not decide the log folder; leave it out",
            ),
            (
                '"version":1',
                '"version":2',
                "invalid FILE at $.version: expected version 1, got 2",
                "Kafka's rule: version 1 is the only one supported",
            ),
            (
                REASSIGNMENT[26:],
                "[]}",
                "invalid FILE at $.partitions: expected at least one partition, got an empty list",
                "Kafka's rule: Partition reassignment list cannot be empty",
            ),
            (
                '"partition":1',
                '"partition":0',
                ('invalid FILE at $.partitions[1]: expected each partition once, got "t-0" twice'),
                "Kafka's rule: no duplicate topic partitions in a reassignment",
            ),
            (
                '"partition":1',
                '"partition":2',
                "invalid FILE at topic t: expected partition 1, got 2",
                (
                    "give all partitions of each topic; "
                    "kafka-reassign-partitions --generate prints them"
                ),
            ),
            (
                "[2,1]",
                "[2,2]",
                "invalid FILE at $.partitions[1].replicas[1]: expected each broker once, got 2",
                "Kafka's rule: Partition replica lists may not contain duplicate entries",
            ),
        ],
    )
    def test_what_kafka_refuses_and_what_is_no_cluster(self, tmp_path, old, new, message, hint):
        text = replaced(REASSIGNMENT.encode(), old, new).decode()
        self.refused(tmp_path, "r.json", message, hint, text=text)

    @pytest.mark.parametrize(
        ("racks", "message", "hint"),
        [
            (
                "1,a\n1,b\n",
                'invalid FILE:3: broker: expected a broker listed once, got "1"',
                "keep one of its two lines",
            ),
        ],
    )
    def test_racks_that_are_none(self, tmp_path, racks, message, hint):
        self.refused(tmp_path, "racks.csv", message, hint, racks=racks)
