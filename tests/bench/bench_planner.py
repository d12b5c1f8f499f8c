"""The planner on generated clusters: `python tests/bench/bench_planner.py`.

Pairs in seconds: a tenfold cluster / a small one, from file to file / reading it, check / plan,
equal partitions of each rack as one / one flow of all, one of three racks lost / none lost. In peak
memory: a plan / reading a snapshot, a plan with a rack lost / 500 MB, and what-if and repair,
carried forward to 1,600,000 partitions, / 2.5 GB. In CPU: `rackwise proof` / `rackwise plan`, each
a process.
Ours / a peer: kafka-utils in the same run, in moves and seconds; Kafka's `--generate` by its number
of moves, counted once on the same cluster.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pairs import compare, seconds, tell
from peers import peer_python
from process_tree import cpu_s

sys.path.insert(0, str(Path(__file__).parents[1]))

from checked_plans import check
from command_memory import COMMANDS, MOST_BYTES, bytes_at_full_size
from planner_vectors import generated_cluster
from rackwise.adapters.files import read_snapshot, write_snapshot
from rackwise.adapters.files.plan.write import write_plan
from rackwise.core.planning.fair_loads.targets import targets_of
from rackwise.core.planning.model import Balance, Repair
from rackwise.core.planning.plan import never_stop, plan
from rackwise.core.planning.problem.goal_instance import instance_of
from rackwise.core.planning.search.by_flow import by_flow
from rackwise.core.planning.search.by_rack import by_rack
from rackwise.core.planning.what_if import LoseRack, what_if
from rackwise.core.policy import Policy, TopicBlock

if TYPE_CHECKING:
    from rackwise.core.model import Cluster

SPREAD = Policy(topics=(TopicBlock(match=("*",), topic_spread="even"),))
GENERATE_MOVES = 178_165
"""Moves of Kafka's `--generate` on the grown cluster of 303 brokers and 60,000 partitions."""
KAFKA_UTILS = "kafka-utils==4.1.0"
KAFKA_UTILS_MOVES = 5_284
"""What it moves on 60 brokers and 6,000 partitions, for where it cannot be installed."""
ROUNDS = 3
LOST = LoseRack("/r2")


def beside_kafka_utils(cluster: Cluster) -> None:
    """Two lines: moves and seconds, ours / kafka-utils with replication groups."""
    moves = KAFKA_UTILS_MOVES
    ours = plan(cluster).totals.moves
    if python := peer_python("kafka-utils", KAFKA_UTILS):
        replicas: dict[str, list[list[int]]] = {}
        for row in cluster.partitions:
            replicas.setdefault(row.topic, []).append(list(row.replicas))
        racks = {broker.id: str(broker.rack) for broker in cluster.brokers}
        told = json.dumps({"racks": racks, "replicas": replicas})
        peer = subprocess.Popen(
            [python, Path(__file__).with_name("kafka_utils_peer.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert peer.stdin
        assert peer.stdout
        print(told, file=peer.stdin, flush=True)
        shares = []
        for _ in range(ROUNDS):
            print("again", file=peer.stdin, flush=True)
            theirs = json.JSONDecoder().decode(peer.stdout.readline())
            shares.append(seconds(lambda: plan(cluster)) / theirs["seconds"])
            moves = theirs["moves"]
        peer.stdin.close()
        peer.wait()
        share = statistics.median(shares)
        tell("plan, random 60 x 6,000: ours / kafka-utils", share, gate=round(1 / 15, 3))
    tell("moves, random 60 x 6,000: ours / kafka-utils", ours / moves, gate=1)


def from_file_to_file(cluster: Cluster, folder: Path) -> None:
    """One line: snapshot read, planned and written as a plan / snapshot read."""
    snapshot = folder / "snapshot.json"
    write_snapshot(cluster, snapshot)
    compare(
        "snapshot file to plan file / its read, 300 x 60,000",
        lambda: write_plan(plan(read_snapshot(snapshot)), folder / "plan.json"),
        lambda: read_snapshot(snapshot),
        gate=10,
        rounds=ROUNDS,
    )


def proof_of_file(folder: Path) -> None:
    """One line: CPU of `rackwise proof` / of `rackwise plan`, on the snapshot in the folder."""
    rackwise = [sys.executable, "-m", "rackwise.cli"]
    snapshot, made = ["--snapshot", str(folder / "snapshot.json")], str(folder / "made.json")
    shares = []
    for _ in range(ROUNDS):
        planned = cpu_s([*rackwise, "plan", "balance", *snapshot, "--out", made])
        shares.append(cpu_s([*rackwise, "proof", made, *snapshot]) / planned)
    tell(
        "proof / plan in CPU, from file to file, 300 x 60,000",
        statistics.median(shares),
        gate=0.5,
    )


def peak(work: str, snapshot: Path) -> int:
    """The peak memory of a process that did this; each has its own process."""
    done = subprocess.run(
        [sys.executable, __file__, work, snapshot], check=True, stdout=subprocess.PIPE, text=True
    )
    return int(done.stdout)


def held(work: str, snapshot: Path) -> None:
    """Read the snapshot, plan it if asked, and print the peak in bytes."""
    cluster = read_snapshot(snapshot)
    if work == "lose":
        cluster = what_if(cluster, LOST)
    if work != "read":
        made = plan(cluster)
        assert made.verdict.gap == 0
    print(most_held())


def most_held() -> int:
    """The peak memory of this process; `getrusage` starts with the peak of its parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (most,) = (line.split()[1] for line in lines if line.startswith("VmHWM:"))
    return int(most) * 1024


def memory(cluster: Cluster, folder: Path) -> None:
    """Two lines: peak of a plan / of reading the snapshot, and / 2 GB."""
    snapshot = folder / "million.json"
    write_snapshot(cluster, snapshot)
    planned = peak("plan", snapshot)
    share = planned / peak("read", snapshot)
    tell("peak memory of plan / of the read snapshot, 300 x 1,000,000", share, gate=3)
    tell("peak memory of plan / 2 GB, 300 x 1,000,000", planned / 2e9, gate=1)


def rack_lost(cluster: Cluster, folder: Path) -> None:
    """Three lines: seconds of plans with a rack lost / without, and peak memory / 500 MB."""
    lost = what_if(cluster, LOST)
    for goal in (Balance(), Repair()):
        compare(
            f"plan {type(goal).__name__.lower()} 300 x 60,000: one of three racks lost / none",
            lambda goal=goal: plan(lost, goal=goal),
            lambda goal=goal: plan(cluster, goal=goal),
            gate=3,
            rounds=ROUNDS,
        )
    snapshot = folder / "lost.json"
    write_snapshot(cluster, snapshot)
    used = peak("lose", snapshot)
    tell("peak memory of plan / 500 MB, 300 x 60,000, one of three racks lost", used / 5e8, gate=1)


def main() -> None:
    """One line for each pair."""
    small = generated_cluster("random", 60, 3, 6_000, 3)
    large = generated_cluster("random", 300, 3, 60_000, 3)
    grown = generated_cluster("grown", 303, 3, 60_000, 3)
    made = plan(grown)
    tell(
        "moves, grown 303 x 60,000: ours / --generate",
        made.totals.moves / GENERATE_MOVES,
        gate=round(1 / 90, 4),
    )
    beside_kafka_utils(small)
    spread = plan(grown, SPREAD)
    tell(
        "moves with topic spread, grown 303 x 60,000: ours / --generate",
        spread.totals.moves / GENERATE_MOVES,
        gate=1,
    )
    compare(
        "plan 300 x 60,000 / plan 60 x 6,000",
        lambda: plan(large),
        lambda: plan(small),
        gate=40,
        rounds=ROUNDS,
    )
    with tempfile.TemporaryDirectory() as folder:
        from_file_to_file(large, Path(folder))
        rack_lost(large, Path(folder))
        proof_of_file(Path(folder))
    proved = plan(large)
    check_share = [
        seconds(lambda: check(large, Policy(), proved)) / seconds(lambda: plan(large))
        for _ in range(ROUNDS)
    ]
    tell("check / plan, 300 x 60,000", statistics.median(check_share), gate=0.1)
    million = generated_cluster("random", 300, 3, 1_000_000, 3)
    instance = instance_of(million, Policy(), Balance())
    targets = targets_of(instance)
    apart = seconds(lambda: by_rack(instance, targets.ranges, should_stop=never_stop))
    whole = seconds(lambda: by_flow(instance, targets, should_stop=never_stop))
    tell(
        "sets of random 300 x 1,000,000: equal ones of each rack as one / one flow",
        apart / whole,
        gate=0.25,
    )
    with tempfile.TemporaryDirectory() as folder:
        memory(million, Path(folder))
        for words in COMMANDS:
            share = bytes_at_full_size(words, (20_000, 200_000), Path(folder)) / MOST_BYTES
            tell(f"peak memory of {' '.join(words)} / 2.5 GB, 300 x 1,600,000", share, gate=1)


if __name__ == "__main__":
    if sys.argv[1:]:
        held(sys.argv[1], Path(sys.argv[2]))
    else:
        main()
