"""Broker registrations: every version read, 1 to 5 written, and what is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity_nodes import JSON
from rackwise.core.errors import LocalProtocolError, RemoteProtocolError
from rackwise.core.wire import (
    BrokerRegistration,
    Endpoint,
    SecurityProtocol,
    dropped_fields,
    read_registration,
    write_registration,
)
from rackwise.core.wire.registration import REGISTRATION_BYTES
from registrations import (
    PLAINTEXT,
    SAMPLES,
    SSL,
    check_registration_law,
    endpoint,
    mutated,
    registrations,
    sample,
)

V5 = json.loads(SAMPLES[5])  # noqa: TID251 (a sample of ours, to change one field)


def node(**changed):
    return json.dumps(V5 | changed).encode()


def without(*names):
    return json.dumps({name: value for name, value in V5.items() if name not in names}).encode()


class TestVectors:
    @pytest.mark.parametrize("version", SAMPLES)
    def test_what_is_written_byte_for_byte(self, version):
        told = sample() if version == 5 else sample(features={})
        assert write_registration(told, version=version) == SAMPLES[version]

    @pytest.mark.parametrize(
        ("version", "dropped"), [(1, ("endpoints", "rack")), (2, ("rack",)), (3, ()), (4, ())]
    )
    def test_what_each_version_drops(self, version, dropped):
        assert dropped_fields(sample(features={}), version=version) == dropped
        assert dropped_fields(sample(), version=version) == (*dropped, "features")
        assert dropped_fields(sample(), version=5) == ()

    @pytest.mark.parametrize("version", SAMPLES)
    def test_what_is_read(self, version):
        read = read_registration(1, SAMPLES[version])
        assert (read.version, read.host, read.port) == (version, "host1", 9092)
        assert (read.jmx_port, read.timestamp_ms) == (9999, 2233345666)
        assert read.endpoints == sample().endpoints[: 1 if version == 1 else 2]
        assert read.rack == ("dc1" if version >= 3 else None)
        assert read.features == ({"feature1": (1, 2)} if version == 5 else {})
        assert read.extra == {}


class TestKip36:
    """KIP-36: "rack will be an optional field of version 3 JSON schema for a broker. [..] If no
    rack information is specified, the field will not be included in JSON."
    """

    def test_no_rack_is_no_field(self):
        assert b"rack" not in write_registration(sample(rack=None), version=3)
        assert b'"rack":""' in write_registration(sample(rack=""), version=3)

    def test_the_sample_of_the_text_is_no_json(self):
        text = (
            b'{"version":3,\n  "host","localhost",\n  "port",9092\n  "jmx_port":9999,\n'
            b'  "timestamp":"2233345666",\n  "endpoints": ["PLAINTEXT://host1:9092",\n'
            b'                "SSL://host1:9093"],\n  "rack": "dc1"\n}'
        )
        with pytest.raises(
            RemoteProtocolError, match="/brokers/ids/1: offset 22: expected one JSON object"
        ):
            read_registration(1, text)

    def test_version_2_ignores_the_rack(self):
        """KIP-36: "the broker will write the broker info in ZK using version 2, ignoring the rack
        info"."""
        assert b"rack" not in write_registration(sample(), version=2)

    @pytest.mark.parametrize("version", [1, 2])
    def test_0_9_0_0_reads_versions_1_and_2(self, version):
        """KIP-36: "old clients will throw an exception when it sees the broker JSON version is not
        1 or 2"."""
        assert read_registration(1, SAMPLES[version], max_known=2).version == version
        with pytest.raises(
            RemoteProtocolError,
            match=r"ids/1 at \$\.version: unsupported version: expected 1 or 2, got 3",
        ):
            read_registration(1, SAMPLES[3], max_known=2)


class TestUpstream:
    """The registrations of upstream's BrokerEndPointTest."""

    def test_version_1(self):
        data = (
            b'{"jmx_port":-1,"timestamp":"1420485325400","host":"172.16.8.243","version":1,'
            b'"port":9091}'
        )
        assert read_registration(1, data) == BrokerRegistration(
            broker_id=1,
            version=1,
            endpoints=(endpoint("PLAINTEXT://172.16.8.243:9091"),),
            host="172.16.8.243",
            port=9091,
            jmx_port=-1,
            timestamp_ms=1420485325400,
        )

    def test_version_4_without_a_rack(self):
        assert read_registration(1, node(version=4, rack=None)).rack is None
        assert read_registration(1, without("rack")).rack is None

    def test_version_4_with_listeners_of_their_own_names(self):
        data = node(
            version=4,
            host=None,
            port=-1,
            endpoints=["CLIENT://host1:9092", "REPLICATION://host1:9093"],
            listener_security_protocol_map={"CLIENT": "SSL", "REPLICATION": "PLAINTEXT"},
        )
        read = read_registration(1, data)
        assert read.endpoints == (
            endpoint("CLIENT://host1:9092", SSL),
            endpoint("REPLICATION://host1:9093", PLAINTEXT),
        )
        assert (read.host, read.port) == (None, -1)

    def test_version_100(self):
        data = (
            b'{"version":100,"host":null,"port":-1,"jmx_port":9999,"timestamp":"2233345666",'
            b'"endpoints":["SSL://localhost:9093"],"foo":"bar"}'
        )
        read = read_registration(1, data)
        assert read.endpoints == (endpoint("SSL://localhost:9093"),)
        assert (read.version, read.rack, read.extra) == (100, None, {"foo": "bar"})
        assert write_registration(read, version=5).endswith(b'"features":{},"foo":"bar"}')


class TestReading:
    @pytest.mark.parametrize("version", range(1, 8))
    def test_a_rack_is_read_in_any_version(self, version):
        assert read_registration(1, node(version=version)).rack == "dc1"
        assert read_registration(1, node(version=version, rack="")).rack == ""

    def test_what_kafka_does_not_look_at_is_no_error(self):
        read = read_registration(1, node(host=7, port="9092", timestamp={"a": 1}))
        assert (read.host, read.port, read.timestamp_ms) == (None, -1, None)
        assert read.extra == {"timestamp": {"a": 1}}
        assert b'"timestamp":{"a":1}' in write_registration(read, version=5)

    @pytest.mark.parametrize("text", ["007", "9223372036854775808", "-", "1.5", "", "٣"])
    def test_a_timestamp_that_is_no_number_stays_as_it_is(self, text):
        read = read_registration(1, node(timestamp=text))
        assert (read.timestamp_ms, read.extra) == (None, {"timestamp": text})

    def test_what_may_be_absent(self):
        read = read_registration(1, b'{"version":3,"endpoints":["SSL://h:1"]}')
        assert (read.jmx_port, read.timestamp_ms, read.rack) == (None, None, None)
        assert (read.features, read.extra, read.host, read.port) == ({}, {}, None, -1)
        assert read_registration(1, node(features=None)).features == {}

    def test_parts_that_are_not_known_are_kept_and_written_again(self):
        data = node(
            listener_security_protocol_map={"PLAINTEXT": "PLAINTEXT", "SSL": "ssl", "GONE": "SSL"},
            features={"f": {"min_version": 1, "max_version": 2, "later": [3]}},
            later={"a": None},
        )
        read = read_registration(1, data)
        assert read.extra == {
            "listener_security_protocol_map": {"GONE": "SSL"},
            "features": {"f": {"later": [3]}},
            "later": {"a": None},
        }
        assert read_registration(1, write_registration(read, version=5)) == read
        dropped = ("rack", "listener_security_protocol_map", "features")
        assert dropped_fields(read, version=2) == dropped
        assert read_registration(1, write_registration(read, version=2)).extra == {
            "later": {"a": None}
        }

    def test_empty_texts_among_endpoints_are_passed_over_as_kafka_does(self):
        read = read_registration(1, node(endpoints=["", "SSL://host1:9093"]))
        assert read.endpoints == (endpoint("SSL://host1:9093"),)

    def test_names_of_listeners_become_upper_case(self):
        read = read_registration(1, node(endpoints=["ssl://Host1:9093"]))
        assert read.endpoints == (endpoint("SSL://Host1:9093"),)


WRONG = [
    ({"version": 0}, "version", "expected a version from 1 on, got 0"),
    ({"version": "3"}, "version", 'expected a version from 1 on, got "3"'),
    ({"version": 1.0}, "version", "expected a version from 1 on, got 1.0"),
    ({"version": True}, "version", "expected a version from 1 on, got true"),
    ({"version": None}, "version", "expected a version from 1 on, got null"),
    ({"version": 2**31}, "version", "expected a version from 1 on, got 2147483648"),
    ({"version": 1, "host": None}, "host", "expected a host, got null"),
    ({"version": 1, "host": ""}, "host", 'expected a host, got ""'),
    ({"version": 1, "port": "9092"}, "port", 'expected a port, got "9092"'),
    ({"endpoints": None}, "endpoints", "expected a list of NAME://host:port, got null"),
    ({"endpoints": {}}, "endpoints", "expected a list of NAME://host:port, got an object"),
    (
        {"endpoints": ["SSL://host1:1", "SSL:host1"]},
        "endpoints[1]",
        'expected NAME://host:port, got "SSL:host1"',
    ),
    ({"endpoints": [["\x1b"]]}, "endpoints[0]", "expected NAME://host:port, got a list"),
    (
        {"endpoints": ["C\x1b" + "x" * 300]},
        "endpoints[0]",
        'expected NAME://host:port, got "C\\x1b' + "x" * 58 + '"...',
    ),
    (
        {"endpoints": ["CLIENT://h:1"], "listener_security_protocol_map": {"REPLICATION": "SSL"}},
        "endpoints[0]",
        "listener CLIENT has no protocol; the map names REPLICATION",
    ),
    (
        {"endpoints": ["CLIENT://h:1"], "listener_security_protocol_map": {}},
        "endpoints[0]",
        "listener CLIENT has no protocol; the map names none",
    ),
    (
        {"listener_security_protocol_map": {"CLIENT": "TLS"}},
        "listener_security_protocol_map.CLIENT",
        'expected one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL, TRACE, got "TLS"',
    ),
    (
        {"listener_security_protocol_map": {"CLIENT": None}},
        "listener_security_protocol_map.CLIENT",
        "expected one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL, TRACE, got null",
    ),
    (
        {"listener_security_protocol_map": None},
        "listener_security_protocol_map",
        "expected an object of listeners and their protocols, got null",
    ),
    ({"rack": 7}, "rack", "expected text or null, got 7"),
    ({"rack": ["a"]}, "rack", "expected text or null, got a list"),
    ({"jmx_port": "9999"}, "jmx_port", 'expected a port, or -1, got "9999"'),
    ({"features": []}, "features", "expected an object of features, got an empty list"),
    ({"features": {"f": 1}}, "features.f", "expected min_version and max_version, got 1"),
    (
        {"features": {"f": {"min_version": 1}}},
        "features.f.max_version",
        "expected a version of 16 bits, got null",
    ),
    (
        {"features": {"f": {"min_version": 2**15, "max_version": 1}}},
        "features.f.min_version",
        "expected a version of 16 bits, got 32768",
    ),
]


class TestRefused:
    @pytest.mark.parametrize(("change", "path", "told"), WRONG)
    def test_the_field_and_what_is_wanted_is_said(self, change, path, told):
        data = node(**change)
        with pytest.raises(RemoteProtocolError) as refused:
            read_registration(7, data)
        assert str(refused.value) == f"invalid /brokers/ids/7 at $.{path}: {told}"
        assert refused.value.where == f"/brokers/ids/7 $.{path}"
        assert 0 <= refused.value.offset < len(data)

    def test_the_offset_is_that_of_the_value(self):
        data = node(endpoints=["SSL://host1:1", "SSL:host1"])
        with pytest.raises(RemoteProtocolError) as refused:
            read_registration(7, data)
        assert data[refused.value.offset :].startswith(b'"SSL:host1"')

    @pytest.mark.parametrize("name", ["version", "endpoints"])
    def test_what_must_be_there(self, name):
        with pytest.raises(RemoteProtocolError, match=rf"\.{name}: expected .*, got null"):
            read_registration(7, without(name))

    def test_a_listener_without_a_map_has_the_protocol_of_its_name(self):
        data = b'{"version":2,"endpoints":["TRACE://h:1","CLIENT://h:1"]}'
        told = "listener CLIENT has no protocol; the map names PLAINTEXT, SASL_PLAINTEXT, SASL_SSL"
        with pytest.raises(RemoteProtocolError, match=told):
            read_registration(7, data)

    @pytest.mark.parametrize(
        ("data", "told"),
        [
            (b'{"version":1,"rack":"a","x":"","rack":"b"}', 'offset 31: key "rack" appears twice'),
            (b'{"version":1,"rack":NaN}', "offset 20: expected a finite number, got NaN"),
            (b"[1]", "offset 0: expected one JSON object"),
            (b"{}" + b" " * REGISTRATION_BYTES, "offset 65536: expected at most 65536 bytes"),
        ],
    )
    def test_what_is_no_strict_json(self, data, told):
        with pytest.raises(RemoteProtocolError) as refused:
            read_registration(7, data)
        assert str(refused.value) == f"invalid /brokers/ids/7: {told}"
        assert f"offset {refused.value.offset}:" in told

    @given(st.sampled_from(list(SAMPLES.values())).flatmap(mutated))
    def test_mutations_are_read_or_the_one_error(self, data):
        try:
            read = read_registration(7, data)
        except RemoteProtocolError as error:
            assert error.message.isprintable()  # noqa: PT017 (any error of the class will do)
            assert 0 <= error.offset <= len(data)  # noqa: PT017
        else:
            check_registration_law(read, min(read.version, 5))

    @given(st.dictionaries(st.sampled_from([*V5, "later"]), JSON), st.integers(1, 6))
    def test_any_object_is_read_or_the_one_error(self, fields, version):
        try:
            read_registration(7, json.dumps({"version": version} | fields).encode())
        except RemoteProtocolError as error:
            assert error.message.isprintable()  # noqa: PT017 (any error of the class will do)


class TestWriting:
    @given(registrations(), st.integers(1, 5))
    def test_what_is_written_is_read_again(self, registration, version):
        check_registration_law(registration, version)

    @given(registrations(is_named=False), st.integers(2, 5))
    def test_listeners_named_as_their_protocol_are_held_from_version_2_on(self, told, version):
        assert read_registration(told.broker_id, write_registration(told, version=version))

    def test_extra_fields_stand_last_and_by_name(self):
        told = sample(extra={"b": 1, "a": [{}]})
        assert write_registration(told, version=5).endswith(b',"a":[{}],"b":1}')

    def test_what_is_not_said(self):
        told = BrokerRegistration(broker_id=1, endpoints=(endpoint("SSL://h:1"),))
        assert write_registration(told, version=2) == (
            b'{"version":2,"host":null,"port":-1,"jmx_port":-1,"endpoints":["SSL://h:1"]}'
        )

    @pytest.mark.parametrize("version", [0, 6, True, 1.0, "5", None])
    @pytest.mark.parametrize("call", [write_registration, dropped_fields])
    def test_versions_are_1_to_5(self, call, version):
        told = f"invalid registration version: expected 1 to 5, got {version}"
        with pytest.raises(LocalProtocolError, match=told):
            call(sample(), version=version)

    def test_version_1_wants_plaintext(self):
        with pytest.raises(LocalProtocolError) as refused:
            write_registration(sample(broker_id=7, endpoints=(endpoint("SSL://h:1"),)), version=1)
        assert str(refused.value) == "version 1 holds one PLAINTEXT endpoint; broker 7 has SSL only"
        assert refused.value.hint.startswith("write version 2, or 4")
        with pytest.raises(LocalProtocolError, match="broker 1 has none"):
            write_registration(sample(endpoints=()), version=1)

    @pytest.mark.parametrize("version", [2, 3])
    def test_versions_2_and_3_want_listeners_named_as_their_protocol(self, version):
        told = sample(endpoints=(endpoint("CLIENT://h:1", SSL),))
        with pytest.raises(
            LocalProtocolError, match=f"version {version} holds .* has CLIENT"
        ) as no:
            write_registration(told, version=version)
        assert no.value.hint == "write version 4 or 5"
        assert write_registration(told, version=4)

    def test_version_1_drops_the_name_of_a_listener(self):
        told = sample(endpoints=(endpoint("CLIENT://h:1", PLAINTEXT),), rack=None, features={})
        assert dropped_fields(told, version=1) == ("endpoints",)
        assert read_registration(1, write_registration(told, version=1)).endpoints == (
            endpoint("PLAINTEXT://h:1"),
        )

    @pytest.mark.parametrize(
        ("changed", "told"),
        [
            ({"endpoints": (endpoint("ssl://h:1", SSL),)}, "listener SSL has no protocol"),
            (
                {"endpoints": (endpoint("A://h:1", SSL), endpoint("A://h:2", PLAINTEXT))},
                "endpoints would change",
            ),
            ({"endpoints": (endpoint("SSL://h 1:1"),)}, "expected NAME://host:port, got"),
            ({"extra": {"rack": "b"}}, "rack and extra would change"),
            ({"extra": {"x": (1, 2)}}, "extra would change"),
            ({"extra": {"x": {1: 2}}}, "extra would change"),
            ({"extra": {"features": {"f": {"x": 1}}}}, "extra would change"),
            ({"extra": {"features": 7}}, "extra would change"),
        ],
    )
    def test_what_would_be_read_as_something_else(self, changed, told):
        with pytest.raises(LocalProtocolError) as refused:
            write_registration(sample(**changed), version=4 if "endpoints" in changed else 5)
        assert "does not hold broker 1 as it is: " in str(refused.value)
        assert told in str(refused.value)

    @pytest.mark.parametrize(
        ("changed", "told"),
        [
            ({"rack": "\ud800"}, "surrogates not allowed"),
            ({"extra": {"x": float("nan")}}, "expected strict JSON"),
            ({"extra": {"x": object()}}, "expected strict JSON"),
            ({"extra": {"x": 2**64}}, "expected an integer of 64 bits"),
            ({"rack": "r" * REGISTRATION_BYTES}, "expected at most 65536 bytes"),
        ],
    )
    def test_what_is_no_strict_json(self, changed, told):
        with pytest.raises(LocalProtocolError, match=told):
            write_registration(sample(**changed), version=5)


@pytest.mark.parametrize(
    ("name", "value", "bits"),
    [
        ("broker_id", True, 32),
        ("broker_id", 2**31, 32),
        ("version", "5", 32),
        ("port", 2**31, 32),
        ("jmx_port", 1.5, 32),
        ("timestamp_ms", 2**63, 64),
        ("timestamp_ms", False, 64),
        ("features", {"f": (0, 2**15)}, 16),
    ],
)
def test_integers_are_checked_against_their_width(name, value, bits):
    with pytest.raises(LocalProtocolError, match=f"expected an integer of {bits} bits"):
        sample(**{name: value})


def test_values_do_not_change():
    told = Endpoint(listener="SSL", protocol=SecurityProtocol.SSL, host="h", port=1)
    for value, field in ((told, "port"), (sample(), "rack")):
        with pytest.raises(AttributeError):
            setattr(value, field, 1)
