"""An object of strict JSON is read, or the one error names the byte."""

from __future__ import annotations

from contextlib import suppress
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.errors import InvalidPlan
from rackwise.core.json.strict import MAX_DEPTH, NotStrict, offset_of, parse, read_object

MOST = 2**20
ODD = {
    "empty": (b"", 0, "one JSON object"),
    "not UTF-8": (b'{"a":"\xff"}', 6, "UTF-8"),
    "a byte order mark": (b'\xef\xbb\xbf{"a":1}', 0, "without a byte order mark"),
    "no object": (b"  [7]", 0, "one JSON object"),
    "a missing comma": ('{"ü":1 "b":2}'.encode(), 8, "one JSON object"),
    "a key twice": (b'{"rack":"a","x":[7,{"rack":1}],"rack":"b"}', 31, "every key once"),
    "a key twice inside": (b'{"a":{"x":[1,{"y":1,"y":2}]},"y":3}', 20, "every key once"),
    "a key twice by an escape": (b'{"a":1,"\\u0061":2}', 7, "every key once"),
    "NaN": (b'{"NaN":["NaN",NaN]}', 14, "a finite number"),
    "infinity": (b'{"a":-Infinity}', 5, "a finite number"),
    "1e400": (b'{"a":1e30,"b":-1e400}', 14, "a finite number"),
    "NaN and more": (b'{"a":NaNx}', 5, "a finite number"),
    "NaN alone": (b" NaN", 1, "a finite number"),
    "65 bits alone": (b" 9223372036854775808", 1, "an integer of 64 bits"),
    "a wide fraction": (b'{"a":9223372036854775808.5,"b":1e999x}', 31, "a finite number"),
    "65 bits": (b'{"a":9223372036854775807,"b":9223372036854775808}', 29, "an integer of 64 bits"),
    "5000 digits": (b'{"a":"7777777777777777777777","b":' + b"7" * 5000 + b"}", 34, "64 bits"),
    "half a pair": (b'{"\\u0061":"\\ud83d\\ude00","b":["\\ud800"]}', 30, "lone surrogate"),
    "half a pair as key": (b'{"a":[{"\\udc00":1}]}', 7, "lone surrogate"),
    "deep": (b'{"a":' + b"[" * 70 + b"]" * 70 + b"}", 68, "64 levels"),
    "unbalanced": (b"[" * 70, 64, "64 levels"),
    "unbalanced and cut off": (b"[" * 65, 64, "64 levels"),
    "not closed": (b'{"a":1,"b":[' + b"{}," * 70, 222, "one JSON object"),
    "closed too often": (b'{"a":"}"}}', 9, "one JSON object"),
    "closed too often and long": (b'{"a":' + b"[]," * 70 + b"1}}", 8, "one JSON object"),
}


@pytest.mark.parametrize(("data", "offset", "wanted"), ODD.values(), ids=ODD.keys())
def test_what_is_refused_and_where(data, offset, wanted):
    with pytest.raises(NotStrict) as refused:
        read_object(data, most=MOST)
    assert refused.value.offset == offset
    assert wanted in refused.value.wanted
    assert refused.value.told.isprintable()


def test_a_key_is_named_escaped_and_cut():
    with pytest.raises(NotStrict) as refused:
        read_object(b'{"\\u001b":1,"\\u001b":2}', most=MOST)
    assert refused.value.told == 'key "\\x1b" appears twice'
    key = b'"' + b"k" * 300 + b'":1'
    with pytest.raises(NotStrict) as refused:
        read_object(b"{" + key + b"," + key + b"}", most=MOST)
    assert len(refused.value.told) < 100


def test_the_cap():
    assert read_object(b'{"a":1}', most=7) == {"a": 1}
    with pytest.raises(NotStrict, match="expected at most 6 bytes") as refused:
        read_object(b'{"a":1}', most=6)
    assert refused.value.offset == 6


def test_what_only_looks_odd_is_read():
    data = b'{"NaN":"NaN","x":"[[[","y":{"x":{"x":1}},"z":"\\\\","w":1234567890123456789}'
    assert read_object(data, most=MOST)["w"] == 1234567890123456789
    deep = b'{"x":' * (MAX_DEPTH - 1) + b"{}" + b"}" * (MAX_DEPTH - 1)
    assert read_object(deep, most=MOST)
    assert read_object(b'{"y":[{}],' + deep[1:], most=MOST)


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        ((), b'{"a"'),
        (("a",), b"[1"),
        (("a", 1), b"[2"),
        (("a", 1, 0), b"2]"),
        (("a", 2), b'{"b2"'),
        (("a", 2, "b"), b"3}"),
        (("c",), b'"[,'),
        (("d",), b"null"),
        (("nowhere",), b'{"a"'),
        (("a", 7), b"[1"),
        (("a", 2, "nowhere"), b'{"b2"'),
    ],
)
def test_where_a_value_stands(steps, found):
    data = '  {"a":[1, [2],{"ü":0,"b":3}],"c":"[,\\"{","d":null}'.replace("ü", "b2").encode()
    assert data[offset_of(data, steps) :].startswith(found)


def test_offsets_count_bytes():
    assert offset_of('{"ü":"ü","a":1}'.encode(), ["a"]) == 15


@pytest.mark.parametrize(
    "piece", [b'"', b'\\"', b'{"a":', b"\\", b"[", b"9", b"NaN", b",", b"\xff"]
)
def test_hostile_bytes_take_linear_time(piece):
    with pytest.raises(NotStrict):
        read_object(b'{"a":' + piece * (2**20 // len(piece)), most=2**21)


PIECES = [
    *('"', '"a"', '"b"', '"\\ud800"', "\\", "{", "}", "[", "]", ":", ",", " ", '{"a":', '"a":1,'),
    *("1", "-", "0", "9" * 19, "9" * 30, "1e999", ".5", "NaN", "Infinity", "-Infinity", "x", "ü"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_any_text_is_read_or_refused_where_it_is_wrong(text):
    data = text.encode()
    for each in (data, b'{"a":' + data + b"}", b'{"a":1,' + data):
        try:
            assert isinstance(read_object(each, most=MOST), dict)
        except NotStrict as odd:
            assert 0 <= odd.offset <= len(each)  # noqa: PT017 (any error of the class will do)
            assert odd.told.isprintable()  # noqa: PT017


HOSTILE = {
    "integers of 65 bits": b"99999999999999999999,",
    "NaN": b"NaN,",
    "a key again and again": b'{"a":1,"a":2},',
    "half a pair": b'"\\ud800",',
    "escaped quotes": b'"\\"\\"\\"\\"",',
    "quotes": b'",',
    "brackets": b"[],{},",
    "digits": b"9",
}


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE.keys())
def test_eight_times_the_input_takes_about_eight_times_the_time(piece):
    def seconds(size):
        data = b'{"' + b"k" * 1000 + b'":[' + piece * (size // len(piece)) + b"0]}"
        best = float("inf")
        for _ in range(3):
            begin = process_time()
            with suppress(InvalidPlan):
                parse(data, where="x", error=InvalidPlan)
            best = min(best, process_time() - begin)
        return best

    # Quadratic work would take 64 times as long; processor time does not count other processes.
    assert seconds(2**20) < 30 * max(seconds(2**17), 0.005)
