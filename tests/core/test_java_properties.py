"""Properties files are parsed as Java parses them, and written files are read back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity_nodes import TEXTS
from rackwise.core.errors import InvalidProperties
from rackwise.core.java_properties import (
    MAX_BYTES,
    format_properties,
    parse_properties,
    property_entries,
    property_pairs,
)


class TestLines:
    @pytest.mark.parametrize(
        "data", [b"", b"\n\r\n\r", b"  \t\f\n", b"# a=b\n  ! c=d", b"#a\\\n", b"\\\n\n", b"\\\r\n"]
    )
    def test_empty_input(self, data):
        assert parse_properties(data) == {}

    @pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
    def test_line_endings(self, end):
        assert parse_properties(end.join([b"a=1", b"", b"b=2", b""])) == {"a": "1", "b": "2"}

    @pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
    def test_backslash_at_line_end_continues_without_leading_blanks(self, end):
        assert parse_properties(b"dirs=/a,\\" + end + b" \t\f/b" + end + b"c=d") == {
            "dirs": "/a,/b",
            "c": "d",
        }

    def test_two_backslashes_at_line_end_do_not_continue(self):
        assert parse_properties(b"a=1\\\\\nb=2") == {"a": "1\\", "b": "2"}

    def test_comment_is_neither_continued_nor_a_continuation(self):
        assert parse_properties(b"#a=1\\\nb=2\\\n#3\n") == {"b": "2#3"}

    def test_empty_line_ends_a_continuation(self):
        assert parse_properties(b"a=1\\\n\nb=2") == {"a": "1", "b": "2"}
        assert parse_properties(b"\\\n#a=1\nb=2") == {"b": "2"}

    @pytest.mark.parametrize("data", [b"a=1\\", b"a=1\\\n", b"a=1\\\r\n"])
    def test_backslash_at_end_of_file_is_ignored(self, data):
        assert parse_properties(data) == {"a": "1"}

    @pytest.mark.parametrize("data", [b"\\", b"\\\n", b"\\\r", b"a=1\n \\"])
    def test_single_backslash_is_an_empty_key(self, data):
        assert parse_properties(data)[""] == ""

    def test_an_entry_has_the_number_of_its_first_line(self):
        text = "a = 1\n! note\nb:x\\\n  y\n\\\nc=d"
        assert property_entries(text) == [(1, "a", "1"), (3, "b", "xy"), (6, "c", "d")]


class TestKeysAndValues:
    @pytest.mark.parametrize(
        "line", ["k=v", "k:v", "k v", "k\tv", " k = v", "k : v", "k\f=\tv", "k     v", "\\k=v"]
    )
    def test_separators_are_equals_colon_and_blank(self, line):
        assert parse_properties(line.encode()) == {"k": "v"}

    def test_only_first_separator_counts_and_trailing_blanks_are_kept(self):
        assert parse_properties(b"k ==v ") == {"k": "=v "}
        assert parse_properties(b"k=:v") == {"k": ":v"}

    def test_escaped_separator_is_part_of_the_key(self):
        assert parse_properties(rb"a\ b\=c\:d=e") == {"a b=c:d": "e"}

    def test_missing_separator_means_empty_value(self):
        assert parse_properties(b"version") == {"version": ""}

    def test_last_value_of_a_key_counts_and_pairs_keep_all(self):
        assert parse_properties(b"a=1\na=2\n") == {"a": "2"}
        assert property_pairs(b"a=1\na=2\n") == [("a", "1"), ("a", "2")]


class TestEscapes:
    def test_letters_and_codes(self):
        assert parse_properties(rb"a=\t\n\r\f\q\\\u00e9\uD83D\uDE00") == {"a": "\t\n\r\fq\\é😀"}

    def test_bytes_are_latin_1(self):
        assert parse_properties("é=ß".encode("latin-1")) == {"é": "ß"}
        assert parse_properties("é=1".encode()) == {"Ã©": "1"}

    @pytest.mark.parametrize(
        "data", [rb"a=\u12", rb"a=\u12g4", rb"a=\u", rb"\u00=1", rb"a=\uu0041"]
    )
    def test_unicode_escape_needs_four_digits(self, data):
        with pytest.raises(InvalidProperties, match="expected four hex digits after"):
            parse_properties(data)

    @pytest.mark.parametrize("data", [rb"a=\ud800", rb"\udc00=a", rb"a=\ude00\ud83d"])
    def test_half_a_surrogate_pair_is_rejected(self, data):
        with pytest.raises(InvalidProperties, match="without half a surrogate pair"):
            parse_properties(data)


def test_size_limit():
    assert parse_properties(b"a=" + b"x" * (MAX_BYTES - 2))["a"] == "x" * (MAX_BYTES - 2)
    with pytest.raises(InvalidProperties, match=f"at most {MAX_BYTES} bytes") as refused:
        parse_properties(b"#" * (MAX_BYTES + 1))
    assert refused.value.had == MAX_BYTES + 1
    assert refused.value.hint


@pytest.mark.parametrize("piece", [b"\\", b"\\\n", b"=", b" ", b"\\u0041", b"a\\\r\n"])
def test_parsing_time_is_linear(piece):
    assert parse_properties(piece * (MAX_BYTES // len(piece))) is not None


@given(st.dictionaries(TEXTS, TEXTS, max_size=4))
def test_written_properties_are_read_back(properties):
    data = format_properties(properties)
    assert data.isascii()
    assert parse_properties(data) == properties
    assert format_properties(parse_properties(data)) == data


PIECES = st.sampled_from(
    [
        b"\\",
        b"\n",
        b"\r",
        b" ",
        b"\t",
        b"\f",
        b"=",
        b":",
        b"#",
        b"!",
        b"\\u",
        b"00e9",
        b"a",
        b"\xe9",
    ]
)


@given(st.binary(max_size=40) | st.lists(PIECES, max_size=20).map(b"".join))
def test_any_bytes_are_parsed_or_rejected(data):
    try:
        properties = parse_properties(data)
    except InvalidProperties as error:
        assert error.message.isprintable()  # noqa: PT017 (any error of the class will do)
    else:
        assert parse_properties(format_properties(properties)) == properties
