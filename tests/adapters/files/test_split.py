"""Split files of producers: `rackwise-split/1`."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rack_splits import numbers, rack_rates, rates
from rackwise.adapters.files import (
    SplitFile,
    SplitSources,
    parse_split,
    read_split,
    split_text,
    write_split,
)
from rackwise.core.errors import InvalidConfig, SplitFileError
from rackwise.core.partitioner.split.split import split_by_balance

GOOD = SplitFile(
    topic="orders",
    eps=0.5,
    capacity="leaders",
    weights=numbers("a 2 b 2 c 0"),
    rates=rates("a 1 c 1"),
    shares={"a": numbers("a 1 b 0 c 0"), "c": numbers("a .25 b .75")},
    made_from=SplitSources(snapshot="5" * 64, rates="f" * 64),
    made_at_ms=7,
    valid_for_ms=3_600_000,
)
TEXT = split_text(GOOD)


def test_one_line_keys_sorted():
    assert (
        '{"capacity":"leaders","eps":0.5,"format":"rackwise-split/1","made_at_ms":7,'
        f'"made_from":{{"rates":"{"f" * 64}","snapshot":"{"5" * 64}"}},'
        '"rates":{"free":{"a":1,"c":1},"pinned":{}},'
        '"shares":{"a":{"a":1,"b":0,"c":0},"c":{"a":0.25,"b":0.75}},'
        '"topic":"orders","valid_for_ms":3600000,"weights":{"a":2,"b":2,"c":0}}\n'
    ) == TEXT


def test_written_and_read(tmp_path):
    path = tmp_path / "s.json"
    write_split(path, GOOD)
    assert read_split(path) == GOOD
    assert list(tmp_path.iterdir()) == [path]


@given(rack_rates(), st.sampled_from([0, 0.1, 3, 1e308]))
def test_any_split_is_read_as_it_was(case, eps):
    given_rates, weights = case
    shares = split_by_balance(given_rates, weights, eps).shares
    split = replace(GOOD, eps=eps, rates=given_rates, weights=weights, shares=shares)
    found = parse_split(split_text(split).encode(), where="s.json")
    assert found == split
    assert split_text(found) == split_text(split)


def test_shares_of_few_decimals_will_do():
    text = TEXT.replace('{"a":0.25,"b":0.75}', '{"a":0.2500009,"b":0.75}')
    assert parse_split(text.encode(), where="s.json").shares["c"]["a"] == 0.2500009


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("rackwise-split/1", "rackwise-split/2", "$.format: expected format 1, got 2"),
        (
            '"b":0.75',
            '"b":0.74',
            "$.shares.c: expected shares with the sum 1, got the sum",
        ),
        ('"b":0.75', '"b":-0.75', "$.shares.c.b: expected a share from 0 to 1, got -0.75"),
        ('"b":0.75', '"c":0.75', "$.shares.c.c: expected no share for a rack without weight"),
        ('"b":0.75', '"z":0.75', "$.shares.c.z: expected no share for a rack without weight"),
        ('{"a":0.25,"b":0.75}', "7", "$.shares.c: expected an object, got 7"),
        ('"eps":0.5', '"eps":-1', "$.eps: expected an eps of 0 or more, got -1"),
        ('"leaders"', '"disks"', '$.capacity: expected leaders or brokers, got "disks"'),
        ('"leaders"', "3", "$.capacity: expected leaders or brokers, got 3"),
        ("f" * 64, "F" * 64, "$.made_from.rates: expected a SHA-256 of 64 hex digits"),
        (
            f'"{"f" * 64}"',
            "null",
            "$.made_from.rates: expected a SHA-256 of 64 hex digits, got null",
        ),
        ("3600000", "0", "$.valid_for_ms: expected milliseconds, 1 or more, got 0"),
        ('"a":2,"b":2', '"a":0,"b":0', "$.weights: expected a rack with a weight above 0"),
        ('"a":2,"b":2', '"a":2,"b":"2"', '$.weights.b: expected a weight from 0 to 2^63, got "2"'),
        (
            '"pinned":{}',
            '"pinned":{"a":-1}',
            "$.rates.pinned.a: expected bytes_per_s, a number from 0",
        ),
        ('"topic":"orders"', '"topic":"o","x":1', '$: unknown key "x"'),
    ],
)
def test_what_is_no_split(before, after, message):
    assert before in TEXT
    with pytest.raises(SplitFileError) as raised:
        parse_split(TEXT.replace(before, after, 1).encode(), where="s.json")
    assert raised.value.message.startswith(f"invalid s.json at {message}")
    assert raised.value.where.startswith("$")


@pytest.mark.parametrize("cut", range(0, len(TEXT) - 1, 7))
def test_cut_off(cut):
    with pytest.raises(SplitFileError):
        parse_split(TEXT[:cut].encode(), where="s.json")


def test_a_hint_says_how_to_mend_it():
    with pytest.raises(SplitFileError) as raised:
        parse_split(TEXT.replace("0.75", "0.5", 1).encode(), where="s.json")
    assert raised.value.where == "$.shares.c"
    assert raised.value.hint == "compute the split again: rackwise producer split"


def test_no_file(tmp_path):
    with pytest.raises(InvalidConfig):
        read_split(tmp_path / "none.json")
