"""`rackwise broker-id acquire` and `watch` on a real ZooKeeper, the broker being a stand-in."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from broker_id_schemas import check_document
from rackwise.adapters.launch import AcquireOptions, acquire
from rackwise.adapters.sandbox.ready import wait_until_true
from rackwise.adapters.zookeeper import open_zookeeper
from rackwise.core.errors import InvalidConfig
from rackwise.core.identity.nodes.nodes import parse_mapping
from rackwise.core.identity.nodes.store import (
    CLAIMS,
    HOSTS,
    IDS,
    KNOWN,
    OWNERS,
    TOPICS,
    Create,
    Delete,
)
from rackwise.core.json.strict import parse
from refusals import called

pytestmark = pytest.mark.zookeeper

BROKER = Path(__file__).parents[2] / "stand_in_broker.py"
ENDED = 33
PATIENCE_S = 60.0


class Host:
    """One host: a log dir, a `server.properties`, a store that all hosts of a test share."""

    def __init__(self, folder, zookeeper, chroot):
        self.folder = folder
        self.data = folder / "data"
        self.data.mkdir(parents=True)
        self.connect = f"{zookeeper}/{chroot}"
        self.url = f"zookeeper://{self.connect}"
        self.file = folder / "server.properties"
        self.file.write_text(
            f"log.dirs={self.data}\nzookeeper.connect={self.connect}\n"
            "zookeeper.session.timeout.ms=8000\n"
            "advertised.listeners=SSL://h7.example:9092\n"
            f"null.host=true\nend.status={ENDED}\n"
        )
        self.started = []

    def words(self, *options, key="h7"):
        words = ("acquire", "--server-properties", str(self.file), "--key", f"text:{key}")
        return [*words, *options]

    def broker(self):
        return ["--", sys.executable, str(BROKER), str(self.file)]

    def start(self, *words, **environment):
        """Start a command of `broker-id`."""
        with (self.folder / "talk").open("ab") as talk:
            process = subprocess.Popen(
                [sys.executable, "-m", "rackwise.cli", "broker-id", *words],
                stdout=subprocess.PIPE,
                stderr=talk,
                text=True,
                env={**os.environ, **environment},
            )
        self.started.append(process)
        return process

    def talk(self):
        return (self.folder / "talk").read_text()

    def files(self):
        return sorted(each.name for each in self.data.iterdir())

    def store(self):
        return closing(open_zookeeper(self.url))

    def node(self, path):
        with self.store() as store:
            return store.read([path])[path]

    def children(self, path):
        with self.store() as store:
            return store.children(path)

    def close(self):
        for process in self.started:
            process.kill()
            process.communicate()


@pytest.fixture
def host(lone_zookeeper, tmp_path):
    host = Host(tmp_path / "h7", lone_zookeeper.connect, tmp_path.name)
    assert called("broker-id", "init", "--store", host.url)[0] == 0
    yield host
    host.close()


def serving(process):
    """Wait until the stand-in is registered; its id and its process."""
    words = process.stdout.readline().split()
    assert words[:1] == ["registered"], words
    return int(words[1]), int(words[3])


def report_of(path):
    document = parse(path.read_bytes(), where="report", error=InvalidConfig)
    check_document(document)
    return document


def document_of(text):
    document = parse(text.encode(), where="stdout", error=InvalidConfig)
    check_document(document)
    return document


def until(condition):
    assert wait_until_true(condition, PATIENCE_S), "this never came true"


def test_a_new_broker_gets_an_id_is_registered_and_ends_with_its_own_status(host, tmp_path):
    report = tmp_path / "report.json"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(PATIENCE_S)
        process = host.start(
            *host.words("--report", str(report), *host.broker()),
            NOTIFY_SOCKET=str(tmp_path / "notify"),
        )
        assert serving(process)[0] == 1001
        assert manager.recv(100) == b"READY=1"
    told = report_of(report)
    assert (told["id"], told["how"], told["row"], told["key"]) == (1001, "gen", "D38", "h7")
    assert told["wrote"] == [str(host.data)]
    assert parse_mapping(host.node(f"{HOSTS}/h7"), key="h7").broker_id == 1001
    until(lambda: host.node(f"{OWNERS}/1001") is not None)
    assert host.node(f"{CLAIMS}/1001") is None
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE_S) == ENDED
    assert process.stdout.read() == ""
    lines = host.talk().splitlines()
    assert "broker-id: key h7 -> id 1001 (gen, D38)" in lines
    assert "broker-id: wrote meta.properties in 1 of 1 log dirs" in lines
    assert lines[-1] == "broker-id: registered as 1001"


def test_a_broker_that_was_killed_and_lost_its_disk_is_itself_again(host, tmp_path):
    report = tmp_path / "report.json"
    process = host.start(*host.words(*host.broker()))
    _, pid = serving(process)
    until(lambda: "registered as 1001" in host.talk())
    os.kill(pid, signal.SIGKILL)
    assert process.wait(PATIENCE_S) == 128 + signal.SIGKILL
    (host.data / "meta.properties").unlink()
    again = host.start(*host.words("--report", str(report), *host.broker()))
    assert serving(again)[0] == 1001
    told = report_of(report)
    assert (told["id"], told["how"], told["row"]) == (1001, "a", "D27")
    again.send_signal(signal.SIGTERM)
    assert again.wait(PATIENCE_S) == ENDED


def test_a_second_broker_of_one_host_is_refused_and_leaves_no_trace(host, tmp_path):
    first = host.start(*host.words(*host.broker()))
    assert serving(first)[0] == 1001
    until(lambda: "registered as 1001" in host.talk())
    second = Host(tmp_path / "second", *host.connect.split("/"))
    before = second.files(), host.node(f"{HOSTS}/h7")
    code, out, err = called("broker-id", *second.words("--wait", "0", *second.broker()))
    assert (code, out) == (4, "")
    assert "1001" in err
    assert (second.files(), host.node(f"{HOSTS}/h7")) == before


def test_a_start_that_may_succeed_later_ends_with_75(host):
    with host.store() as store:
        store.commit([Create(f"{TOPICS}/t", b'{"version":2,"partitions":{"0":[7,9]}}')])
    words = host.words("--spare", "unmapped", "--grace", "0", "--json", *host.broker())
    code, out, err = called("broker-id", *words)
    assert (code, out) == (75, "")
    error = parse(err.splitlines()[-1].encode(), where="stderr", error=InvalidConfig)
    assert error["error"] == "AmbiguousSpare"
    assert (host.files(), host.children(HOSTS), host.children(CLAIMS)) == ([], [], [])


@pytest.mark.parametrize(
    "words",
    [
        ("--key", "env:NOT_SET_ANYWHERE"),
        ("--key", "text:localhost"),
        ("--", "no-such-command"),
        ("--spare", "all"),
        ("--spare", "unmapped", "--on-blocked", "error"),
        ("--spare", "any", "--on-blocked", "generate"),
        ("--server-properties", "/no/such/file"),
    ],
)
def test_what_is_wrong_at_our_side_ends_with_1_and_writes_nothing(host, words):
    code, out, err = called("broker-id", *host.words(*words))
    assert (code, out) == (1, "")
    assert "error: " in err
    assert (host.files(), host.children(HOSTS)) == ([], [])


def test_a_child_that_ends_before_it_registers_releases_the_claim(host):
    code = host.start(*host.words("--", "sh", "-c", "exit 5")).wait(PATIENCE_S)
    assert code == 5
    assert host.children(CLAIMS) == []
    assert host.files() == ["meta.properties"]


def test_without_a_command_it_waits_for_a_registration_and_says_that_none_came(host):
    code, out, err = called("broker-id", *host.words("--hold", "0.2"))
    assert code == 3
    assert document_of(out)["id"] == 1001
    assert "expected a registration of id 1001 within 0.2 s, got none" in err
    assert host.children(CLAIMS) == []


def test_without_a_command_the_document_comes_before_the_broker(host):
    process = host.start(*host.words("--hold", "60"))
    document = document_of(process.stdout.readline())
    assert (document["id"], document["how"]) == (1001, "gen")
    assert host.files() == ["meta.properties"]
    assert host.children(CLAIMS) == ["1001"]
    told = b'{"version":5,"host":null,"port":-1,"endpoints":["SSL://h7.example:9092"]}'
    with host.store() as store:
        store.commit([Create(f"{IDS}/1001", told, ephemeral=True)])
        out, _ = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out) == (0, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGUSR1], ids=lambda it: it.name)
def test_a_signal_while_it_holds_gives_the_claim_back(host, number):
    process = host.start(*host.words("--hold", "600"))
    assert document_of(process.stdout.readline())["id"] == 1001
    process.send_signal(number)
    assert process.wait(PATIENCE_S) == 128 + number
    assert host.children(CLAIMS) == []


def test_what_is_raised_into_nothing_is_raised_again(host):
    """As a client does that catches everything, KazooClient._call among them."""

    class Stopped(BaseException):
        pass

    asked = []

    def check():
        asked.append(host.children(CLAIMS))
        if asked[-1]:
            raise Stopped

    options = AcquireOptions(server_properties=host.file, key="text:h7", hold_s=600.0)
    with pytest.raises(Stopped):
        acquire(options, None, check=check)
    assert asked[-1] == ["1001"]
    assert host.children(CLAIMS) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda it: it.name)
def test_a_signal_while_it_waits_ends_it_without_a_trace(host, number):
    with host.store() as store:
        store.commit([Create(f"{HOSTS}/h7", b'{"version":0,"broker.id":7}')])
        told = b'{"version":5,"host":null,"port":-1,"endpoints":["SSL://h7.example:9092"]}'
        store.commit([Create(f"{IDS}/7", told, ephemeral=True)])
        process = host.start(*host.words("--wait", "600", *host.broker()))
        session = f"{store.session:#x}"
        until(lambda: f"waiting for id 7: held by session {session}, same endpoints" in host.talk())
        process.send_signal(number)
        assert process.wait(PATIENCE_S) == 128 + number
        assert store.children(CLAIMS) == []
    assert host.files() == []


def test_watch_tells_what_goes_missing_and_comes_back(host):
    told = b'{"version":5,"host":null,"port":-1,"endpoints":["SSL://h7.example:9092"]}'
    with host.store() as store:
        store.commit([Create(f"{IDS}/7", told)])
        process = host.start("watch", "--store", host.url, "--json")

        def heard():
            line = process.stdout.readline().encode()
            document = parse(line, where="stdout", error=InvalidConfig)
            check_document(document)
            return document["type"], document["id"]

        assert heard() == ("leads", None)
        store.commit([Delete(f"{IDS}/7")])
        assert heard() == ("missing", 7)
        code, out, _ = called(
            "broker-id", "missing", "--by", "watch", "--store", host.url, "--json"
        )
        row = parse(out.encode(), where="stdout", error=InvalidConfig)["ids"][0]
        assert (code, row["id"], row["missing"]) == (2, 7, True)
        assert row["missing_s"] >= 0
        store.commit([Create(f"{IDS}/7", told)])
        assert heard() == ("returned", 7)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0


@pytest.mark.long
def test_watch_outlives_the_store(make_lone_zookeeper, tmp_path):
    server = make_lone_zookeeper()
    assert called("broker-id", "init", "--store", server.url)[0] == 0
    with closing(Host(tmp_path / "h7", server.connect, "")) as host:
        process = host.start("watch", "--store", server.url)
        assert process.stdout.readline() == "leads\n"
        server.server.kill()
        until(lambda: "the watcher continues" in host.talk())
        server.start()
        until(lambda: "the store answers again" in host.talk())
        with closing(open_zookeeper(server.url)) as store:
            store.commit([Create(f"{IDS}/7", b'{"version":5,"endpoints":["SSL://h7:1"]}')])
            until(lambda: store.children(KNOWN) == ["7"])
            store.commit([Delete(f"{IDS}/7")])
        heard = iter(process.stdout.readline, "")
        assert "missing id 7\n" in heard
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
    assert host.talk().count("the watcher continues") == 1


def test_watch_goes_on_without_a_topic_that_cannot_be_read(host):
    told = b'{"version":5,"endpoints":["SSL://h7.example:9092"]}'
    with host.store() as store:
        store.commit([Create(f"{TOPICS}/bad", b"{"), Create(f"{IDS}/7", told)])
        process = host.start("watch", "--store", host.url)
        assert process.stdout.readline() == "leads\n"
        store.commit([Create(f"{IDS}/8", b"{")])
        until(lambda: f"invalid {IDS}/8: expected one JSON object" in host.talk())
        store.commit([Delete(f"{IDS}/7"), Delete(f"{IDS}/8")])
        assert process.stdout.readline() == "missing id 7\n"
    assert f"warning: invalid {TOPICS}/bad: expected one JSON object" in host.talk()


@pytest.mark.long
def test_no_more_than_a_line_in_five_seconds_tells_of_waiting(host):
    told = b'{"version":5,"host":null,"port":-1,"endpoints":["SSL://h7.example:9092"]}'
    with host.store() as store:
        store.commit([Create(f"{HOSTS}/h7", b'{"version":0,"broker.id":7}')])
        store.commit([Create(f"{IDS}/7", told)])
        code, _, err = called("broker-id", *host.words("--wait", "9", *host.broker()))
    lines = [line for line in err.splitlines() if "waiting for id 7" in line]
    assert (code, len(lines)) == (4, 2)
    assert lines[0].startswith("broker-id: waiting for id 7: held, same endpoints, 0.")
    assert lines[1].endswith(" s of 9 s")
