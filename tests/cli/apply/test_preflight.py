"""What `apply --check` says about the copies of a plan."""

from __future__ import annotations

import pytest

from rackwise.cli.apply.preflight import copy_lines
from rackwise.core.applying.progress import Remaining

GIB = 2**30


def left(incoming=None, outgoing=None, unknown=0):
    incoming = incoming or {}
    return Remaining(
        incoming=incoming,
        outgoing=outgoing or {},
        total=sum(incoming.values()),
        unknown=unknown,
    )


def test_bytes_shortest_time_and_busiest_broker():
    to_copy = left({4: 30 * GIB, 5: 10 * GIB}, {1: 40 * GIB})
    assert copy_lines(to_copy, 50_000_000) == [
        "bytes    40.0 GiB to copy",
        "time     14 minutes or more at 50,000,000 bytes/s (47.7 MiB/s) at each broker",
        "busiest  broker 1: 40.0 GiB out of it",
    ]


def test_without_a_throttle_the_time_is_not_known():
    assert copy_lines(left({4: GIB}), None) == [
        "bytes    1.00 GiB to copy",
        "time     not known without a throttle: give --throttle",
        "busiest  broker 4: 1.00 GiB into it",
    ]


@pytest.mark.parametrize(("unknown", "text"), [(1, "1 partition"), (3, "3 partitions")])
def test_an_unknown_size_is_said_beside_the_known_ones(unknown, text):
    lines = copy_lines(left({4: GIB}, unknown=unknown), 10**9)
    assert lines[0] == f"bytes    1.00 GiB and {text} of unknown size to copy"
    assert lines[1].startswith("time     2 seconds or more at ")


def test_if_no_size_is_known_nothing_is_said_to_be_zero():
    assert copy_lines(left(unknown=2), 10**9) == [
        "bytes    not known (2 partitions of unknown size) to copy",
        "time     not known",
    ]


def test_without_copies_there_is_nothing_to_say():
    assert copy_lines(left(), 10**9) == []
