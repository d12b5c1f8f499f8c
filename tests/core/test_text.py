import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.errors import InputError
from rackwise.core.json.strict import parse
from rackwise.core.text import (
    MOST_LINE,
    escaped,
    escaped_json,
    escaped_name,
    names_text,
    with_short_words,
)


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
    line = json.dumps(text, ensure_ascii=False)
    assert escaped_json(line).isprintable()
    assert parse(escaped_json(line).encode(), where="line", error=InputError) == text


@pytest.mark.parametrize(
    ("names", "shown"),
    [("", ""), ("a", "a"), ("abc", "a, b, c"), ("abcd", "a, b, c and 1 more")],
)
def test_names_after_the_third_are_counted(names, shown):
    assert names_text(list(names)) == shown
    assert names_text(list(names[:3]), of=len(names)) == shown


@pytest.mark.parametrize(
    ("most", "shown"),
    [(1, "0 and 4 more"), (4, "0, 1, 2, 3 and 1 more"), (5, "0, 1, 2, 3, 4"), (6, "0, 1, 2, 3, 4")],
)
def test_a_message_lists_as_many_names_as_it_asks_for(most, shown):
    assert names_text(range(5), most=most) == shown
    assert names_text(range(min(5, most)), most=most, of=5) == shown


@given(st.lists(st.text(), max_size=6), st.integers(1, 6))
def test_listed_names_are_escaped_once(names, most):
    shown = names_text(names, most=most)
    assert shown.isprintable()
    assert shown == names_text([escaped(name) for name in names], most=most)


ESC = r"\x1b"


def test_a_name_is_escaped_and_short():
    assert escaped_name("a\x1b\u2028") == "a\\x1b\\u2028"
    assert escaped_name("a" * 300) == "a" * 300
    middle = "..(3,610 characters).."
    assert escaped_name("ab c\x1b" * 450 + "d" * 50) == f"ab c{ESC}ab c{ESC}ab c{middle}" + "d" * 20


SPACED = "\x1b a" * 10_000


@given(st.lists(st.sampled_from(["a" * 300, "b" * 301, "c " * 5000, "\n", " ", "d"]), max_size=40))
def test_no_word_and_no_line_of_a_shortened_text_is_long(parts):
    short = with_short_words("".join(parts))
    assert max(map(len, short.split("\n"))) <= MOST_LINE
    assert max(map(len, short.split()), default=0) <= 300
    assert short.count("\n") == parts.count("\n")


def test_a_text_of_short_words_and_lines_stays_as_it_is():
    text = "\n".join(["a" * 300, "bc " * 1333, "", "d"])
    assert with_short_words(text) == text


def test_a_command_that_people_paste_stays_whole():
    servers = ",".join(
        f"b-{number}.auditprod.abc123.c7.kafka.example.com:9098" for number in range(9)
    )
    command = f"rackwise resume {'/folder' * 60}/p.json --bootstrap-server {servers}"
    assert with_short_words(command) == command


def test_both_ends_of_a_long_line_are_kept():
    short = with_short_words("group " + escaped(SPACED) + " is odd")
    assert short.startswith("group \\x1b a")
    assert short.endswith(" is odd")
    assert "..(57,347 characters).." in short
