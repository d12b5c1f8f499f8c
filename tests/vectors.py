"""The planner's golden vectors as values: `golden/vectors-planner.json`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rackwise.core.errors import InvalidSnapshot
from rackwise.core.json import strict as strict_json
from rackwise.core.model import Topic
from rackwise.core.policy import POLICY_FORMAT, Policy, policy_of
from small_clusters import small_cluster

if TYPE_CHECKING:
    from rackwise.core.model import Cluster

GOLDEN = Path(__file__).parent / "golden" / "vectors-planner.json"


def planner_vectors() -> dict[str, Any]:
    """All sections of the file."""
    found: dict[str, Any] = strict_json.parse(
        GOLDEN.read_bytes(), where=GOLDEN.name, error=InvalidSnapshot
    )
    return found


def audit_vector() -> tuple[Cluster, Policy, dict[str, Any]]:
    """The cluster and the policy of the audit section, and the section itself."""
    vector = planner_vectors()["audit"]
    rows = {f"{row['topic']}-{row['partition']}": row for row in vector["partitions"]}
    cluster = small_cluster(
        {int(id_): rack for id_, rack in vector["brokers"].items()},
        {name: row["replicas"] for name, row in rows.items()},
        dead=vector["dead"],
        leaders={name: row["leader"] for name, row in rows.items()},
        isr={name: row["isr"] for name, row in rows.items()},
    )
    topics = {
        name: Topic(name=name, min_insync_replicas=least)
        for name, least in vector["min_insync_replicas"].items()
    }
    said = vector["policy"]
    policy = policy_of(
        {
            "format": POLICY_FORMAT,
            "racks": {"levels": vector["levels"]},
            "balance": {
                "replicas": said["balance.replicas"],
                "leaders": said["balance.leaders"],
            },
            "audit": {"rack_loss": said["audit.rack_loss"]},
            "topics": [{"match": ["*"], "spread": said["topics.spread"]}],
        }
    )
    return replace(cluster, topics=topics), policy, vector
