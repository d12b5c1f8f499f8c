import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.text import escaped


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("orders", "orders"),
        ("é 漢", "é 漢"),
        ("a\x1b[31m", r"a\x1b[31m"),
        ("\x00\n\x9b", r"\x00\x0a\x9b"),
        ("a\u202eb\u2028", r"a\u202eb\u2028"),
        ("\U000e0001", r"\U000e0001"),
        ("\ud800", r"\ud800"),
    ],
)
def test_unprintable_characters_are_escaped(text, shown):
    assert escaped(text) == shown


@given(st.text())
def test_always_printable(text):
    assert escaped(text).isprintable()
