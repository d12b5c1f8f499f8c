"""The words of a goal: what they mean, how they are written again, which are refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rackwise.adapters.files import write_snapshot
from rackwise.cli.plan.goals import USES, goal_text, parse_goal
from rackwise.core.errors import InvalidConfig, InvalidRack
from rackwise.core.model import LogDir
from rackwise.core.planning.model import (
    Add,
    Balance,
    Drain,
    Leaders,
    Repair,
    Replace,
    SetReplication,
)
from rackwise.core.racks import Rack
from refusals import check_refused
from small_clusters import small_cluster

GOALS = [
    ("repair", [], Repair(), "repair"),
    ("balance", [], Balance(), "balance"),
    ("leaders", [], Leaders(), "leaders"),
    ("drain", ["8,7"], Drain((7, 8)), "drain 7,8"),
    ("drain", ["7", "8"], Drain((7, 8)), "drain 7,8"),
    ("replace", ["8=13", "7=12"], Replace(((7, 12), (8, 13))), "replace 7=12 8=13"),
    (
        "set-rf",
        ["*=3", "a=b=2"],
        SetReplication((("*", 3), ("a=b", 2))),
        "set-rf *=3 a=b=2",
    ),
    (
        "add",
        ["14=az2", "13=az1"],
        Add(((13, Rack("az1")), (14, Rack("az2")))),
        "add 13=az1 14=az2",
    ),
]


@pytest.mark.parametrize(("name", "words", "goal", "text"), GOALS)
def test_words_and_back(name, words, goal, text):
    assert parse_goal(name, words) == goal
    assert goal_text(goal) == text


@pytest.mark.parametrize(
    ("name", "words", "goal", "text"),
    [
        ("drain", ["7"], Drain((7,), rebalance=True), "drain 7 --rebalance"),
        (
            "set-rf",
            ["*=3"],
            SetReplication((("*", 3),), rebalance=True),
            "set-rf *=3 --rebalance",
        ),
    ],
)
def test_with_rebalance(name, words, goal, text):
    assert parse_goal(name, words, rebalance=True) == goal
    assert goal_text(goal) == text


@pytest.mark.parametrize("use", USES.values())
def test_how_they_are_shown_is_how_they_are_read(use):
    name, *words = use.replace("'", "").split()
    assert goal_text(parse_goal(name, words)) == " ".join([name, *words])


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("drain", [], "invalid drain: expected what to drain, got nothing"),
        ("set-rf", [], "invalid set-rf: expected what to set, got nothing"),
        ("balance", ["7"], 'invalid balance: expected nothing after the goal, got "7"'),
        ("drain", ["7,"], 'invalid drain: expected a broker id, got ""'),
        ("drain", ["x"], 'invalid drain: expected a broker id, got "x"'),
        ("drain", ["-7"], 'invalid drain: expected a broker id, got "-7"'),
        ("drain", ["٣"], 'invalid drain: expected a broker id, got "٣"'),
        ("drain", ["3000000000"], 'invalid drain: expected a broker id, got "3000000000"'),
        ("drain", ["7,7"], "invalid drain: expected each broker once, got 7 twice"),
        ("replace", ["7"], 'invalid replace: expected LEFT=RIGHT, got "7"'),
        ("replace", ["7=12", "7=13"], "invalid replace: expected each broker once, got 7 twice"),
        ("replace", ["7=7"], "invalid replace: expected each broker once, got 7 twice"),
        (
            "set-rf",
            ["t=0"],
            'invalid set-rf: expected a number of replicas from 1 to 32767, got "0"',
        ),
        (
            "set-rf",
            ["t=x"],
            'invalid set-rf: expected a number of replicas from 1 to 32767, got "x"',
        ),
        ("set-rf", ["=3"], 'invalid set-rf: expected LEFT=RIGHT, got "=3"'),
        ("add", ["13"], 'invalid add: expected LEFT=RIGHT, got "13"'),
        ("add", ["13=a", "13=b"], "invalid add: expected each broker once, got 13 twice"),
    ],
)
def test_what_is_no_goal(name, words, message):
    with pytest.raises(InvalidConfig) as raised:
        parse_goal(name, words)
    assert raised.value.message == message
    assert raised.value.hint


def test_a_rack_that_is_none():
    with pytest.raises(InvalidRack):
        parse_goal("add", ["13=/a//b"])


@pytest.mark.parametrize(("name", "words", "goal", "text"), GOALS[3:])
def test_with_repair(name, words, goal, text):
    repairing = parse_goal(name, words, repair=True)
    assert repairing == replace(goal, repair=True)
    assert goal_text(repairing) == f"{text} --repair"


def test_repair_where_it_means_nothing():
    with pytest.raises(InvalidConfig) as raised:
        parse_goal("balance", [], repair=True)
    assert raised.value.message == (
        "--repair requires the goal drain, replace, set-rf or add, got balance"
    )
    assert raised.value.hint


def test_rebalance_where_it_means_nothing():
    with pytest.raises(InvalidConfig) as raised:
        parse_goal("repair", [], rebalance=True)
    assert raised.value.message == "--rebalance requires the goal drain or set-rf, got repair"


@pytest.mark.parametrize("words", [["add", "2=/a"], ["replace", "1=2"]])
def test_new_brokers_that_are_cordoned(tmp_path, words):
    cluster = small_cluster({1: "/a", 2: "/a", 3: "/b"}, {"t-0": [1, 3]})
    folder = (LogDir(path="/data", is_cordoned=True),)
    brokers = [replace(one, log_dirs=folder) if one.id == 2 else one for one in cluster.brokers]
    write_snapshot(replace(cluster, brokers=tuple(brokers)), tmp_path / "s.json")
    check_refused(
        ["plan", *words, "--snapshot", tmp_path / "s.json"],
        "invalid goal: expected new brokers that take replicas, got broker 2, which is cordoned",
        "uncordon broker 2, or name another",
    )
