"""Several looks at a generated fleet meter the traffic of its flow files, exactly."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from datetime import datetime
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plain_flows import UNKNOWN, Reader, read_logs, rows_of
from rackwise.core.errors import InvalidConfig
from rackwise.core.fetch_diagnosis.facts import RACK_AWARE_SELECTOR, REPLICA_SELECTOR
from rackwise.core.fleet import (
    FleetOptions,
    FlowFormat,
    Shape,
    fleet_of_clusters,
    flow_file,
    generate_fleet,
    iter_looks,
    truth,
)
from rackwise.core.fleet.flows.tally import add_tallies
from rackwise.core.meter import look_pair, metered_flows
from rackwise.core.meter.flows import METERED_KINDS
from rackwise.core.model import PartitionTable
from rackwise.core.racks import Rack
from truth_prices import AWS

CANONICAL = FleetOptions(
    brokers=9,
    topics=20,
    flows=3000,
    looks=4,
    bad_rows=0.02,
    flow_format=FlowFormat.CANONICAL,
    ipv6=0.1,
)
LOGS = replace(CANONICAL, flow_format=FlowFormat.VPC)
options = st.builds(
    FleetOptions,
    seed=st.integers(0, 2**32),
    clusters=st.integers(1, 3),
    brokers=st.integers(6, 12),
    topics=st.integers(1, 12),
    replication=st.integers(1, 3),
    days=st.integers(1, 2),
    flows=st.integers(800, 2000),
    shape=st.sampled_from([Shape.EVEN, Shape.MESSY, Shape.LOST, Shape.GROWN]),
    looks=st.integers(2, 9),
    retention=st.sampled_from([0.0, 0.5]),
    bad_rows=st.sampled_from([0.0, 0.1]),
    flow_format=st.just(FlowFormat.CANONICAL),
).filter(lambda drawn: drawn.shape is not Shape.LOST or drawn.replication > 1)
"""With one replica, the lost broker leaves partitions without leader, perhaps all."""


class Metered:
    """Looks and good canonical rows of a fleet, row by row in names."""

    def __init__(self, options):
        self.options = options
        self.fleet = generate_fleet(options)
        self.looks = list(iter_looks(self.fleet))
        made = [flow_file(self.fleet, index) for index in range(options.files)]
        self.tally = add_tallies([tally for _, tally in made])
        self.truth = truth(self.fleet, [self.tally], [AWS])
        self.rows = [row for file, _ in made for row in rows_of(file)]
        self.times = [_seconds(look[0].taken_at) for look in self.looks]
        self.record_bytes = _record_bytes(self.looks[0])

    def good_rows(self):
        """The rows that a reader keeps, with the number of the look before them."""
        for row in self.rows:
            if not _is_malformed(row, self.fleet):
                before = sum(time <= row["window_start"] for time in self.times) - 1
                yield before, row


def _seconds(text):
    return int(datetime.fromisoformat(text).timestamp())


def _is_malformed(row, fleet):
    ids = {cluster.cluster_id for cluster in fleet.clusters}
    numbers = ("bytes", "window_s", "packets", "window_start")
    return (
        row["cluster"] not in ids
        or row["kind"] not in {"produce", "fetch", "replicate"}
        or any(row[name] is None or row[name] < 0 for name in numbers)
        or row["broker_id"] is None
        or max(row["broker_id"], row["peer_broker_id"] or 0) > 10**6
        or (row["partition"] or 0) < 0
        or row["source"] != "otlp"
        or row["client_address"] == "10.0.0.256"
    )


def _record_bytes(clusters):
    """(cluster, topic) -> size of its records, from the logs of the first look."""
    found = {}
    for cluster in clusters:
        for one in cluster.partitions:
            if one.end_offset is not None and one.end_offset > one.start_offset:
                mean, rest = divmod(one.bytes, one.end_offset - one.start_offset)
                assert rest == 0
                assert found.setdefault((cluster.cluster_id, one.topic), mean) == mean
    return found


def grown(first, second):
    """(cluster, topic, partition) -> records, from the ends of the logs."""
    return {
        (cluster.cluster_id, a.topic, a.partition): b.end_offset - a.end_offset
        for cluster, later in zip(first, second, strict=True)
        for a, b in zip(cluster.partitions, later.partitions, strict=True)
        if a.end_offset is not None and b.end_offset != a.end_offset
    }


def committed(first, second):
    """(cluster, group, topic, partition) -> records, from the commits."""
    found = {}
    for cluster, later in zip(first, second, strict=True):
        for a, b in zip(cluster.groups, later.groups, strict=True):
            assert a.committed.keys() == b.committed.keys()
            for topic, offsets in a.committed.items():
                for number, (low, high) in enumerate(zip(offsets, b.committed[topic], strict=True)):
                    if low is not None and high != low:
                        found[cluster.cluster_id, a.group, topic, number] = high - low
    return found


class TestMeter:
    """Laws: between any two looks, the snapshots and the flows say the same."""

    @settings(max_examples=25, deadline=None)
    @given(options)
    def test_growth_is_what_was_produced_copied_and_read(self, options):
        metered = Metered(options)
        produced, copied, fetched = (defaultdict(Counter) for _ in range(3))
        for before, row in metered.good_rows():
            place = (row["cluster"], row["topic"], row["partition"])
            size = metered.record_bytes.get(place[:2])
            if size is None:
                continue  # a topic whose logs were all empty: its record size is not visible
            records, rest = divmod(row["bytes"], size)
            assert rest == 0
            if row["kind"] == "produce":
                produced[before][place] += records
            elif row["kind"] == "replicate":
                copied[before][(*place, row["broker_id"], row["peer_broker_id"])] += records
            elif row["client_group"] is not None:
                fetched[before][(row["cluster"], row["client_group"], *place[1:])] += records
        for number, (first, second) in enumerate(pairwise(metered.looks)):
            ends = {
                place: records
                for place, records in grown(first, second).items()
                if place[:2] in metered.record_bytes
            }
            assert ends == produced[number], "law broken: growth = produced"
            assert copied[number] == _copies(first, ends), "law broken: replicated = written"
            commits = {
                place: records
                for place, records in committed(first, second).items()
                if (place[0], place[2]) in metered.record_bytes
            }
            assert commits == fetched[number], "law broken: commits = read"
        assert set(produced) | set(fetched) <= set(range(options.looks - 1))

    @settings(max_examples=15, deadline=None)
    @given(options, st.sampled_from(FlowFormat))
    def test_the_truth_of_a_topic_is_the_growth_of_its_logs(self, options, flow_format):
        metered = Metered(replace(options, flow_format=flow_format))
        first, last = metered.looks[0], metered.looks[-1]
        written, read = Counter(), Counter()
        for (cluster, topic, _), records in grown(first, last).items():
            written[cluster, topic] += records * metered.record_bytes.get((cluster, topic), 0)
        for (cluster, group, topic, _), records in committed(first, last).items():
            read[cluster, topic, group] += records * metered.record_bytes.get((cluster, topic), 0)
        told = {
            (one["cluster"], one["topic"], one["client_group"], one["kind"]): one["bytes"]
            for one in metered.truth["by_topic_and_group"]
            if (one["cluster"], one["topic"]) in metered.record_bytes
        }
        assert {key[:2]: bytes_ for key, bytes_ in told.items() if key[3] == "produce"} == {
            key: bytes_ for key, bytes_ in written.items() if bytes_
        }
        assert {
            key[:3]: bytes_
            for key, bytes_ in told.items()
            if key[3] == "fetch" and key[2] != UNKNOWN
        } == {key: bytes_ for key, bytes_ in read.items() if bytes_}
        assert {key[2] for key in told if key[3] != "fetch"} <= {UNKNOWN}

    def test_without_retention_bytes_grow_by_what_was_written(self):
        metered = Metered(CANONICAL)
        for first, second in pairwise(metered.looks):
            for cluster, later in zip(first, second, strict=True):
                for a, b in zip(cluster.partitions, later.partitions, strict=True):
                    size = metered.record_bytes[cluster.cluster_id, a.topic]
                    assert b.bytes - a.bytes == (b.end_offset - a.end_offset) * size
                    assert (a.start_offset, a.leader_epoch) == (b.start_offset, b.leader_epoch)

    def test_retention_moves_the_first_offset_of_some_topics(self):
        metered = Metered(replace(CANONICAL, retention=0.5))
        first, last = metered.looks[0][0], metered.looks[-1][0]
        moved = {
            a.topic
            for a, b in zip(first.partitions, last.partitions, strict=True)
            if a.start_offset != b.start_offset
        }
        trimmed = {name for name, topic in last.topics.items() if topic.retention_ms > 0}
        assert moved
        assert moved <= trimmed < last.topics.keys()
        for one in last.partitions:
            size = metered.record_bytes[last.cluster_id, one.topic]
            assert one.bytes == (one.end_offset - one.start_offset) * size
        for group in last.groups:
            for topic, offsets in group.committed.items():
                starts = [one.start_offset for one in last.partitions if one.topic == topic]
                assert all(low <= at for low, at in zip(starts, offsets, strict=True))


def _copies(clusters, ends):
    """(cluster, topic, partition, leader, follower) -> records, for each live follower."""
    found = {}
    for cluster in clusters:
        live = {broker.id for broker in cluster.brokers if broker.is_live}
        for one in cluster.partitions:
            records = ends.get((cluster.cluster_id, one.topic, one.partition))
            for follower in one.replicas if records else ():
                if follower in live and follower != one.leader:
                    key = (cluster.cluster_id, one.topic, one.partition, one.leader, follower)
                    found[key] = records
    return found


class TestMeterOfSnapshots:
    """`core.meter`, which knows only the snapshots, finds the truth of the flow files."""

    @settings(max_examples=10, deadline=None)
    @given(options, st.sampled_from(FlowFormat))
    def test_it_finds_the_bytes_of_each_topic_and_group(self, options, flow_format):
        metered = Metered(replace(options, flow_format=flow_format))
        found, pairs = Counter(), Counter()
        for first, second in pairwise(metered.looks):
            for cluster, later in zip(first, second, strict=True):
                flows = metered_flows(look_pair(cluster, later), lambda _, member: member.rack)
                assert not flows.unmetered
                for row in range(len(flows.bytes)):
                    kind = METERED_KINDS[flows.kind[row]]
                    group = UNKNOWN if flows.group[row] < 0 else flows.groups[flows.group[row]]
                    place = (cluster.cluster_id, flows.topics[flows.topic[row]])
                    found[(*place, group, kind)] += int(flows.bytes[row])
                    if kind == "replicate":
                        racks = (flows.broker_rack[row], flows.peer_rack[row])
                        names = (flows.racks[rack] for rack in racks)
                        pairs[(cluster.cluster_id, *names)] += int(flows.bytes[row])
        told = {
            (one["cluster"], one["topic"], one["client_group"], one["kind"]): one["bytes"]
            for one in metered.truth["by_topic_and_group"]
            if (one["kind"], one["client_group"]) != ("fetch", UNKNOWN)
        }
        assert told == found
        assert pairs == {
            (one["cluster"], one["from_rack"], one["to_rack"]): one["bytes"]
            for one in metered.truth["by_kind_and_pair"]
            if one["kind"] == "replicate"
        }


@pytest.fixture(scope="module")
def metered():
    return Metered(replace(CANONICAL, clusters=2, flows=9000))


class TestReaders:
    """Fetch flows come from the members that own the partition, and from a few jobs."""

    def test_each_fetch_is_from_the_owner_at_the_broker_that_serves_it(self, metered):
        owners = {
            (cluster.cluster_id, group.group, *place): (cluster, member)
            for cluster in metered.looks[0]
            for group in cluster.groups
            for member in group.members
            for place in member.partitions
        }
        partitions = {
            (cluster.cluster_id, one.topic, one.partition): one
            for cluster in metered.looks[0]
            for one in cluster.partitions
        }
        addresses = {member.address for _, member in owners.values()}
        from_follower, memberless = 0, set()
        for _, row in metered.good_rows():
            if row["kind"] != "fetch" or row["client_group"] is None:
                continue
            place = (row["topic"], row["partition"])
            if (row["cluster"], row["client_group"], *place) not in owners:
                memberless.add((row["cluster"], row["client_group"]))
                assert row["client_address"] not in addresses
                assert row["broker_id"] == partitions[row["cluster"], *place].leader
                continue
            cluster, member = owners[row["cluster"], row["client_group"], *place]
            assert (row["client_address"], row["client_id"]) == (member.address, member.client_id)
            one = partitions[row["cluster"], *place]
            assert row["broker_id"] == _served_by(cluster, one, member)
            from_follower += row["broker_id"] != one.leader
        assert from_follower > 50
        assert memberless == {
            (cluster.cluster_id, group.group)
            for cluster in metered.looks[0]
            for group in cluster.groups
            if not group.members
        }
        assert len(memberless) == 1

    def test_each_partition_of_a_topic_has_one_owner_in_a_group(self, metered):
        for cluster in metered.looks[0]:
            numbers = Counter(one.topic for one in cluster.partitions)
            for group in cluster.groups:
                owned = Counter(place for member in group.members for place in member.partitions)
                assert set(owned.values()) <= {1}
                if not group.members:
                    assert (group.state, bool(group.committed)) == ("Empty", True)
                    continue
                assert owned.keys() == {
                    (topic, number) for topic in group.committed for number in range(numbers[topic])
                }

    def test_members_are_as_in_a_real_cluster(self, metered):
        (cluster, _) = metered.looks[0]
        leader = {(one.topic, one.partition): one.leader for one in cluster.partitions}
        members = [member for group in cluster.groups for member in group.members]
        brokers = [len({leader[place] for place in member.partitions}) for member in members]
        assert sum(count > 2 for count in brokers) > len(members) / 2
        at = Counter(member.address for member in members)
        assert 1 <= sum(count == 2 for count in at.values()) <= len(at) / 10
        readers = Counter(topic for group in cluster.groups for topic in group.committed)
        assert max(readers.values()) >= 2
        assert {member.rack is None for member in members} == {True, False}
        assert {group.protocol for group in cluster.groups} == {"classic", "consumer"}
        for group in cluster.groups:
            assert all(member.topics == tuple(group.committed) for member in group.members)

    def test_a_job_without_group_samples_all_topics_in_proportion(self, metered):
        members = {
            member.address
            for cluster in metered.looks[0]
            for group in cluster.groups
            for member in group.members
        }
        alone = {
            row["client_address"]
            for _, row in metered.good_rows()
            if row["kind"] == "fetch" and row["client_group"] is None
        }
        assert len(alone) == 2
        assert not alone & members
        told = metered.truth["by_topic_and_group"]
        sampled, written = (
            {
                (one["cluster"], one["topic"]): one["bytes"]
                for one in told
                if (one["kind"], one["client_group"]) == (kind, UNKNOWN)
            }
            for kind in ("fetch", "produce")
        )
        assert len({cluster for cluster, _ in sampled}) == 1
        for place, bytes_ in sampled.items():
            if written[place] > 10**9:
                assert bytes_ == pytest.approx(written[place] / 16, rel=0.001)

    def test_racks_of_members_are_those_that_a_reader_finds_by_address(self):
        fleet = generate_fleet(LOGS)
        reader = Reader(fleet)
        (cluster,) = next(iter_looks(fleet))
        racks = [
            (member.rack.text, reader.rack_of(member.address))
            for group in cluster.groups
            for member in group.members
            if member.rack
        ]
        assert racks
        assert all(told == found for told, found in racks)


def _served_by(cluster, partition, member):
    configs = cluster.configs.brokers[partition.leader]
    racks = {broker.id: broker.rack for broker in cluster.brokers}
    if configs.get(REPLICA_SELECTOR) != RACK_AWARE_SELECTOR or member.rack is None:
        return partition.leader
    near = [replica for replica in partition.isr if racks[replica] == member.rack]
    if not near or partition.leader in near:
        return partition.leader
    return max(near)


class TestFiles:
    """Flow files between looks keep to the rules of all flow files."""

    @pytest.mark.parametrize("version", [2, 5])
    def test_a_naive_reader_of_logs_finds_the_tally(self, version):
        fleet = generate_fleet(replace(LOGS, log_version=version, clusters=2, ipv6=0.2))
        made = [flow_file(fleet, index) for index in range(fleet.options.files)]
        outcomes, kept = read_logs(fleet, [file for file, _ in made])
        tally = add_tallies([tally for _, tally in made])
        wanted = defaultdict(Counter)
        for (_, outcome), (rows, bytes_) in tally.outcomes.items():
            wanted[outcome].update(rows=rows, bytes=bytes_)
        assert outcomes == {outcome: dict(sums) for outcome, sums in wanted.items()}
        assert sum(kept.values()) == int(tally.bytes.sum())
        assert {"nodata", "skipdata", "rejected", "not-kafka", "duplicate-side"} <= wanted.keys()

    @pytest.mark.parametrize("flow_format", FlowFormat)
    def test_flows_are_counted_exactly(self, flow_format):
        fleet = generate_fleet(replace(LOGS, flows=3001, bad_rows=0.1, flow_format=flow_format))
        made = [flow_file(fleet, index) for index in range(fleet.options.files)]
        duplicates = 0 if flow_format is FlowFormat.CANONICAL else 150
        assert sum(len(file) for file, _ in made) == 3001 + duplicates
        outcomes = add_tallies([tally for _, tally in made]).outcomes
        bad = sum(rows for (_, name), (rows, _) in outcomes.items() if name.startswith("malformed"))
        assert bad == 300

    def test_no_row_covers_a_look(self):
        metered = Metered(replace(CANONICAL, looks=30))
        for before, row in metered.good_rows():
            assert row["window_s"] > 0
            assert row["window_start"] + row["window_s"] <= metered.times[before + 1]

    def test_every_canonical_row_has_its_topic(self):
        assert all(row["topic"] for row in Metered(CANONICAL).rows)

    def test_equal_options_give_equal_looks(self):
        one, two = (list(iter_looks(generate_fleet(LOGS))) for _ in range(2))
        assert one == two
        assert one != list(iter_looks(generate_fleet(replace(LOGS, seed=8))))

    def test_a_file_is_a_function_of_seed_and_index_alone(self):
        fleet = generate_fleet(LOGS)
        rows = [rows_of(flow_file(fleet, index)[0]) for index in range(4)]
        assert rows_of(flow_file(generate_fleet(LOGS), 2)[0]) == rows[2]

    def test_more_looks_change_neither_flows_nor_the_last_state(self):
        few, many = (generate_fleet(replace(CANONICAL, looks=count)) for count in (2, 13))
        assert flow_file(few, 1)[1].bytes.tolist() == flow_file(many, 1)[1].bytes.tolist()
        assert list(iter_looks(few))[-1] == list(iter_looks(many))[-1]


class TestLooks:
    def test_looks_are_evenly_spaced_and_every_live_broker_answers_then(self):
        fleet = generate_fleet(replace(LOGS, looks=5, days=2, shape=Shape.LOST))
        looks = [clusters[0] for clusters in iter_looks(fleet)]
        assert [look.taken_at for look in looks] == [
            "2026-11-21T00:00:00Z",
            "2026-11-21T12:00:00Z",
            "2026-11-22T00:00:00Z",
            "2026-11-22T12:00:00Z",
            "2026-11-23T00:00:00Z",
        ]
        ms = _seconds("2026-11-21T12:00:00Z") * 1000
        live = {broker.id: ms for broker in looks[1].brokers if broker.is_live}
        assert 0 not in live
        assert (looks[1].answered.offsets, looks[1].answered.sizes) == (live, live)
        assert {group.committed_at_ms for group in looks[1].groups} == {ms}

    def test_one_look_is_the_cluster_as_it_was(self):
        fleet = generate_fleet(replace(LOGS, looks=1))
        assert list(iter_looks(fleet)) == [fleet.clusters]
        assert fleet.clusters[0].groups == ()
        assert "by_topic_and_group" not in truth(fleet, [], [AWS])
        assert "looks" not in truth(fleet, [], [AWS])["options"]

    def test_a_partition_without_leader_has_neither_offsets_nor_commits(self):
        fleet = generate_fleet(replace(LOGS, replication=1, shape=Shape.LOST, violations=0))
        look = list(iter_looks(fleet))[-1][0]
        dark = [one for one in look.partitions if one.leader is None]
        assert dark
        assert all(one.end_offset is one.start_offset is one.leader_epoch is None for one in dark)
        offsets = {
            (topic, number): offset
            for group in look.groups
            for topic, offsets in group.committed.items()
            for number, offset in enumerate(offsets)
        }
        unread = {place for place, offset in offsets.items() if offset is None}
        assert unread
        assert unread <= {(one.topic, one.partition) for one in dark}

    def test_clusters_have_the_names_that_their_files_have(self):
        for look in iter_looks(generate_fleet(replace(LOGS, clusters=2, looks=2))):
            assert [cluster.name for cluster in look] == ["cluster-001", "cluster-002"]

    def test_an_existing_cluster_keeps_its_name_placement_and_configs(self):
        cluster = replace(generate_fleet(replace(LOGS, looks=1, ipv6=0)).clusters[0], name="orders")
        fleet = fleet_of_clusters(replace(LOGS, racks=(Rack("x"),)), [cluster])
        look = list(iter_looks(fleet))[-1][0]
        assert look.partitions.replicas == cluster.partitions.replicas
        assert look.configs == cluster.configs
        assert look.name == "orders"
        assert look.groups
        assert look.partitions.offsets is not None

    def test_a_topic_without_its_first_partition(self):
        cluster = generate_fleet(replace(LOGS, looks=1)).clusters[0]
        table = PartitionTable.of(one for one in cluster.partitions if one.partition != 0)
        fleet = fleet_of_clusters(LOGS, [replace(cluster, partitions=table)])
        groups = list(iter_looks(fleet))[-1][0].groups
        assert any(group.committed for group in groups)
        for group in groups:
            for offsets in group.committed.values():
                assert offsets[0] is None
                assert None not in offsets[1:]

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"looks": 0}, "expected --looks of 1 to 10000, got 0"),
            ({"looks": 1, "retention": 0.5}, "--retention requires --looks of at least 2"),
            ({"retention": 1.5}, "expected --retention of 0 to 1, got 1.5"),
            ({"flows": 399}, "expected --flows of at least 400 with --looks, got 399"),
        ],
    )
    def test_options_that_contradict_are_rejected(self, change, said):
        with pytest.raises(InvalidConfig, match=said) as caught:
            generate_fleet(replace(LOGS, **change))
        assert caught.value.hint

    def test_a_file_too_small_for_one_batch_has_no_traffic(self):
        """A batch of 80 replicas needs 80 flows; half of 100 flows are malformed."""
        options = FleetOptions(
            brokers=81, topics=1, flows=400, looks=2, replication=81, bad_rows=0.5
        )
        fleet = generate_fleet(options)
        first, last = iter_looks(fleet)
        assert grown(first, last) == {}
        assert flow_file(fleet, 0)[1].bytes.sum() == 0
