"""Rates files of producers: `rackwise-rates/1`."""

import hashlib

import pytest
from hypothesis import given

from rack_splits import rack_rates, rates
from rackwise.adapters.files import (
    parse_rack_rates,
    rack_rates_text,
    read_rack_rates,
)
from rackwise.core.errors import InvalidConfig, SplitFileError

GOOD = (
    '{"format":"rackwise-rates/1","free_bytes_per_s":{"a":2.5,"b":1},"made_at_ms":7,'
    '"pinned_bytes_per_s":{"a":1e3},"topic":"orders"}'
)


def parsed(text):
    return parse_rack_rates(text.encode(), where="r.json")


def test_what_it_says(tmp_path):
    path = tmp_path / "r.json"
    path.write_text(GOOD)
    found = read_rack_rates(path)
    assert (found.topic, found.made_at_ms) == ("orders", 7)
    assert found.rates == rates("a 2.5 b 1", "a 1000")
    assert found.sha256 == hashlib.sha256(GOOD.encode()).hexdigest()


def test_written_and_read():
    text = rack_rates_text("t", rates("b 2 a 0.1"), made_at_ms=3)
    assert text == (
        '{"format":"rackwise-rates/1","free_bytes_per_s":{"a":0.1,"b":2},"made_at_ms":3,'
        '"pinned_bytes_per_s":{},"topic":"t"}\n'
    )
    assert parsed(text).rates == rates("a .1 b 2")


def test_a_rack_of_any_form_is_read():
    """While brokers change to paths, producers send to racks of both forms."""
    text = GOOD.replace('"b":1', '"/b//c":1')
    assert set(parsed(text).rates.free) == {"a", "/b//c"}


@given(rack_rates())
def test_any_rates_are_read_as_they_were(case):
    text = rack_rates_text("t", case[0], made_at_ms=0)
    found = parsed(text)
    assert found.rates == case[0]
    assert rack_rates_text("t", found.rates, made_at_ms=0) == text


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('"rackwise-rates/1"', '"rackwise-rates/2"', "$.format: expected format 1, got 2"),
        (
            '"rackwise-rates/1"',
            '"rackwise-split/1"',
            '$.format: expected format rackwise-rates/1, got "rackwise-split/1"',
        ),
        ('"topic":"orders"', '"topic":""', "$.topic: expected a name without control characters"),
        (',"topic":"orders"', "", '$: missing key "topic"'),
        ('"b":1', '"b":-1', "$.free_bytes_per_s.b: expected bytes_per_s, a number from 0 to 2^63"),
        (
            '"b":1',
            '"b":true',
            "$.free_bytes_per_s.b: expected bytes_per_s, a number from 0 to 2^63",
        ),
        (
            '"b":1',
            '"b":1e30',
            "$.free_bytes_per_s.b: expected bytes_per_s, a number from 0 to 2^63",
        ),
        ('"b":1', '"b":NaN', "$.free_bytes_per_s.b: expected a finite number, got NaN"),
        ('"b":1', '"a":1', '$.free_bytes_per_s: key "a" appears twice'),
        ('"b":1', r'"b\u001b":1', "$.free_bytes_per_s: expected a name without control characters"),
        ("7", "7.5", "$.made_at_ms: expected milliseconds since 1970, UTC, got 7.5"),
        ('{"a":1e3}', "[]", "$.pinned_bytes_per_s: expected an object, got an empty list"),
    ],
)
def test_what_are_no_rates(before, after, message):
    with pytest.raises(SplitFileError) as raised:
        parsed(GOOD.replace(before, after, 1))
    assert raised.value.message.startswith(f"invalid r.json at {message}")
    assert raised.value.where.startswith("$")


def test_no_file(tmp_path):
    with pytest.raises(InvalidConfig):
        read_rack_rates(tmp_path / "none.json")
