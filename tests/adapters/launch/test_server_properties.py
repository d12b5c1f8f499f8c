"""A broker's configuration and the overrides of its command, as Kafka will see them."""

import pytest

from identity_answers import check_config, golden_answers
from rackwise.adapters.launch.broker.server_properties import (
    ServerProperties,
    read_server_properties,
    server_properties,
)
from rackwise.core.errors import InvalidConfig, InvalidProperties
from rackwise.core.identity.model import Mode

START = ["bin/kafka-server-start.sh", "server.properties"]


def test_a_file_as_it_stands_in_many_places(tmp_path):
    file = tmp_path / "server.properties"
    file.write_bytes(
        b"# a broker\r\nbroker.id=-1\r\nlisteners = PLAINTEXT://0.0.0.0:9092\r\n"
        b"advertised.listeners=PLAINTEXT://kafka1:9092, SSL://[fd00::1]:9093\r\n"
        b"log.dirs=/a,\\\r\n  /b\r\nzookeeper.connect=z1:2181,z2:2181/kafka\r\n"
        b"zookeeper.session.timeout.ms=6000\r\nssl.key.password=canary\r\n"
    )
    read = read_server_properties(file)
    assert read == ServerProperties(
        mode=Mode.ZOOKEEPER,
        dirs=("/a", "/b"),
        endpoints=frozenset({"kafka1:9092", "[fd00::1]:9093"}),
        zookeeper_connect="z1:2181,z2:2181/kafka",
        session_timeout_ms=6000,
    )
    assert "canary" not in repr(read)


def test_kafkas_defaults():
    assert server_properties({}) == ServerProperties(
        mode=Mode.ZOOKEEPER,
        configured=None,
        dirs=("/tmp/kafka-logs",),  # noqa: S108 (Kafka's default)
        endpoints=frozenset(),
        generation=True,
        reserved_max=1000,
        session_timeout_ms=18_000,
    )


class TestId:
    @pytest.mark.parametrize(
        ("settings", "configured"),
        [
            ({"broker.id": "7"}, 7),
            ({"node.id": " 7 "}, 7),
            ({"broker.id": "7", "node.id": "7"}, 7),
            ({"broker.id": "-1"}, None),
            ({"broker.id": "0"}, 0),
            ({"broker.id": "-2"}, -2),
            ({"broker.id": "2147483648"}, 2**31),
        ],
    )
    def test_broker_id_and_node_id_are_one(self, settings, configured):
        assert server_properties(settings).configured == configured

    def test_they_may_not_differ(self):
        with pytest.raises(InvalidConfig, match=r"node.id: expected the value of broker.id, 7,"):
            server_properties({"broker.id": "7", "node.id": "8"})

    @pytest.mark.parametrize("text", ["", "seven", "7.0", "${env:ID}", "9" * 5000])
    def test_a_number_or_an_error(self, text):
        with pytest.raises(InvalidConfig, match=r"broker.id: expected an integer"):
            server_properties({"broker.id": text})


class TestCommand:
    def test_an_override_wins_and_the_last_of_them(self):
        command = [*START, "--override", "broker.id=8", "--override=broker.id=9"]
        assert server_properties({"broker.id": "7"}, command).configured == 9

    def test_a_value_may_hold_an_equals_sign(self):
        command = [*START, "--override", "zookeeper.connect=z:1/a=b"]
        assert server_properties({}, command).zookeeper_connect == "z:1/a=b"

    def test_where_the_id_will_be_put_nothing_is_set(self):
        read = server_properties({}, [*START, "--override", "node.id={broker.id}"])
        assert (read.configured, read.has_carrier) == (None, True)
        assert not server_properties({}, START).has_carrier
        assert server_properties({}, ["start", "--id={broker.id}"]).has_carrier

    @pytest.mark.parametrize("end", [["--override"], ["--override", "a"], ["--override==7"]])
    def test_key_and_value_or_an_error(self, end):
        with pytest.raises(InvalidConfig, match="--override: expected KEY=VALUE"):
            server_properties({}, [*START, *end])


class TestKraft:
    def test_roles_make_the_mode(self):
        settings = {"process.roles": "broker", "node.id": "7", "log.dirs": "/a"}
        read = server_properties(settings)
        assert read.mode is Mode.KRAFT
        assert (read.generation, read.is_controller, read.session_timeout_ms) == (
            False,
            False,
            9000,
        )
        assert server_properties(settings | {"process.roles": "controller, broker"}).is_controller

    def test_an_unknown_role(self):
        with pytest.raises(InvalidConfig, match="expected broker or controller, got proxy"):
            server_properties({"process.roles": "broker,proxy"})

    def test_the_metadata_dir_is_one_of_the_dirs(self):
        settings = {"process.roles": "broker", "log.dirs": "/a,/b", "metadata.log.dir": "/m"}
        assert server_properties(settings).dirs == ("/a", "/b", "/m")
        assert server_properties(settings | {"metadata.log.dir": "/b"}).dirs == ("/a", "/b")
        assert server_properties(settings | {"process.roles": ""}).dirs == ("/a", "/b")

    def test_a_controllers_listener_is_not_advertised(self):
        settings = {
            "process.roles": "broker,controller",
            "listeners": "PLAINTEXT://k1:9092,controller://k1:9093",
            "controller.listener.names": "CONTROLLER",
        }
        assert server_properties(settings).endpoints == {"k1:9092"}

    def test_a_broker_that_migrates_is_in_zookeeper_mode(self):
        settings = {"zookeeper.metadata.migration.enable": "TRUE", "metadata.log.dir": "/m"}
        read = server_properties(settings)
        assert (read.mode, read.migrating) == (Mode.ZOOKEEPER, True)
        assert read.dirs == ("/tmp/kafka-logs", "/m")  # noqa: S108 (Kafka's default)
        assert not server_properties(settings | {"process.roles": "broker"}).migrating


class TestEndpoints:
    @pytest.mark.parametrize(
        "listeners",
        ["PLAINTEXT://:9092", "A://0.0.0.0:9092", "A://[::]:9092", "A://k1:0", "", " , "],
    )
    def test_what_is_not_known(self, listeners):
        assert server_properties({"listeners": listeners}).endpoints == frozenset()

    def test_what_is_no_listener(self):
        with pytest.raises(InvalidConfig, match="expected NAME://host:port, got k1:9092"):
            server_properties({"advertised.listeners": "k1:9092"})


class TestRefused:
    @pytest.mark.parametrize("dirs", [",", "/a,/a"])
    def test_dirs(self, dirs):
        with pytest.raises(InvalidConfig, match=r"log.dirs"):
            server_properties({"log.dirs": dirs})

    def test_the_second_name_of_dirs(self):
        assert server_properties({"log.dir": "/a"}).dirs == ("/a",)
        assert server_properties({"log.dir": "/a", "log.dirs": "/b"}).dirs == ("/b",)

    def test_a_switch(self):
        with pytest.raises(InvalidConfig, match="expected true or false, got yes"):
            server_properties({"broker.id.generation.enable": "yes"})
        assert not server_properties({"broker.id.generation.enable": "False"}).generation

    def test_files(self, tmp_path):
        with pytest.raises(InvalidConfig, match="cannot be read"):
            read_server_properties(tmp_path / "none")
        (tmp_path / "bad").write_bytes(rb"a=\u12")
        with pytest.raises(InvalidProperties):
            read_server_properties(tmp_path / "bad")


def test_upstreams_frozen_answers():
    cases = golden_answers("config.read")
    assert cases
    for case in cases:
        check_config(case)
