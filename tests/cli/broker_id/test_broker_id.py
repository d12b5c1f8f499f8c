"""`rackwise broker-id` without a server and without a terminal: rows, documents, exits, writes."""

from __future__ import annotations

import pytest

from broker_id_schemas import check_document
from directory_stores import Nodes
from rackwise.core.errors import InvalidConfig
from rackwise.core.identity.nodes.store import HOSTS, MISSING, RETIRED
from rackwise.core.json.strict import parse
from refusals import called, check_refused

MINUTE_MS = 60_000


@pytest.fixture
def nodes(tmp_path):
    """h1 lives under 1; h7 had 7 and is gone; 4 is retired; replicas on 1 and 7."""
    nodes = Nodes(tmp_path / "store")
    nodes.mapping("h1", 1)
    nodes.registration(1, "h1.example")
    nodes.owner(1, "h1")
    nodes.mapping("h7", 7)
    nodes.retired(4)
    nodes.topic("orders", (1, 7), (7, 1))
    return nodes


def run(nodes, *words):
    return called("broker-id", *words, "--store", nodes.url)


def document(nodes, *words, expect=0):
    code, out, err = called("broker-id", *words, "--store", nodes.url, "--json")
    assert code == expect, err
    told = parse(out.encode(), where="stdout", error=InvalidConfig)
    check_document(told)
    return told


def by_id(told):
    return {row["id"]: row for row in told["ids"]}


def test_every_id_has_a_row(nodes):
    code, out, err = run(nodes, "list")
    assert (code, err) == (0, "")
    assert [line.split() for line in out.splitlines()] == [
        ["id", "keys", "registered", "claimed", "owner", "replicas", "missing", "retired"],
        ["1", "h1", "h1.example:9092", "-", "h1", "yes", "-", "-"],
        ["4", "-", "-", "-", "-", "no", "-", "yes"],
        ["7", "h7", "-", "-", "-", "yes", "yes", "-"],
    ]


def test_the_document_has_what_the_rows_have(nodes):
    told = document(nodes, "list")
    assert told["format"] == "rackwise.broker-ids/1"
    rows = by_id(told)
    assert sorted(rows) == [1, 4, 7]
    assert rows[1]["registered"]["endpoints"] == ["h1.example:9092"]
    assert rows[1]["owner"]["incarnation"] == rows[1]["registered"]["incarnation"]
    assert (rows[7]["keys"], rows[7]["missing"], rows[7]["missing_s"]) == (["h7"], True, None)
    assert rows[4]["retired"]


def test_missing_ids_end_with_2_and_none_with_0(nodes):
    assert [*by_id(document(nodes, "missing", expect=2))] == [7]
    code, out, _ = run(nodes, "missing", "--by", "watch")
    assert (code, out) == (0, "no id is missing\n")
    nodes.known(9)
    assert [*by_id(document(nodes, "missing", "--by", "watch", expect=2))] == [9]


def test_reading_commands_write_nothing(nodes):
    before = nodes.dump()
    for words in (
        ("list",),
        ("missing",),
        ("show", "--id", "7"),
        ("show", "--key", "h7"),
        ("gc",),
        ("gc", "--literal"),
        ("init", "--check"),
    ):
        run(nodes, *words)
        assert nodes.dump() == before, words


def test_show_tells_what_belongs_to_a_key(nodes):
    code, out, _ = run(nodes, "show", "--key", "h7")
    assert code == 0
    assert out.splitlines()[0] == "key h7: id 7"
    told = document(nodes, "show", "--key", "h1")
    assert (told["mapped_id"], [row["id"] for row in told["ids"]]) == (1, [1])
    assert told["preview"] is None
    nobody = document(nodes, "show", "--key", "h99")
    assert (nobody["mapped_id"], nobody["ids"]) == (None, [])
    assert run(nodes, "show", "--key", "h99")[1] == "key h99: no id\nno node mentions it\n"


def test_show_ends_with_2_where_nodes_disagree(nodes):
    nodes.mapping("g", 1)
    told = document(nodes, "show", "--id", "1", expect=2)
    assert told["disagreements"] == ["id 1 is mapped to 2 keys: g, h1"]
    code, out, _ = run(nodes, "show", "--key", "g")
    assert code == 2
    assert "disagree: id 1 is mapped to 2 keys: g, h1\n" in out


@pytest.mark.parametrize("words", [(), ("--key", "h7", "--id", "7")])
def test_show_wants_a_key_or_an_id(nodes, words):
    code, out, err = run(nodes, "show", *words)
    assert (code, out) == (1, "")
    assert err.startswith("error: expected exactly one of --key and --id\n")


def properties(tmp_path, **settings):
    (tmp_path / "data").mkdir()
    file = tmp_path / "server.properties"
    lines = {"log.dirs": tmp_path / "data", "zookeeper.connect": "127.0.0.1:1", **settings}
    file.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
    return file


def test_show_tells_what_acquire_would_decide_and_does_not_do_it(nodes, tmp_path):
    file = properties(tmp_path)
    before = nodes.dump()
    preview = document(nodes, "show", "--key", "h7", "--server-properties", file)["preview"]
    assert (preview["decision"], preview["row"], preview["id"], preview["how"]) == (
        "take",
        "D27",
        7,
        "a",
    )
    new = document(nodes, "show", "--key", "new", "--server-properties", file)["preview"]
    assert (new["decision"], new["row"]) == ("generate", "D36")
    _, out, _ = run(nodes, "show", "--key", "new", "--server-properties", file)
    assert out.endswith("acquire would generate a new number (D36)\n")
    assert nodes.dump() == before
    assert [*(tmp_path / "data").iterdir()] == []


def test_show_tells_that_acquire_would_refuse_and_why(nodes, tmp_path):
    nodes.state("orders", 0, leader=7, isr=[7])
    words = ("show", "--key", "h7", "--server-properties", properties(tmp_path))
    preview = document(nodes, *words)["preview"]
    assert (preview["decision"], preview["row"], preview["code"]) == (
        "refuse",
        "D26",
        "LAST_IN_SYNC",
    )
    assert "orders-0" in preview["error"]
    _, out, _ = run(nodes, *words)
    assert "\nacquire would be rejected: " in out
    assert out.count("(D26, LAST_IN_SYNC)") == 1


def test_assign_writes_a_mapping_and_tells_old_and_new(nodes):
    assert run(nodes, "assign", "h9", "9")[:2] == (0, "h9: no id before, id 9 now\n")
    assert nodes.read(f"{HOSTS}/h9").data == b'{"version":0,"broker.id":9}'
    told = document(nodes, "assign", "h9", "8")
    assert (told["before"], told["id"], told["took_from"]) == (9, 8, [])


def test_assign_takes_an_id_from_another_key_only_by_force(nodes):
    before = nodes.dump()
    code, out, err = run(nodes, "assign", "h8", "7")
    assert (code, out) == (4, "")
    assert err.startswith("error: cannot assign id 7 to key h8: it is mapped to h7\n")
    assert nodes.dump() == before
    assert document(nodes, "assign", "h8", "7", "--force")["took_from"] == ["h7"]
    assert nodes.children(HOSTS) == ["h1", "h8"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("assign", "h8", "1", "--force"), 4),
        (("assign", "h8", "4", "--force"), 4),
        (("assign", "a/b", "9"), 1),
        (("assign", "..", "9"), 1),
        (("assign", "h8", "-1"), 1),
        (("assign", "h8", "2147483648"), 1),
        (("retire", "1"), 4),
        (("retire", "1", "--force"), 4),
        (("retire", "7"), 4),
        (("retire", "7", "--undo", "--force"), 1),
        (("retire", "9", "--unregister"), 1),
        (("gc", "--no-such-option"), 1),
    ],
)
def test_what_is_refused_writes_nothing(nodes, words, code):
    before = nodes.dump()
    ended, out, err = run(nodes, *words)
    assert (ended, out) == (code, ""), err
    assert err.startswith("error: ")
    assert nodes.dump() == before


def test_a_refusal_under_json_is_one_line_with_its_code(nodes):
    code, out, err = run(nodes, "retire", "7", "--json")
    assert (code, out) == (4, "")
    error = parse(err.encode(), where="stderr", error=InvalidConfig)
    assert (error["error"], error["had"]) == ("StillUsed", "1 replica")
    nodes.state("orders", 0, leader=1, isr=[1, 7])
    nodes.put("/brokers/topics/orders/partitions/1")
    told = b'{"controller_epoch":1,"leader":7,"version":1,"leader_epoch":0,"isr":[7]}'
    nodes.put("/brokers/topics/orders/partitions/1/state", told)
    assert "has 2 replicas\n" in run(nodes, "retire", "7")[2]


def test_retire_takes_the_mapping_and_is_taken_back(nodes):
    told = document(nodes, "retire", "7", "--force")
    assert (told["retired"], told["changed"], told["unmapped"]) == (True, True, ["h7"])
    assert nodes.children(HOSTS) == ["h1"]
    assert nodes.children(RETIRED) == ["4", "7"]
    assert run(nodes, "retire", "7", "--force")[:2] == (0, "id 7 is retired already\n")
    assert run(nodes, "retire", "--undo", "7")[:2] == (0, "id 7 is not retired now\n")
    assert document(nodes, "retire", "--undo", "7")["changed"] is False
    assert nodes.children(RETIRED) == ["4"]


def test_gc_proposes_what_lost_its_id_and_deletes_it_on_demand(nodes):
    nodes.mapping("old", 1)
    nodes.age("/brokers/ids/1", 2 * MINUTE_MS)
    told = document(nodes, "gc", expect=2)
    assert told["mappings"] == [{"key": "old", "id": 1, "winner": "h1", "deleted": False}]
    assert run(nodes, "gc")[1].endswith("--apply deletes 1 mapping\n")
    assert document(nodes, "gc", "--apply")["mappings"][0]["deleted"]
    assert nodes.children(HOSTS) == ["h1", "h7"]
    assert run(nodes, "gc")[:2] == (0, "no garbage\n")


def test_gc_leaves_a_mapping_whose_broker_has_just_registered(nodes):
    nodes.mapping("old", 1)
    assert document(nodes, "gc", "--apply")["mappings"] == []


def test_gc_to_the_letter_deletes_live_mappings_where_no_host_is_told(nodes):
    nodes.registration(1, told=False)
    nodes.age("/brokers/ids/1", 2 * MINUTE_MS)
    assert document(nodes, "gc")["mappings"] == []
    code, out, err = run(nodes, "gc", "--literal", "--apply")
    assert (code, nodes.children(HOSTS)) == (0, ["h7"])
    assert out.splitlines()[1].split() == ["h1", "1", "-", "deleted"]
    assert "it deletes every mapping of a cluster" in err


def test_a_node_that_cannot_be_read_is_told_and_stops_nobody(nodes):
    nodes.put(f"{HOSTS}/bad", b"\x1b{]")
    told = document(nodes, "list")
    assert [each["path"] for each in told["problems"]] == [f"{HOSTS}/bad"]
    _, _, err = run(nodes, "list")
    assert err.startswith("warning: invalid /brokers/hosts/bad: ")
    assert err.count("/brokers/hosts/bad") == 1
    assert "\x1b" not in err
    assert run(nodes, "show", "--key", "bad")[0] == 2
    assert run(nodes, "assign", "bad", "9")[0] == 4
    assert run(nodes, "assign", "bad", "9", "--force")[0] == 0
    assert document(nodes, "list")["problems"] == []


def test_a_corrupt_topic_leaves_replicas_unknown(nodes):
    nodes.put("/brokers/topics/orders", b"{}")
    told = document(nodes, "list")
    assert by_id(told)[1]["replicas"] is None
    assert [each["path"] for each in told["problems"]] == ["/brokers/topics/orders"]
    assert run(nodes, "list")[2].startswith("warning: invalid /brokers/topics/orders: ")
    assert "; repair or delete that node\n" in run(nodes, "list")[2]
    assert run(nodes, "retire", "7")[0] == 4
    assert run(nodes, "retire", "7", "--force")[0] == 0


def test_nobody_says_that_no_id_is_missing_where_a_topic_cannot_be_read(nodes):
    nodes.put("/brokers/topics/orders", b"{}")
    code, out, err = run(nodes, "missing")
    assert (code, out) == (4, "")
    assert "1 topic cannot be read, first /brokers/topics/orders\n" in err
    assert run(nodes, "missing", "--by", "watch")[:2] == (0, "no id is missing\n")


def test_show_tells_that_acquire_would_refuse_what_it_cannot_read(nodes, tmp_path):
    nodes.put("/brokers/topics/orders", b"{}")
    words = ("show", "--key", "new", "--server-properties", properties(tmp_path))
    preview = document(nodes, *words, expect=2)["preview"]
    assert (preview["decision"], preview["code"]) == ("refuse", "STORE_CORRUPT")


def test_init_makes_the_nodes_once_and_check_writes_nothing(tmp_path):
    url = f"file://{tmp_path}/new"
    (tmp_path / "new").mkdir()
    told = called("broker-id", "init", "--check", "--store", url, "--json")
    assert told[0] == 2
    check_document(parse(told[1].encode(), where="stdout", error=InvalidConfig))
    assert [*(tmp_path / "new").iterdir()] == []
    assert called("broker-id", "list", "--store", url)[0] == 4
    assert called("broker-id", "init", "--store", url)[0] == 0
    assert called("broker-id", "init", "--check", "--store", url)[0] == 0
    assert called("broker-id", "list", "--store", url)[:2] == (0, "no id is known\n")


def test_a_store_has_to_be_named(tmp_path):
    code, _, err = called("broker-id", "list")
    assert code == 1
    assert err.startswith("error: expected a store, got neither --store nor ")
    file = tmp_path / "server.properties"
    file.write_text("log.dirs=/tmp/x\n")
    assert called("broker-id", "list", "--server-properties", file)[0] == 1


@pytest.mark.parametrize("url", ["", "zk:2181", "http://zk", "file://relative", "zookeeper://"])
def test_an_address_of_no_store_is_told(url):
    code, out, err = called("broker-id", "list", "--store", url)
    assert (code, out) == (1, "")
    assert err.startswith("error: ")


def test_a_marker_of_a_watcher_that_is_gone_tells_no_time(nodes):
    nodes.known(7)
    nodes.put(f"{MISSING}/7", b'{"version":0,"leader":5,"last_key":null,"last_endpoints":[]}')
    row = by_id(document(nodes, "missing", expect=2))[7]
    assert (row["missing"], row["missing_s"]) == (True, None)


@pytest.mark.parametrize(
    "words", [("missing",), ("gc",), ("adopt", "--all"), ("retire", "7"), ("watch",)]
)
def test_a_directory_without_brokers_to_ask_does_not_count_as_an_empty_cluster(tmp_path, words):
    nodes = Nodes(tmp_path / "store")
    nodes.mapping("h7", 7)
    check_refused(
        ["broker-id", *words, "--store", nodes.url],
        "expected --bootstrap-server with a store in a directory, got none: the directory does not "
        "record which ids are registered and which have replicas",
        "add --bootstrap-server kafka-1:9092",
    )


@pytest.mark.parametrize("words", [("list",), ("show", "--key", "h7"), ("assign", "h8", "8")])
def test_what_such_a_directory_can_do_alone_it_does_with_a_warning(tmp_path, words):
    nodes = Nodes(tmp_path / "store")
    nodes.mapping("h7", 7)
    code, _, err = run(nodes, *words)
    assert code == 0, err
    assert err.endswith("have replicas, so the command sees neither\n")


def test_what_needs_neither_registrations_nor_replicas_warns_of_nothing(tmp_path):
    nodes = Nodes(tmp_path / "store")
    nodes.retired(7)
    assert run(nodes, "retire", "--undo", "7") == (0, "id 7 is not retired now\n", "")


@pytest.mark.parametrize("words", [("list",), ("show", "--key", "h7"), ("show", "--id", "7")])
def test_what_such_a_directory_does_not_record_is_unknown(tmp_path, words):
    nodes = Nodes(tmp_path / "store")
    nodes.mapping("h7", 7)
    nodes.known(7)
    row = by_id(document(nodes, *words))[7]
    assert (row["registered"], row["replicas"]) == (None, None)
    assert (row["missing"], row["missing_s"]) == (None, None)
    (line,) = (line for line in run(nodes, *words)[1].splitlines() if line.lstrip()[0] == "7")
    unknown = "unknown"
    assert line.split() == ["7", "h7", unknown, "-", "-", unknown, unknown, "-"]


@pytest.mark.parametrize(
    ("words", "had"),
    [((), "a directory"), (("--bootstrap-server", "127.0.0.1:1"), "--bootstrap-server")],
)
def test_gc_to_the_letter_needs_a_store_that_brokers_register_in(tmp_path, words, had):
    nodes = Nodes(tmp_path / "store")
    nodes.mapping("h7", 7)
    check_refused(
        ["broker-id", "gc", "--literal", "--apply", *words, "--store", nodes.url],
        f"expected a store in ZooKeeper with --literal, got {had}: the literal rule reads "
        "/brokers/ids of the store, and brokers in KRaft mode do not write there",
        "omit --literal",
    )
    assert nodes.children(HOSTS) == ["h7"]
