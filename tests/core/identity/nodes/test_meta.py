"""A meta.properties is read without doubt or not at all; what is written is Kafka's own file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity_nodes import META
from rackwise.core.errors import InvalidConfig
from rackwise.core.identity.model import MetaProperties
from rackwise.core.identity.nodes.meta import format_directory_id, format_meta, parse_meta
from rackwise.core.identity.refusals import MetaUnreadable
from rackwise.core.java_properties import MAX_BYTES

DIRECTORY = "hZdBPDQtQ5a6SD2yXr6ExA"


class TestRead:
    def test_version_0(self):
        data = b"#\n#Sun Nov 22 05:04:42 UTC 2026\ncluster.id=c\nversion=0\nbroker.id=7\n"
        assert parse_meta(data) == MetaProperties(version=0, broker_id=7, cluster_id="c")

    def test_version_1(self):
        data = f"node.id=7\nversion=1\ncluster.id=c\ndirectory.id={DIRECTORY}\n".encode()
        assert parse_meta(data) == MetaProperties(
            version=1, broker_id=7, cluster_id="c", directory_id=DIRECTORY
        )

    def test_no_version_is_version_0_and_each_field_may_be_missing(self):
        assert parse_meta(b"") == MetaProperties(version=0)
        assert parse_meta(b"version=1") == MetaProperties(version=1)
        assert parse_meta(b"broker.id=0") == MetaProperties(version=0, broker_id=0)

    def test_the_id_is_that_of_the_version_and_the_rest_is_kept(self):
        assert parse_meta(b"version=1\nbroker.id=7\n").broker_id is None
        assert parse_meta(b"version=1\nbroker.id=7\n").extra == {"broker.id": "7"}
        assert parse_meta(b"node.id=7\na=b\n").extra == {"node.id": "7", "a": "b"}

    @pytest.mark.parametrize(("text", "id_"), [("007", 7), ("+7", 7), ("2147483647", 2**31 - 1)])
    def test_numbers_as_java_takes_them(self, text, id_):
        assert parse_meta(f"broker.id={text}".encode()).broker_id == id_

    def test_crlf_and_a_key_twice_with_one_value(self):
        assert parse_meta(b"version=0\r\nbroker.id=7\r\nbroker.id = 7\r\n").broker_id == 7


class TestUnreadable:
    """F21: bytes that are no meta.properties."""

    @pytest.mark.parametrize(
        ("data", "told"),
        [
            (b"\xef\xbb\xbfversion=0\nbroker.id=7", "byte 0xEF at 0"),
            (b"\xff\xfev\x00", "byte 0xFF at 0"),
            (b"\xfe\xff\x00v", "byte 0xFE at 0"),
            (b"broker.id=7\x00", "byte 0x00 at 11"),
            (
                b"#" * (MAX_BYTES + 1),
                f"expected a file of at most {MAX_BYTES} bytes, got one of {MAX_BYTES + 1}$",
            ),
            (rb"broker.id=\u00", r"expected \\uXXXX"),
            (b"broker.id=7\nbroker.id=8", "expected one value of broker.id, got 7, then 8"),
            (b"a=\x1b[31m\na=2", r"\\x1b\[31m, then 2"),
            (b"version=2", "expected version 0 or 1, got 2"),
            (b"version=", "expected version 0 or 1, got nothing"),
            (b"version=0.0", "version 0 or 1"),
            (b"broker.id=-1", "expected a broker.id from 0 to 2147483647, got -1"),
            (b"broker.id=2147483648", "got 2147483648"),
            (b"broker.id=7 ", ", got 7 $"),
            (b"broker.id=0x7", "0x7"),
            (b"broker.id=" + b"7" * 5000, "broker.id from"),
            (b"broker.id=\\u0667", "broker.id from"),
            (b"version=1\nnode.id=seven", "a node.id from"),
            (b"directory.id=", "16 bytes"),
            (b"directory.id=" + b"A" * 21, "16 bytes"),
            (b"directory.id=" + b"A" * 23, "16 bytes"),
            (b"directory.id=-" + b"A" * 21, "does not begin with -"),
            (b"directory.id=+" + b"A" * 21, "16 bytes"),
            (b"directory.id=" + b"A" * 22, "does not reserve"),
            (b"directory.id=" + b"A" * 20 + b"AQ", "does not reserve"),
            (b"directory.id=" + b"A" * 20 + b"Yw", "does not reserve"),
            (b"directory.id=" + b"A" * 10 + b"D" + b"_" * 10 + b"w", "does not reserve"),
        ],
    )
    def test_what_is_refused(self, data, told):
        with pytest.raises(MetaUnreadable, match=told) as refused:
            parse_meta(data)
        assert refused.value.wanted
        assert refused.value.had
        assert refused.value.hint
        assert refused.value.message.isprintable()

    def test_the_first_directory_id_that_is_not_reserved(self):
        assert parse_meta(b"directory.id=" + b"A" * 20 + b"ZA").directory_id == "A" * 20 + "ZA"

    def test_a_refusal_of_the_file_is_none_of_the_configuration(self):
        assert not issubclass(MetaUnreadable, InvalidConfig)


class TestWritten:
    def test_version_0_as_kafka_has_it(self):
        meta = MetaProperties(version=0, broker_id=7, cluster_id="YSBjb")
        assert format_meta(meta) == b"version=0\nbroker.id=7\ncluster.id=YSBjb\n"

    def test_a_cluster_without_an_id_yet(self):
        assert format_meta(MetaProperties(version=0, broker_id=7)) == b"version=0\nbroker.id=7\n"

    def test_version_1_and_what_else_there_is_by_name(self):
        meta = MetaProperties(
            version=1,
            broker_id=7,
            cluster_id="c",
            directory_id=DIRECTORY,
            extra={"z": "1", "a b": "="},
        )
        assert format_meta(meta).decode().splitlines() == [
            "version=1",
            "node.id=7",
            "cluster.id=c",
            f"directory.id={DIRECTORY}",
            r"a\ b=\=",
            "z=1",
        ]

    @given(META)
    def test_what_is_written_is_read_back(self, meta):
        assert parse_meta(format_meta(meta)) == meta


class TestDirectoryId:
    def test_sixteen_bytes(self):
        assert format_directory_id(bytes(15) + b"\x64") == "A" * 20 + "ZA"

    @pytest.mark.parametrize("raw", [bytes(16), bytes(15) + b"\x63", b"\xf8" + bytes(15)])
    def test_one_that_kafka_would_not_take_is_drawn_again(self, raw):
        assert format_directory_id(raw) is None

    @given(st.binary(min_size=16, max_size=16))
    def test_what_is_given_is_readable(self, raw):
        drawn = format_directory_id(raw)
        if drawn is not None:
            assert parse_meta(f"directory.id={drawn}".encode()).directory_id == drawn


PIECES = st.sampled_from(
    [b"version=", b"broker.id=", b"node.id=", b"\n", b"0", b"1", b"7", b"-", b"\\", b"\x00", b" "]
)


@given(st.binary(max_size=60) | st.lists(PIECES, max_size=20).map(b"".join))
def test_any_bytes_are_a_file_or_the_one_error(data):
    try:
        meta = parse_meta(data)
    except MetaUnreadable as error:
        assert error.message.isprintable()  # noqa: PT017 (any error of the class will do)
    else:
        assert parse_meta(format_meta(meta)) == meta
