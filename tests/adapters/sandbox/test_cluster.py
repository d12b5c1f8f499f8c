"""Real brokers and a real ZooKeeper: ready, killed, paused, restarted; and starts that fail."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from hostile_text import HOSTILE
from kafka_servers import KRAFT_SET
from process_states import is_alive
from rackwise.adapters.kafka.connect import connect
from rackwise.adapters.sandbox import Sandbox, ports, resolve
from rackwise.adapters.sandbox.blueprint import Blueprint, ClusterSpec, properties_text
from rackwise.adapters.sandbox.kraft import kraft_blueprint
from rackwise.adapters.sandbox.ports import HOST, free_ports, is_open
from rackwise.adapters.sandbox.process import ServerProcess
from rackwise.adapters.sandbox.ready import listed_ports, wait_until_true, zookeeper_mode
from rackwise.core.errors import InvalidConfig, ServerDied, WorldError
from rackwise.core.java_properties import parse_properties
from rackwise.core.model import Broker

NOWHERE = Path("/no/java")
ORPHANS = """
import sys
from pathlib import Path
from rackwise.adapters.sandbox import Sandbox
with Sandbox.zookeeper(brokers=1, java_home=Path({java!r}), folder=Path({folder!r})) as cluster:
    print(cluster.pid(0), cluster.zookeeper_server.pid, flush=True)
    sys.stdin.read()
"""


def a_request(**changes):
    options = {"brokers": 4, "racks": "abc", "java_home": NOWHERE, "jars": (), "heap_mib": 256}
    return ClusterSpec(**options | changes)


def describe_brokers(cluster):
    with connect(cluster.bootstrap) as admin:
        return {broker["broker_id"]: broker for broker in admin.describe_cluster()["brokers"]}


def listening(pid):
    """Addresses, as the kernel's hex, that a process listens on."""
    links = Path(f"/proc/{pid}/fd").iterdir()
    inodes = {link.readlink().name for link in links if link.exists() or link.is_symlink()}
    rows = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
    ]
    return {
        row[1].split(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in inodes
    }


class TestRequest:
    def test_racks_are_dealt_in_turn(self):
        assert [a_request().rack_of(broker) for broker in range(5)] == ["a", "b", "c", "a", "b"]
        assert a_request(racks=()).rack_of(0) is None
        assert a_request(racks=("a", None)).rack_of(3) is None

    def test_any_text_is_a_rack_as_to_a_broker(self):
        assert a_request(racks=("/eu/", "b")).rack_of(0) == "/eu/"

    def test_no_brokers_are_refused(self):
        with pytest.raises(InvalidConfig, match="invalid brokers: expected 1 or more, got 0"):
            a_request(brokers=0)

    def test_an_unknown_version_is_refused(self):
        with pytest.raises(InvalidConfig, match=r"expected one of 4.4, 4.3, got 2.8"):
            Sandbox.kraft(java_home=Path("/none"), version="2.8")

    def test_each_broker_has_a_proxy_or_none_has(self):
        with pytest.raises(InvalidConfig, match="expected one port for each of 4 brokers, got 2"):
            a_request(proxies=(1, 2))

    def test_proxies_are_advertised_by_a_listener_of_their_own(self, tmp_path):
        drawn = kraft_blueprint(a_request(proxies=(1, 2, 3, 4)), tmp_path)
        lines = (tmp_path / "broker-3" / "server.properties").read_text().splitlines()
        own = f"PLAINTEXT://{HOST}:{drawn.ports[3]}"
        assert f"listeners={own},PROXIED://{HOST}:{drawn.proxied[3]}" in lines
        assert f"advertised.listeners={own},PROXIED://{HOST}:4" in lines

    def test_a_proxied_listener_has_the_address_of_its_broker(self, tmp_path):
        hosts = [f"127.1.0.{broker}" for broker in range(1, 5)]
        drawn = kraft_blueprint(a_request(proxies=(1, 2, 3, 4), hosts=hosts), tmp_path)
        lines = (tmp_path / "broker-3" / "server.properties").read_text().splitlines()
        own = f"PLAINTEXT://127.1.0.4:{drawn.ports[3]}"
        assert f"listeners={own},PROXIED://127.1.0.4:{drawn.proxied[3]}" in lines
        assert f"advertised.listeners={own},PROXIED://127.1.0.4:4" in lines

    def test_a_folder_with_something_in_it_is_refused_and_stays(self, tmp_path):
        (tmp_path / "precious").write_text("data")
        with pytest.raises(InvalidConfig) as caught:
            Sandbox._started(a_request(), kraft_blueprint, tmp_path, lambda _: None)
        assert caught.value.message == (
            f"invalid folder: expected an empty folder, got {tmp_path}, which is not empty"
        )
        assert [entry.name for entry in tmp_path.iterdir()] == ["precious"]
        with pytest.raises(InvalidConfig, match="precious: File exists"):
            Sandbox._started(a_request(), kraft_blueprint, tmp_path / "precious", lambda _: None)

    def test_properties_are_what_java_reads(self):
        text = properties_text({"log.dirs": "C:\\logs", "broker.rack": "zürich-𝄞", "x": "a\nb"})
        assert text == (
            "log.dirs=C:\\\\logs\nbroker.rack=z\\u00fcrich-\\ud834\\udd1e\nx=a\\u000ab\n"
        )

    @pytest.mark.parametrize("text", [HOSTILE, " a ", "\t", "a\rlog.dirs=/", "\\", "a:b=#!", ""])
    def test_any_text_is_one_property(self, text):
        written = properties_text({"broker.rack": text, "log.dirs": "/d"})
        assert parse_properties(written.encode()) == {"broker.rack": text, "log.dirs": "/d"}

    def test_ports_are_different_and_free(self):
        found = free_ports(50)
        assert len(set(found)) == 50
        assert not is_open(found[0])
        with socket.create_server((HOST, found[0])):
            assert is_open(found[0])

    def test_no_outgoing_connection_takes_a_port(self):
        first, last = map(int, ports.RANGE.read_text().split())
        assert all(not first <= port <= last for port in free_ports(50))

    @pytest.mark.parametrize("text", [None, "", "many", "11000\t60999"])
    def test_the_kernel_chooses_where_the_range_leaves_no_ports(self, tmp_path, monkeypatch, text):
        monkeypatch.setattr(ports, "RANGE", tmp_path / "range")
        if text is not None:
            (tmp_path / "range").write_text(text)
        asked = []
        bound = ports._is_bound
        monkeypatch.setattr(
            ports, "_is_bound", lambda own, port: asked.append(port) or bound(own, port)
        )
        assert len(set(free_ports(5))) == 5
        assert asked == [0] * 5

    def test_a_port_in_use_is_left_out(self, monkeypatch):
        with socket.create_server((HOST, 0)) as server:
            taken = server.getsockname()[1]
            (other,) = free_ports(1)
            monkeypatch.setattr(ports, "_drawn_ports", lambda: [other, taken])
            assert free_ports(1) == [other]

    def test_nobody_listed_is_not_nobody_answers(self):
        nobody = [Broker(id=0, host=HOST, port=port) for port in free_ports(2)]
        assert listed_ports(nobody, timeout_s=0.2) == [None, None]
        assert listed_ports([]) == []
        assert zookeeper_mode(free_ports(1)[0]) is None


@pytest.mark.kafka
class TestKraft:
    def test_the_cluster_describes_the_brokers_as_the_sandbox_does(self, kraft_cluster):
        answer = describe_brokers(kraft_cluster)
        assert [broker.id for broker in kraft_cluster.brokers] == [0, 1, 2, 3]
        assert [str(broker.rack) for broker in kraft_cluster.brokers] == ["a", "b", "c", "a"]
        for broker in kraft_cluster.brokers:
            told = answer[broker.id]
            assert (told["rack"], told["host"], told["port"], told["is_fenced"]) == (
                str(broker.rack),
                broker.host,
                broker.port,
                False,
            )

    def test_its_features_are_those_of_a_cluster_that_kafka_formatted(self, kraft_cluster):
        with connect(kraft_cluster.bootstrap) as admin:
            features = admin.describe_features()
        newest = {name: levels["supported"][1] for name, levels in features.items()}
        level = {name: levels.get("finalized", (0, 0))[1] for name, levels in features.items()}
        assert level == newest | {"kraft.version": 0}
        assert level["group.version"] == 1

    def test_followers_are_chosen_by_rack(self, kraft_cluster):
        configured = kraft_cluster.folder / "broker-0" / "server.properties"
        assert "org.apache.kafka.common.replica.RackAwareReplicaSelector" in configured.read_text()

    if sys.platform == "linux":

        def test_it_listens_on_loopback_alone(self, kraft_cluster):
            loopback = {"0100007F", "0000000000000000FFFF00000100007F"}
            for broker in kraft_cluster.brokers:
                addresses = listening(kraft_cluster.pid(broker.id))
                assert addresses
                assert addresses <= loopback

    def test_a_killed_broker_is_gone_and_comes_back(self, kraft_cluster):
        before = kraft_cluster.pid(3)
        kraft_cluster.kill(3)
        assert kraft_cluster.pid(3) is None
        assert kraft_cluster.deaths() == []
        kraft_cluster.wait_until_gone(3)
        assert describe_brokers(kraft_cluster)[3]["is_fenced"]
        kraft_cluster.wait_until_ready()
        kraft_cluster.start(3)
        kraft_cluster.wait_until_ready()
        assert not describe_brokers(kraft_cluster)[3]["is_fenced"]
        assert kraft_cluster.pid(3) != before

    def test_a_paused_broker_is_gone_and_comes_back_as_the_same_process(self, kraft_cluster):
        before = kraft_cluster.pid(3)
        kraft_cluster.pause(3)
        kraft_cluster.wait_until_gone(3)
        kraft_cluster.resume(3)
        kraft_cluster.wait_until_ready()
        assert kraft_cluster.pid(3) == before

    def test_one_of_three_controllers_may_restart(self, kraft_cluster):
        kraft_cluster.restart(1)
        kraft_cluster.wait_until_ready()
        assert "Transition from STARTING to STARTED" in "\n".join(kraft_cluster.log_tail(1, 2000))

    def test_a_broker_that_stays_is_told(self, kraft_cluster):
        with pytest.raises(WorldError) as caught:
            kraft_cluster.wait_until_gone(0, timeout_s=0.1)
        assert caught.value.message == "broker 0 is still in the cluster after 0 s"

    def test_an_unknown_broker_and_an_absent_zookeeper_are_refused(self, kraft_cluster):
        with pytest.raises(InvalidConfig, match="invalid broker: expected 0 to 3, got 9"):
            kraft_cluster.kill(9)
        with pytest.raises(InvalidConfig, match="expected ZooKeeper mode, got KRaft mode"):
            _ = kraft_cluster.zookeeper_connect


@pytest.mark.kafka
class TestStartsThatFail:
    def test_the_hint_has_the_brokers_own_words(self, make_kraft):
        with pytest.raises(ServerDied) as caught:
            make_kraft(brokers=1, overrides={"log.retention.ms": "many"})
        assert caught.value.message == "broker 0 ended by itself with exit status 1"
        assert "Invalid value many for configuration log.retention.ms" in caught.value.hint
        assert "\tat " not in caught.value.hint

    @pytest.mark.zookeeper
    def test_also_in_zookeeper_mode_and_nothing_stays(self, make_zookeeper, tmp_path):
        with pytest.raises(ServerDied) as caught:
            make_zookeeper(brokers=1, overrides={"log.retention.ms": "many"})
        assert "Invalid value many for configuration log.retention.ms" in caught.value.hint
        port = (tmp_path / "zookeeper-0" / "zookeeper" / "zoo.cfg").read_text()
        port = int(port.partition("clientPort=")[2].partition("\n")[0])
        assert not is_open(port)

    @pytest.mark.long
    def test_a_lost_port_costs_one_fresh_start(self, java_home, tmp_path):
        thief = socket.socket()
        drawn = []

        def draw(request, folder):
            drawn.append(kraft_blueprint(request, folder))
            if len(drawn) == 1:
                thief.bind((HOST, drawn[0].brokers[0].port))
                thief.listen()
            return drawn[-1]

        request = a_request(brokers=1, java_home=java_home, jars=resolve(KRAFT_SET))
        with thief, Sandbox._started(request, draw, tmp_path / "k", lambda _: None) as cluster:
            assert len(drawn) == 2
            assert cluster.brokers[0].port != drawn[0].brokers[0].port
            assert describe_brokers(cluster).keys() == {0}

    def test_a_port_lost_twice_is_told(self, tmp_path):
        drawn = []

        def draw(_request, folder):
            say = ["/bin/sh", "-c", "echo FATAL Address already in use; exit 1"]
            unlucky = ServerProcess(name="broker 0", command=say, folder=folder)
            drawn.append(unlucky)
            brokers = (Broker(id=0, host=HOST, port=1),)
            return Blueprint(brokers=brokers, ports=[1], servers={0: unlucky})

        with pytest.raises(ServerDied) as caught:
            Sandbox._started(a_request(), draw, tmp_path, lambda _: None)
        assert len(drawn) == 2
        assert caught.value.hint.splitlines()[1:] == ["FATAL Address already in use"]


@pytest.mark.kafka
@pytest.mark.zookeeper
class TestZooKeeper:
    def test_the_cluster_describes_the_brokers_as_the_sandbox_does(self, zookeeper_cluster):
        answer = describe_brokers(zookeeper_cluster)
        assert {broker: told["rack"] for broker, told in answer.items()} == {0: "a", 1: "b", 2: "c"}
        assert [answer[broker.id]["port"] for broker in zookeeper_cluster.brokers] == [
            broker.port for broker in zookeeper_cluster.brokers
        ]

    def test_zookeeper_serves_where_the_sandbox_says(self, zookeeper_cluster):
        host, _, port = zookeeper_cluster.zookeeper_connect.partition(":")
        assert host == HOST
        assert zookeeper_mode(int(port)) == "standalone"

    def test_zookeeper_may_pause_and_die_and_come_back(self, zookeeper_cluster):
        keeper = zookeeper_cluster.zookeeper_server
        port = int(zookeeper_cluster.zookeeper_connect.partition(":")[2])
        keeper.pause()
        keeper.resume()
        assert zookeeper_mode(port) == "standalone"
        keeper.kill()
        assert zookeeper_mode(port) is None
        keeper.start()
        zookeeper_cluster.wait_until_ready()
        assert zookeeper_mode(port) == "standalone"
        assert describe_brokers(zookeeper_cluster).keys() == {0, 1, 2}

    @pytest.mark.long
    def test_a_broker_killed_by_another_is_a_death_with_its_last_words(self, zookeeper_cluster):
        os.kill(zookeeper_cluster.pid(2), signal.SIGKILL)
        assert wait_until_true(lambda: len(zookeeper_cluster.deaths()) == 1, 10)
        with pytest.raises(ServerDied) as caught:
            zookeeper_cluster.wait_until_ready()
        assert caught.value.message == "broker 2 ended by itself with exit status 137"
        assert "INFO" in caught.value.hint
        zookeeper_cluster.wait_until_gone(2)
        zookeeper_cluster.start(2)
        zookeeper_cluster.wait_until_ready()
        assert zookeeper_cluster.deaths() == []

    def test_when_the_run_is_killed_every_server_ends(self, java_home, tmp_path):
        text = ORPHANS.format(java=str(java_home), folder=str(tmp_path / "cluster"))
        with subprocess.Popen(
            [sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as run:
            pids = [int(pid) for pid in run.stdout.readline().split()]
            assert len(pids) == 2
            assert all(is_alive(pid) for pid in pids)
            run.kill()
            assert wait_until_true(lambda: not any(is_alive(pid) for pid in pids), 10)
