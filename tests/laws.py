"""One helper per law: each raises AssertionError naming the law; none imports what it judges."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING

from naive_audit import (
    JUDGED_ELSEWHERE,
    PlainFinding,
    World,
    naive_findings,
    skipped_rules,
)
from naive_blast import Lost, naive_blast_radius
from naive_optimal import Reading
from rackwise.core.assignors.measure.simulate import next_members
from rackwise.core.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rackwise.core.assignors.members import (
        Assignment,
        Member,
        Members,
        ReplicaRacks,
        TopicPartition,
    )
    from rackwise.core.blast import RackLoss
    from rackwise.core.findings import Findings
    from rackwise.core.model import Cluster, FairLoads
    from rackwise.core.partitioner import PartitionerConfig, PartitionLoad, TopicView
    from rackwise.core.policy import Policy


def check_findings(
    findings: Findings, cluster: Cluster, policy: Policy, fair: FairLoads | None = None
) -> None:
    """The findings equal those of a slow audit: all of them, in order, with the same numbers.

    The slow audit is `naive_audit`; a new rule needs a second implementation there.

    Every rule was checked or gives a reason why not; a rule that was not checked finds nothing.
    """
    told = [
        PlainFinding(f.rule, f.topic, f.partition, f.broker, f.level, f.wanted, f.had)
        for f in findings
        if f.rule not in JUDGED_ELSEWHERE
    ]
    wanted = naive_findings(cluster, policy, fair)
    unknown = {f.rule for f in told} - {f.rule for f in wanted}
    assert told == wanted, (
        f"the audit differs from tests/naive_audit.py: {_first_difference(told, wanted)}; rules "
        f"that only the audit finds broken: {', '.join(sorted(unknown)) or 'none'}"
    )
    for finding in findings:
        assert finding.severity == RULES[finding.rule].severity, "law of severities"
    assert set(findings.not_checked) <= set(RULES), "law of not_checked: a rule that does not exist"
    assert all(findings.not_checked.values()), "law of not_checked: a rule without reason"
    unjudged = skipped_rules(World(cluster, policy, fair)) - JUDGED_ELSEWHERE
    assert unjudged <= set(findings.not_checked), "law of not_checked: skipped in silence"


def check_blast_radius(losses: Sequence[RackLoss], cluster: Cluster, policy: Policy) -> None:
    """One loss for each rack at each level, in path order, as a slow count finds it."""
    told = [
        Lost(
            rack=loss.rack,
            level=loss.level,
            brokers=loss.brokers,
            offline=list(loss.offline),
            under_min_isr=list(loss.under_min_isr),
            leaders_lost=loss.leaders_lost,
            top_survivor=loss.top_survivor,
            replicas_lost=loss.replicas_lost,
            bytes_to_restore=loss.bytes_to_restore,
            unknown_sizes=loss.unknown_sizes,
        )
        for loss in losses
    ]
    wanted = naive_blast_radius(cluster, policy)
    assert told == wanted, f"law of rack losses: {_first_difference(told, wanted)}"


def check_conserved(rows_in: int, rows_ok: int, rows_quarantined: int) -> None:
    """No row is dropped: each is accepted or in quarantine."""
    assert rows_in == rows_ok + rows_quarantined, (
        f"law of rows: {rows_in} came in; {rows_ok} and {rows_quarantined} are there"
    )


def check_records(
    acked: Mapping[TopicPartition, Sequence[bytes]], read: Mapping[TopicPartition, Sequence[bytes]]
) -> None:
    """Acknowledged records are read in the order of sending; repeats come only from retries."""
    for where, sent in acked.items():
        places: dict[bytes, int] = {}
        for place, value in enumerate(read.get(where, ())):
            places.setdefault(value, place)
        lost = [value for value in sent if value not in places]
        assert not lost, (
            f"law of records: {len(lost)} of {len(sent)} acknowledged to {where} are lost, "
            f"such as {lost[0]!r}"
        )
        found = [places[value] for value in sent]
        assert found == sorted(found), f"law of records: those of {where} are in another order"


def check_assignment(
    a: Assignment, members: Mapping[str, Member], topics: Mapping[str, int]
) -> None:
    """Every partition of a subscribed topic goes once, now or next round, to a subscriber.

    `topics`: topic -> number of partitions, of all topics that have metadata.
    """
    assert a.partitions.keys() == members.keys(), "law of members: every member is a key"
    given = [(tp, member) for member, tps in a.partitions.items() for tp in tps]
    given += a.withheld.items()
    for tp, member in given:
        told = f"{tp.topic}-{tp.partition} goes to {member}"
        assert tp.topic in members[member].topics, f"law of subscribers: {told}"
    listed = {topic for member in members.values() for topic in member.topics}
    wanted = Counter(
        (topic, number) for topic in listed & topics.keys() for number in range(topics[topic])
    )
    had = Counter((tp.topic, tp.partition) for tp, _ in given)
    assert had == wanted, f"law of partitions: {had - wanted} too many, {wanted - had} too few"


def check_even_topics(
    a: Assignment, members: Mapping[str, Member], topics: Mapping[str, int]
) -> None:
    """No subscriber has two partitions of a topic more than another subscriber."""
    for topic in topics:
        loads = {
            member: len(a.by_topic(member).get(topic, ()))
            for member in members
            if topic in members[member].topics
        }
        assert max(loads.values(), default=0) - min(loads.values(), default=0) <= 1, (
            f"law of even topics: {topic} {loads}"
        )


def check_together(a: Assignment, members: Mapping[str, Member], topics: Mapping[str, int]) -> None:
    """Topics with the same subscribers and the same number of partitions are dealt the same way."""
    dealt: dict[tuple[frozenset[str], int], dict[str, tuple[int, ...]]] = {}
    for topic, count in topics.items():
        readers = frozenset(member for member in members if topic in members[member].topics)
        mine = {member: a.by_topic(member).get(topic, ()) for member in readers}
        first = dealt.setdefault((readers, count), mine)
        assert mine == first, f"law of columns: {topic} {mine}, another topic {first}"


def check_racks_that_cannot_matter(
    assign: Callable[[Members, ReplicaRacks], Assignment], members: Members, racks: ReplicaRacks
) -> None:
    """Without racks, with racks that never meet, or with all racks everywhere: the same answer."""
    rackless = {key: replace(member, rack=None) for key, member in members.items()}
    nowhere = {
        topic: [[None for _ in row] for row in partitions] for topic, partitions in racks.items()
    }
    every = sorted({member.rack for member in members.values() if member.rack})
    everywhere = {topic: [every for _ in partitions] for topic, partitions in racks.items()}
    apart = {
        topic: [[rack and f"{rack} apart" for rack in row] for row in partitions]
        for topic, partitions in racks.items()
    }
    wanted = assign(rackless, nowhere)
    for name, some, where in (
        ("no member has a rack", rackless, racks),
        ("no broker has a rack", members, nowhere),
        ("racks never meet", members, apart),
        ("all are everywhere", members, everywhere),
    ):
        assert assign(some, where) == wanted, f"law of racks that cannot matter: {name}"


def check_names_of_racks(
    assign: Callable[[Members, ReplicaRacks], Assignment], members: Members, racks: ReplicaRacks
) -> None:
    """Racks by other names, which sort the other way round, change nothing."""
    names = {member.rack for member in members.values()}
    names |= {rack for partitions in racks.values() for row in partitions for rack in row}
    other = {rack: f"/{999 - at}" for at, rack in enumerate(sorted(filter(None, names)))}
    renamed = {
        key: replace(member, rack=other.get(member.rack or "")) for key, member in members.items()
    }
    elsewhere = {
        topic: [[other.get(rack or "") for rack in row] for row in partitions]
        for topic, partitions in racks.items()
    }
    assert assign(renamed, elsewhere) == assign(members, racks), "law of names of racks"


def check_order_of_joining(
    assign: Callable[[Members, ReplicaRacks], Assignment], members: Members, racks: ReplicaRacks
) -> None:
    """The order in which members join and topics are named changes nothing."""
    wanted = assign(members, racks)
    turned = {
        key: replace(member, topics=member.topics[::-1])
        for key, member in list(members.items())[::-1]
    }
    had = assign(turned, dict(list(racks.items())[::-1]))
    assert had == wanted, "law of the order of joining"


def check_one_reader(a: Assignment, members: Members) -> None:
    """No member gets a partition that another one alone claims in the newest generation."""
    for member, tps in a.partitions.items():
        for tp in tps:
            claims = sorted(
                (each.generation, key)
                for key, each in members.items()
                if tp in each.owned and not each.released
            )
            newest = [key for generation, key in claims if generation == claims[-1][0]]
            assert newest in ([], [member]) or len(newest) > 1, (
                f"law of one reader: {tp} goes to {member}; {newest[0]} has it"
            )


def check_optimum(
    a: Assignment,
    members: Members,
    racks: ReplicaRacks,
    *,
    balance: str = "total",
    target: str = "follower",
    weights: Mapping[TopicPartition, int] | None = None,
    level_costs: Sequence[int] | None = None,
) -> None:
    """Balance, then crossings with the coarsest level first, then moves: each is minimal.

    For groups of a few partitions: all assignments are tried.
    """
    reading = Reading(
        members,
        racks,
        balance=balance,
        target=target,
        weights=weights,
        level_costs=level_costs,
    )
    had, wanted = reading.value(a), reading.optimum()
    assert had == wanted, f"law of the optimum: {had} was made; {wanted} is possible"


def check_settled(
    assign: Callable[[Members, ReplicaRacks], Assignment], members: Members, racks: ReplicaRacks
) -> None:
    """A cooperative group has its assignment after two rounds; the third changes nothing."""
    first = assign(members, racks)
    check_one_reader(first, members)
    members = next_members(members, first)
    second = assign(members, racks)
    assert not second.withheld, f"law of two rounds: {dict(second.withheld)} is withheld again"
    for key, tps in first.partitions.items():
        assert set(tps) <= set(second.partitions[key]), f"law of two rounds: {key} loses some"
    third = assign(next_members(members, second), racks)
    assert third == second, "law of the fixed point: its own result is moved"


def _first_difference(told: Sequence[object], wanted: Sequence[object]) -> str:
    for a, b in zip_longest(told, wanted):
        if a != b:
            return f"got {a}, expected {b}"
    return "none"


def check_choice(
    choice: int, config: PartitionerConfig, view: TopicView, load: PartitionLoad | None
) -> None:
    """A draw by the text of KIP-1123: a usable partition in the nearest rack that has one.

    The partition exists, has a leader if any partition has one, and is usable if any is. Nearness:
    no usable partition is led from a rack that shares more levels with the client's rack.
    """
    assert 0 <= choice < len(view.leaders), "law of choice: the partition exists"
    led = {p for p, leader in enumerate(view.leaders) if leader is not None}
    assert choice in led or not led, "law of choice: a leader if any has one"
    windows = load.windows if load else {}
    cap = config.backlog_cap_windows or float("inf")
    usable = {
        p
        for p in led
        if windows.get(p, 0) < cap and not (load and view.leaders[p] in load.excluded_nodes)
    }
    assert choice in usable or not usable, "law of choice: usable if any is"
    is_blank = all(character <= " " for character in config.rack or "")
    if choice not in usable or not config.rack_aware or is_blank:
        return
    depth = config.rack_depth or len(_rack_levels(config.rack))
    near = {p: min(depth, _shared_levels(config.rack, view, p)) for p in usable}
    assert near[choice] == max(near.values()), "law of choice: the nearest rack that has any"


def _rack_levels(rack: str | None) -> list[str]:
    return (rack or "").removeprefix("/").split("/") if (rack or "")[:1] == "/" else [rack or ""]


def _shared_levels(rack: str | None, view: TopicView, partition: int) -> int:
    leader = view.leaders[partition]
    theirs = view.racks.get(leader) if leader is not None else None
    if not theirs:
        return 0
    pairs = list(zip(_rack_levels(rack), _rack_levels(theirs), strict=False))
    return next((n for n, (ours, other) in enumerate(pairs) if ours != other), len(pairs))
