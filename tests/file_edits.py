"""Edits of a JSON file, another byte, token, place or number anywhere, and what a reader says."""

from __future__ import annotations

import re

import pytest
from hypothesis import strategies as st

TOKEN = re.compile(rb'"[^"]*"|[0-9]+|null|[^"0-9n]')
PIECES = [
    *[b"", b" ", b"\n", b"\t", b"\0", b",", b":", b"[", b"]", b"{", b"}", b'"', b"\\", b"-", b"u"],
    *[b"0", b"1", b"00", b"01", b"-0", b"-1", b"1.0", b"1e0", b"null", b"true", b"nul", b'"1"'],
    *[b"300", b"2147483647", b"2147483648", b"9223372036854775807", b"9223372036854775808"],
    *[b"18446744073709551615", b"18446744073709551616", b"99999999999999999999", b"9" * 400],
    *[b"[]", b"[1,1]", b"[null]", b"[1,]", b"{}", b'"bytes":5,', b'"adding":[],', b'"rows 0"'],
    *[b'"partitions":["rows 0"]', b'"partitions":[{"adding":[]}]', b"\xff", b"\xc3\xbc"],
]
EDITS = ("flip", "put", "cut", "swap", "double")


@st.composite
def edited(draw: st.DrawFn, text: bytes) -> bytes:
    """The text after one to three edits."""
    for _ in range(draw(st.integers(1, 3))):
        places = [match.start() for match in TOKEN.finditer(text)] or [0]
        at = draw(st.sampled_from(places))
        edit = draw(st.sampled_from(EDITS))
        if edit == "flip":
            at = draw(st.integers(0, max(len(text) - 1, 0)))
            text = text[:at] + bytes([draw(st.integers(0, 255))]) + text[at + 1 :]
        elif edit == "put":
            size = draw(st.sampled_from([0, 1, 4]))
            text = text[:at] + draw(st.sampled_from(PIECES)) + text[at + size :]
        else:
            after = [place for place in places if place > at][:12] or [len(text)]
            end = draw(st.sampled_from(after))
            last = draw(st.sampled_from([each for each in after if each >= end]))
            first, second = text[at:end], text[end:last]
            middle = {"cut": second, "swap": second + first, "double": first + first + second}
            text = text[:at] + middle[edit] + text[last:]
    return text


def read_or_error(read, data, error):
    """The value that a reader finds in the data, or all that its error says."""
    try:
        return read(data, where="file.json")
    except error as said:
        return (said.message, said.wanted, said.had, said.hint, said.where)


def check_without(module, name, find):
    """Check that `find` gives the same where the fast reader `module.name` finds nothing."""
    taken = find()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, name, lambda _: None)
        assert taken == find()
