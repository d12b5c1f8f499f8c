"""Files with replica lists that somebody else chose."""

from __future__ import annotations

import pytest

from rackwise.adapters.files.plan.reassignment import reassignment_text
from rackwise.adapters.files.plan.targets import is_plan, parse_targets, targets_sha256
from rackwise.core.errors import InvalidPlan

ORDERS = {("orders", 0): (1, 2), ("orders", 1): (2, 3)}
PAYMENTS = {("payments", 0): (3, 1)}
PLACED = (
    b'{"brokers":[],"first_partition":4,"format":"rackwise.placement/1","rows":[[1,2],[2,3]],'
    b'"seed":7,"topic":"orders"}'
)


def test_kafkas_json_on_one_line_or_on_many():
    text = reassignment_text({**ORDERS, **PAYMENTS}).encode()
    assert parse_targets(text, where="f").lists == {**ORDERS, **PAYMENTS}
    assert parse_targets(text.replace(b",", b",\n"), where="f").lists == {**ORDERS, **PAYMENTS}


def test_a_list_may_be_empty():
    assert parse_targets(b'{"version":1,"partitions":[]}\n', where="f").lists == {}


def test_the_rows_of_several_topics_as_place_prints_them():
    lines = [reassignment_text(each).encode() for each in (ORDERS, PAYMENTS)]
    assert parse_targets(b"\n".join([*lines, b""]), where="f").lists == {**ORDERS, **PAYMENTS}
    mixed = b"\n".join([PLACED, lines[1]])
    assert parse_targets(mixed, where="f").lists == {
        ("orders", 4): (1, 2),
        ("orders", 5): (2, 3),
        **PAYMENTS,
    }


def test_the_rows_of_several_topics_in_one_document():
    other = PLACED.replace(b"orders", b"payments").replace(b"{", b'{"cluster_id":"c",', 1)
    text = b'{"failed":[],"format":"rackwise.placements/1","topics":[%s,%s]}'
    found = parse_targets(text % (PLACED, other), where="f")
    assert found.lists == {
        (topic, partition): row
        for topic in ("orders", "payments")
        for partition, row in ((4, (1, 2)), (5, (2, 3)))
    }
    assert found.cluster_ids == ("c",)
    with pytest.raises(InvalidPlan, match=r"invalid f: expected each partition once, got orders-4"):
        parse_targets(text % (PLACED, PLACED), where="f")
    with pytest.raises(InvalidPlan, match=r"f at \$.topics\[1\].rows\[1\]: expected at least one"):
        parse_targets(text % (PLACED, PLACED.replace(b"[2,3]", b"[]")), where="f")


def test_the_clusters_that_rows_of_place_name_are_kept():
    """Rows for one cluster were executed on another."""
    named = PLACED.replace(b"{", b'{"cluster_id":"c",', 1)
    assert parse_targets(named, where="f").cluster_ids == ("c",)
    other = named.replace(b'"c"', b'"d"').replace(b"orders", b"payments")
    third = named.replace(b"orders", b"returns")
    assert parse_targets(b"\n".join([named, other, third]), where="f").cluster_ids == ("c", "d")
    unknown = named.replace(b'"c"', b"null")
    assert parse_targets(unknown, where="f").cluster_ids == ()
    assert parse_targets(PLACED, where="f").cluster_ids == ()


def test_a_partition_on_two_lines_is_rejected():
    line = reassignment_text(ORDERS).encode()
    with pytest.raises(InvalidPlan, match=r"invalid f:2: expected each partition once, got orders"):
        parse_targets(line + b"\n" + line, where="f")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (PLACED.replace(b"[2,3]", b"[2,2]"), r"f at \$.rows\[1\]: expected at least one broker"),
        (PLACED.replace(b"[2,3]", b"[]"), r"f at \$.rows\[1\]: expected at least one broker"),
        (PLACED.replace(b'"orders"', b"null"), r"f at \$.topic: expected "),
        (b'{"version":2,"partitions":[]}', r"f at \$.version: expected version 1"),
        (b"orders 1:2", r"invalid f"),
        (b"", r"invalid f"),
        (b'{"version":1}\n{"version":1}', r"invalid f:1"),
    ],
)
def test_another_file_is_rejected(text, told):
    with pytest.raises(InvalidPlan, match=told):
        parse_targets(text, where="f")


def test_a_plan_is_told_from_other_files():
    assert is_plan(b'{"cluster_id":"c", "format": "rackwise.plan/1"}')
    assert is_plan(b'{"format":"rackwise.plan/9"}')
    assert not is_plan(PLACED)
    assert not is_plan(reassignment_text({("rackwise.plan", 0): (1,)}).encode())


def test_equal_lists_have_one_hash():
    assert targets_sha256(ORDERS) == targets_sha256(dict(reversed(ORDERS.items())))
    assert targets_sha256(ORDERS) != targets_sha256(PAYMENTS)
