"""Fields of Kafka's protocol, one by one: what fits is written and read, all else is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.errors import LocalProtocolError, RemoteProtocolError
from rackwise.core.wire.reader import MOST_TAGS, Reader
from rackwise.core.wire.writer import Writer, require_version
from wire_messages import INT32, NULLABLE_TEXTS


def written(method, *values):
    writer = Writer()
    getattr(writer, method)(*values)
    return bytes(writer.data)


def tags(data):
    reader = Reader(data)
    found = tuple((tag, reader.octets(size)) for tag, size in reader.tags())
    reader.close()
    return found


class TestVarints:
    @pytest.mark.parametrize(
        ("value", "data"),
        [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02"), (2**32 - 1, "ffffffff0f")],
    )
    def test_are_seven_bits_a_byte_lowest_first(self, value, data):
        assert written("unsigned_varint", value).hex() == data
        assert Reader(bytes.fromhex(data)).unsigned_varint() == value

    @given(st.integers(0, 2**32 - 1))
    def test_are_read_as_written(self, value):
        reader = Reader(written("unsigned_varint", value))
        assert (reader.unsigned_varint(), reader.left) == (value, 0)

    @pytest.mark.parametrize(
        ("data", "wanted"),
        [
            ("8080808010", "expected a varint of up to 32 bits, got 4294967296"),
            ("808080808000", "expected a varint of up to 5 bytes, got a longer one"),
            ("80", "expected 1 more bytes, got 0"),
        ],
    )
    def test_that_are_too_long_are_refused(self, data, wanted):
        with pytest.raises(RemoteProtocolError, match=wanted):
            Reader(bytes.fromhex(data)).unsigned_varint()

    @pytest.mark.parametrize("value", [-1, 2**32])
    def test_hold_32_bits(self, value):
        with pytest.raises(LocalProtocolError, match=f"of 32 bits, got {value}"):
            written("unsigned_varint", value)


class TestIntegers:
    @pytest.mark.parametrize("value", [True, False, 2**15, -(2**15) - 1, "1", None])
    def test_are_no_booleans_and_nothing_wider(self, value):
        with pytest.raises(LocalProtocolError, match=f"of 16 bits, got {value}"):
            written("int16", value)

    @given(st.lists(INT32, max_size=4).map(tuple))
    def test_in_an_array_follow_their_count(self, values):
        data = written("int32_array", values)
        assert data[:4].hex() == f"{len(values):08x}"
        assert Reader(data).int32_array() == values


class TestBooleans:
    @pytest.mark.parametrize(("value", "data"), [(False, b"\x00"), (True, b"\x01")])
    def test_are_0_and_1(self, value, data):
        assert written("boolean", value) == data
        assert Reader(data).boolean() is value

    def test_are_nothing_else(self):
        with pytest.raises(RemoteProtocolError, match="offset 0: expected 0 or 1, got 2"):
            Reader(b"\x02").boolean()
        with pytest.raises(LocalProtocolError, match="expected True or False, got 1"):
            written("boolean", 1)


class TestTexts:
    @given(NULLABLE_TEXTS)
    def test_are_read_as_written(self, value):
        assert Reader(written("text", value)).nullable_text() == value
        assert Reader(written("compact_text", value)).compact_nullable_text() == value

    def test_of_40000_bytes_do_not_fit(self):
        with pytest.raises(LocalProtocolError, match=r"^STRING holds 32767 bytes; rack has 40000$"):
            written("text", "r" * 40_000, "rack")
        assert len(written("text", "r" * 32_767)) == 32_769
        assert Reader(written("compact_text", "r" * 40_000)).compact_text() == "r" * 40_000

    def test_must_be_there(self):
        with pytest.raises(RemoteProtocolError, match="expected a text, got null"):
            Reader(b"\xff\xff").text()
        with pytest.raises(RemoteProtocolError, match="expected a text, got null"):
            Reader(b"\x00").compact_text()

    @pytest.mark.parametrize("data", [b"\x00\x02a\xff", b"\x03a\xff"])
    def test_are_utf_8(self, data):
        read = Reader.text if data[0] == 0 else Reader.compact_text
        with pytest.raises(RemoteProtocolError, match="expected UTF-8") as caught:
            read(Reader(data))
        assert caught.value.offset == len(data) - 1

    def test_with_half_a_pair_are_not_written(self):
        with pytest.raises(LocalProtocolError, match="half a surrogate pair"):
            written("compact_text", "\ud800")


class TestCounts:
    @pytest.mark.parametrize(
        ("data", "read"),
        [
            ("fffffffe", Reader.count),
            ("7fffffff", Reader.count),
            ("00000003 00000000 0000", Reader.count),
            ("00000003 00000000 0000", Reader.nullable_count),
            ("00", Reader.compact_count),
            ("ffffffff0f", Reader.compact_count),
            ("04 00000000 0000", Reader.compact_count),
        ],
    )
    def test_fit_in_what_is_left(self, data, read):
        with pytest.raises(
            RemoteProtocolError, match=r"^offset 0: expected a count from 0 to \d+, got "
        ):
            read(Reader(bytes.fromhex(data)), 4)

    def test_below_0_are_null_where_null_may_be(self):
        assert Reader(b"\xff\xff\xff\xff").nullable_count(4) is None


class TestTaggedFields:
    def test_are_written_ascending(self):
        data = written("tags", [(300, b"x"), (0, b"")])
        assert data.hex() == "020000ac020178"
        assert tags(data) == ((0, b""), (300, b"x"))

    def test_that_nobody_reads_are_passed_over(self):
        reader = Reader(written("tags", [(0, b"abc"), (9, b"")]) + b"!")
        reader.pass_over_tags()
        assert reader.left == 1

    @pytest.mark.parametrize(
        ("data", "told"),
        [
            ("02 01 00 01 00", "offset 3: expected a tag over 1, got 1"),
            ("02 01 00 00 00", "offset 3: expected a tag over 1, got 0"),
            ("41" + "0000" * 65, "offset 0: expected up to 64 tagged fields, got 65"),
            ("01 00 ffffffff07", "offset 7: expected 2147483647 more bytes, got 0"),
        ],
    )
    def test_that_cannot_be_are_refused(self, data, told):
        with pytest.raises(RemoteProtocolError, match=f"^{told}$"):
            tags(bytes.fromhex(data))

    @pytest.mark.parametrize("data", ["01 00 01 0007", "01 00 03 000700"])
    def test_are_as_long_as_they_say(self, data):
        reader = Reader(bytes.fromhex(data))
        with pytest.raises(
            RemoteProtocolError, match=r"expected \d bytes of tag 0, got a field of 2$"
        ):
            [reader.int16() for _ in reader.tags()]

    def test_are_up_to_64_and_each_stands_once(self):
        assert len(tags(written("tags", [(tag, b"") for tag in range(MOST_TAGS)]))) == MOST_TAGS
        for fields in [[(1, b""), (1, b"x")], [(tag, b"") for tag in range(MOST_TAGS + 1)]]:
            with pytest.raises(LocalProtocolError, match="up to 64 tags, each once"):
                written("tags", fields)


def test_versions_without_a_codec_are_our_own_fault():
    require_version("Broker", 2, newest=2)
    with pytest.raises(
        LocalProtocolError, match=r"^invalid Broker version: expected 0 to 2, got 3$"
    ) as e:
        require_version("Broker", 3, newest=2, hint="lower it")
    assert e.value.hint == "lower it"


@pytest.mark.parametrize("version", [True, 1.0, "1", None])
def test_a_version_is_an_integer(version):
    with pytest.raises(LocalProtocolError, match=f"expected 0 to 2, got {version}"):
        require_version("Broker", version, newest=2)
