"""What each change saves, partition by partition, to be compared with `rackwise.core.savings`.

Racks are plain names, a byte that crosses costs the same everywhere, and all partitions led in one
rack have the same traffic; so bytes by rack determine everything.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import product

from rackwise.core.assignors import best_local
from saving_flows import Flow
from small_fleets import DAY


@dataclass(frozen=True)
class Scene:
    """`replicas`: of each partition, leader first; `rack`: broker -> rack.

    `produced`: leader's rack -> client's rack -> bytes of each partition led there; `fetched`:
    client's rack -> bytes of each partition; `copied`: leader's rack -> bytes of each follower.
    """

    rack: dict
    replicas: list
    produced: dict
    fetched: dict
    copied: dict
    members: tuple
    follows: bool

    def racks(self, number):
        return [self.rack[broker] for broker in self.replicas[number]]

    def read_from(self, racks, client, *, follows):
        return client if follows and client in racks else racks[0]

    def flows(self):
        sums = Counter()
        for number in range(len(self.replicas)):
            racks = self.racks(number)
            for client, bytes_ in self.produced[racks[0]].items():
                sums["produce", "(unknown)", client, racks[0]] += bytes_
            for client, bytes_ in self.fetched.items():
                near = self.read_from(racks, client, follows=self.follows)
                sums["fetch", "readers", near, client] += bytes_
            for follower in racks[1:]:
                sums["replicate", "(unknown)", racks[0], follower] += self.copied[racks[0]]
        return [
            Flow(DAY, kind, "orders", group, "measured", from_, to, bytes_)
            for (kind, group, from_, to), bytes_ in sums.items()
        ]


def fetch_crossing(scene, *, follows):
    return sum(
        bytes_
        for number in range(len(scene.replicas))
        for client, bytes_ in scene.fetched.items()
        if scene.read_from(scene.racks(number), client, follows=follows) != client
    )


def follower_fetch(scene):
    today = fetch_crossing(scene, follows=scene.follows)
    return today - fetch_crossing(scene, follows=True)


def assignment(scene, *, today, follows):
    """The best assignment if every partition is read equally."""
    sizes = Counter(scene.members)
    kinds = Counter()
    for number in range(len(scene.replicas)):
        racks = scene.racks(number)
        near = frozenset(racks if follows else racks[:1])
        kinds[near & frozenset(sizes)] += 1
    best, _ = best_local(kinds, sizes)
    left = sum(scene.fetched.values()) * (len(scene.replicas) - best)
    return max(0, today - left)


def producing(scene, eps):
    """min(t_c, cap_c) of each rack that leads a partition; bytes of other racks stay."""
    leads = Counter(scene.racks(number)[0] for number in range(len(scene.replicas)))
    sent, pinned, near = Counter(), Counter(), 0
    for leader, count in leads.items():
        for client, bytes_ in scene.produced[leader].items():
            if client in leads:
                sent[client] += count * bytes_
                near += count * bytes_ * (client == leader)
            else:
                pinned[leader] += count * bytes_
    each = (sent.total() + pinned.total()) / leads.total()
    room = {rack: max(0, (1 + eps) * each * leads[rack] - pinned[rack]) for rack in leads}
    local = sum(min(sent[rack], room[rack]) for rack in leads)
    return max(0, local - near)


def leader_cost(scene, number, leader, *, follows):
    racks, new = scene.racks(number), scene.rack[leader]
    cost = sum(n for client, n in scene.produced[racks[0]].items() if client != new)
    for client, bytes_ in scene.fetched.items():
        if not (follows and client in racks) and client != new:
            cost += bytes_
    others = [scene.rack[broker] for broker in scene.replicas[number] if broker != leader]
    return cost + scene.copied[racks[0]] * sum(rack != new for rack in others)


def leader_moves(scene):
    """Of all choices of leaders the fairest ones, and of those the cheapest."""
    rows = range(len(scene.replicas))
    costs = [
        {b: leader_cost(scene, number, b, follows=scene.follows) for b in scene.replicas[number]}
        for number in rows
    ]
    best = min(
        (
            sum(n * n for n in Counter(chosen).values()),
            sum(costs[i][b] for i, b in zip(rows, chosen, strict=True)),
        )
        for chosen in product(*scene.replicas)
    )
    today = sum(costs[number][scene.replicas[number][0]] for number in rows)
    return max(0, today - best[1])
