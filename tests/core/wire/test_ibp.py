"""Which version a broker writes, by its software and its inter.broker.protocol.version."""

from __future__ import annotations

import pytest

from rackwise.core.errors import InvalidConfig
from rackwise.core.wire.ibp import (
    FINAL,
    parse_ibp,
    parse_software,
    registration_version,
    update_metadata_version,
)


class TestKip36:
    """KIP-36: "When inter.broker.protocol.version is set to 0.9.0.X, the broker will write the
    broker info in ZK using version 2, ignoring the rack info. When inter.broker.protocol.version
    is set to 0.10.0, the broker will write the broker info in ZK using version 3, including the
    rack info."
    """

    @pytest.mark.parametrize("ibp", ["0.9.0.X", "0.9.0", "0.9.0.0", "0.9.0.1"])
    def test_version_2_for_0_9(self, ibp):
        assert registration_version(ibp, software="0.10.0") == 2
        assert update_metadata_version(ibp) == 1

    @pytest.mark.parametrize("ibp", ["0.10.0", "0.10.0.0", "0.10.0-IV1"])
    def test_version_3_for_0_10(self, ibp):
        assert registration_version(ibp, software="0.10.0") == 3
        assert registration_version(ibp, software="0.10.1.1") == 3
        assert update_metadata_version(ibp) == 2


@pytest.mark.parametrize(
    ("ibp", "software", "registration", "update_metadata"),
    [
        ("0.8.2.0", "0.8.2.2", 1, 0),
        ("0.10.0", "0.8.2", 1, 2),
        ("0.8.2", "0.9.0.1", 2, 0),
        ("0.8.2", "3.9", 2, 0),
        ("0.9.0", "3.9", 2, 1),
        ("0.10.0-IV0", "3.9", 2, 1),
        ("0.10.0-IV1", "3.9", 4, 2),
        ("0.10.1-IV2", "3.9", 4, 2),
        ("0.10.2-IV0", "0.10.2", 4, 3),
        ("0.11.0", "3.9", 4, 3),
        ("1.0-IV0", "3.9", 4, 4),
        ("2.2-IV0", "3.9", 4, 5),
        ("2.4-IV0", "3.9", 4, 5),
        ("2.4-IV1", "3.9", 4, 6),
        ("2.6", "3.9", 4, 6),
        ("2.7-IV0", "2.7", 5, 6),
        ("2.7", "2.6", 4, 6),
        ("2.8-IV0", "3.9", 5, 6),
        ("2.8-IV1", "3.9", 5, 7),
        ("3.3", "3.9", 5, 7),
        ("3.4-IV0", "3.9", 5, 8),
        ("3.9", "3.9.2", 5, 8),
        ("0.10.0", "0.9.0.1", 2, 2),
    ],
)
def test_the_table(ibp, software, registration, update_metadata):
    assert registration_version(ibp, software=software) == registration
    assert update_metadata_version(ibp) == update_metadata


def test_the_order():
    texts = ["0.8.2", "0.9.0", "0.10.0-IV0", "0.10.0-IV1", "0.10.0", "0.10.1-IV0", "1.0-IV0", "3.9"]
    assert sorted(texts, key=parse_ibp) == texts
    assert parse_ibp("0.10.0") == parse_ibp("0.10.0.1") == (0, 10, 0, FINAL)
    assert parse_ibp("2.8.1") == parse_ibp("2.8") == (2, 8, 0, FINAL)
    assert parse_ibp("2.8-IV1") == (2, 8, 0, 1)


@pytest.mark.parametrize(
    "text",
    [
        *("abc", "", "3", "0.10", "0.X.0", "2.X", "3.9-IV", "3.9-IV1x", "3.9 ", "3..9", "-1.2"),
        *("12345.1", "3.9\x1b[31m"),
    ],
)
def test_what_is_no_ibp(text):
    with pytest.raises(InvalidConfig, match=r"expected an inter\.broker\.protocol\.version") as no:
        registration_version(text)
    assert no.value.message.isprintable()
    assert no.value.hint


@pytest.mark.parametrize("text", ["", "3", "0.9.0.X", "3.9-IV0", "1.2.3.4.5", "v3.9", "٣.٩"])
def test_what_is_no_software(text):
    with pytest.raises(InvalidConfig, match="expected a version of Kafka"):
        registration_version("3.9", software=text)


def test_software_as_numbers():
    assert parse_software("0.9.0") == (0, 9, 0, 0) < parse_software("0.9.0.1")
