"""`rackwise broker-id adopt` without a server: rows, documents, exits, writes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from broker_id_schemas import check_document
from directory_stores import Nodes
from rackwise.adapters.files.identity.store import DirectoryStore
from rackwise.adapters.launch import operator
from rackwise.core.errors import Conflict, InvalidConfig, OutcomeUnknown, Unreachable
from rackwise.core.identity.nodes.nodes import parse_mapping, parse_owner
from rackwise.core.identity.nodes.store import FENCE, HOSTS, IDS, OWNERS
from rackwise.core.json.strict import parse
from refusals import called

ALL = ("adopt", "--all", "--key", "{label}")


@pytest.fixture
def nodes(tmp_path):
    """h1 and h2 run plainly; h3 lost its disk before and got 1003."""
    nodes = Nodes(tmp_path / "store")
    for number, host in ((1, "h1.example"), (2, "H2.example"), (1003, "h3.example")):
        nodes.registration(number, host)
    nodes.mapping("h3", 3)
    return nodes


def run(nodes, *words):
    return called("broker-id", *words, "--store", nodes.url)


def document(nodes, *words, expect=0):
    code, out, err = run(nodes, *words, "--json")
    assert code == expect, err
    told = parse(out.encode(), where="stdout", error=InvalidConfig)
    check_document(told)
    return told


def mapped(nodes):
    return {
        key: parse_mapping(nodes.read(f"{HOSTS}/{key}"), key=key).broker_id
        for key in nodes.children(HOSTS)
    }


def test_every_broker_gets_its_mapping_and_its_owner(nodes):
    code, out, err = run(nodes, *ALL)
    assert (code, err) == (2, "")
    assert [line.split(maxsplit=3) for line in out.splitlines()[:3]] == [
        ["id", "key", "state"],
        ["1", "h1", "adopted"],
        ["2", "h2", "adopted"],
    ]
    assert out.splitlines()[3].split(maxsplit=3) == [
        "1003",
        "h3",
        "rejected",
        "key h3 is mapped to id 3; if id 3 is given up, use --force",
    ]
    assert mapped(nodes) == {"h1": 1, "h2": 2, "h3": 3}
    owner = parse_owner(nodes.read(f"{OWNERS}/2"), id=2)
    assert (owner.key, owner.incarnation) == ("h2", nodes.read(f"{IDS}/2").czxid)
    assert run(nodes, "show", "--key", "h2")[0] == 0


def test_check_writes_nothing(nodes):
    before = nodes.dump()
    told = document(nodes, *ALL, "--check", expect=2)
    assert (told["format"], told["checked"]) == ("rackwise.adopted-ids/1", True)
    assert [each["state"] for each in told["brokers"]] == ["free", "free", "rejected"]
    assert nodes.dump() == before


def test_again_is_done_and_names_of_some_brokers_are_enough(nodes):
    assert run(nodes, "adopt", "2", "--key", "{label}")[0] == 0
    assert mapped(nodes) == {"h2": 2, "h3": 3}
    version = nodes.read(FENCE).version
    told = document(nodes, "adopt", "2", "--key", "{label}")
    assert [each["state"] for each in told["brokers"]] == ["present"]
    assert nodes.read(FENCE).version == version


def test_force_replaces_what_is_mapped_otherwise(nodes):
    told = document(nodes, *ALL, "--force")
    assert [each["state"] for each in told["brokers"]] == ["adopted"] * 3
    assert mapped(nodes) == {"h1": 1, "h2": 2, "h3": 1003}


def test_force_settles_two_keys_that_have_the_id_of_the_other(nodes):
    nodes.mapping("h1", 2)
    nodes.mapping("h2", 1)
    told = document(nodes, "adopt", "1", "2", "--key", "{label}", "--force")
    assert [(each["before"], each["took_from"]) for each in told["brokers"]] == [
        (2, ["h2"]),
        (1, ["h1"]),
    ]
    assert mapped(nodes) == {"h1": 1, "h2": 2, "h3": 3}


def test_one_that_cannot_be_read_blocks_only_itself(nodes):
    nodes.put(f"{HOSTS}/h1", b"{")
    code, out, err = run(nodes, *ALL)
    assert (code, mapped_states(out)) == (2, {"1": "rejected", "2": "adopted", "1003": "rejected"})
    assert err.startswith("warning: invalid /brokers/hosts/h1: ")
    assert "broker-id assign h1 1 --force" in out


def test_the_hint_for_one_that_the_store_denies_is_to_log_in(nodes, monkeypatch):
    nodes.mapping("h1", 1)
    real, path = DirectoryStore.read, f"{HOSTS}/h1"

    def read(store, paths):
        found = real(store, paths)
        return {
            p: replace(node, is_denied=True) if p == path else node for p, node in found.items()
        }

    monkeypatch.setattr(DirectoryStore, "read", read)
    code, out, err = run(nodes, *ALL)
    assert code == 2
    login = f"log in as the owner of {path}, or delete that node as administrator"
    assert f"the mapping of key h1 cannot be read; {login}" in out
    assert err == f"warning: cannot read {path}: the store denies READ; {login}\n"


def mapped_states(out):
    return {line.split()[0]: line.split()[2] for line in out.splitlines()[1:]}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "expected ids or --all, got neither"),
        (("1", "--all"), "expected ids or --all, got both"),
        (("--all", "--key", "kafka"), "invalid --key: expected a text with {host}"),
        (("--all", "--key", "{id}"), "invalid --key: expected a text with {host}"),
        (("-1",), ""),
    ],
)
def test_what_cannot_be_meant_is_an_error(nodes, words, said):
    before = nodes.dump()
    code, out, err = run(nodes, "adopt", *words)
    assert (code, out) == (1, "")
    assert err.startswith(f"error: {said}")
    assert nodes.dump() == before


def test_nobody_runs(tmp_path):
    nodes = Nodes(tmp_path / "empty")
    nodes.topic("orders", (1, 7))
    assert run(nodes, *ALL)[:2] == (0, "no broker is registered\n")
    code, out, _ = run(nodes, "adopt", "5")
    assert (code, out.splitlines()[1].split(maxsplit=3)[:3]) == (2, ["5", "-", "rejected"])


def test_many_are_adopted_in_several_commits(tmp_path):
    nodes = Nodes(tmp_path / "many")
    nodes.first_registrations(f"h{number}.example" for number in range(120))
    before = nodes.read(FENCE).version
    assert run(nodes, *ALL)[0] == 0
    assert mapped(nodes) == {f"h{number}": number for number in range(120)}
    assert nodes.read(FENCE).version == before + 3


def fail(monkeypatch, error, *, after):
    """Let the store fail after so many commits."""
    real, commits = DirectoryStore.commit, iter(range(after))

    def commit(store, ops):
        if next(commits, None) is None:
            raise error
        real(store, ops)

    monkeypatch.setattr(DirectoryStore, "commit", commit)


@pytest.fixture
def many(tmp_path, monkeypatch):
    """13 brokers that run plainly, in commits of five; the mapping of h0 has another host's id."""
    monkeypatch.setattr(operator, "ADOPTED_AT_ONCE", 5)
    nodes = Nodes(tmp_path / "many")
    nodes.first_registrations(f"h{number}.example" for number in range(13))
    nodes.mapping("h0", 5000)
    return nodes


@pytest.mark.parametrize(
    "error",
    [Conflict("a start bumps the fence"), Unreachable("no answer"), OutcomeUnknown("no answer")],
)
def test_what_was_adopted_before_a_failure_is_reported(many, monkeypatch, error):
    fail(monkeypatch, error, after=2)
    code, out, err = run(many, *ALL, "--json")
    assert code == 3
    told = parse(out.encode(), where="stdout", error=InvalidConfig)
    check_document(told)
    rows = told["brokers"]
    assert [each["id"] for each in rows] == list(range(13))
    states = [each["state"] for each in rows]
    assert states == ["rejected", *["adopted"] * 10, *["rejected"] * 2]
    assert rows[0]["reason"] == "key h0 is mapped to id 5000"
    assert {each["reason"] for each in rows[11:]} == {str(error)}
    assert set(mapped(many)) == {each["key"] for each in rows[:11]}
    said = parse(err.splitlines()[-1].encode(), where="stderr", error=InvalidConfig)
    assert said["message"] == f"adopted 10 of 12 brokers: {error}"
    assert said["hint"] == "run adopt again: it continues with id 11"
    monkeypatch.undo()
    assert run(many, *ALL)[0] == 2
    assert len(mapped(many)) == 13


def test_a_failure_before_the_first_write_is_that_error(many, monkeypatch):
    fail(monkeypatch, Conflict("a start bumps the fence"), after=0)
    code, out, err = run(many, *ALL)
    assert (code, out, err.splitlines()[0]) == (4, "", "error: a start bumps the fence")
    monkeypatch.undo()
    assert mapped(many) == {"h0": 5000}


@pytest.mark.kafka
def test_brokers_in_kraft_mode_are_adopted_in_a_directory_store(kraft_cluster, tmp_path):
    """Their registrations have no incarnation: owners are compared by their endpoints."""
    url = f"file://{tmp_path}/kraft"
    to = ("--store", url, "--bootstrap-server", kraft_cluster.bootstrap)
    assert called("broker-id", "init", "--store", url)[0] == 0
    adopt = ("broker-id", "adopt", "--all", "--key", "k-{broker.id}", *to)
    first, again = called(*adopt), called(*adopt)
    assert (first[0], again[0]) == (0, 0), (first, again)
    states = [set(mapped_states(out).values()) for _, out, _ in (first, again)]
    assert states == [{"adopted"}, {"present"}]
    number = min(map(int, mapped_states(first[1])))
    assert called("broker-id", "show", "--key", f"k-{number}", *to)[0] == 0
