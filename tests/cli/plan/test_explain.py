"""`rackwise explain`: its sentences, its document, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from json_schemas import check
from rackwise.adapters.files import read_plan, sealed, write_plan, write_snapshot
from rackwise.core.errors import InvalidConfig
from rackwise.core.json.strict import parse
from rackwise.core.model import LogDir, PartitionTable
from refusals import called, check_refused
from shown_commands import ROOT
from small_clusters import small_cluster

RACKS = {1: "/a", 2: "/b", 3: "/c", 4: "/a", 5: "/b", 6: "/c"}
LISTS = {"t-0": [1, 4, 2], "t-1": [1, 2, 3], "t-2": [2, 3, 1], "t-3": [1, 2, 3]}


@pytest.fixture
def explain(tmp_path):
    """Plan for a cluster, and explain a partition: the sentences."""

    def run(name, words, cluster=None, *, more=(), change=None):
        snapshot, out = tmp_path / "s.json", tmp_path / "plan.json"
        write_snapshot(cluster or small_cluster(RACKS, LISTS), snapshot)
        assert called("plan", *words, "--snapshot", snapshot, "--out", out)[0] in {0, 2}
        if change is not None:
            write_plan(sealed(change(read_plan(out))), out)
        code, printed, err = called(*more, "explain", out, name, "--snapshot", snapshot)
        assert (code, err) == (0, "")
        return printed if more else printed.splitlines()

    return run


def test_a_rule_that_is_broken(explain):
    assert explain("t-0", ["repair"]) == [
        "t-0 moves from 1,4,2 to 4,2,6.",
        "It breaks spread-even at zone: expected /a 1, /c 1, got /a 2, /c 0.",
        ("Broker 1 (/a) gives a replica: it has 4 replicas, takes 0, gives 1 and ends with 3."),
        ("Broker 6 (/c) takes a replica: it has 0 replicas, takes 1, gives 0 and ends with 1."),
        "The dual prices do not exclude a plan with broker 3 instead of 6 that is as cheap.",
        "Keeping its brokers is not possible: a set of usable brokers must keep the rules.",
        "The preferred leader changes from 1 to 4, because broker 1 loses its replica.",
    ]


def test_loads_and_the_dual_prices(explain):
    cluster = small_cluster(RACKS, {f"t-{n}": [1, 2, 3] for n in range(4)})
    told = explain("t-0", ["balance"], cluster)
    assert told[0] == "t-0 moves from 1,2,3 to 5,4,6."
    assert told[1] == (
        "No rule about its list requires this: it moves because of the loads of the brokers."
    )
    assert (
        "Broker 1 (/a) gives a replica: it has 4 replicas, takes 0, gives 2 and ends with 2; "
        "fair is 2."
    ) in told
    drained = explain("t-0", ["drain", "1"], cluster)
    assert "No other broker may take the place of broker 4." in drained
    (line,) = [each for each in told if each.startswith("The dual prices (broker 1: ")]
    assert line.endswith(") do not exclude a plan that keeps its brokers and is as cheap.")


def test_a_bound_of_zero_does_not_say_that_keeping_it_costs_the_same(explain):
    """Here p has to move: q is excluded, and nothing else is on broker 1."""
    cluster = small_cluster({1: "/a", 2: "/b"}, {"p-0": [1], "q-0": [1]})
    told = explain("p-0", ["balance", "--exclude", "q"], cluster)
    assert told[0] == "p-0 moves from 1 to 2."
    (line,) = [each for each in told if "keeps its brokers" in each]
    assert line.endswith(") do not exclude a plan that keeps its brokers and is as cheap.")


def test_a_cap_of_its_topic_moves_it(explain, tmp_path):
    policy = tmp_path / "p.toml"
    lists = {f"t-{n}": [1, 2, 3] for n in range(4)}
    policy.write_text(
        'format = "rackwise.policy/1"\n[[topics]]\nmatch = ["t"]\ntopic_spread = "even"\n'
    )
    moved = {}
    for goal in ("repair", "balance"):
        every = [
            explain(name, [goal, "--policy", policy], small_cluster(RACKS, lists)) for name in lists
        ]
        moved[goal] = {told[1] for told in every if " moves from " in told[0]}
    begins = "No rule about its list requires this: it moves because of topic_spread (most "
    begins += "replicas of the topic: 2 on broker 1"
    assert moved["repair"]
    assert all(each.endswith(").") for each in moved["repair"])
    assert any(each.startswith(begins) for each in moved["repair"])
    assert moved["balance"]
    assert all(each.endswith(") and the loads of the brokers.") for each in moved["balance"])


def test_a_partition_that_stays(explain):
    assert explain("t-1", ["repair"]) == [
        "t-1 is not moved: it keeps 1,2,3, and it breaks no rule about its list.",
        "Broker 4 instead of 1 would cost at least 1 replica more.",
    ]
    two = small_cluster({1: "/a", 2: "/b"}, {"t-0": [2, 1], "t-1": [1, 2]})
    assert explain("t-1", ["repair"], two)[1] == "No set that differs in one broker is legal."
    assert explain("t-1", ["leaders"], two)[1] == (
        "The plan chooses leaders only: every partition keeps its brokers."
    )


def test_a_cordoned_broker_gives_its_replica_with_the_next_change(explain):
    cluster = small_cluster(RACKS, {"t-0": [1, 4, 5]})
    folder = (LogDir(path="/data", is_cordoned=True),)
    brokers = [replace(one, log_dirs=folder) if one.id == 5 else one for one in cluster.brokers]
    told = explain("t-0", ["repair"], replace(cluster, brokers=tuple(brokers)))
    why = "Broker 5 is cordoned, and Kafka accepts no new list that names a cordoned broker."
    assert told[told.index(why) - 1].startswith("Broker 5 (/b) gives a replica: ")
    assert told.count(why) == 1
    assert (
        "Keeping its brokers is not possible: a set of usable brokers must keep the rules." in told
    )


def test_a_goal_that_names_brokers_keeps_no_set_of_another_size(explain):
    told = explain("t-1", ["set-rf", "t=2"])
    assert (
        "Keeping its brokers is not possible: a set of usable brokers must have the size that the "
        "goal asks for and break no rule more than its other replicas require."
    ) in told


def test_leaders(explain):
    cluster = small_cluster(RACKS, {f"t-{n}": [1, 2, 3] for n in range(3)})
    told = explain("t-2", ["leaders"], cluster)
    assert told == [
        "t-2 keeps its brokers, and its list changes from 1,2,3 to 3,1,2.",
        "The preferred leader changes from 1 to 3, because of the leaders of the brokers.",
        (
            "Broker 1 (/a): it has 3 preferred leaders, takes 0, gives 2 and ends with 1; "
            "fair is 0 to 1."
        ),
        (
            "Broker 3 (/c): it has 0 preferred leaders, takes 1, gives 0 and ends with 1; "
            "fair is 0 to 1."
        ),
        ("The dual prices do not exclude a plan that keeps broker 1 as leader and is as cheap."),
    ]


def test_a_leader_that_is_not_allowed_and_a_list_that_changes_behind_it(explain, tmp_path):
    policy = tmp_path / "p.toml"
    policy.write_text('format = "rackwise.policy/1"\nbrokers = { no_lead = [1] }\n')
    told = explain("t-1", ["leaders", "--policy", policy])
    assert "because the policy does not let broker 1 lead it." in told[2]
    policy.write_text('format = "rackwise.policy/1"\nbrokers = { drain = [1] }\n')
    told = explain("t-1", ["leaders", "--policy", policy])
    assert told[-1] == (
        "The preferred leader changes from 1 to 2, because broker 1 is not live, or is to be "
        "drained."
    )
    policy.write_text(
        'format = "rackwise.policy/1"\nbalance = { failover = true, replicas = "off" }\n'
    )
    cluster = small_cluster(RACKS, {"t-0": [1, 2, 3], "t-1": [2, 3, 1], "t-2": [3, 2, 1]})
    told = explain("t-2", ["balance", "--policy", policy], cluster)
    assert told == [
        "t-2 keeps its brokers, and its list changes from 3,2,1 to 3,1,2.",
        "The order behind the preferred leader makes the leaders after a failure even.",
    ]


def test_what_is_left_alone(explain):
    told = explain("t-0", ["balance", "--exclude", "t"])
    assert told == [
        "t-0 is not moved: its topic is excluded, so it keeps 1,4,2.",
        "It breaks spread-even at zone: expected /a 1, /c 1, got /a 2, /c 0.",
    ]
    told = explain("t-0", ["drain", "3"])
    assert told == [
        "t-0 is not moved: the goal does not touch it, so it keeps 1,4,2.",
        "It breaks spread-even at zone: expected /a 1, /c 1, got /a 2, /c 0.",
    ]
    told = explain("t-4", ["add", "7=/a"], small_cluster(RACKS, {**LISTS, "t-4": [1, 2, 9]}))
    assert told[0] == (
        "t-4 is not moved: it keeps 1,2,9, because it has a replica on a broker that is not live "
        "or is to be drained, and the goal does not replace it."
    )
    cluster = small_cluster(RACKS, LISTS)
    folders = (LogDir(path="/data", is_cordoned=True),)
    for ids, text in (((1,), "broker 1 is"), ((1, 2), "brokers 1, 2 are")):
        brokers = tuple(
            replace(each, log_dirs=folders) if each.id in ids else each for each in cluster.brokers
        )
        told = explain("t-1", ["balance"], replace(cluster, brokers=brokers))
        assert told == [
            (
                f"t-1 is not moved: it keeps 1,2,3, because {text} cordoned and Kafka accepts no "
                "new list that names a cordoned broker."
            )
        ]


def test_a_broker_without_a_rack_and_a_plan_that_is_not_proved(explain):
    cluster = small_cluster(dict.fromkeys((1, 2, 3, 4)), {f"t-{n}": [1, 2] for n in range(4)})
    told = explain(
        "t-2", ["balance"], cluster, change=lambda made: replace(made, verdict=unproved(made))
    )
    assert told[2].startswith("Broker 1 gives a replica: ")
    assert "The plan is not proved (gap 1): what keeping its brokers costs is not known." in told


def unproved(made):
    return replace(made.verdict, gap=1)


def test_the_price_of_replication_decides_between_equal_costs(explain, tmp_path):
    racks = {1: "/eu/a", 2: "/eu/b", 3: "/eu/a", 4: "/us/a"}
    rows = [
        replace(row, bytes_in_per_s=10**6)
        for row in small_cluster(racks, {"t-0": [1, 2, 9]}).partitions
    ]
    cluster = replace(small_cluster(racks, {"t-0": [1, 2, 9]}), partitions=PartitionTable.of(rows))
    policy = tmp_path / "p.toml"
    policy.write_text(
        'format = "rackwise.policy/1"\nracks = { levels = ["region", "zone"] }\n'
        '[[topics]]\nmatch = ["*"]\nspread = { region = "off", zone = "off" }\n'
    )
    told = explain("t-0", ["repair", "--policy", policy, "--provider", "aws"], cluster)
    (line,) = [each for each in told if each.startswith("Broker 4 instead of 3 would cost")]
    assert line.startswith("Broker 4 instead of 3 would cost as many replicas, but at least $")
    assert line.endswith(" per 30 days more for replication.")


def test_the_document(explain):
    printed = explain("t-0", ["repair"], more=["--json"])
    document = parse(printed.encode(), where="stdout", error=InvalidConfig)
    schema = ROOT / "docs" / "reference" / "schemas" / "partition-reason.schema.json"
    root = parse(schema.read_bytes(), where="schema", error=InvalidConfig)
    check(document, root, root)
    assert document["reason"]["state"] == "moved"
    assert document["reason"]["rules"][0]["rule"] == "spread-even"
    assert document["sentences"][0] == "t-0 moves from 1,4,2 to 4,2,6."


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("t-9", "partitions of t: 0 to 3"),
        ("t-x", "partitions of t: 0 to 3"),
        ("u-0", "topics: t"),
        ("t", "topics: t"),
    ],
)
def test_a_partition_that_is_not_there(tmp_path, name, hint):
    snapshot, out = tmp_path / "s.json", tmp_path / "plan.json"
    write_snapshot(small_cluster(RACKS, LISTS), snapshot)
    called("plan", "balance", "--snapshot", snapshot, "--out", out)
    check_refused(
        ["explain", out, name, "--snapshot", snapshot],
        f"invalid TOPIC-PARTITION: expected a partition of the plan's cluster, got {name}",
        hint,
    )


def test_a_cluster_without_topics_says_so(tmp_path):
    snapshot, out = tmp_path / "s.json", tmp_path / "plan.json"
    write_snapshot(small_cluster(RACKS, {}), snapshot)
    called("plan", "balance", "--snapshot", snapshot, "--out", out)
    check_refused(
        ["explain", out, "t-0", "--snapshot", snapshot],
        "invalid TOPIC-PARTITION: expected a partition of the plan's cluster, got t-0",
        "the plan's cluster has no topics",
    )


def test_many_topics_are_counted(tmp_path):
    snapshot, out = tmp_path / "s.json", tmp_path / "plan.json"
    write_snapshot(small_cluster(RACKS, {f"t{n:02}-0": [1, 2, 3] for n in range(14)}), snapshot)
    called("plan", "balance", "--snapshot", snapshot, "--out", out)
    _, _, err = called("explain", out, "u-0", "--snapshot", snapshot)
    assert err.endswith("t10, t11 and 2 more\n")
