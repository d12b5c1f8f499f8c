"""`rackwise sandbox` as people run it."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from process_states import is_alive
from rackwise.adapters.kafka import connect
from rackwise.adapters.sandbox.cluster import ASSIGNORS_WITH_JAR
from rackwise.adapters.sandbox.ports import is_open
from rackwise.adapters.sandbox.ready import wait_until_true
from rackwise.cli.sandbox import LOOK_EVERY_S, show
from rackwise.cli.shell import Shell
from rackwise.core.errors import InvalidConfig
from rackwise.core.json import strict as strict_json
from server_jars import built_server_jar

COMMAND = [sys.executable, "-m", "rackwise.cli", "sandbox", "--brokers", "1"]


@pytest.fixture
def run():
    """Start the command; it is killed with the test if it still runs."""
    started = []

    def run(*options):
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        started.append(subprocess.Popen([*COMMAND, *options], **pipes))
        return started[-1]

    yield run
    for process in started:
        process.kill()
        process.communicate()


def port_of(server):
    return int(server.rpartition(":")[2])


@pytest.mark.kafka
def test_it_serves_until_ctrl_c_and_leaves_logs_in_the_folder(run, tmp_path):
    words = ["--brokers", "2", "--racks", "/north/, "]
    process = run(*words, "--folder", str(tmp_path / "box"))
    line = process.stdout.readline()
    name, server = line.split()
    assert name == "bootstrap-server"
    assert server.startswith("127.0.0.1:")
    assert is_open(port_of(server))
    with closing(connect(server)) as admin:
        racks = {each["broker_id"]: each["rack"] for each in admin.describe_cluster()["brokers"]}
    assert racks == {0: "/north/", 1: None}
    process.send_signal(signal.SIGINT)
    rest, talk = process.communicate(timeout=30)
    assert process.returncode == 0, talk
    assert rest == ""
    assert not is_open(port_of(server))
    assert "starting 2 brokers of Kafka 4.4 in KRaft mode" in talk
    assert "broker 0 in rack /north/, process " in talk
    assert "broker 1 without a rack, process " in talk
    assert "restart broker N by hand: " in talk
    assert f"logs and data: {tmp_path / 'box'}\npress Ctrl-C to stop it\nstopping\n" in talk
    assert (tmp_path / "box" / "broker-0" / "server.log").stat().st_size > 0

    again = run(*words, "--folder", str(tmp_path / "box"))
    _, talk = again.communicate(timeout=60)
    assert again.returncode == 1
    assert f"got {tmp_path / 'box'}, which has the brokers of an earlier sandbox\n" in talk
    assert "hint: choose another folder, or remove this one: " in talk


@pytest.mark.kafka
@pytest.mark.zookeeper
def test_it_tells_of_a_death_and_ends_with_its_last_broker(run):
    process = run("--zookeeper", "--racks", "", "--json")
    document = strict_json.parse(
        process.stdout.readline().encode(), where="stdout", error=InvalidConfig
    )
    assert document["format"] == "rackwise.sandbox/1"
    (broker,) = document["brokers"]
    assert document["bootstrap_server"] == f"127.0.0.1:{broker['port']}"
    assert (broker["id"], broker["rack"], broker["host"]) == (0, None, "127.0.0.1")
    assert is_open(port_of(document["zookeeper_connect"]))
    os.kill(broker["pid"], signal.SIGKILL)
    _, talk = process.communicate(timeout=30)
    assert process.returncode == 1
    words = "broker 0 ended by itself with exit status 137"
    assert f"warning: {words}" in talk
    error = strict_json.parse(talk.splitlines()[-1].encode(), where="stderr", error=InvalidConfig)
    assert (error["error"], error["message"]) == ("ServerDied", words)
    assert error["hint"].startswith("the last lines of ")
    assert wait_until_true(lambda: not is_open(port_of(document["zookeeper_connect"])), 10)
    assert not Path(document["folder"]).exists()


@pytest.mark.kafka
@pytest.mark.zookeeper
@pytest.mark.long
def test_people_restart_its_brokers_with_its_script_while_it_runs(run, tmp_path):
    folder = tmp_path / "box"
    process = run("--brokers", "2", "--zookeeper", "--json", "--folder", str(folder))
    document = strict_json.parse(
        process.stdout.readline().encode(), where="stdout", error=InvalidConfig
    )
    restarted = []
    try:
        for broker in document["brokers"]:
            os.kill(broker["pid"], signal.SIGTERM)
            assert wait_until_true(lambda pid=broker["pid"]: not is_alive(pid), 30)
            home = folder / f"broker-{broker['id']}"
            words = ["../kafka-server-start.sh", "server.properties", "--override", "broker.rack=z"]
            with (home / "server.log").open("ab") as log:
                restarted.append(subprocess.Popen(words, cwd=home, stdout=log))
            assert wait_until_true(lambda port=broker["port"]: is_open(port), 60)
        with closing(connect(document["bootstrap_server"])) as admin:

            def racks():
                return [each["rack"] for each in admin.describe_cluster()["brokers"]]

            # A broker opens its port before it registers.
            assert wait_until_true(lambda: racks() == ["z", "z"], 30)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=4 * LOOK_EVERY_S)
        assert is_open(port_of(document["zookeeper_connect"]))
    finally:
        for broker in restarted:
            broker.kill()
            broker.wait()
    assert process.wait(timeout=30) == 1


def test_the_line_that_restarts_a_broker_can_be_pasted(tmp_path, capsys):
    folder = tmp_path / "my box; x"
    cluster = SimpleNamespace(brokers=(), folder=folder, bootstrap="127.0.0.1:1")
    show(Shell(), cluster, has_zookeeper=False)
    (line,) = (line for line in capsys.readouterr().err.splitlines() if "by hand" in line)
    assert shlex.split(line.partition(": ")[2]) == [
        str(folder / "kafka-server-start.sh"),
        str(folder / "broker-N" / "server.properties"),
    ]


@pytest.mark.kafka
@pytest.mark.long
def test_sigterm_stops_it_too(run):
    process = run("--quiet")
    server = process.stdout.readline().split()[1]
    process.terminate()
    _, talk = process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM
    assert talk == ""
    assert not is_open(port_of(server))


@pytest.mark.kafka
def test_a_folder_that_is_not_empty_is_refused(run, tmp_path):
    (tmp_path / "precious").write_text("data")
    process = run("--folder", str(tmp_path))
    out, talk = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, "")
    assert f"error: invalid folder: expected an empty folder, got {tmp_path}" in talk
    assert "hint: choose another folder, or empty this one" in talk


def test_no_brokers_is_a_usage_error(run):
    process = run("--brokers", "0")
    out, talk = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, "")
    assert talk.startswith("error: ")


@pytest.mark.kafka
@pytest.mark.long
def test_another_version_is_started_on_request(run):
    process = run("--kafka", "4.3")
    assert process.stdout.readline().startswith("bootstrap-server ")
    process.send_signal(signal.SIGINT)
    _, talk = process.communicate(timeout=30)
    assert process.returncode == 0, talk
    assert "starting 1 broker of Kafka 4.3 in KRaft mode" in talk


@pytest.mark.kafka
def test_brokers_with_server_side_assignors(run, tmp_path):
    """A broker that cannot load one of its assignors does not start."""
    folder = tmp_path / "box"
    jar = built_server_jar(tmp_path)
    process = run("--server-assignor", str(jar), "--folder", str(folder))
    assert process.stdout.readline().startswith("bootstrap-server ")
    lines = (folder / "broker-0" / "server.properties").read_text().splitlines()
    assert f"group.consumer.assignors={ASSIGNORS_WITH_JAR}" in lines


def test_a_jar_of_server_side_assignors_that_is_not_there(run):
    process = run("--server-assignor", "nowhere.jar")
    out, talk = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, "")
    assert "error: invalid jar of server-side assignors: expected a file, got nowhere.jar" in talk
    assert "hint: build it with make server-assignor in a checkout" in talk


def test_kafka_on_zookeeper_has_no_server_side_assignors(run):
    process = run("--zookeeper", "--server-assignor", "nowhere.jar")
    out, talk = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, "")
    assert "error: --zookeeper cannot be combined with --server-assignor" in talk
    assert "hint: server-side assignors need Kafka 4; omit --zookeeper" in talk


def test_zookeeper_and_a_version_of_kraft_mode_exclude_each_other(run):
    process = run("--kafka", "4.3", "--zookeeper")
    out, talk = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, "")
    assert "error: invalid options: --zookeeper starts Kafka 3.9, --kafka 4.3 starts KRaft" in talk
    assert "hint: omit one of --kafka and --zookeeper" in talk
