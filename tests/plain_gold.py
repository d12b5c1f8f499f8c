"""The bill in plain Python, one fact at a time; the frames of the pipeline must equal it."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import date, timedelta
from decimal import Decimal

from rackwise.core.racks import Rack, crossing_level
from rackwise.core.traffic import PRECEDENCE, REGION, apportion, price_of, usd_nano

KINDS = ("produce", "fetch", "replicate", "other")
SOURCES = ("", "flow log", "rates", "otlp", "request log", "model", "telemetry")
QUALITIES = ("measured", "apportioned", "estimated")
EPOCH = date(1970, 1, 1)
DAY_S = 86_400


def plain_gold(rows, fleet, rates, prices, levels):
    """Rows day, cluster, kind, topic, group, from, to, level, quality, bytes, usd, price row.

    `rows`: dictionaries with the columns of FLOW_FACT.
    """
    money, others = by_precedence(rows)
    weights = Weights(fleet, rates, others)
    sums = Counter()
    for row, bytes_ in aggregated(money, weights).items():
        for key, share in weights.spread(row, bytes_):
            sums[key] += share
    return Counter(
        (*name, bytes_, *cost)
        for key, bytes_ in sums.items()
        for name, cost in [billed(key, bytes_, fleet, prices, levels)]
    )


def by_precedence(rows):
    rank = {name: place for place, name in enumerate(PRECEDENCE)}
    best = {}
    for row in rows:
        place = (row["day"], row["cluster"], row["kind"])
        best[place] = min(best.get(place, 99), rank[SOURCES[row["source"]]])
    is_billed = [
        rank[SOURCES[row["source"]]] == best[row["day"], row["cluster"], row["kind"]]
        for row in rows
    ]
    money = [row for row, yes in zip(rows, is_billed, strict=True) if yes]
    return money, [row for row, yes in zip(rows, is_billed, strict=True) if not yes]


def aggregated(rows, weights):
    sums = Counter()
    for row in rows:
        far = row["peer_rack"] if row["peer"] else row["client_rack"]
        near = row["broker_rack"]
        ends = (far, near) if row["kind"] == 0 else (near, far)
        via = weights.via(row) if row["topic"] == 0 else None
        sums[
            row["day"], row["cluster"], row["kind"], row["source"], row["quality"],
            row["topic"], via, row["client"], *ends,
        ] += row["bytes"]  # fmt: skip
    return sums


class Weights:
    """The weights by which bytes without a topic are spread, straight from the snapshots."""

    def __init__(self, fleet, rates, others):
        codes = fleet.codes
        self.by_client = defaultdict(Counter)
        for row in others:
            if row["topic"] and row["kind"] != 2:
                place = (row["cluster"], row["kind"], row["client"])
                self.by_client[place][row["topic"], row["client"]] += row["bytes"]
        self.by_client = {place: +found for place, found in self.by_client.items() if +found}
        self.by_address, self.by_pair = defaultdict(Counter), defaultdict(Counter)
        self.daily = {}
        for snapshot in fleet.latest:
            cluster = codes.clusters[snapshot.name]
            counts = Counter(p.topic for p in snapshot.cluster.partitions)
            for topic, count in counts.items():
                rate = rates.ins.get((snapshot.name, topic), 0)
                self.daily[cluster, codes.topics[topic]] = rate * DAY_S // count
            self._add_members(snapshot, codes, cluster)
            self._add_copies(snapshot, codes, cluster)

    def _add_members(self, snapshot, codes, cluster):
        for group in snapshot.cluster.groups:
            for member in group.members:
                for topic, _ in member.partitions:
                    named = (codes.topics[topic], codes.clients[group.group])
                    self.by_address[cluster, ip(member.address)][named] += 1

    def _add_copies(self, snapshot, codes, cluster):
        for p in snapshot.cluster.partitions:
            for follower in p.replicas:
                if p.leader is not None and follower != p.leader:
                    ends = (p.leader, follower)
                    pair = tuple(codes.brokers[snapshot.name, id_] for id_ in ends)
                    self.by_pair[cluster, pair][codes.topics[p.topic], 0] += 1

    def via(self, row):
        cluster = row["cluster"]
        if row["broker"] and row["peer"]:
            return ("pair", (cluster, (row["broker"], row["peer"])))
        place = (cluster, row["client_ip"])
        is_member = row["client_ip"] and place in self.by_address
        return ("address", place if is_member else None, row["broker"])

    def spread(self, row, bytes_):
        day, cluster, kind, _, quality, topic, via, client, from_, to = row
        found, is_client = self._found(cluster, kind, client, via) if topic == 0 else (None, False)
        if not found:
            yield (day, cluster, kind, topic, client, from_, to, quality), bytes_
            return
        names = sorted(found)
        weights = [found[name] for name in names]
        daily = [self.daily.get((cluster, name[0]), 0) for name in names]
        if not is_client and all(daily):
            weights = [w * d for w, d in zip(weights, daily, strict=True)]
        for (to_topic, to_client), share in zip(names, apportion(bytes_, weights), strict=True):
            if share:
                yield (day, cluster, kind, to_topic, to_client, from_, to, max(quality, 1)), share

    def _found(self, cluster, kind, client, via):
        if kind != 2 and (cluster, kind, client) in self.by_client:
            return self.by_client[cluster, kind, client], True
        if via is None or (via[0] == "pair") != (kind == 2):
            return None, False
        return {"pair": self.by_pair, "address": self.by_address}[via[0]].get(via[1]), False


def ip(text):
    from rackwise.pipeline.columns.addresses import address_number

    return None if text is None else address_number(text)[0]


def billed(key, bytes_, fleet, prices, levels):
    day, cluster, kind, topic, client, from_, to, quality = key
    paths = ["(unknown)", *fleet.names.racks]
    a, b = (Rack(paths[code]) if code else None for code in (from_, to))
    level = crossing_level(a, b)
    if level == 0 and from_ != to:
        quality = 2
    when = EPOCH + timedelta(days=day)
    named = (
        when,
        fleet.names.clusters[cluster - 1],
        KINDS[kind],
        fleet.names.topics[topic - 1] if topic else "(unknown)",
        fleet.names.clients[client - 1] if client else "(unknown)",
        paths[from_],
        paths[to],
        level,
        QUALITIES[quality],
    )
    if level <= 0:
        return named, (Decimal(0) if level == 0 else None, None)
    region = a.levels[levels.index(REGION)] if REGION in levels else None
    choice = price_of(prices, region=region, level=levels[level - 1], kind=KINDS[kind], day=when)
    if choice is None:
        return named, (None, None)
    p = choice.price
    nano = usd_nano(bytes_, p.nano_usd_per_gb_out, p.gb_bytes)
    nano += usd_nano(bytes_, p.nano_usd_per_gb_in, p.gb_bytes)
    return named, (Decimal(nano).scaleb(-9), p.row)
