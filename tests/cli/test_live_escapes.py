"""Hostile names that real servers let in: no output of a command holds a character to be obeyed.

`live_commands` has the commands. The law is that of `test_escapes`, and no line is long.
"""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import closing

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from command_lines import LEAVES
from directory_stores import Nodes
from escaped_commands import SHOWN, in_folder
from hostile_groups import SESSIONS, join_all
from hostile_text import HOSTILE, MOST_LINE, check_error, check_shown, json_bytes
from hostile_znodes import STORES, put_nodes
from kafka_servers import or_failed
from kafka_traffic import create, logged_requests, until
from live_commands import (
    ASKING,
    ELSEWHERE,
    OF_A_SNAPSHOT,
    ON_KAFKA,
    ON_ZOOKEEPER,
    PLACED,
    TOPIC,
    UNAWARE,
    WITHOUT_NAMES,
    WITHOUT_NODES,
    write_inputs,
)
from nights import COMMAND, FIRST, SECOND, Fleet
from rackwise.adapters.kafka import connect
from rackwise.adapters.launch.views.stores import init_store, open_store
from rackwise.adapters.sandbox import Sandbox
from rackwise.core.errors import InvalidSnapshot
from rackwise.core.identity.nodes.store import OWNERS
from rackwise.core.json.strict import parse
from rackwise.report.fitting import COLOR
from refusals import called
from rpc_servers import PATIENCE_S, response_of, said
from served_command import served
from service_frames import assignment, framed, header
from terminals import terminal
from webhooks import webhook

SOON = {"text", "long", "no UTF-8", "deep"}
"""The stores that each change is tested with."""
COLUMNS, MOST_LINES = 80, 600
"""Of a terminal, and of what a command shows there of eight groups."""
HEADER_BYTES = 19
"""Of a request whose client id is that of `service_frames`."""


def test_the_table_has_every_command_that_asks_a_server():
    asking = {
        name for name, command in LEAVES.items() for each in command.params if {*each.opts} & ASKING
    }
    assert {*ON_KAFKA} | {*ON_ZOOKEEPER} | {*ELSEWHERE} == asking


def check(words):
    """Law: no stream has a character to be obeyed or a long line, and no error is ours."""
    return check_streams(words, *called(*words))


def check_streams(words, code, out, err):
    """The same of what a command printed."""
    check_shown(out, words)
    check_error(code, err, words)
    is_data = "--json" in words or "--format" in words
    for text in (err, "" if is_data else out):
        assert max(map(len, text.split("\n"))) < MOST_LINE, f"a long line: {words}: {text[:2000]}"
    return out + err


def run_all(lines, name, folder, server):
    """Each line of a command, for people and as a document; all that they print."""
    told = ""
    for case in lines[name]:
        for flags in [()] if "--format" in case else [(), ("--json",)]:
            words = in_folder(case, folder, HOSTILE, HOSTILE)
            before, dashes, after = words, [], []
            if "--" in words:
                at = words.index("--")
                before, dashes, after = words[:at], ["--"], words[at + 1 :]
            told += check([*name.split(), *before, *flags, *server, *dashes, *after])
    return told


@pytest.fixture(scope="module", autouse=True)
def locks_and_journals(tmp_path_factory):
    """The folder of them."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("RACKWISE_STATE", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="module")
def kafka(java_home, tmp_path_factory):
    """Two brokers with hostile racks and folders, and groups of hostile clients."""
    folder = tmp_path_factory.mktemp("live") / "k\x1b[31mc"
    with or_failed(
        lambda: Sandbox.kraft(
            java_home=java_home,
            brokers=2,
            racks=(HOSTILE, "r" * 30_000),
            folder=folder,
            overrides=SESSIONS,
        )
    ) as cluster:
        with closing(connect(cluster.bootstrap)) as admin:
            create(admin, TOPIC, [[0], [0]])
        join_all(cluster.bootstrap, TOPIC)
        yield cluster


@pytest.fixture(scope="module")
def folder(kafka, tmp_path_factory):
    """What the commands read: files that name no server, a snapshot and a plan of the cluster."""
    folder = tmp_path_factory.mktemp("files") / "in"
    write_inputs(folder)
    Nodes(folder / "store").mapping("h1", 0)
    for words, code in (
        (("snapshot", "--groups", "--out", "@s.json", "--bootstrap-server", kafka.bootstrap), 0),
        (("plan", "balance", *UNAWARE, "--out", "@p.json", "--snapshot", "@s.json"), 2),
    ):
        ended, _, err = called(*in_folder(words, folder))
        assert ended == code, err
    return folder


@pytest.mark.kafka
@pytest.mark.parametrize("name", ON_KAFKA)
def test_names_of_a_cluster_reach_no_terminal_and_no_document(name, kafka, folder):
    told = run_all(ON_KAFKA, name, folder, ("--bootstrap-server", kafka.bootstrap))
    assert is_told(told) or name in WITHOUT_NAMES, "no name is shown: the law says nothing"


@pytest.mark.kafka
@pytest.mark.parametrize("name", ["doctor", "consumer simulate"])
def test_names_of_a_cluster_fill_no_terminal(name, kafka):
    with terminal(COLUMNS) as (side, screen):
        words = [*COMMAND, *name.split(), "--bootstrap-server", kafka.bootstrap]
        words += ["--quiet"]  # a progress bar moves the cursor
        subprocess.run(words, stdin=side, stdout=side, stderr=side, check=False)
    check_shown(COLOR.sub("", screen.text), name)
    assert "u2029" in screen.text, "no name is shown: the law says nothing"
    assert len(screen.lines) < MOST_LINES, screen.text[:2000]


@pytest.mark.kafka
def test_names_in_a_snapshot_of_a_cluster_reach_no_terminal_and_no_page(folder):
    for name in OF_A_SNAPSHOT:
        told = run_all(OF_A_SNAPSHOT, name, folder, ())
        assert is_told(told) or name in WITHOUT_NAMES, name
    pages = [path for path in folder.rglob("*") if path.suffix in SHOWN]
    assert {path.suffix for path in pages} == SHOWN
    for path in pages:
        check_shown(path.read_text(), path)
    assert "202e" in (folder / "r.html").read_text()


@pytest.mark.zookeeper
@pytest.mark.parametrize(
    "what", [pytest.param(each, marks=[] if each in SOON else pytest.mark.long) for each in STORES]
)
def test_nodes_of_zookeeper_reach_no_terminal_and_no_document(
    what, lone_zookeeper, chroot, tmp_path
):
    write_inputs(tmp_path / "in")
    url = lone_zookeeper.url + chroot
    init_store(url)
    with closing(open_store(url)) as store:
        put_nodes(store, STORES[what])
        for name in ON_ZOOKEEPER:
            is_check = name == "upgrade check"
            server = ("--zookeeper", url.partition("//")[2]) if is_check else ("--store", url)
            told = run_all(ON_ZOOKEEPER, name, tmp_path / "in", server)
            assert is_told(told) or what != "text" or name in WITHOUT_NODES, name


@pytest.mark.kafka
def test_serve_says_nothing_raw_of_a_cluster_or_a_client(kafka):
    with served("--bootstrap-server", kafka.bootstrap) as service:
        asked = ("place", "--from-server", service.server, *PLACED)
        answered = check(asked) + check((*asked, "--json"))
        whole = header(68, 0, version=2, client_id=HOSTILE) + assignment()[HEADER_BYTES:]
        (frame,) = said(service.first["port"], framed(whole))
        code, out, err = service.ended(signal.SIGTERM)
    assert code == 0
    check_error(1, err, "serve")
    check_shown(out, "the log of serve")
    assert all(map(is_told, (answered, out, err)))
    assert response_of(frame)[1].error_code


@pytest.mark.zookeeper
def test_a_watcher_says_nothing_raw_of_any_node(lone_zookeeper, chroot):
    url = lone_zookeeper.url + chroot
    init_store(url)
    with closing(open_store(url)) as store:
        put_nodes(store, {**STORES["text"], f"{OWNERS}/9": STORES["long"][f"{OWNERS}/3"]})
        for flags in ((), ("--json",)):
            command = [*COMMAND, "broker-id", "watch", "--store", url, *flags]
            pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
            with subprocess.Popen(command, **pipes) as watcher:
                first = [watcher.stdout.readline() for _ in range(2)]
                watcher.send_signal(signal.SIGTERM)
                out, err = watcher.communicate(timeout=PATIENCE_S)
            assert watcher.returncode == 0, err
            check_streams(command, watcher.returncode, "".join([*first, out]), err)


@pytest.mark.kafka
@pytest.mark.long
def test_a_night_says_nothing_raw_of_a_cluster(kafka, tmp_path):
    with webhook() as hook:
        fleet = Fleet(tmp_path, {"prod": {"bootstrap": kafka.bootstrap}}, url=hook.url)
        for at, flags in ((FIRST, ()), (SECOND, ("--json",))):
            night = fleet.night(at, *flags)
            check_streams(flags, *night)
            assert is_told(night.err)
    assert hook.documents
    for document in hook.documents:
        check_shown(document["text"], "a notice")
    shown = [path for path in fleet.data.rglob("*") if path.suffix in SHOWN]
    assert {path.suffix for path in shown} == SHOWN
    for path in shown:
        check_shown(path.read_text(), path)


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.long
@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_spark_check_says_nothing_raw_of_a_cluster_or_an_executor(flags, kafka):
    words = ("spark-check", "--bootstrap-server", kafka.bootstrap, "--topic", TOPIC, *flags)
    ended = subprocess.run(
        [*COMMAND, *words],
        env={**os.environ, "CLIENT_RACK": f"{HOSTILE}9"},
        capture_output=True,
        check=False,
        text=True,
    )
    check_streams(words, ended.returncode, ended.stdout, ended.stderr)
    assert ended.returncode == 2, ended.stderr
    assert is_told(ended.stdout)


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.long
def test_a_request_log_of_hostile_clients_reaches_no_terminal_and_no_page(kafka, folder, tmp_path):
    clients = {"bootstrap_servers": kafka.bootstrap.split(","), "client_id": HOSTILE}
    with closing(connect(kafka.bootstrap)) as admin, logged_requests(admin, kafka):
        with closing(KafkaProducer(**clients)) as producer:
            producer.send(TOPIC, b"x" * 10_000, partition=0).get(PATIENCE_S)
        reading = {"auto_offset_reset": "earliest", "client_rack": HOSTILE}
        with closing(KafkaConsumer(**clients, **reading)) as consumer:
            consumer.assign([TopicPartition(TOPIC, 0)])
            until(lambda: consumer.poll(timeout_ms=500), "a record to be read")
    logs = tmp_path / "logs"
    logs.mkdir()
    for number in range(2):
        log = kafka.folder / f"broker-{number}" / "server.log"
        (logs / f"{number}.log").write_bytes(log.read_bytes())
    # Without racks of its brokers there is no bill.
    document = parse((folder / "s.json").read_bytes(), where="s.json", error=InvalidSnapshot)
    for broker in document["brokers"]:
        broker["rack"] = f"az{broker['id']}"
    (tmp_path / "s.json").write_bytes(json_bytes(document))
    words = ("--flow-format", "request-log", "--no-plans", "--max-quarantine", "1")
    check(("analyze", tmp_path / "s.json", "--flows", logs, *words, "--out", tmp_path / "bill"))
    check(("report", tmp_path / "bill", "--json"))
    shown = [path for path in (tmp_path / "bill").rglob("*") if path.suffix in {".html", ".csv"}]
    for path in shown:
        check_shown(path.read_text(), path)
    assert any("202e" in path.read_text() for path in shown)


def is_told(told):
    return any(f"{escape}202e" in told for escape in ("\\u", "&#8238;"))
