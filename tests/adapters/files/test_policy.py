"""Policy files: TOML read strictly, each fault with its line."""

import json
import tomllib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.adapters.files import parse_policy, read_policy
from rackwise.adapters.files.toml_text import lines_of
from rackwise.core.errors import InvalidConfig, InvalidPolicy
from rackwise.core.model import Broker, Cluster, Partition, PartitionTable, Topic
from rackwise.core.policy import policy_of
from rackwise.core.racks import Rack

TEXT = """\
# what we want
format = "rackwise.policy/1"
racks    = { levels = ["region", "zone"], missing = "error" }
brokers  = { drain = [7], weights = { 4 = 2 } }

[audit]
fail_on = "warning"  # or [error]
rack_loss = [
  "region",
  "zone",  # both
]

[[topics]]
match = ["*"]
spread = { region = "even", zone = "even" }
[[topics]]
match = ["payments.*", 'a"b']
replication = 3
[topics.pin]
0 = [4]
"3" = [
  4, 7]
"""


def refused(text):
    with pytest.raises(InvalidPolicy) as raised:
        parse_policy(text.encode(), where="p.toml")
    return raised.value


def cluster():
    racks = {1: "/eu/a", 2: "/eu/b", 4: "/us/a", 7: "/us/b"}
    return Cluster(
        cluster_id=None,
        taken_at="2026-11-21T08:30:00Z",
        brokers=tuple(Broker(id=i, rack=Rack(rack)) for i, rack in racks.items()),
        topics={"payments.in": Topic(name="payments.in")},
        partitions=PartitionTable.of(
            [Partition(topic="payments.in", partition=0, replicas=(1, 4, 7))]
        ),
    )


def test_a_policy_keeps_its_text(tmp_path):
    (tmp_path / "p.toml").write_text(TEXT)
    read = read_policy(tmp_path / "p.toml")
    assert read.policy == policy_of(tomllib.loads(TEXT))
    assert read.policy.topics[1].pin == {0: (4,), 3: (4, 7)}
    assert (read.text, read.name) == (TEXT, str(tmp_path / "p.toml"))
    read.check(cluster())


def test_the_cap_and_the_kind_of_file_are_the_readers(tmp_path):
    (tmp_path / "p.toml").write_text(TEXT)
    with pytest.raises(InvalidConfig, match="expected at most 10 bytes"):
        read_policy(tmp_path / "p.toml", max_bytes=10)
    with pytest.raises(InvalidConfig, match="expected a regular file, got a folder"):
        read_policy(tmp_path)


class TestBadInput:
    @pytest.mark.parametrize(
        ("old", "new", "message", "where"),
        [
            (
                "fail_on",
                "fail_at",
                'invalid p.toml:7 at $.audit.fail_at: unknown key "fail_at"',
                "p.toml:7",
            ),
            (
                '"zone",  # both',
                '"row",  # both',
                'invalid p.toml:10 at $.audit.rack_loss[1]: no level is called "row"',
                "p.toml:10",
            ),
            (
                'zone = "even" }',
                'zone = "evn" }',
                (
                    "invalid p.toml:15 at $.topics[0].spread.zone: expected "
                    'even, distinct, off or { at_least = N }, got "evn"'
                ),
                "p.toml:15",
            ),
            (
                "4 = 2",
                "4 = 0",
                (
                    'invalid p.toml:4 at $.brokers.weights["4"]: '
                    "expected an integer of 1 or more, got 0"
                ),
                "p.toml:4",
            ),
            (
                "4, 7]",
                "4, 7, 1, 2]",
                (
                    "invalid p.toml:19 at $.topics[1].pin: expected at most "
                    "replication 3 brokers for partition 3, got 4"
                ),
                "p.toml:19",
            ),
            (
                "replication = 3",
                "replication = 3\nreplication = 4",
                "invalid p.toml:19: expected TOML, got a syntax error: Cannot overwrite a value",
                "p.toml:19",
            ),
            (
                "[4]\n",
                "[4\n",
                "invalid p.toml:21: expected TOML, got a syntax error: Unclosed array",
                "p.toml:21",
            ),
        ],
    )
    def test_the_sentence_has_file_and_line_and_key(self, old, new, message, where):
        text = TEXT.replace(old, new)
        assert text != TEXT
        error = refused(text)
        assert (error.message, error.where) == (message, where)

    @pytest.mark.parametrize(
        ("text", "message", "hint"),
        [
            (
                'format = "rackwise.policy/2"',
                (
                    'invalid p.toml:1 at $.format: expected "rackwise.policy/1", got '
                    '"rackwise.policy/2"'
                ),
                'begin the policy with format = "rackwise.policy/1", or upgrade rackwise',
            ),
            (
                "x = " + "[" * 5000,
                "invalid p.toml: expected TOML, got a syntax error: nested too deep",
                "fix the file there; put texts in quotes and table names in brackets",
            ),
            (
                "x = 9223372036854775808",
                (
                    "invalid p.toml: expected TOML, got a syntax error: expected an "
                    "integer of 64 bits"
                ),
                "fix the file there; put texts in quotes and table names in brackets",
            ),
            (
                "x = [{ y = -9223372036854775809 }]",
                (
                    "invalid p.toml: expected TOML, got a syntax error: expected an "
                    "integer of 64 bits"
                ),
                "fix the file there; put texts in quotes and table names in brackets",
            ),
            (
                "\n" + '"\\"".' * 128 + "a = 1",
                (
                    "invalid p.toml:2: expected TOML, got a syntax error: expected keys of at "
                    "most 128 parts"
                ),
                "fix the file there; put texts in quotes and table names in brackets",
            ),
            (
                "\n\nx = \x1b",
                "invalid p.toml:3: expected TOML, got a syntax error: Invalid value",
                "fix the file there; put texts in quotes and table names in brackets",
            ),
        ],
    )
    def test_what_is_no_policy_at_all(self, text, message, hint):
        error = refused(text)
        assert (error.message, error.hint) == (message, hint)

    def test_points_count_in_one_key_only(self):
        """Those of other keys, of comments and within quotes do not."""
        lines = [f"a.k{number} = 0.5  # 1.{'2.' * 200}" for number in range(200)]
        error = refused("\n".join([*lines, f'"{"b." * 200}" = 1']))
        assert "128 parts" not in error.message

    def test_more_digits_than_python_converts(self):
        assert "Exceeds the limit" in refused("x = " + "9" * 5000).message

    def test_not_utf_8(self):
        with pytest.raises(InvalidPolicy) as raised:
            parse_policy(b"a = 1\nb = '\xff'", where="p.toml")
        assert raised.value.message == "invalid p.toml:2: expected UTF-8, got byte 0xff"
        assert raised.value.hint == "save the file as UTF-8"

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            (
                "drain = [7]",
                "drain = [70]",
                "invalid p.toml:4 at $.brokers.drain[0]: no broker has id 70",
            ),
            (
                "[topics.pin]",
                'count = [\n{ rack = "/asia", min = 1 }]\n[topics.pin]',
                'invalid p.toml:20 at $.topics[1].count[0].rack: no rack is called "/asia"',
            ),
        ],
    )
    def test_what_the_cluster_lacks_has_its_line_too(self, old, new, message):
        read = parse_policy(TEXT.replace(old, new).encode(), where="p.toml")
        with pytest.raises(InvalidPolicy) as raised:
            read.check(cluster())
        assert raised.value.message == message
        assert raised.value.where == message.removeprefix("invalid ").partition(" at ")[0]


KEYS = st.text("ab_-1", min_size=1, max_size=2) | st.sampled_from(['x "y"', "a.b", "é", ""])
VALUES = st.recursive(
    st.booleans() | st.integers(-5, 5) | st.text("a[]{}=#,\"'\n.", max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


def spelled(value):
    """An inline value as TOML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key_of(k)} = {spelled(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",\n  ".join(map(spelled, value)) + "]"
    return json.dumps(value)


def key_of(key):
    is_bare = key.isascii() and key.replace("_", "a").replace("-", "a").isalnum()
    return key if is_bare else json.dumps(key, ensure_ascii=False)


def paths(value, path=()):
    """Every path in a parsed value that has one."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield (*path, key)
        if isinstance(item, dict | list):
            yield from paths(item, (*path, key))


class TestLines:
    @given(st.dictionaries(KEYS, VALUES, max_size=4), st.dictionaries(KEYS, VALUES, max_size=3))
    def test_every_key_and_item_has_a_line_on_which_it_stands(self, top, table):
        lines = [f"{key_of(key)} = {spelled(value)}" for key, value in top.items()]
        lines += ["# [comment]", "[[the_tables]]", "n = 1", "[[the_tables]]"]
        lines += [f"{key_of(key)} = {spelled(value)}" for key, value in table.items()]
        text = "\n".join(lines)
        parsed = tomllib.loads(text)
        found = lines_of(text)
        assert set(found) == set(paths(parsed))
        rows = text.splitlines()
        for path, line in found.items():
            if isinstance(path[-1], str) and path[0] != "the_tables":
                assert key_of(path[-1]) in rows[line - 1]
        order = [found[path] for path in paths(parsed) if path[0] != "the_tables"]
        assert order == sorted(order)

    def test_tables_in_tables(self):
        text = 'a.b.c = 1\n[a.d]\n"x y" = 2\n[[e]]\n[[e.f]]\n[[e.f]]\ng = """\n\n"""\n[e.h]\ni = 3'
        assert lines_of(text) == {
            ("a",): 1,
            ("a", "b"): 1,
            ("a", "b", "c"): 1,
            ("a", "d"): 2,
            ("a", "d", "x y"): 3,
            ("e",): 4,
            ("e", 0): 4,
            ("e", 0, "f"): 5,
            ("e", 0, "f", 0): 5,
            ("e", 0, "f", 1): 6,
            ("e", 0, "f", 1, "g"): 7,
            ("e", 0, "h"): 10,
            ("e", 0, "h", "i"): 11,
        }


@given(st.integers(0, len(TEXT)), st.integers(0, 6), st.text("[]{}=\"'\n,.#a1\x00é", max_size=4))
def test_only_our_errors_leave(at, cut, inserted):
    with suppress(InvalidPolicy):
        parse_policy((TEXT[:at] + inserted + TEXT[at + cut :]).encode(), where="p.toml")


def test_every_truncation_ends_in_a_policy_or_our_error():
    for end in range(len(TEXT)):
        with suppress(InvalidPolicy):
            parse_policy(TEXT[:end].encode(), where="p.toml")
