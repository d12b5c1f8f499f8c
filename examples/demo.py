"""`make demo`: audits a real cluster, prices a minute of its traffic, and writes a report.

`python examples/demo.py OUT` writes the report to another folder.
"""

from __future__ import annotations

import shutil
import sys
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steps import ROOT, rackwise

from rackwise.core.errors import InvalidSummary
from rackwise.core.json.strict import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

DATA = Path("examples/demo")
OUT = Path("build/demo")
MONTH_S = 30 * 86_400
CENT = Decimal("0.01")


def main(out: Path) -> None:
    """Run two commands, then print what they found and what is real."""
    shutil.rmtree(ROOT / out, ignore_errors=True)
    rackwise("audit", "--snapshot", DATA / "snapshot.json.gz", expect=2)
    rackwise(
        *("analyze", DATA / "earlier.json.gz", DATA / "snapshot.json.gz"),
        *("--flows", DATA / "flows", "--subnets", DATA / "subnets.csv"),
        *("--provider", "aws", "--extrapolate", "--out", out),
    )
    document = (ROOT / out / "summary.json").read_bytes()
    told(parse(document, where="summary.json", error=InvalidSummary))
    print("\nReal: two snapshots of 24 running Kafka brokers with clients, taken by `rackwise")
    print("snapshot`, and flow logs of the minute in between: proxies counted each connection.")
    print(
        "Invented: names and volumes. 2 MB per second were written for a minute, which costs less"
    )
    print("than a cent; --extrapolate states it per 30 days.")
    print(f"Report: {ROOT / out / 'report.html'}")


def told(summary: Mapping[str, Any]) -> None:
    """Print who pays, what can be saved, and how far the numbers can be trusted."""
    factor = Decimal(MONTH_S) / summary["observed"]["seconds"]

    def payers(table: str, key: str, count: int) -> str:
        named = [row for row in summary[table] if not row[key].startswith("(")][:count]
        return ", ".join(f"{row[key]} ${Decimal(row['usd']) * factor:,.2f}" for row in named)

    print("\nDollars per 30 days:")
    print(f"  topics that pay most  {payers('by_topic', 'topic', 3)}")
    print(f"  groups that pay most  {payers('by_group', 'client_group', 2)}")
    steps = [step for step in summary["savings"]["steps"] if step["view"] == "waterfall"]
    best = max(steps, key=lambda step: Decimal(step["usd_low"] or 0))
    print(
        f"  largest saving        {best['saving']} ${Decimal(best['usd_low']) * factor:,.2f}, "
        f"of ${Decimal(summary['savings']['total']['usd_low_30d']):,.2f} that are certain"
    )
    (plan,) = summary["plans"]["rows"]
    once = Decimal(plan["usd"])
    monthly = plan["monthly_usd"]
    change = "not known" if monthly is None else f"+${Decimal(monthly):,.2f}"
    price = f"${once:,.2f}" if once >= CENT else "<$0.01"
    print(f"  price of the repair   {change}, and {price} once")
    lost = 100 * summary["unattributed"]["bytes_cross"] / summary["verdict"]["bytes_cross"]
    print(f"Not attributed to a topic or group: {lost:.1f} % of the bytes that cross racks.")
    both = summary["reconciliation"]
    print(
        f"Replication by flow logs: {both['flow_bytes_per_s'] / 1e6:.2f} MB/s, by the snapshots: "
        f"{both['meter_bytes_per_s'] / 1e6:.2f} MB/s, ratio {both['ratio']:.2f}."
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else OUT)
