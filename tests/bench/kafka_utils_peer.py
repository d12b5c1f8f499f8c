"""Yelp's kafka-utils as a peer; runs in its own environment, without Rackwise.

Reads one JSON line, `{"racks": {broker: rack}, "replicas": {topic: [[broker, ...], ...]}}`; then
answers each further line with `{"seconds": .., "moves": ..}` of its rebalance by replication groups
and partition counts. Its input is built anew each time, outside of the measured time.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time

from kafka_utils.kafka_cluster_manager.cluster_info.cluster_topology import ClusterTopology
from kafka_utils.kafka_cluster_manager.cluster_info.partition_count_balancer import (
    PartitionCountBalancer,
)
from kafka_utils.kafka_cluster_manager.cluster_info.partition_measurer import (
    UniformPartitionMeasurer,
)


def rebalanced(racks: dict[int, str], assignment: dict[tuple[str, int], list[int]]) -> dict:
    """Seconds of one rebalance, and how many replicas it copies."""
    brokers = {broker: {"host": rack} for broker, rack in racks.items()}
    arguments = argparse.Namespace(replication_groups=True, brokers=True)
    measurer = UniformPartitionMeasurer(None, list(brokers), assignment, argparse.Namespace())
    topology = ClusterTopology(assignment, brokers, measurer, lambda broker: racks[broker.id])
    balancer = PartitionCountBalancer(topology, arguments)
    gc.collect()
    gc.disable()
    started = time.perf_counter()
    balancer.rebalance()
    taken = time.perf_counter() - started
    gc.enable()
    after = topology.assignment
    moves = sum(len(set(after[key]) - set(before)) for key, before in assignment.items())
    return {"seconds": taken, "moves": moves}


def main() -> None:
    """One answer for each line."""
    cluster = json.JSONDecoder().decode(sys.stdin.readline())
    racks = {int(broker): rack for broker, rack in cluster["racks"].items()}
    assignment = {
        (topic, number): replicas
        for topic, rows in cluster["replicas"].items()
        for number, replicas in enumerate(rows)
    }
    for _ in sys.stdin:
        print(json.dumps(rebalanced(racks, assignment)), flush=True)


if __name__ == "__main__":
    main()
