"""A generated cluster of 1,600,000 partitions, and commands in a limited address space."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.model import Broker, Cluster, Group, GroupMember, PartitionTable, Ragged, Topic
from rackwise.core.racks import Rack

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BROKERS, RACKS, REPLICAS = 300, 3, 3
PARTITIONS, TOPIC_SIZE = 1_600_000, 1000
LIMIT_KIB = 2_621_440
"""2.5 GiB."""
LIMITED = 'ulimit -v "$0"; exec "$@"'
"""Runs its arguments in an address space of so many KiB as the name of the script says."""
MEMBERS, GROUP_TOPICS = 100, 20
"""Members of the consumer group, and the topics that it reads."""


def large_cluster(seed: int, *, partitions: int = PARTITIONS, taken_at: str = "") -> Cluster:
    """Brokers in three racks, replicas at random, and no two partitions of the same size."""
    random = np.random.default_rng(seed)
    lists = _distinct_brokers(random, partitions)
    names = [f"topic-{number:05}" for number in range(-(-partitions // TOPIC_SIZE))]
    rows = np.arange(partitions)
    replicas = Ragged(np.arange(partitions + 1, dtype=np.int64) * REPLICAS, lists.ravel())
    return Cluster(
        cluster_id="large",
        taken_at=taken_at or "2026-11-21T08:30:00Z",
        brokers=tuple(
            Broker(
                id=id_,
                rack=Rack(f"/r{id_ % RACKS}"),
                host=f"10.0.{id_ % RACKS}.{id_ // RACKS}",
                port=9092,
                addresses=(f"10.0.{id_ % RACKS}.{id_ // RACKS}",),
            )
            for id_ in range(BROKERS)
        ),
        topics={name: Topic(name=name, min_insync_replicas=2) for name in names},
        partitions=PartitionTable(
            topics=tuple(names),
            topic=(rows // TOPIC_SIZE).astype(np.int32),
            partition=(rows % TOPIC_SIZE).astype(np.int32),
            leader=lists[:, 0].copy(),
            replicas=replicas,
            isr=replicas,
            adding=Ragged.empty(partitions),
            removing=Ragged.empty(partitions),
            bytes=rows * 7919 + 10**6,
            bytes_in_per_s=random.integers(10**3, 10**6, partitions),
        ),
        groups=(_group(names[:GROUP_TOPICS]),),
    )


def _distinct_brokers(random: np.random.Generator, partitions: int) -> np.ndarray:
    """Three different brokers of each partition, int32 [partitions, 3]."""
    found = random.integers(0, BROKERS, (partitions, REPLICAS), dtype=np.int32)
    while True:
        ordered = np.sort(found, axis=1)
        doubled = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if not len(doubled):
            return found
        found[doubled] = random.integers(0, BROKERS, (len(doubled), REPLICAS), dtype=np.int32)


def _group(topics: Sequence[str]) -> Group:
    """A group whose members read the topics in turn."""
    pairs = [(topic, number) for topic in topics for number in range(TOPIC_SIZE)]
    return Group(
        group="readers",
        protocol="classic",
        assignor="range",
        state="Stable",
        members=tuple(
            GroupMember(
                member_id=f"member-{number:03}",
                client_id=f"client-{number:03}",
                rack=Rack(f"/r{number % RACKS}"),
                topics=tuple(topics),
                partitions=tuple(pairs[number::MEMBERS]),
            )
            for number in range(MEMBERS)
        ),
    )


class Measured(NamedTuple):
    """How a command ended, and the most memory that it took."""

    exit: int
    resident_mib: int
    """Most resident memory, of the command and of each process that it waited for."""
    space_mib: int
    """Most address space of the command."""
    seconds: float
    """Seconds of processors."""
    stderr: str


def measure(
    words: Sequence[object],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    limit_kib: int = LIMIT_KIB,
) -> Measured:
    """Run `rackwise` with these words in an address space of `limit_kib`; stdout is dropped."""
    with (
        TemporaryFile("w+") as stderr,
        subprocess.Popen(
            ["sh", "-c", LIMITED, str(limit_kib), sys.executable, "-m", "rackwise.cli"]
            + [str(word) for word in words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            cwd=cwd,
            env={**os.environ, **(env or {})},
        ) as process,
    ):
        space = 0
        while True:
            space = _peak_space(process.pid) or space
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            time.sleep(0.02)
        process.returncode = os.waitstatus_to_exitcode(status)
        stderr.seek(0)
        text = stderr.read()
    return Measured(
        process.returncode,
        usage.ru_maxrss // 1024,
        space // 1024,
        usage.ru_utime + usage.ru_stime,
        text,
    )


def _peak_space(pid: int) -> int:
    """KiB of the address space at its most, 0 after the process has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmPeak:")), 0)
