"""Policies that are none, or that the cluster cannot have: exit 1, file and line, and a hint."""

from __future__ import annotations

import pytest

from rackwise.adapters.files import snapshot_bytes
from refusals import check_refused
from small_fleets import cluster

TOPICS = '[[topics]]\nmatch = ["*"]\n'


class TestPolicy:
    """F22: hostile policies."""

    @pytest.mark.parametrize(
        ("text", "message", "hint"),
        [
            (
                f"{TOPICS}rf = 3",
                '4 at $.topics[0].rf: unknown key "rf"',
                (
                    "known keys: match, spread, topic_spread, replication, count, "
                    "count_others, pin, leader_racks, exclude"
                ),
            ),
            (
                f'{TOPICS}spread = {{ row = "even" }}',
                '4 at $.topics[0].spread.row: no level is called "row"',
                "levels: zone, level1 to level16; racks.levels names them",
            ),
            (
                'audit = { rack_loss = ["level3"] }',
                '2 at $.audit.rack_loss[0]: no level is called "level3"',
                "levels: level1, level2; racks.levels names them",
            ),
            (
                "brokers = { drain = [9] }",
                "2 at $.brokers.drain[0]: no broker has id 9",
                "brokers: 1, 2, 3",
            ),
            (
                f'{TOPICS}leader_racks = ["/mars"]',
                '4 at $.topics[0].leader_racks[0]: no rack is called "/mars"',
                "racks: /eu, /eu/a, /eu/b, /eu/c",
            ),
            (
                "brokers = { weights = { 1 = 0 } }",
                '2 at $.brokers.weights["1"]: expected an integer of 1 or more, got 0',
                "list a broker that must hold nothing in drain",
            ),
            (
                "balance = { replicas = { slack = -1 } }",
                "2 at $.balance.replicas.slack: expected an integer of 0 or more, got -1",
                'no slack at all is replicas = "even"',
            ),
            (
                f'{TOPICS}count = [{{ rack = "/eu/a", min = 2, max = 1 }}]',
                "4 at $.topics[0].count[0]: expected min of at most max, got min 2 and max 1",
                "raise max or lower min; one number alone is exactly = N",
            ),
            (
                (
                    f"{TOPICS}replication = 2\n"
                    'count = [{ rack = "/eu/a", min = 1 }, { rack = "/eu/b", min = 2 }]'
                ),
                (
                    "5 at $.topics[0].count: expected counts with a sum of at most replication 2, "
                    "got the sum 3"
                ),
                "lower min or exactly, or raise replication",
            ),
            (
                f"{TOPICS}replication = 2\npin = {{ 0 = [1, 2, 3] }}",
                (
                    "5 at $.topics[0].pin: expected at most replication 2 brokers for partition 0, "
                    "got 3"
                ),
                "pin fewer brokers, or raise replication",
            ),
            (
                (
                    f'{TOPICS}spread = {{ level1 = "off" }}\n'
                    'count = [{ rack = "/eu", min = 0, max = 2 }]'
                ),
                (
                    "5 at $.topics[0].count: topic orders: expected one number, or two that differ "
                    "by one, for /eu, as the level below is even, got 0 to 2"
                ),
                'set exactly, or set the spread of the level below to "off" or "distinct"',
            ),
            (
                f"{TOPICS}spread = {{ level2 = {{ at_least = 2 }} }}",
                (
                    "4 at $.topics[0].spread: topic orders: expected at_least alone, got "
                    "it together with even"
                ),
                'set every other level to "off" and leave count out, or drop at_least',
            ),
        ],
    )
    def test_each_fault_has_its_line(self, tmp_path, text, message, hint):
        (tmp_path / "s.json").write_bytes(snapshot_bytes(cluster()))
        file = tmp_path / "p.toml"
        file.write_text(f'format = "rackwise.policy/1"\n{text}\n')
        command = ["audit", "--snapshot", tmp_path / "s.json", "--policy", file]
        check_refused(command, f"invalid {file}:{message}", hint, file=file)
