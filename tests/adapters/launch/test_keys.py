"""Where the name of a host is read from, and what is no name."""

from __future__ import annotations

import os

import pytest

from rackwise.adapters.launch.broker.host_key import read_key
from rackwise.core.errors import InvalidConfig
from rackwise.core.identity.refusals import KeyInvalid, KeyMissing, KeyUnstable


def key(source, environment=(), **options):
    return read_key(source, environment=dict(environment), **options).text


@pytest.fixture
def interfaces(tmp_path):
    def put(name, text):
        (tmp_path / name).mkdir()
        (tmp_path / name / "address").write_text(text)
        return tmp_path

    return put


def test_the_hostname_is_the_kernels_in_lower_case():
    assert key("hostname", allow_unstable=True) == os.uname().nodename.lower()


def test_a_variable_a_file_and_a_text_are_verbatim_without_blanks_around(tmp_path):
    file = tmp_path / "name"
    file.write_text("  Kafka-2 \nsecond line\n")
    assert key("env:POD", {"POD": "\tKafka-0 "}) == "Kafka-0"
    assert key(f"file:{file}") == "Kafka-2"
    assert key("text: kafka:7 ") == "kafka:7"


def test_an_instance_stands_behind_the_key():
    assert key("text:h7", instance="9092") == "h7-9092"


def test_an_address_is_lower_case_with_colons(interfaces):
    assert key("mac:eth0", interfaces=interfaces("eth0", "9C:B6:D0:0F:E5:1A\n")) == (
        "9c:b6:d0:0f:e5:1a"
    )


def test_a_local_address_is_warned_about(interfaces):
    folder = interfaces("eth0", "02:42:ac:11:00:02\n")
    found = read_key("mac:eth0", environment={}, interfaces=folder)
    assert found.text == "02:42:ac:11:00:02"
    assert [text for text in found.warnings if "locally administered" in text]
    assert read_key("text:h7", environment={}).warnings == ()


@pytest.mark.parametrize("address", ["00:00:00:00:00:00", "01:00:5e:00:00:01", "ff:ff:ff:ff:ff:ff"])
def test_an_address_of_nobody_is_refused(interfaces, address):
    with pytest.raises(KeyInvalid, match="expected neither zero nor multicast"):
        key("mac:lo", interfaces=interfaces("lo", address))


@pytest.mark.parametrize("text", ["", "garbage", "00:11:22:33:44", "aa" * 20])
def test_an_interface_without_an_address_of_six_bytes_has_no_name(interfaces, text):
    with pytest.raises(KeyMissing):
        key("mac:ib0", interfaces=interfaces("ib0", text))


@pytest.mark.parametrize("name", ["eth9", "..", "../eth0", "."])
def test_no_such_interface(tmp_path, name):
    with pytest.raises(KeyMissing, match="no such interface"):
        key(f"mac:{name}", interfaces=tmp_path)


@pytest.mark.parametrize("source", ["env:NOT_SET", "env:EMPTY", "env:BLANK", "text:", "text: "])
def test_a_source_without_a_name_is_told(source):
    with pytest.raises(KeyMissing):
        key(source, {"EMPTY": "", "BLANK": " \t"})


def test_a_file_without_a_name_is_told(tmp_path):
    (tmp_path / "empty").write_text("")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    for name in ("empty", "binary", "absent", "."):
        with pytest.raises(KeyMissing):
            key(f"file:{tmp_path / name}")


@pytest.mark.parametrize("source", ["", "dns", "mac", "mac:", "env:", "file:", "HOSTNAME", "x:y"])
def test_a_source_of_no_known_kind_is_told(source):
    with pytest.raises(InvalidConfig):
        key(source)


@pytest.mark.parametrize("text", ["a/b", "..", "é", "x" * 250, "a b", "a\x1bb"])
def test_a_name_that_no_node_can_have_is_refused(text):
    with pytest.raises(KeyInvalid):
        key(f"text:{text}")


def test_an_instance_may_not_make_a_name_that_no_node_can_have():
    with pytest.raises(KeyInvalid):
        key("text:h7", instance="/etc")


@pytest.mark.parametrize("text", ["localhost", "10.0.0.1", "ip-10-0-0-1", "0123456789ab", "::1"])
def test_a_name_that_changes_with_the_address_is_refused_unless_allowed(text):
    with pytest.raises(KeyUnstable):
        key(f"text:{text}")
    with pytest.raises(KeyUnstable):
        key(f"text:{text}", instance="1")
    assert key(f"text:{text}", allow_unstable=True) == text
