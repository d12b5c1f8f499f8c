"""Records into a topic of real brokers, near the process that writes them."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pytest

from kafka_traffic import create, delete
from rackwise.adapters.clients.kafka_python.records import Reach, ends, rack_here, records
from rackwise.adapters.clients.kafka_python.writer import write
from rackwise.adapters.kafka import connect
from rackwise.core.errors import ServerRefused
from rackwise.core.partitioner import partition_for_key

pytestmark = pytest.mark.kafka

TOPIC = "written-near"
KEYED = [(b"k%d" % number, b"w") for number in range(20)]


@pytest.fixture
def reach(kraft_cluster):
    """Partitions led from racks a, b, c."""
    with closing(connect(kraft_cluster.bootstrap)) as admin:
        create(admin, TOPIC, [[0, 1], [1, 2], [2, 0]])
        yield Reach(bootstrap=kraft_cluster.bootstrap, variables=("RACK_OF_THIS_TEST",))
        delete(admin, TOPIC)


def test_records_without_a_key_stay_in_the_rack_and_keys_decide_as_ever(reach, monkeypatch):
    monkeypatch.setenv("RACK_OF_THIS_TEST", "b")
    assert write(reach, TOPIC, ((None, b"v") for _ in range(50))) == {1: 50}
    keyed = [partition_for_key(key, 3) for key, _ in KEYED]
    assert write(reach, TOPIC, KEYED) == {each: keyed.count(each) for each in sorted(set(keyed))}
    assert {number: last for number, (_, last) in ends(reach, TOPIC).items()} == {
        number: keyed.count(number) + 50 * (number == 1) for number in range(3)
    }
    values = [each.value for some in records(reach, TOPIC, 1, 0, 50) for each in some]
    assert values == [b"v"] * 50


def test_a_rack_may_stand_in_a_file(reach, tmp_path, monkeypatch):
    monkeypatch.delenv("RACK_OF_THIS_TEST", raising=False)
    (tmp_path / "rack").write_text("c\n")
    reach = replace(reach, rack_file=str(tmp_path / "rack"))
    assert rack_here(reach) == "c"
    assert write(reach, TOPIC, [(None, b"v")] * 5) == {2: 5}


def test_without_a_rack_all_partitions_are_written_to(reach, monkeypatch):
    monkeypatch.delenv("RACK_OF_THIS_TEST", raising=False)
    assert set(write(reach, TOPIC, [(None, bytes(9000))] * 60)) == {0, 1, 2}
    assert write(reach, TOPIC, []) == {}


def test_a_record_that_the_broker_rejects_is_no_broker_that_does_not_answer(reach):
    with closing(connect(reach.bootstrap)) as admin:
        create(admin, "short-records", [[0]], max_message_bytes="200")
        try:
            with pytest.raises(ServerRefused) as caught:
                write(reach, "short-records", [(None, bytes(5000))])
        finally:
            delete(admin, "short-records")
    assert caught.value.message.startswith(
        "the cluster rejected the request to write to topic short-records: "
    )
    assert caught.value.had == "MessageSizeTooLargeError"
