"""Every leaf command that asks a server, with lines that make it show what the server says.

The words are those of `escaped_commands`: `@name` is a file of the folder, `%name` a hostile name,
`^name` a hostile rack. The address of the server is added.
"""

from __future__ import annotations

import json

from hostile_text import HOSTILE

PLACED = ("--partitions", "2", "--replication-factor", "1")
UNAWARE = ("--policy", "@policy.toml")
RATES = ("--rates", "@rates.json")
STORE = ("--store", "@@store")
TOPIC = "clicks"

ON_KAFKA = {
    "snapshot": [
        ("--groups", "--measure", "1s", "--out", "@s2.json"),
        ("--groups", "--topics", "%", "--out", "@t.json"),
    ],
    "audit": [
        (),
        ("--lose", "^"),
        (*UNAWARE, "--metrics", "@a.prom"),
        *(("--format", each) for each in ("junit", "sarif", "github")),
    ],
    "plan": [("balance",), ("balance", *UNAWARE, "--out", "@p2.json", "--kafka-json", "@k.json")],
    "doctor": [(), ("--client-rack", "^", "--group", "%", "--probe")],
    "consumer evaluate": [(), ("--group", "%", "--provider", "aws")],
    "consumer simulate": [("--out", "@c.json"), ("--group", "%", "--add", "^=4")],
    "producer simulate": [(*RATES, "--duration", "100ms")],
    "producer split": [(*RATES, "--out", "@split.json")],
    "place": [PLACED, (*PLACED, "--disable-rack-aware")],
    "topic create": [("made", *PLACED), ("made", *PLACED, *UNAWARE)],
    "topic alter": [(TOPIC, "--partitions", "3"), (TOPIC, "--partitions", "1")],
    "topic ensure": [("sure", *PLACED), ("sure", "--partitions", "3", "--replication-factor", "1")],
    "throttles": [()],
    "apply": [("@p.json", "--check"), ("@p.json",)],
    **{name: [("@p.json",)] for name in ("status", "resume", "cancel", "rollback")},
    "throttle": [("@p.json", "5MB")],
    "broker-id list": [STORE],
    "broker-id show": [(*STORE, "--key", "h1"), (*STORE, "--id", "0")],
    "broker-id missing": [STORE],
    "broker-id assign": [(*STORE, "h9", "0")],
    "broker-id adopt": [(*STORE, "0", "--key", "{host}-{broker.id}")],
    "broker-id retire": [(*STORE, "0"), (*STORE, "7")],
    "broker-id gc": [STORE],
}
"""Command -> its lines on Kafka; each is run with `--bootstrap-server`."""
ON_ZOOKEEPER = {
    "upgrade check": [()],
    "broker-id list": [()],
    "broker-id show": [("--key", "h1"), ("--id", "1")],
    "broker-id missing": [(), ("--by", "watch")],
    "broker-id assign": [("h1", "2"), ("h9", "1")],
    "broker-id adopt": [("1", "--key", "{host}"), ("--all", "--key", "k{broker.id}", "--check")],
    "broker-id retire": [("1",), ("4", "--undo")],
    "broker-id gc": [(), ("--apply",)],
    "broker-id init": [("--check",), ()],
    "broker-id acquire": [
        (*words, "--wait", "0", "--server-properties", "@server.properties", "--", "true")
        for words in ((), ("--key", "text:h1"), ("--missing", "watch"))
    ],
}
"""Command -> its lines on ZooKeeper; each is run with `--store` or `--zookeeper`."""
OF_A_SNAPSHOT = {
    "diff": [("@s.json", "@p.json"), ("@s.json", "@t.json")],
    "what-if": [("--snapshot", "@s.json", "--lose", "^")],
    "proof": [("@p.json", "--snapshot", "@s.json")],
    "explain": [("@p.json", f"{TOPIC}-0", "--snapshot", "@s.json")],
    "analyze": [("@s.json", "--engine", "local", "--provider", "aws", "--out", "@bill")],
    "report": [("@bill", "--out", "@r.html", "--metrics", "@r.prom")],
}
"""Command -> its lines on what `snapshot` and `plan` wrote of the cluster, in this order."""
ELSEWHERE = {
    "nightly": "a long test: it runs other commands as processes",
    "broker-id watch": "a test of its own, because it runs until it gets a signal",
    "serve": "a test of its own, for the same reason",
    "sandbox": "it asks the brokers that it starts; --zookeeper chooses the kind",
    "spark-check": "a long test: it needs Spark",
    "stream run": "it shows counts, and names are in tables: tests/pipeline/stream",
}
"""Command that asks a server -> where names from servers are fed to it."""
ASKING = {"--bootstrap-server", "--zookeeper", "--store", "--fleet"}
"""Options that name a server."""
WITHOUT_NAMES = {
    *("throttles", "apply", "status", "resume", "cancel", "rollback", "throttle"),
    *("producer simulate", "diff", "proof", "explain", "report"),
    *(name for name in ON_KAFKA if name.startswith("broker-id")),
}
"""Commands on Kafka that show names of topics and hosts alone, which Kafka keeps printable."""
WITHOUT_NODES = {"broker-id init"}
"""Commands that show no content of a node, even if it can be read."""
POLICY = '[racks]\nmissing = "unaware"\n'
RATES_FILE = {
    "format": "rackwise-rates/1",
    "free_bytes_per_s": {HOSTILE: 4194304},
    "made_at_ms": 1795219200000,
    "pinned_bytes_per_s": {},
    "topic": TOPIC,
}


def write_inputs(folder):
    """Write the files of the lines that come from no server."""
    folder.mkdir()
    (folder / "policy.toml").write_text(f'format = "rackwise.policy/1"\n{POLICY}')
    (folder / "rates.json").write_text(json.dumps(RATES_FILE))
    (folder / "server.properties").write_text(f"log.dirs={folder}/log\nlisteners=SSL://h:1\n")
