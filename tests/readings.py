"""Facts about a cluster whose clients read in their own rack, and deviations from that."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rackwise.core.fetch_diagnosis import ReadingFacts, diagnose_reading, probe_questions
from rackwise.core.fetch_diagnosis.facts import (
    RACK_AWARE_SELECTOR,
    REPLICA_SELECTOR,
    GroupBest,
    Probe,
)
from rackwise.core.model import Configs, Group, GroupMember
from rackwise.core.racks import Rack
from small_clusters import small_cluster

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.core.findings import FindingList
    from rackwise.core.model import Cluster

RACKS: Mapping[int, str | None] = {1: "a", 2: "b", 3: "c"}
LISTS: Mapping[str, Sequence[int]] = {"t-0": [1, 2, 3], "t-1": [2, 3, 1], "t-2": [3, 1, 2]}
SELECTORS: Mapping[int, str] = dict.fromkeys((1, 2, 3), RACK_AWARE_SELECTOR)


def selectors(values: Mapping[int, str | None]) -> Configs:
    """Broker -> `replica.selector.class`; None if it is not set."""
    return Configs(
        brokers={
            broker: {} if value is None else {REPLICA_SELECTOR: value}
            for broker, value in values.items()
        }
    )


def group(
    racks: str = "abc",
    *,
    name: str = "billing",
    protocol: str | None = "classic",
    assignor: str | None = "range",
    state: str | None = "Stable",
    topics: tuple[str, ...] | None = ("t",),
) -> Group:
    """A member for each letter of `racks`, `-` for one without; member i has partition i of t."""
    return Group(
        group=name,
        protocol=protocol,
        assignor=assignor,
        state=state,
        members=tuple(
            GroupMember(
                member_id=f"m{place}",
                client_id=f"app-{place}",
                rack=None if rack == "-" else Rack(rack),
                topics=topics,
                partitions=(("t", place),),
            )
            for place, rack in enumerate(racks)
        ),
    )


def healthy(
    racks: Mapping[int, str | None] = RACKS,
    *,
    lists: Mapping[str, Sequence[int]] = LISTS,
    values: Mapping[int, str | None] = SELECTORS,
    groups: Sequence[Group] | None = None,
    dead: Sequence[int] = (),
) -> Cluster:
    """Three brokers in three racks with selectors, and a group without a fault."""
    cluster = small_cluster(racks, lists, configs=selectors(values), dead=dead)
    return replace(cluster, groups=tuple((group(),) if groups is None else groups))


def facts(
    cluster: Cluster,
    *,
    client_racks: Sequence[str] = ("b",),
    versions: Mapping[int, int] | None = None,
    named: Mapping[int, int | None] | None = None,
    best: Mapping[str, GroupBest] | None = None,
    not_read: Mapping[str, str] | None = None,
) -> ReadingFacts:
    """All facts, with probes answered correctly.

    `named`: leader -> the broker that it names instead.
    """
    members = [member for each in cluster.groups for member in each.members]
    racks = {*client_racks, *(member.rack.text for member in members if member.rack)}
    questions = probe_questions(cluster, racks, limit=20)
    is_even = GroupBest(partitions=3, local=3, best_local=3, is_better=False, moves=0)
    return ReadingFacts(
        cluster=cluster,
        client_racks=tuple(client_racks),
        fetch_versions=versions
        if versions is not None
        else dict.fromkeys((broker.id for broker in cluster.brokers), 18),
        probes=tuple(
            Probe(question=each, named=(named or {}).get(each.leader, each.near[0]))
            for each in questions
        ),
        best=best if best is not None else {each.group: is_even for each in cluster.groups},
        not_read=not_read or {},
    )


def diagnosed(cluster: Cluster, **options: object) -> FindingList:
    """The findings in a cluster with all the facts."""
    return diagnose_reading(facts(cluster, **options))  # type: ignore[arg-type]


def finding_places(findings: FindingList) -> list[str]:
    """`rule at place` of each finding."""
    return [f"{each.rule} at {each.place}" for each in findings]
