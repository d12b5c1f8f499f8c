"""Weight tables: what is read from each partition."""

import pytest

from assignments import tps
from rackwise.adapters.files import parse_weights, read_weights
from rackwise.core.errors import InvalidWeights

HEADER = "topic,partition,bytes_per_s\n"


def test_a_row_for_each_partition(tmp_path):
    path = tmp_path / "w.csv"
    path.write_text(f"bytes_per_s,topic,partition\n7,orders,1\n{2**63 - 1},orders,0\n")
    assert read_weights(path) == dict(zip(tps("orders-1 orders-0"), (7, 2**63 - 1), strict=True))


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (",0,1", "topic: expected the name of a topic, got an empty cell"),
        ("t,-1,1", 'partition: expected a partition number, got "-1"'),
        ("t,2147483648,1", 'partition: expected a partition number, got "2147483648"'),
        ("t,0,1.5", 'bytes_per_s: expected integer bytes_per_s >= 0, got "1.5"'),
        ("t,0,", "bytes_per_s: expected integer bytes_per_s >= 0, got an empty cell"),
        (
            "t,0,9223372036854775808",
            'bytes_per_s: expected integer bytes_per_s >= 0, got "9223372036854775808"',
        ),
        ("t,0,²", 'bytes_per_s: expected integer bytes_per_s >= 0, got "²"'),
    ],
)
def test_what_is_no_weight(row, fault):
    with pytest.raises(InvalidWeights) as raised:
        parse_weights(f"{HEADER}{row}\n".encode(), where="w.csv")
    assert raised.value.message == f"invalid w.csv:2: {fault}"


def test_a_partition_twice():
    with pytest.raises(InvalidWeights) as raised:
        parse_weights(f"{HEADER}t,1,1\nt,1,1\n".encode(), where="w.csv")
    assert (
        raised.value.message
        == 'invalid w.csv:3: partition: expected one row per partition, got "1"'
    )
    assert raised.value.hint == "keep one of its two lines"


def test_no_row_at_all():
    with pytest.raises(InvalidWeights) as raised:
        parse_weights(HEADER.encode(), where="w.csv")
    assert raised.value.message == "invalid w.csv: expected at least one row, got none"
    assert raised.value.hint == "without weights each partition counts as one: leave the table out"


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("gone,0,1", 'topic: expected a topic of the cluster, got "gone"'),
        ("t,2,1", 'partition: expected a partition from 0 to 1, got "2"'),
    ],
)
def test_what_is_not_there(row, fault):
    data = f"{HEADER}t,1,1\n{row}\n".encode()
    assert len(parse_weights(data, where="w.csv")) == 2
    with pytest.raises(InvalidWeights) as raised:
        parse_weights(data, where="w.csv", sizes={"t": 2})
    assert raised.value.message == f"invalid w.csv:3: {fault}"
