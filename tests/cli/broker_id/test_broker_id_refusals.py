"""What `rackwise broker-id` refuses: one line of JSON, the exit as told, nothing written."""

from __future__ import annotations

from contextlib import closing

import pytest

from rackwise.adapters.zookeeper import open_zookeeper
from rackwise.core.errors import InvalidConfig
from rackwise.core.identity.nodes.store import (
    CLOCK,
    CLUSTER_ID,
    HOSTS,
    IDS,
    RETIRED,
    ROOT,
    SEQUENCE,
    TOPICS,
    Create,
)
from rackwise.core.json.strict import parse
from refusals import called

pytestmark = pytest.mark.zookeeper

MINE, STRANGER = "h7.example", "x.example"
SPARES = ("--spare", "unmapped", "--grace", "0")
MIGRATING = "zookeeper.metadata.migration.enable=true"
NO_GENERATION = "broker.id.generation.enable=false"


def registration(broker_id, host):
    told = f'{{"version":5,"host":null,"port":-1,"endpoints":["SSL://{host}:9092"]}}'
    return {f"{IDS}/{broker_id}": told}


def mapping(key, broker_id):
    return {f"{HOSTS}/{key}": f'{{"version":0,"broker.id":{broker_id}}}'}


def topic(name, rows):
    return {f"{TOPICS}/{name}": f'{{"version":2,"partitions":{rows}}}'}


LOST = {
    **topic("orders", '{"0":[7,1]}'),
    f"{TOPICS}/orders/partitions": "",
    f"{TOPICS}/orders/partitions/0": "",
    f"{TOPICS}/orders/partitions/0/state": '{"controller_epoch":1,"leader":7,"version":1,'
    '"leader_epoch":0,"isr":[7]}',
}


class Scene:
    """Nodes, files in the log dirs `a` and `b`, lines of server.properties, words of acquire."""

    def __init__(self, nodes=None, files=None, lines=(), words=()):
        self.nodes, self.files, self.lines, self.words = nodes or {}, files or {}, lines, words


def meta(broker_id, *lines):
    return "\n".join((f"broker.id={broker_id}", *lines, ""))


SCENES = {
    ("META_INCONSISTENT", 4): Scene(files={"a": meta(7), "b": meta(8)}),
    ("WRONG_CLUSTER", 4): Scene(
        nodes={"/cluster": "", CLUSTER_ID: '{"version":"1","id":"A"}'},
        files={"a": meta(7, "cluster.id=B")},
    ),
    ("META_VERSION", 4): Scene(files={"a": "version=1\nnode.id=7\ncluster.id=A\n"}),
    ("META_INCOMPLETE", 4): Scene(files={"a": "version=1\ncluster.id=A\n"}, lines=(MIGRATING,)),
    ("META_UNREADABLE", 4): Scene(files={"a": "\ufeff" + meta(7)}),
    ("DATA_WITHOUT_META", 4): Scene(files={"a/orders-4": ""}),
    ("ID_MISMATCH", 4): Scene(files={"a": meta(7)}, lines=("broker.id=3",)),
    ("ID_RANGE", 4): Scene(lines=("broker.id=1001",)),
    ("NO_ID", 4): Scene(lines=(NO_GENERATION,)),
    ("MIGRATION", 4): Scene(lines=(MIGRATING,)),
    ("NO_CARRIER", 4): Scene(nodes=mapping("h7", 7), lines=(NO_GENERATION,), words=("--", "true")),
    ("ID_IN_USE", 4): Scene(nodes=registration(7, STRANGER), lines=("broker.id=7",)),
    ("MAPPED_ID_HELD", 4): Scene(nodes=mapping("h7", 7) | registration(7, STRANGER)),
    ("HOST_HAS_LIVE_BROKER", 4): Scene(
        nodes=mapping("h7", 7) | registration(7, MINE), words=("--wait", "0")
    ),
    ("LAST_IN_SYNC", 4): Scene(nodes=mapping("h7", 7) | LOST),
    ("MAPPING_CORRUPT", 4): Scene(nodes={f"{HOSTS}/h7": '{"broker.id":true}'}),
    ("STORE_CORRUPT", 4): Scene(nodes={f"{TOPICS}/bad": "{"}),
    ("ID_RETIRED", 4): Scene(nodes=mapping("h7", 7) | {f"{RETIRED}/7": ""}),
    ("AMBIGUOUS_SPARE", 75): Scene(nodes=topic("t", '{"0":[7,9]}'), words=SPARES),
    ("SPARE_RESERVED", 75): Scene(nodes=mapping("g", 7) | topic("t", '{"0":[7]}'), words=SPARES),
    ("WATCHER_ABSENT", 75): Scene(words=("--spare", "unmapped", "--missing", "watch")),
    ("KEY_MISSING", 1): Scene(words=("--key", "env:NOT_SET_ANYWHERE")),
    ("KEY_INVALID", 1): Scene(words=("--key", "text:a/b")),
    ("KEY_UNSTABLE", 1): Scene(words=("--key", "text:ip-10-0-0-1")),
}


def dump(url):
    """Every node's data and version, but of the clock and the sequence, which tell no identity."""
    found = {}
    with closing(open_zookeeper(url)) as store:
        paths = ["/cluster", ROOT]
        while paths:
            found |= store.read(paths)
            paths = [f"{path}/{name}" for path in paths for name in store.children(path)]
    return {
        path: node and (node.data, node.version)
        for path, node in found.items()
        if path not in {CLOCK, SEQUENCE}
    }


def files(folder):
    return {
        str(each.relative_to(folder)): each.read_bytes() if each.is_file() else None
        for each in sorted(folder.rglob("*"))
    }


def set_up(scene, url, folder):
    """The scene, made; the words of `acquire` for it."""
    for name in ("a", "b"):
        (folder / name).mkdir(parents=True)
    for name, text in scene.files.items():
        path = folder / name
        if text:
            (path / "meta.properties").write_text(text)
        else:
            path.mkdir()
    file = folder / "server.properties"
    file.write_text(
        "\n".join(
            (
                f"log.dirs={folder}/a,{folder}/b",
                f"zookeeper.connect={url.removeprefix('zookeeper://')}",
                f"advertised.listeners=SSL://{MINE}:9092",
                *scene.lines,
            )
        )
    )
    with closing(open_zookeeper(url)) as store:
        for path, text in scene.nodes.items():
            store.commit([Create(path, text.encode())])
    return ("acquire", "--server-properties", file, "--key", "text:h7", *scene.words)


def refusal(words, code):
    """The one line of JSON that it ends with; nothing is on stdout."""
    at = words.index("--") if "--" in words else len(words)
    ended, out, err = called("broker-id", *words[:at], "--json", *words[at:])
    assert (ended, out) == (code, ""), err
    told = parse(err.splitlines()[-1].encode(), where="stderr", error=InvalidConfig)
    assert told["message"]
    assert told["hint"]
    return told


@pytest.fixture
def url(lone_zookeeper, chroot):
    url = lone_zookeeper.url + chroot
    assert called("broker-id", "init", "--store", url)[0] == 0
    return url


@pytest.mark.parametrize(("code", "ends"), SCENES, ids=str)
def test_a_refused_start_writes_nothing(url, tmp_path, code, ends):
    words = set_up(SCENES[code, ends], url, tmp_path)
    before = dump(url), files(tmp_path)
    told = refusal(words, ends)
    error = {"ClusterMismatch": "WrongCluster"}.get(told["error"], told["error"])
    assert error.upper() == code.replace("_", "")
    assert told["wanted"] is not None
    if ends in {4, 75}:
        assert (told["code"], told["retryable"]) == (code, ends == 75)
        assert set(told) > {"row", "details"}
    assert (dump(url), files(tmp_path)) == before
    assert called("broker-id", *words)[2].count("error: ") == 1
    assert (dump(url), files(tmp_path)) == before


def test_a_store_without_its_nodes_is_not_made_ready(lone_zookeeper, chroot, tmp_path):
    words = set_up(Scene(), lone_zookeeper.url, tmp_path)
    words = (*words, "--store", lone_zookeeper.url + chroot)
    assert refusal(words, 4)["error"] == "StoreNotReady"
    assert sorted(files(tmp_path)) == ["a", "b", "server.properties"]


def test_a_file_that_cannot_be_written_ends_with_3_and_the_next_start_goes_on(url, tmp_path):
    words = set_up(Scene(), url, tmp_path)
    blocked = tmp_path / "b" / "meta.properties.tmp"
    (blocked / "full").mkdir(parents=True)
    assert refusal(words, 3)["error"] == "MetaWriteFailed"
    assert (tmp_path / "a" / "meta.properties").exists()
    (blocked / "full").rmdir()
    blocked.rmdir()
    code, out, _ = called("broker-id", *words, "--json", "--hold", "0")
    assert code == 3
    assert parse(out.encode(), where="stdout", error=InvalidConfig)["wrote"] == [f"{tmp_path}/b"]


@pytest.mark.long
def test_an_unreachable_store_may_come_back_and_a_password_in_the_open_is_warned_of(tmp_path):
    words = store_config(tmp_path)
    file = tmp_path / "server.properties"
    file.write_text(f"log.dirs={tmp_path}/a\nzookeeper.connect=0.0.0.0:1\n")
    start = ("acquire", "--server-properties", file, "--key", "text:h7", *words)
    assert refusal(start, 75)["error"] == "Unreachable"
    _, _, err = called("broker-id", *start)
    assert err.startswith("broker-id: warning: ")
    assert called("broker-id", "list", "--store", "zookeeper://0.0.0.0:1", *words)[0] == 1


def store_config(folder):
    secret = folder / "password"
    secret.write_text("canary-in-a-mine\n")
    config = folder / "store.properties"
    config.write_text(f"auth.scheme=digest\nauth.user=kafka\nauth.password.file={secret}\n")
    for file in (secret, config):
        file.chmod(0o600)
    return "--store-config", config


def test_a_secret_is_in_no_output(url, tmp_path):
    words = set_up(Scene(), url, tmp_path)
    option, config = store_config(tmp_path)
    told = called("broker-id", *words, option, config, "--debug", "--hold", "0")
    told += called("broker-id", "list", "--store", url, option, config, "--debug")
    config.chmod(0o644)
    told += called("broker-id", "list", "--store", url, option, config, "--json")
    assert told[0::3] == (3, 0, 1)
    assert "SecretExposed" in told[-1]
    assert "canary" not in "".join(map(str, told))
