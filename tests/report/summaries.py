"""Summary documents whose totals are the sums of invented flows, to check reports.

`summary()` is what the pipeline gives for a small cluster; its arguments make it larger, poorer or
hostile. Every name goes through `named`, so that two summaries can differ in nothing but names.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

GIB = 2**30
MOST, EACH = 1000, 20
DAY_S = 86_400
FIRST_DAY = datetime(2026, 11, 1, tzinfo=UTC)
UNKNOWN = "(unknown)"
UNOWNED = "(unowned)"
LISTED = ("by_topic", "by_group", "by_owner", "by_pair")
"""Roll-ups whose rows belong to one cluster each."""
USD_PER_GIB = {"zone": Decimal("0.02"), "region": Decimal("0.05")}
TOPICS = (
    "payments.authorised",
    "orders",
    "clickstream.raw",
    "inventory-changes",
    "user-sessions",
    "search.queries",
    "fraud-scores",
    "shipments",
)
GROUPS = ("analytics", "fraud-detector", "warehouse-loader", "search-indexer")
RULES = (
    ("under-min-isr", "error", "writes stop now", "fewer in-sync replicas than min ISR", 2),
    (
        "rack-loss-offline",
        "warning",
        "offline if a rack is lost",
        "losing one rack takes the partition offline",
        3,
    ),
    (
        "spread-even",
        "error",
        "not as the policy wants",
        "replicas are not spread evenly over the racks",
        7,
    ),
    (
        "leader-balance",
        "warning",
        "slower or dearer",
        "a broker leads more or fewer partitions than its share",
        1,
    ),
    ("not-preferred-leader", "info", "a remark", "the leader is not the preferred one", 4),
)
"""(name, severity, consequence, sentence, weight), worst first."""

HOSTILE = (
    "<script>window.ran=1</script>",
    '"><img src=x onerror="window.ran=1">',
    "</script><script>window.ran=1</script>",
    "line\u2028paragraph\u2029end",
    "\u202egnp.exe\u202c",
    "t" * 249,
    '<a href="https://example.com/">link</a><b>bold</b>',
    "&lt;i&gt; %{x} $x^2$ {{ 7 * 7 }} {% raw %}",
    "\x1b[31mred\x1b[0m\x07\x9b",
    "' onclick='window.ran=1",
    "javascript:window.ran=1",
    "-->]]><!--",
)
"""Names that are markup, scripts, control sequences, or too long."""


def harmless(kind: str, index: int, name: str) -> str:
    """The name unchanged."""
    del kind, index
    return name


def hostile(kind: str, index: int, name: str) -> str:
    """A hostile name instead; it is different from all others of its kind."""
    return f"{HOSTILE[(index + len(kind)) % len(HOSTILE)]}{name[-2:]}{index}"[:249]


Named = Callable[[str, int, str], str]


def usd(amount: Decimal) -> str:
    return f"{amount:.9f}"


def level_of(a: str, b: str) -> int:
    if UNKNOWN in {a, b}:
        return -1
    if a == b:
        return 0
    if not a.startswith("/"):
        return 1
    pairs = zip(a[1:].split("/"), b[1:].split("/"), strict=True)
    return next(i for i, (x, y) in enumerate(pairs, 1) if x != y)


def cell(rack: str, level: int) -> str:
    return "/".join(rack.split("/")[: level + 1]) if rack.startswith("/") else rack


def flows(
    cluster: str, number: int, *, racks: Sequence[str], topics: Sequence[str], groups, days: int
):
    """(day, cluster, kind, topic, client group, from, to, bytes) of each flow."""
    size = len(racks)
    for day in range(days):
        date = f"{FIRST_DAY + timedelta(days=day):%Y-%m-%d}"
        for t, topic in enumerate(topics):
            base = (40 + 3 * ((day * 5 + number) % 7)) * GIB // (t + 1) + 977 * t
            for i, a in enumerate(racks):
                for j, b in enumerate(racks):
                    part = (
                        base * (1 + (5 * i + 2 * j + t) % 4) * (1 + (i == 1)) // (3 * size * size)
                    )
                    yield date, cluster, "produce", topic, groups[t % 2], a, b, part
                    for g in range(1 + t % len(groups)):
                        yield date, cluster, "fetch", topic, groups[g], a, b, part // 2 + g
                    if i != j:
                        yield date, cluster, "replicate", topic, UNKNOWN, a, b, part * 2
            yield date, cluster, "fetch", topic, groups[0], racks[0], UNKNOWN, base // 50


def rolled_up(rows, key: Callable[[tuple], dict], levels: Sequence[str], total: Decimal):
    """Roll-up rows by `key`, largest first, as the pipeline orders them."""
    sums: dict[tuple, dict[str, Any]] = {}
    for row in rows:
        names = key(row)
        entry = sums.setdefault(
            tuple(names.values()),
            {
                **names,
                **dict.fromkeys(("bytes_local", "bytes_cross", "bytes_unknown"), 0),
                **dict.fromkeys(("usd", "usd_high"), Decimal(0)),
            },
        )
        level, count = level_of(row[5], row[6]), row[7]
        column = {0: "bytes_local", -1: "bytes_unknown"}.get(level, "bytes_cross")
        entry[column] += count
        entry["usd"] += price(count, level, levels)
        entry["usd_high"] += price(count, level if level >= 0 else len(levels), levels)
    order = sorted(
        sums.items(), key=lambda item: (-item[1]["usd"], -item[1]["bytes_cross"], item[0])
    )
    return [
        {
            **entry,
            "usd": usd(entry["usd"]),
            "usd_high": usd(entry["usd_high"]),
            "share": float(entry["usd"] / total) if total else 0.0,
        }
        for _, entry in order
    ]


def price(count: int, level: int, levels: Sequence[str]) -> Decimal:
    if level <= 0:
        return Decimal(0)
    nano = int(USD_PER_GIB[levels[level - 1]] * 10**9)
    return Decimal((2 * count * nano + GIB) // (2 * GIB)).scaleb(-9)


def matrix(rows, levels: Sequence[str]):
    sums: dict[tuple, list] = {}
    for row in rows:
        for level, name in enumerate(levels, 1):
            a, b = cell(row[5], level), cell(row[6], level)
            entry = sums.setdefault((row[1], level, name, a, b), [0, Decimal(0)])
            entry[0] += row[7]
            entry[1] += price(row[7], level_of(a, b), levels)
    return [
        {
            "cluster": cluster,
            "level": level,
            "level_name": name,
            "from_rack": a,
            "to_rack": b,
            "bytes": count,
            "usd": usd(amount),
        }
        for (cluster, level, name, a, b), (count, amount) in sorted(sums.items())
    ]


def blast(cluster: str, racks: Sequence[str], depth: int):
    nodes = sorted({(level, cell(rack, level)) for rack in racks for level in range(1, depth + 1)})
    return [
        {
            "cluster": cluster,
            "rack": rack,
            "level": level,
            "partitions_offline": 12 * (i % 4),
            "partitions_below_min_isr": 40 + 31 * i,
            "leaders_lost": 200 - 7 * i,
            "top_survivor_leader_share": 0.071 + i / 100,
            "replicas_lost": 600 - i,
            "bytes_to_restore": (900 - i) * GIB,
            "cross_bytes_to_restore": (900 - 3 * i) * GIB,
            "usd_to_restore": usd(Decimal("0.02") * (900 - 3 * i)),
            "groups_lost": i % 2,
            "member_share_lost": 0.3333,
        }
        for i, (level, rack) in enumerate(nodes)
    ]


def worst(cluster: str, topics: Sequence[str], count: int, racks: Sequence[str]):
    return [
        {
            "cluster": cluster,
            "rule": RULES[3 * i // count][0],
            "severity": RULES[3 * i // count][1],
            "consequence": RULES[3 * i // count][2],
            "topic": topics[i % len(topics)],
            "partition": i,
            "broker": None,
            "level": racks[i % len(racks)],
            "wanted": "1 replica in each rack",
            "had": f"3 replicas in {racks[i % len(racks)]}",
            "message": f"all replicas of {topics[i % len(topics)]}-{i} are in one rack",
        }
        for i in range(count)
    ]


def summary(
    *,
    clusters: int = 1,
    racks: Sequence[str] = ("use1-az1", "use1-az2", "use1-az4"),
    levels: Sequence[str] = ("zone",),
    topics: int = 8,
    days: int = 1,
    partitions: int = 600,
    has_traffic: bool = True,
    has_bill: bool = False,
    named: Named = harmless,
) -> dict[str, Any]:
    """A whole summary document. Bytes of all roll-ups are sums of the same flows."""
    racks = [named("rack", i, rack) for i, rack in enumerate(racks)]
    groups = [named("group", i, group) for i, group in enumerate(GROUPS)]
    topic_names = [
        named("topic", i, TOPICS[i] if i < len(TOPICS) else f"service-{i:02}.events")
        for i in range(topics)
    ]
    names = [
        named("cluster", i, "demo" if clusters == 1 else f"cluster-{i:03}") for i in range(clusters)
    ]
    rows = [
        row
        for i, name in enumerate(names)
        for row in flows(name, i, racks=racks, topics=topic_names, groups=groups, days=days)
        if has_traffic
    ]
    costs = {
        row["cluster"]: row
        for row in rolled_up(rows, lambda row: {"cluster": row[1]}, levels, Decimal(0))
    }
    document = {
        "format": "rackwise.summary/1",
        "run_id": "0f3a9c5e7b21",
        "version": "0.1.0",
        "clusters": [
            {
                "name": name,
                "cluster_id": "MkU3OEVBNTcwNTJENDM2Qk",
                "taken_at": "2026-11-01T00:00:00Z",
                "snapshots": 1,
                "brokers": 24,
                "racks": len(racks),
                "topics": topics,
                "partitions": partitions,
                "partitions_unsafe": 153,
                "bytes_cross": costs[name]["bytes_cross"] if rows else None,
                "bytes_cross_unattributed": 2 * GIB // clusters if rows else None,
                "usd": costs[name]["usd"] if rows else None,
                "usd_high": costs[name]["usd_high"] if rows else None,
            }
            for name in names
        ],
        "levels": list(levels),
        "observed": None,
        **placement(names, racks, topic_names, partitions=partitions, depth=len(levels)),
        **traffic(rows, levels, days, named),
        "history": history(rows, levels, names, days),
        "method": method(rows, named=named),
        "plans": plans(names, named),
        "actions": actions(names[0], groups[0], has_traffic=has_traffic),
        "unmetered": {
            "count": 1,
            "by_reason": [
                {
                    "reason": "recreated",
                    "cause": "the topic was deleted",
                    "cure": "take the next",
                    "partitions": 4,
                }
            ],
            "rows": [],
        }
        if rows
        else None,
        "reconciliation": {
            "pairs": 6,
            "pairs_off": 1,
            "pairs_one_source": 0,
            "flow_bytes_per_s": 1100,
            "meter_bytes_per_s": 1000,
            "ratio": 1.1,
            "rows": [
                {
                    "cluster": names[0],
                    "day": "2026-11-01",
                    "from_broker": 1,
                    "to_broker": 2,
                    "flow_bytes_per_s": 300,
                    "meter_bytes_per_s": 200,
                    "ratio": 1.5,
                    "is_off": True,
                }
            ],
        }
        if rows
        else None,
        "billed": billed() if has_bill else None,
        "savings": savings(rows, names[0], topic_names[0], groups[0]),
        "csv": [f"csv/{name}.csv" for name in (*LISTED, "findings")],
        "failed": [],
        "notes": ["2 topics are not visible to this principal"],
    }
    if rows:
        document["observed"] = {
            "from": "2026-11-01T00:00:00Z",
            "to": f"{FIRST_DAY + timedelta(days=days):%Y-%m-%dT%H:%M:%SZ}",
            "seconds": days * DAY_S,
        }
    document["verdict"] = {**document.pop("unsafe"), **document.pop("totals")}
    document["rows"]["findings"] = document["verdict"]["findings"]
    return document


def history(rows, levels: Sequence[str], names, days: int) -> dict[str, Any]:
    """The days of the result; the first cluster has no snapshot on the first day."""
    sums = {
        (row["cluster"], row["day"]): row
        for row in rolled_up(
            rows, lambda row: {"cluster": row[1], "day": row[0]}, levels, Decimal(0)
        )
    }
    dates = [f"{FIRST_DAY + timedelta(days=day):%Y-%m-%d}" for day in range(days)]

    def line(date: str, clusters) -> dict[str, Any]:
        found = [sums[name, date] for name in clusters if (name, date) in sums]
        columns = ("bytes_local", "bytes_cross", "bytes_unknown")
        bytes_ = {key: sum(row[key] for row in found) if found else None for key in columns}
        total = sum(bytes_.values()) if found else 0
        is_known = date != dates[0] or names[0] not in clusters
        return {
            "day": date,
            **bytes_,
            "cross_share": bytes_["bytes_cross"] / total if total else None,
            "usd": usd(sum((Decimal(row["usd"]) for row in found), Decimal(0))) if found else None,
            "partitions": 600 * len(clusters) if is_known else None,
            "partitions_unsafe": 153 * len(clusters) if is_known else None,
        }

    lines = [line(date, names) for date in dates]
    changes = ("usd_change", "cross_share_change", "partitions_unsafe_change")
    nothing = dict.fromkeys(
        (
            *("from", "to", "usd", "usd_before", "usd_change", "cross_share"),
            *("cross_share_before", "partitions_unsafe", "partitions_unsafe_before"),
        )
    )
    return {
        "days": [
            {**row, **dict.fromkeys(changes)}
            if number < 7
            else {
                **row,
                "usd_change": 0.25,
                "cross_share_change": -0.01,
                "partitions_unsafe_change": 3,
            }
            for number, row in enumerate(lines)
        ],
        "clusters": [
            {"cluster": name, **line(date, [name])} for name in sorted(names) for date in dates
        ],
        "week": {**nothing, "days": 0, "reason": "no day of the last week has traffic"},
    }


def placement(names, racks, topics, *, partitions: int, depth: int) -> dict[str, Any]:
    """The results of the audit of all clusters."""
    findings = [
        {
            "rule": rule,
            "severity": severity,
            "consequence": consequence,
            "count": weight * 17 * len(names),
            "sentence": text,
        }
        for rule, severity, consequence, text, weight in RULES
    ]
    return {
        "unsafe": {
            "partitions": partitions * len(names),
            "partitions_unsafe": 153 * len(names),
            "findings": sum(row["count"] for row in findings),
        },
        "findings": {
            "by_rule": findings,
            "by_topic": [
                {
                    "cluster": name,
                    "topic": topic,
                    "consequence": RULES[1][2],
                    "worst": 3 * len(topics) - place,
                    "count": 90 - place,
                    "partitions": 30,
                    "rules": f"{RULES[1][0]}, {RULES[2][0]}",
                }
                for place, topic in enumerate(topics)
                for name in names
            ],
            "worst": [
                row
                for name in names
                for row in worst(name, topics, 50 if len(names) == 1 else 20, racks)
            ],
            "not_checked": [
                {"cluster": names[0], "rule": "replica-balance", "reason": "no fair loads given"}
            ],
        },
        "blast": [row for name in names for row in blast(name, racks, depth)],
    }


def plans(names, named: Named) -> dict[str, Any]:
    """A plan of every cluster except each third, whose broken rule no plan can repair."""
    rows = [
        {
            "cluster": name,
            "goal": "repair",
            "status": "infeasible" if i % 3 == 2 else "planned",
            "minimise": "moves",
            "moves": None if i % 3 == 2 else 153 - i,
            "partitions": None if i % 3 == 2 else 150 - i,
            "partitions_at_least": None if i % 3 == 2 else 149 - i,
            "leader_changes": None if i % 3 == 2 else 40,
            "repair_moves": None if i % 3 == 2 else 153 - i,
            "bytes": None if i % 3 == 2 else (42 + i) * GIB,
            "cross_bytes": None if i % 3 == 2 else (40 + i) * GIB,
            "usd": None if i % 3 == 2 else usd(Decimal("0.02") * (40 + i)),
            "unknown_sizes": None if i % 3 == 2 else 0,
            "monthly_cross_bytes": None if i % 3 == 2 else (i - 3) * GIB,
            "monthly_usd": None if i % 3 == 2 else usd(Decimal("12.30") - i),
            "monthly_reason": None,
            "monthly_unknown_rates": None if i % 3 == 2 else 0,
            "monthly_reads_usd": None,
            "monthly_reads_reason": None
            if i % 3 == 2
            else "consumers read elsewhere; measure them",
            "solver": None if i % 3 == 2 else "flow, ortools 9.15",
            "reason": named("reason", i, f"{TOPICS[0]}-0: expected 3 distinct zones, got 2 usable")
            if i % 3 == 2
            else None,
            "hint": "add brokers, or ask for less in the policy" if i % 3 == 2 else None,
            "sha256": None if i % 3 == 2 else f"{i:064x}",
            "cost": None if i % 3 == 2 else 153 - i,
            "lower_bound": None if i % 3 == 2 else 153 - i,
            "gap": None if i % 3 == 2 else 0,
            "verdict": None if i % 3 == 2 else "proved",
            "file": None if i % 3 == 2 else f"plans/{i + 1:04}-00000000.json",
        }
        for i, name in enumerate(names)
    ]
    made = [row for row in rows if row["status"] == "planned"]
    return {
        "goal": "repair",
        "clusters": len(rows),
        "planned": len(made),
        "proved": len(made),
        "moves": sum(row["moves"] for row in made),
        "partitions": sum(row["partitions"] for row in made),
        "bytes": sum(row["bytes"] for row in made),
        "usd": usd(sum(Decimal(row["usd"]) for row in made)),
        "monthly": {
            "usd": usd(sum(Decimal(row["monthly_usd"]) for row in made)),
            "usd_known": usd(sum(Decimal(row["monthly_usd"]) for row in made)),
            "unknown": 0,
            "reason": None,
        },
        "monthly_reads": {
            "usd": None,
            "usd_known": None,
            "unknown": len(made),
            "reason": f"{names[0]}: consumers read elsewhere; measure them",
        },
        "rows": rows,
    }


def actions(cluster, group, *, has_traffic: bool) -> list[dict[str, Any]]:
    """A repair, and with traffic a saving and a measurement."""
    nothing = dict.fromkeys(("usd_once", "usd_monthly", "saves_low_usd", "saves_high_usd"))
    found = [
        {
            "kind": "repair",
            "cluster": cluster,
            "title": f"Repair cluster {cluster}: move 153 replicas",
            "why": "24 partitions go offline when rack use1-az4 is lost",
            "partitions_offline": 24,
            **nothing,
            "usd_once": "0.800000000",
            "usd_monthly": "12.300000000",
            "steps": [{"where": "run", "line": "rackwise apply plans/0001-00000000.json"}],
        },
        {
            "kind": "assignment",
            "cluster": cluster,
            "title": f"Assign the partitions of group {group} by rack",
            "why": "members own partitions in other racks",
            "partitions_offline": 0,
            **nothing,
            "saves_low_usd": "5.000000000",
            "saves_high_usd": "7.500000000",
            "steps": [
                {"where": "each consumer", "line": "client.rack=RACK"},
                {"where": "run", "line": f"rackwise doctor --group {group}"},
            ],
        },
        {
            "kind": "measure",
            "cluster": cluster,
            "title": f"Measure the rates of cluster {cluster}",
            "why": "the monthly change of a repair is not known",
            "partitions_offline": 0,
            **nothing,
            "steps": [{"where": "run", "line": "rackwise snapshot --measure 60s"}],
        },
    ]
    return found if has_traffic else found[:1]


def leading(table):
    """The first rows of a roll-up over all clusters, and of every cluster, as the pipeline does."""
    seen = Counter(row.get("cluster") for row in table[:MOST])
    found = table[:MOST]
    for row in table[MOST:]:
        seen[row.get("cluster")] += 1
        if seen[row.get("cluster")] <= EACH or "cluster" not in row:
            found.append(row)
    return found


def traffic(rows, levels: Sequence[str], days: int, named: Named) -> dict[str, Any]:
    """The parts of the summary that depend on flows; empty lists and nulls without flows."""
    every = rolled_up(rows, lambda _: {"run": "all"}, levels, Decimal(0))
    total = Decimal(every[0]["usd"]) if every else Decimal(0)

    def by(**key: int) -> list[dict[str, Any]]:
        return rolled_up(
            rows, lambda row: {name: row[index] for name, index in key.items()}, levels, total
        )

    def by_level(row) -> dict[str, Any]:
        level = level_of(row[5], row[6])
        name = {0: "local", -1: "unknown"}.get(level) or levels[level - 1]
        return {"level": level, "level_name": name}

    places = {topic: place for place, topic in enumerate(dict.fromkeys(row[3] for row in rows))}

    def by_owner(row) -> dict[str, Any]:
        team = places[row[3]] % 3
        owner = named("owner", team, f"team-{team}") if team else UNOWNED
        return {"cluster": row[1], "owner": owner}

    roll_ups = {
        "by_topic": by(cluster=1, topic=3),
        "by_group": by(cluster=1, client_group=4),
        "by_owner": rolled_up(rows, by_owner, levels, total),
        "by_pair": by(cluster=1, from_rack=5, to_rack=6),
        "by_level": rolled_up(rows, by_level, levels, total),
        "by_day": by(day=0),
        "by_kind": by(kind=2),
    }
    columns = ("bytes_local", "bytes_cross", "bytes_unknown")
    counts: dict[str, int | None] = {name: every[0][name] if every else None for name in columns}
    bytes_total = sum(every[0][name] for name in columns) if every else None
    return {
        "totals": {
            "bytes_total": bytes_total,
            **counts,
            "usd": usd(total) if every else None,
            "usd_high": every[0]["usd_high"] if every else None,
            "usd_30d": usd(total * 30 / days) if every else None,
            "usd_high_30d": usd(Decimal(every[0]["usd_high"]) * 30 / days) if every else None,
            "reason": RACK if every else None,
            "reason_30d": None,
        },
        "unattributed": unattributed(days) if every else None,
        "quality": {
            "bytes_measured": bytes_total - bytes_total // 20 if bytes_total else 0,
            "bytes_metered": 0,
            "bytes_apportioned": bytes_total // 20 if bytes_total else 0,
            "bytes_estimated": 0,
            "bytes_unknown_rack": counts["bytes_unknown"] or 0,
            "bytes_unpriced": 0,
            "bytes_extrapolated_price": 0,
            "bytes_unchecked_price": 0,
            "rows_quarantined": 3 if every else 0,
            "share_quarantined": "0.000123" if every else "0",
            "rows_skipdata": 12 if every else 0,
        },
        "matrix": matrix(rows, levels),
        **{name: leading(table) for name, table in roll_ups.items()},
        "rows": {name: len(roll_ups[name]) for name in LISTED},
    }


RACK = "the rack of one end is not known: add --subnets FILE or --clients FILE"
GROUP = "the client group is not known: take snapshots while the clients are running"
KEYS = "the share of records without a key is not known: set it with --unkeyed-share TOPIC=F"


def unattributed(days: int) -> dict[str, Any]:
    """Bytes that unknown groups read: 3 GiB."""
    sums = {
        "bytes": 3 * GIB,
        "bytes_cross": 2 * GIB,
        "usd": usd(Decimal("0.04")),
        "usd_high": usd(Decimal("0.04")),
        "usd_30d": usd(Decimal("0.04") * 30 / days),
        "usd_high_30d": usd(Decimal("0.04") * 30 / days),
    }
    return {**sums, "causes": [{"reason": GROUP, **sums}]}


def billed() -> dict[str, Any]:
    """A bill of two days, of which one is compared."""
    sums = {
        "billed_bytes": 200 * GIB,
        "billed_usd": "2.000000000",
        "kafka_bytes": 124 * GIB,
        "kafka_bytes_high": 130 * GIB,
        "kafka_usd": "1.240000000",
        "share": 0.62,
        "share_high": 0.65,
        "reason": RACK,
    }
    unknown = "no cluster is in this region: add the snapshots and the traffic of its clusters"
    return {
        "files": 1,
        "lines": 48,
        "from": "2026-11-01",
        "to": "2026-11-02",
        "days": 1,
        **sums,
        "finding": None,
        "left_out": [{"reason": "lines of type Tax", "lines": 2, "usd": "0.200000000"}],
        "count": 2,
        "rows": [
            {
                **dict.fromkeys(sums),
                "day": "2026-11-02",
                "region": "eu-west-1",
                "billed_bytes": GIB,
                "billed_usd": "0.010000000",
                "reason": unknown,
            },
            {"day": "2026-11-01", "region": "us-east-1", **sums},
        ],
    }


STEPS = (
    ("alone", "follower-fetch", None, 90, 90, None),
    ("alone", "assignment", None, 40, 42, None),
    ("alone", "producing", "0.1", None, 30, 1.1),
    ("alone", "producing", "inf", None, 60, 2.5),
    ("alone", "leader-moves", None, 0, 0, None),
    ("waterfall", "follower-fetch", None, 90, 90, None),
    ("waterfall", "assignment", None, 20, 22, None),
    ("waterfall", "producing", "0.1", None, 30, 1.1),
    ("waterfall", "leader-moves", None, 0, 0, None),
    ("stock", "assignment", None, 12, 12, None),
)
"""View, saving, bound, least and greatest GiB, load factor."""


def saved(low: int | None, high: int) -> dict[str, Any]:
    """The values of a row of savings, from GiB."""
    ends: dict[str, int | None] = {"low": low, "high": high, "saved": low if low == high else None}
    each = Decimal("0.02")
    return {
        **{f"bytes_{end}": None if gib is None else gib * GIB for end, gib in ends.items()},
        **{f"usd_{end}": None if gib is None else usd(each * gib) for end, gib in ends.items()},
        **{
            f"usd_{end}_30d": None if gib is None else usd(each * gib * 30)
            for end, gib in ends.items()
        },
    }


def savings(rows, cluster: str, topic: str, group: str) -> dict[str, Any] | None:
    """The savings of each change; None without flows."""
    reason = {"assignment": GROUP, "producing": KEYS}
    steps = [
        {
            "view": view,
            "saving": saving,
            "eps": eps,
            "load_factor": factor,
            **saved(low, high),
            "reasons": [] if high else ["not applied: it would cost 0.120000000 USD"],
            "reason": None if low == high else reason[saving],
        }
        for view, saving, eps, low, high, factor in STEPS
    ]
    places = {"cluster": cluster, "topic": topic, "client_group": group}
    whole = [(low or 0, high) for view, _, _, low, high, _ in STEPS if view == "waterfall"]
    total = saved(sum(low for low, _ in whole), sum(high for _, high in whole))
    return (
        {
            "total": {**total, "reason": f"{GROUP}; {KEYS}"},
            "steps": steps,
            "conditions": {saving: f"what {saving} requires" for _, saving, *_ in STEPS},
            "count": 61,
            "rows": [{**places, **step} for step in steps if step["bytes_high"]],
        }
        if rows
        else None
    )


def method(rows, *, named: Named) -> dict[str, Any]:
    kept = len(rows)
    outcomes = Counter({"kept": kept, "duplicate-side": kept // 3, "not-kafka": kept // 7})
    files = [f"flows/part-{i:05}.parquet" for i in range(3)] if rows else []
    return {
        "prices": [
            {
                "provider": "aws",
                "region": "*",
                "level": level,
                "kind": "*",
                "usd_per_gb_out": f"{each / 2}",
                "usd_per_gb_in": f"{each / 2}",
                "gb_bytes": GIB,
                "valid_from": "2026-09-01",
                "valid_to": None,
                "source": named("source", 0, "https://aws.amazon.com/ec2/pricing/on-demand/"),
                "is_checked": level == "zone",
                "is_extrapolated": False,
                "row": f"aws:*:{level}:*",
            }
            for level, each in USD_PER_GIB.items()
            if rows
        ],
        "outcomes": [
            {"reason": reason, "rows": count, "bytes": sum(row[7] for row in rows) if i == 0 else 7}
            for i, (reason, count) in enumerate(outcomes.items())
            if rows
        ],
        "rows_in": outcomes.total(),
        "bytes_in": sum(row[7] for row in rows) + 14,
        "files": [
            {"file": named("file", i, name), "rows": 100_000, "quarantined": i}
            for i, name in enumerate(files)
        ],
        "precedence": [
            {"cluster": "demo", "day": "2026-11-01", "kind": "produce", "source": "flow log"}
            for _ in range(bool(rows))
        ],
        "options": {"provider": "aws", "side": "auto", "dedupe": "side", "flow_format": "vpc"},
        "versions": {"rackwise": "0.1.0", "spark": "4.2.1", "java": "17", "python": "3.11.7"},
    }
