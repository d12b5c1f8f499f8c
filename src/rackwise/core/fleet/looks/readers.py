"""Generates the readers of topics: consumer groups with members or without, and sampling jobs.

Goals, in order: each record of a topic is read once by each group that reads the topic; a reader
looks as it does in a real cluster; all of it is known from columns, without a list of assigned
partitions.

A team is the clients that read for one group in one cluster, or the workers of a job. A reading is
a team and a topic that it reads:

```
client   group of its service    member of                     rack that it reports
web-3    web-readers             web-readers                   /eu/a
etl-7    etl-readers             etl-readers, indexer-readers  /eu/c     one client in 20
api-22   none: the last two      none, it samples all topics   -         in every second cluster
batch-9  batch-readers           none, it only commits         -         in the other clusters

topic orders, 4 partitions, read by web-readers (web-3, web-8, web-9), shift 1
partition   0      1      2      3
owner       web-8  web-9  web-3  web-8           member (shift + partition) mod 3 of the team
```

A topic has up to three groups. A job without a group reads one record in 16 of all topics, so its
bytes are in proportion to what is written, as those of a monitor are. A group whose clients assign
partitions themselves and commit, as Flink does, has no members; it shows offsets only.

Members of two groups in three report a rack and read from a replica in it, if the leader has the
rack-aware selector (KIP-392): from the leader if it is there, else from the follower in sync with
the greatest id, which is Kafka's order among equals. All others read from the leader.

What this does not do: move members or partitions between looks; draw what is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.fetch_diagnosis.facts import RACK_AWARE_SELECTOR, REPLICA_SELECTOR
from rackwise.core.fleet.draws import Stream
from rackwise.core.fleet.world.endpoints import NOBODY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rackwise.core.fleet.world.options import FleetOptions
    from rackwise.core.fleet.world.topology import Topology
    from rackwise.core.model import Cluster

READER_STREAM = 4
WORKERS = 2
"""Clients of a cluster that are workers of its job: the last ones."""
SAMPLED_ONE_IN = 16
"""A job reads one record in this many."""
MEMBERLESS_GROUP = 1
"""The group that has no members in clusters without a job."""
SECOND_GROUP_ONE_IN, SECOND_GROUP_AT = 20, 7
"""Clients whose number in their cluster has this remainder are in a second group as well."""
GROUPS_OF_TOPIC = np.array([0, 1, 1, 1, 1, 2, 2, 2, 3, 3])
"""Number of groups that read a topic, one ticket per ten per cent of the topics."""
RACK_GROUPS, RACKLESS_GROUP = 3, 2
"""Of three groups, the members of this one report no rack."""
SHIFTS = 2**16


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicReaders:
    """Who reads which topic, from which broker."""

    edges: NDArray[np.int64]
    """Clients of team t are rows `edges[t]` to `edges[t + 1] - 1` of `member`, [teams + 1]; the
    teams of a cluster are one per group, then the job."""
    has_members: NDArray[np.bool_]
    """Whether the clients of a team are members of its group, [teams]."""
    member: NDArray[np.int64]
    """Row in `Clients`, [members]."""
    reports_rack: NDArray[np.bool_]
    """Whether the client reports its rack to the group, [members]."""
    first: NDArray[np.int64]
    """Readings of topic row t are `first[t]` to `first[t + 1] - 1`, [topics + 1]."""
    topic: NDArray[np.int64]
    """Topic row in `Partitions`, [readings]."""
    team: NDArray[np.int64]
    """[readings]."""
    group: NDArray[np.int64]
    """Index into `Clients.groups`, [readings]; -1 = the job."""
    shift: NDArray[np.int64]
    """[readings], see above."""
    claim: NDArray[np.int64]
    """First claim of each reading, [readings + 1]; a claim is a reading and one partition."""
    client_rack: NDArray[np.int64]
    """Index of the rack of each client, [clients]; -1 = not known."""
    nearest: NDArray[np.int32]
    """Broker index that serves a reader in a rack, [partitions, racks + 1]; the last column is
    the leader, for readers that report no rack."""

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of claims of each reading, [readings]."""
        return np.diff(self.claim)

    def claimed(self, first: NDArray[np.int64]) -> NDArray[np.int64]:
        """Partition row of each claim, [claims]; `first`: first partition row of each topic."""
        return np.repeat(first[self.topic] - self.claim[:-1], self.sizes) + np.arange(
            self.claim[-1]
        )

    def owner(self, reading: NDArray[np.int64], number: NDArray[np.int64]) -> NDArray[np.int64]:
        """Row in `member` that owns the partition with this number, for each reading."""
        team = self.team[reading]
        size = self.edges[team + 1] - self.edges[team]
        return self.edges[team] + (self.shift[reading] + number) % size

    def serving(self, owner: NDArray[np.int64], partition: NDArray[np.int64]) -> NDArray[np.int64]:
        """Broker index from which each owner (row in `member`) reads the partition."""
        rack = np.where(self.reports_rack[owner], self.client_rack[self.member[owner]], NOBODY)
        return self.nearest[partition, rack].astype(np.int64)


def generate_readers(
    options: FleetOptions, clusters: Sequence[Cluster], world: Topology, racks: int
) -> TopicReaders:
    """The readers of all topics; `racks`: the number of racks."""
    stream = Stream(options.seed, READER_STREAM)
    groups = len(world.clients.groups)
    edges, member, group = _teams(world)
    team_sizes = np.diff(edges).reshape(len(clusters), groups + 1)
    is_read = _readings(stream, world, team_sizes)
    topic, of_cluster = np.nonzero(is_read)
    size = world.partitions.size[topic]
    cluster = _cluster_of_topic(world)[topic]
    has_members = np.ones_like(team_sizes, dtype=bool)
    has_members[:, groups] = False
    has_members[~_has_job(np.arange(len(clusters))), MEMBERLESS_GROUP] = False
    has_members = has_members.ravel()
    return TopicReaders(
        edges=edges,
        has_members=has_members,
        member=member,
        reports_rack=(group % RACK_GROUPS != RACKLESS_GROUP)
        & np.repeat(has_members, np.diff(edges)),
        first=np.concatenate([[0], np.cumsum(is_read.sum(axis=1))]),
        topic=topic,
        team=cluster * (groups + 1) + of_cluster,
        group=np.where(of_cluster == groups, NOBODY, of_cluster),
        shift=stream.below(SHIFTS, len(topic)),
        claim=np.concatenate([[0], np.cumsum(size)]),
        client_rack=world.client_racks(options.flow_format),
        nearest=_nearest(clusters, world, racks),
    )


def _has_job(cluster: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether a job reads these clusters; in the others, one group has no members."""
    return np.equal(cluster % 2, 0)


def _teams(world: Topology) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Edges of the teams; client and group of each row, team by team.

    The job counts as the last group.
    """
    clients, groups = world.clients, len(world.clients.groups)
    sizes = np.diff(clients.first)
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    client = np.arange(len(cluster))
    number = client - clients.first[cluster]
    is_worker = _has_job(cluster) & (number >= sizes[cluster] - WORKERS)
    second = (clients.group + 1) % groups
    has_second = ~is_worker & (number % SECOND_GROUP_ONE_IN == SECOND_GROUP_AT)
    # A client that reads for a group without members is a member of no group.
    has_second &= (clients.group != MEMBERLESS_GROUP) & (second != MEMBERLESS_GROUP)
    group = np.concatenate([np.where(is_worker, groups, clients.group), second[has_second]]).astype(
        np.int64
    )
    member = np.concatenate([client, client[has_second]])
    team = cluster[member] * (groups + 1) + group
    order = np.argsort(team, kind="stable")
    counts = np.bincount(team, minlength=len(sizes) * (groups + 1))
    return np.concatenate([[0], np.cumsum(counts)]), member[order], group[order]


def _readings(stream: Stream, world: Topology, team_sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each group, and in the last column the job, reads a topic, [topics, groups + 1].

    `team_sizes`: clients of each team, [clusters, groups + 1].
    """
    cluster = _cluster_of_topic(world)
    topics, groups = len(cluster), team_sizes.shape[1] - 1
    has_clients = team_sizes[cluster, :groups] > 0
    draws = stream.raw(topics * groups).reshape(topics, groups)
    # Groups with clients first, in a random order.
    rank = np.argsort(np.lexsort((draws, ~has_clients), axis=1), axis=1)
    wanted = GROUPS_OF_TOPIC[stream.below(len(GROUPS_OF_TOPIC), topics)]
    by_job = team_sizes[cluster, groups] > 0
    return np.column_stack([(rank < wanted[:, None]) & has_clients, by_job])


def _cluster_of_topic(world: Topology) -> NDArray[np.int64]:
    edges = world.partitions.edges
    return np.repeat(np.arange(len(edges) - 1), np.diff(edges))


def _nearest(clusters: Sequence[Cluster], world: Topology, racks: int) -> NDArray[np.int32]:
    partitions = world.partitions
    leader = partitions.leader
    nearest = np.repeat(leader[:, None], racks + 1, axis=1)
    selects = np.array(
        [
            cluster.configs.brokers.get(broker.id, {}).get(REPLICA_SELECTOR) == RACK_AWARE_SELECTOR
            for cluster in clusters
            for broker in cluster.brokers
        ]
    )
    rack_of, followers = world.broker_racks(), partitions.followers
    # Later assignments win: the greatest id of a rack, and then the leader.
    order = np.lexsort((followers.values, followers.rows))
    rows, ids = followers.rows[order], followers.values[order]
    is_named = selects[leader[rows]]
    nearest[rows[is_named], rack_of[ids[is_named]]] = ids[is_named]
    nearest[np.arange(len(leader)), rack_of[leader]] = leader
    return nearest
