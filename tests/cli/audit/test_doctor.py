"""`rackwise doctor`: what it says, how it ends, what it refuses, and that brokers agree with it."""

from __future__ import annotations

import threading
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace

import pytest
from confluent_kafka import Consumer

from kafka_traffic import consumer, create, delete, produce, until
from rackwise.adapters.files import write_snapshot
from rackwise.adapters.kafka import ask_leaders, connect, read_cluster, read_fetch_versions
from rackwise.cli.audit.doctor import TOPICS_LEFT_OUT
from rackwise.cli.tables import SHOWN
from rackwise.core.errors import InvalidConfig
from rackwise.core.fetch_diagnosis import READING_RULES, ProbeQuestion, probe_questions
from rackwise.core.fetch_diagnosis.facts import RACK_AWARE_SELECTOR, REPLICA_SELECTOR
from rackwise.core.json.strict import parse
from rackwise.core.model import Broker, GroupMember, Note
from rackwise.core.racks import Rack
from readings import SELECTORS, group, healthy
from refusals import called, check_refused

TOPIC = "near"
PLACEMENT = [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
ZONES = ("use1-az1", "use1-az2", "use1-az3")


def document(captured):
    code, out, err = captured
    printed = parse(out.encode(), where="stdout", error=InvalidConfig)
    assert (code, err) == (2 if printed["findings"] else 0, "")
    return printed


def places(printed):
    return [each["message"].partition(": wanted")[0] for each in printed["findings"]]


@pytest.fixture
def file(tmp_path):
    def write(cluster):
        write_snapshot(cluster, tmp_path / "s.json")
        return ["doctor", "--snapshot", str(tmp_path / "s.json")]

    return write


class TestSnapshot:
    def test_nothing_found(self, file):
        command = file(healthy(groups=[]))
        printed = document(called(*command, "--client-rack", "b", "--json"))
        assert printed["findings"] == []
        assert printed["format"] == "rackwise.doctor/1"
        assert set(printed["not_checked"]) == set(READING_RULES) - {
            "reading-broker-rack",
            "reading-rack-kinds",
            "reading-selector",
            "reading-client-rack",
        }
        assert (printed["brokers"], printed["topics"], printed["partitions"]) == (3, 1, 3)
        assert (printed["groups"], printed["probes"], printed["client_racks"]) == (0, 0, ["b"])

    def test_the_header_has_the_name_and_the_id(self, file):
        command = file(replace(healthy(groups=[]), name="prod-eu"))
        assert called(*command)[1].startswith("prod-eu (small) at 2026-11-21T08:30:00Z: 3 brokers")

    def test_findings_have_hints_and_end_with_two(self, file):
        values = {**SELECTORS, 2: None, 3: None}
        code, out, err = called(*file(healthy(values=values, groups=[])), "--client-rack", "B")
        assert (code, err) == (2, "")
        assert "small at 2026-11-21T08:30:00Z: 3 brokers, 3 racks, 1 topic, 3 partitions, 0" in out
        lines = out.splitlines()
        first = next(place for place, line in enumerate(lines) if line.startswith("error  "))
        assert lines[first].startswith("error   broker 2: reading-selector: wanted replica.sel")
        assert lines[first].endswith("; had none")
        assert lines[first + 1].startswith("error   broker 3: reading-selector")
        assert lines[first + 2].startswith("  hint: set replica.selector.class=org.apache")
        assert lines[first + 3].startswith("error   client rack B: reading-client-rack")
        assert lines[first + 4] == '  hint: racks are compared with their case: write "b"'
        assert "not checked" in lines
        assert any(line.endswith("take it with rackwise snapshot") for line in lines)

    def test_nothing_found_is_said(self, file):
        code, out, _ = called(*file(healthy(groups=[])))
        assert code == 0
        assert "\n\nno findings\n\nnot checked\n" in out

    def test_colour_is_added_to_the_words(self, file):
        _, out, _ = called(*file(healthy(values={}, groups=[])), "--color", "always")
        assert "\x1b[31merror  \x1b[0m cluster: reading-selector" in out

    def test_one_group_of_several_is_judged(self, file):
        modern = group(name="modern", protocol="consumer")
        command = file(healthy(groups=[modern, group(name="rackless", racks="---")]))
        printed = document(called(*command, "--group", "modern", "--json"))
        assert {each["group"] for each in printed["findings"]} == {"modern"}
        assert printed["findings"][0]["rule"] == "reading-protocol"
        assert printed["groups"] == 1

    def test_a_better_assignment_is_told_with_its_moves(self, file):
        command = file(healthy(lists={"t-0": [1], "t-1": [2], "t-2": [3]}, groups=[group("cab")]))
        printed = document(called(*command, "--json"))
        assert places(printed)[-1] == "group billing: reading-best"
        assert printed["findings"][-1]["had"] == "0; 3 moves to get there"

    def test_only_the_topics_that_match_are_judged(self, file):
        command = file(healthy(lists={"t-0": [1], "u-0": [1], "u-1": [1]}, groups=[]))
        assert document(called(*command, "--topics", "u*", "--json"))["partitions"] == 2

    def test_the_best_is_that_of_all_that_a_group_reads(self, file):
        lists = {"o-0": [1], "o-1": [1], "p-0": [1], "p-1": [2]}
        held = {"a": (("o", 0), ("o", 1)), "b": (("p", 0), ("p", 1))}
        members = tuple(
            GroupMember(
                member_id=rack, client_id=rack, rack=Rack(rack), topics=("o", "p"), partitions=pairs
            )
            for rack, pairs in held.items()
        )
        command = file(healthy(lists=lists, groups=[replace(group(), members=members)]))
        for options in ((), ("--topics", "o"), ("--topics", "p")):
            printed = document(called(*command, *options, "--json"))
            assert {each["rule"] for each in printed["findings"]} == {"reading-coverage"}
            assert "reading-best" not in printed["not_checked"]

    def test_a_better_assignment_is_told_also_of_some_topics(self, file):
        lists = {"t-0": [1], "t-1": [2], "t-2": [3], "u-0": [1]}
        readers = group("cab", topics=("t", "u"))
        command = file(healthy(lists=lists, groups=[readers]))
        whole, cut = (
            document(called(*command, "--topics", glob, "--json"))["findings"] for glob in "*u"
        )
        assert whole[-1]["rule"] == "reading-best"
        assert cut[-1] == whole[-1]

    def test_a_group_that_reads_none_of_the_topics_has_no_best(self, file):
        lists = {"t-0": [1], "t-1": [2], "t-2": [3], "u-0": [1]}
        printed = document(called(*file(healthy(lists=lists)), "--topics", "u", "--json"))
        assert printed["findings"] == []
        assert printed["not_checked"]["reading-best"] == f"{TOPICS_LEFT_OUT}: group billing"

    def test_topics_that_match_nothing_are_told(self, file):
        code, out, err = called(*file(healthy(groups=[])), "--topics", "u*", "--topics", "t")
        assert code == 0
        assert err == "warning: not-visible: no topic that matches u* is in the snapshot\n"
        assert "1 topic, 3 partitions" in out

    def test_a_reassignment_has_no_configs(self, file):
        printed = document(called(*file(replace(healthy(groups=[]), source="suppose")), "--json"))
        assert "reading-selector" not in printed["not_checked"]
        bare = replace(healthy(values={}, groups=[]), source="suppose")
        assert "reading-selector" in document(called(*file(bare), "--json"))["not_checked"]

    def test_the_text_lists_the_first_findings(self, file):
        brokers = tuple(
            Broker(id=number, rack=None if number else Rack("a")) for number in range(SHOWN + 2)
        )
        cluster = replace(healthy(values={}, groups=[]), brokers=brokers)
        _, out, _ = called(*file(cluster))
        assert f"and 2 more; --json has all {SHOWN + 2}" in out

    def test_what_was_not_visible_is_warned_of(self, file):
        notes = (Note(kind="not-visible", text="groups of broker 1: GroupAuthorizationFailed"),)
        code, out, err = called(*file(replace(healthy(groups=[]), notes=notes)))
        assert (code, err) == (
            0,
            "warning: not-visible: groups of broker 1: GroupAuthorizationFailed\n",
        )
        assert "not visible: groups of broker 1: GroupAuthorizationFailed" in out


class TestRefusals:
    def test_a_probe_of_a_file(self, file):
        check_refused(
            [*file(healthy()), "--probe"],
            "--probe requires --bootstrap-server",
            "omit --probe, or give --bootstrap-server instead of --snapshot",
        )

    def test_a_number_of_probes_without_any(self, file):
        check_refused(
            [*file(healthy()), "--probe-partitions", "5"],
            "--probe-partitions requires --probe",
            "omit it, or give --probe",
        )

    def test_an_empty_client_rack(self, file):
        check_refused(
            [*file(healthy()), "--client-rack", ""],
            "invalid --client-rack: expected a rack, got nothing",
            "omit --client-rack: an empty client.rack is no rack",
        )

    def test_a_group_that_is_not_there(self, file):
        check_refused(
            [*file(healthy()), "--group", "nobody"],
            "group nobody is not among the 1 consumer group",
            "use one of: billing",
        )

        _, _, err = called(*file(healthy()), "--group", "nobody", "--json")
        assert '"error": "GroupNotFound"' in err

    def test_no_source(self):
        check_refused(
            ["doctor"],
            "expected exactly one of --snapshot and --bootstrap-server, got none",
            "--snapshot FILE reads a file, --bootstrap-server H:P a running cluster, "
            "--cluster NAME one of the fleet file",
        )

    def test_no_partition_to_probe(self):
        code, _, err = called("doctor", "--bootstrap-server", "a:1", "--probe-partitions", "0")
        assert (code, "--probe-partitions" in err) == (1, True)


def doctor(cluster, *options, topic=TOPIC):
    """What doctor --probe prints about a topic of a running cluster, once its groups are stable."""
    where = ("--bootstrap-server", cluster.bootstrap, "--topics", topic)
    printed = []

    def at_rest():
        printed.append(document(called("doctor", *where, "--probe", "--json", *options)))
        return "not Stable" not in str(printed[-1]["not_checked"])

    until(at_rest, "groups to be Stable")
    return printed[-1]


def probes(cluster, racks, topic=TOPIC):
    """Leader -> whether it named what it should, to all clients alike."""
    with closing(connect(cluster.bootstrap)) as admin:
        seen = read_cluster(admin, taken_at="", topics=(topic,), sizes=False)
        asked = probe_questions(seen, racks, limit=20)
        answers = ask_leaders(admin, seen, asked, progress=int)
    assert [each.question for each in answers] == list(asked)
    assert {each.error for each in answers} <= {None}
    printed = {}
    for each in answers:
        printed.setdefault(each.question.leader, set()).add(each.named in each.question.near)
    return printed


def check_leaders(cluster, racks, expected, topic=TOPIC):
    """Law: leaders soon answer so; new ones first have to hear from their followers."""
    until(lambda: probes(cluster, racks, topic) == expected, f"leaders to answer {expected}")


@contextmanager
def modern_consumer(cluster, name, rack):
    """A running member of a group of the consumer protocol (KIP-848)."""
    made = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": name,
            "group.protocol": "consumer",
            "client.rack": rack,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    try:
        made.subscribe([TOPIC])
        until(lambda: made.poll(0.1) is None and made.assignment(), f"{name} to be let in")
        yield
    finally:
        made.close()


@contextmanager
def pod_of(cluster, name, pod, rack):
    """A running static member of a classic group, which stays in the group when it ends."""
    made = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": name,
            "group.instance.id": f"pod-{pod}",
            "client.rack": rack,
            "partition.assignment.strategy": "range",
            "session.timeout.ms": 60_000,
            "enable.auto.commit": False,
        }
    )
    over, is_in = threading.Event(), threading.Event()

    def poll():
        made.subscribe(["apart"], on_assign=lambda _, given: given and is_in.set())
        while not over.is_set():
            made.poll(0.1)

    polling = threading.Thread(target=poll)
    try:
        polling.start()
        until(is_in.is_set, f"{name} to be let in")
        yield
    finally:
        over.set()
        polling.join()
        made.close()


@pytest.fixture
def near(kraft_cluster):
    """The shared cluster, whose brokers all have the selector, with a topic in all its racks."""
    with closing(connect(kraft_cluster.bootstrap)) as admin:
        create(admin, TOPIC, PLACEMENT)
        produce(kraft_cluster.bootstrap, {(TOPIC, 0): 3})
        yield kraft_cluster
        delete(admin, TOPIC)


@pytest.mark.kafka
class TestSelectorOnAllBrokers:
    def test_nothing_is_found_and_leaders_agree(self, near):
        with consumer(near.bootstrap, "doctored", [TOPIC], client_id="app", rack="b"):
            printed = doctor(near, "--group", "doctored", "--client-rack", "c")
        assert places(printed) == []
        assert printed["client_racks"] == ["b", "c"]
        assert printed["probes"] == 4
        assert printed["not_checked"] == {}
        check_leaders(near, ["b", "c"], {0: {True}, 1: {True}, 2: {True}})

    def test_a_wrong_client_rack_is_named_alone(self, near):
        with consumer(near.bootstrap, "doctored", [TOPIC], client_id="app", rack="b"):
            printed = doctor(near, "--group", "doctored", "--client-rack", "us-east-1a")
        assert places(printed) == ["client rack us-east-1a: reading-client-rack"]

    def test_a_group_of_the_consumer_protocol_is_named_alone(self, near):
        with modern_consumer(near, "modern", "b"):
            printed = doctor(near, "--group", "modern")
        assert places(printed) == ["group modern: reading-protocol"]
        assert printed["probes"] == 2

    def test_static_members_that_came_back_elsewhere_are_found(self, near):
        """Both pods of a StatefulSet come back in the other's rack; nothing rebalances."""
        with closing(connect(near.bootstrap)) as admin:
            create(admin, "apart", [[0], [1]])
        try:
            with ExitStack() as first:
                for pod, rack in enumerate("ab"):
                    first.enter_context(pod_of(near, "stateful", pod, rack))
                printed = doctor(near, "--group", "stateful", topic="apart")
                assert places(printed) == []
            with ExitStack() as second:
                for pod, rack in enumerate("ba"):
                    second.enter_context(pod_of(near, "stateful", pod, rack))
                printed = doctor(near, "--group", "stateful", topic="apart")
            assert places(printed) == ["group stateful: reading-static-member"]
        finally:
            with closing(connect(near.bootstrap)) as admin:
                delete(admin, "apart")

    def test_the_best_of_a_group_that_reads_other_topics_too_is_not_judged(self, near):
        with closing(connect(near.bootstrap)) as admin:
            create(admin, "beside", PLACEMENT)
            with consumer(near.bootstrap, "doctored", [TOPIC, "beside"], client_id="app", rack="b"):
                printed = doctor(near, "--group", "doctored")
            delete(admin, "beside")
        assert "reading-best" not in str(places(printed))
        assert printed["not_checked"]["reading-best"] == f"{TOPICS_LEFT_OUT}: group doctored"

    def test_leaders_and_topics_that_are_gone_are_errors_of_their_own(self, near):
        with closing(connect(near.bootstrap)) as admin:
            seen = read_cluster(admin, taken_at="", topics=(TOPIC,), sizes=False)
            known = {"client_rack": "b", "topic": TOPIC, "near": (1,)}
            asked = [
                ProbeQuestion(**known, partition=0, leader=1),
                ProbeQuestion(**known, partition=0, leader=99),
                ProbeQuestion(**known, partition=9, leader=0),
            ]
            printed = ask_leaders(admin, seen, asked[:1], progress=int)
            assert [each.error for each in printed] == ["NotLeaderForPartition"]
            printed = ask_leaders(admin, seen, asked[1:2], progress=int)
            assert printed[0].error is not None
            printed = ask_leaders(admin, seen, asked[2:], progress=int)
            assert [each.error for each in printed] == ["UnknownTopicOrPartition"]
            assert read_fetch_versions(admin, [0, 99], progress=int).keys() == {0}

    def test_topics_without_a_known_id_go_by_name(self, near):
        with closing(connect(near.bootstrap)) as admin:
            seen = read_cluster(admin, taken_at="", topics=(TOPIC,), sizes=False)
            bare = replace(
                seen, topics={name: replace(each, id=None) for name, each in seen.topics.items()}
            )
            asked = probe_questions(bare, ["b"], limit=20)
            until(
                lambda: (
                    {each.named for each in ask_leaders(admin, bare, asked, progress=int)} == {1}
                ),
                "leaders to name broker 1",
            )


@pytest.mark.kafka
@pytest.mark.long
def test_the_selector_nowhere_and_then_on_one_broker(make_kraft):
    cluster = make_kraft(brokers=3, racks=ZONES, overrides={REPLICA_SELECTOR: None})
    with closing(connect(cluster.bootstrap)) as admin:
        create(admin, TOPIC, PLACEMENT)
    printed = doctor(cluster, "--client-rack", ZONES[1])
    assert places(printed) == ["cluster: reading-selector"]
    check_leaders(cluster, ZONES, {0: {False}, 1: {False}, 2: {False}})

    printed = doctor(cluster, "--client-rack", "us-east-1a")
    assert places(printed) == [
        "cluster: reading-selector",
        "client rack us-east-1a: reading-client-rack",
    ]
    assert "use1-az1 is aws-zone-id" in printed["findings"][1]["hint"]

    with (cluster.folder / "broker-1" / "server.properties").open("a") as properties:
        properties.write(f"{REPLICA_SELECTOR}={RACK_AWARE_SELECTOR}\n")
    cluster.restart(1)
    cluster.wait_until_ready()
    with closing(connect(cluster.bootstrap)) as admin:
        create(admin, "late", PLACEMENT)
    printed = doctor(cluster, "--client-rack", ZONES[2], topic="late")
    assert places(printed) == ["broker 0: reading-selector", "broker 2: reading-selector"]
    check_leaders(cluster, ZONES, {0: {False}, 1: {True}, 2: {False}}, topic="late")


@pytest.mark.kafka
def test_no_broker_rack_is_one_finding(make_kraft):
    printed = doctor(make_kraft(brokers=1, racks=()), "--client-rack", "a", topic="*")
    assert places(printed) == ["cluster: reading-broker-rack"]
