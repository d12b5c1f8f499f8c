"""One strict reader for every JSON file: what it lets through, what it says of the rest."""

import gc
import json
import math
import sys
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.errors import InvalidPlan, InvalidSnapshot
from rackwise.core.json.strict import MAX_DEPTH, parse

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=25,
)
GOLDEN = (
    b'{"format":"rackwise.plan/1","moves":[{"topic":"orders","after":[1,2],"bytes":12},'
    b'{"topic":"\\u00e4 \\"x\\" [{","after":[],"bytes":null}],"at":1.5e3,"ok":true}'
)


def read(data):
    return parse(data, where="plan.json", error=InvalidPlan)


def refused(data):
    with pytest.raises(InvalidPlan) as raised:
        read(data)
    return raised.value


class TestBadInput:
    @pytest.mark.parametrize(
        ("data", "message", "hint", "where"),
        [
            (
                b'{"moves":[{},{},{},{"topic":"a","topic":"b"}]}',
                'invalid plan.json at $.moves[3]: key "topic" appears twice',
                "remove one of the two; Rackwise cannot know which one is meant",
                "$.moves[3]",
            ),
            (
                b'{"a":{"b":1,"b":2},"a":3}',
                'invalid plan.json at $.a: key "b" appears twice (and 1 more fault)',
                "remove one of the two; Rackwise cannot know which one is meant",
                "$.a",
            ),
            (
                b'{"moves":[{"bytes":NaN}]}',
                "invalid plan.json at $.moves[0].bytes: expected a finite number, got NaN",
                "write null for an unknown number",
                "$.moves[0].bytes",
            ),
            (
                b"[-Infinity,Infinity,NaN]",
                (
                    "invalid plan.json at $[0]: expected a finite number, got -Infinity "
                    "(and 2 more faults)"
                ),
                "write null for an unknown number",
                "$[0]",
            ),
            (
                b'{"moves":[{"bytes":1e400}]}',
                "invalid plan.json at $.moves[0].bytes: expected a finite number, got 1e400",
                "write null for an unknown number",
                "$.moves[0].bytes",
            ),
            (
                b'{"text":"9223372036854775808","bytes":9223372036854775808}',
                (
                    "invalid plan.json at $.bytes: offset 38: expected an integer of 64 bits, got "
                    "9223372036854775808"
                ),
                f"integers run from {-(2**63)} to {2**63 - 1}",
                "$.bytes",
            ),
            (
                b"[-9223372036854775809]",
                (
                    "invalid plan.json at $[0]: offset 1: expected an integer of 64 bits, got "
                    "-9223372036854775809"
                ),
                f"integers run from {-(2**63)} to {2**63 - 1}",
                "$[0]",
            ),
            (
                b"[1" + b"0" * 5000 + b"]",
                "invalid plan.json at $[0]: offset 1: expected an integer of 64 bits, got 1"
                + "0" * 39
                + "...",
                f"integers run from {-(2**63)} to {2**63 - 1}",
                "$[0]",
            ),
            (
                b'{"topic":"a\\ud800b"}',
                (
                    "invalid plan.json at $.topic: expected text without a lone surrogate, got "
                    '"a\\ud800b"'
                ),
                "a lone surrogate has no UTF-8; write the name as the cluster has it",
                "$.topic",
            ),
            (
                b'{"\\uDFFF":1}',
                'invalid plan.json at $: expected a key without a lone surrogate, got "\\udfff"',
                "a lone surrogate has no UTF-8; write the name as the cluster has it",
                "$",
            ),
            (
                b'{"a b":[{"x":NaN}]}',
                'invalid plan.json at $["a b"][0].x: expected a finite number, got NaN',
                "write null for an unknown number",
                '$["a b"][0].x',
            ),
            (
                b"\xef\xbb\xbf{}",
                "invalid plan.json: offset 0: expected JSON without a byte order mark, got one",
                "save the file as UTF-8 without a byte order mark",
                "plan.json",
            ),
            (
                b'{"a":"\xff"}',
                "invalid plan.json: offset 6: expected UTF-8, got byte 0xff",
                "save the file as UTF-8",
                "plan.json",
            ),
            (
                "{}".encode("utf-16-le"),
                (
                    "invalid plan.json:1: column 2, offset 1: expected JSON, got a "
                    "syntax error: expecting property name enclosed in double "
                    "quotes"
                ),
                ("fix the file there; strict JSON has no comments, trailing commas or bare words"),
                "plan.json:1",
            ),
            (
                b'{"a":1}\n{"a":2}',
                "invalid plan.json:2: column 1, offset 8: expected one document, got a second one",
                "keep one document in the file",
                "plan.json:2",
            ),
            (
                b'{"a":\n"b',
                (
                    "invalid plan.json:2: column 1, offset 6: expected a whole "
                    "JSON document, got the end of the file"
                ),
                "the file is cut off; write or fetch it again",
                "plan.json:2",
            ),
            (
                b"",
                (
                    "invalid plan.json:1: column 1, offset 0: expected a whole "
                    "JSON document, got the end of the file"
                ),
                "the file is cut off; write or fetch it again",
                "plan.json:1",
            ),
            (
                '["é",\x01]'.encode(),
                (
                    "invalid plan.json:1: column 6, offset 6: expected JSON, got a "
                    "syntax error: expecting value"
                ),
                ("fix the file there; strict JSON has no comments, trailing commas or bare words"),
                "plan.json:1",
            ),
            (
                b'["a\x00b"]',
                (
                    "invalid plan.json:1: column 4, offset 3: expected JSON, got a "
                    "syntax error: invalid control character at"
                ),
                ("fix the file there; strict JSON has no comments, trailing commas or bare words"),
                "plan.json:1",
            ),
            (
                b'{"x":"[[[", "y":' + b"[" * 64 + b"]" * 64 + b"}",
                ("invalid plan.json: offset 79: expected at most 64 levels of nesting, got more"),
                "no file of Rackwise is nested so deep; is it the right file?",
                "plan.json",
            ),
            (
                b"[" * 100_000,
                ("invalid plan.json: offset 64: expected at most 64 levels of nesting, got more"),
                "no file of Rackwise is nested so deep; is it the right file?",
                "plan.json",
            ),
        ],
    )
    def test_the_sentence_names_the_place_what_was_wanted_and_what_was_read(
        self, data, message, hint, where
    ):
        error = refused(data)
        assert (error.message, error.hint, error.where) == (message, hint, where)
        assert error.wanted is not None
        assert error.had is not None

    def test_the_class_is_that_of_the_file(self):
        with pytest.raises(
            InvalidSnapshot, match=r'^invalid s\.json at \$: key "a" appears twice$'
        ):
            parse(b'{"a":1,"a":2}', where="s.json", error=InvalidSnapshot)

    def test_the_name_of_the_file_is_escaped(self):
        with pytest.raises(InvalidPlan, match=r"^invalid a\\x1bb: offset 0"):
            parse(b"\xef\xbb\xbf", where="a\x1bb", error=InvalidPlan)

    @pytest.mark.parametrize("opening", [b"[", b'{"a":', b'[{"a":', b'["\\"",'])
    def test_no_depth_ends_in_a_recursion_error(self, opening):
        assert "levels of nesting" in refused(opening * 200_000).message

    @pytest.mark.parametrize("text", [b'"\\""', b'"\\\\"', b'"]"', b'"}\\"{"'])
    def test_texts_between_brackets_hide_none_of_them(self, text):
        deep = b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
        assert "got more" in refused(b"[%s,%s,%s]" % (text, deep, text)).message

    def test_a_low_limit_of_recursion_never_shows(self):
        before = sys.getrecursionlimit()
        deep = b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
        frame, depth = sys._getframe(), 0
        while frame is not None:
            frame, depth = frame.f_back, depth + 1
        value = json.loads(deep)  # noqa: TID251 (the judge)
        sys.setrecursionlimit(depth + 45)
        try:
            with suppress(InvalidPlan):
                assert read(deep) == value
        finally:
            sys.setrecursionlimit(before)


class TestLetThrough:
    @pytest.mark.parametrize(
        ("data", "value"),
        [
            (b"[9223372036854775807,-9223372036854775808]", [2**63 - 1, -(2**63)]),
            (b'["\\ud83d\\ude00"]', ["\U0001f600"]),
            (b'{"1234567890123456789012":0.5}', {"1234567890123456789012": 0.5}),
            (b'" \\\\" ', " \\"),
            (b"[" * 64 + b"]" * 64, None),
            (b'["' + b"[" * 100 + b'"]', ["[" * 100]),
            (b'["\\"' + b"{" * 100 + b'\\\\"]', ['"' + "{" * 100 + "\\"]),
            (b'["\\u001b"]', ["\x1b"]),
            (b"[1e-400]", [0.0]),
        ],
    )
    def test_what_only_looks_odd(self, data, value):
        assert read(data) == (json.loads(data) if value is None else value)  # noqa: TID251 (the judge)

    @given(VALUES, st.booleans())
    def test_every_document_reads_as_the_standard_parser_reads_it(self, value, is_ascii):
        text = json.dumps(value, ensure_ascii=is_ascii, allow_nan=False)
        assert read(text.encode()) == json.loads(text)  # noqa: TID251 (the judge)

    @given(st.integers(1, 80), st.integers(0, 9))
    def test_sixty_four_levels_and_not_one_more(self, depth, siblings):
        text = "[" * (depth - 1) + ",".join(["[]"] * (siblings + 1)) + "]" * (depth - 1)
        data = (text if depth > 1 else "[]").encode()
        if depth <= MAX_DEPTH:
            assert read(data) == json.loads(data)  # noqa: TID251 (the judge)
        else:
            assert "at most 64 levels" in refused(data).message


class TestHostileBytes:
    def test_every_truncation_is_refused(self):
        for end in range(len(GOLDEN)):
            assert refused(GOLDEN[:end]).message.startswith("invalid plan.json")

    @given(
        st.lists(st.tuples(st.integers(0, len(GOLDEN) - 1), st.integers(0, 255)), max_size=4),
        st.binary(max_size=4),
        st.integers(0, len(GOLDEN)),
    )
    def test_only_our_errors_leave(self, changes, inserted, at):
        data = bytearray(GOLDEN)
        for place, byte in changes:
            data[place] = byte
        data[at:at] = inserted
        with suppress(InvalidPlan):
            assert read(bytes(data)) == json.loads(bytes(data))  # noqa: TID251 (the judge)

    @given(st.binary(max_size=40))
    def test_any_bytes(self, data):
        with suppress(InvalidPlan):
            assert read(data) == json.loads(data)  # noqa: TID251 (the judge)


def test_the_collector_of_cycles_is_back_after_a_large_document():
    data = b"[" + b"0," * 2**20 + b"0]"
    assert gc.isenabled()
    assert len(read(data)) == 2**20 + 1
    assert gc.isenabled()
    refused(data + b"x")
    assert gc.isenabled()
    gc.disable()
    try:
        read(data)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_floats_are_finite():
    assert math.isclose(read(b"[1.7976931348623157e308]")[0], sys.float_info.max)
