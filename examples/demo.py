"""`make demo`: audits a real snapshot, prices a day of its traffic, and writes a report."""

from __future__ import annotations

from pathlib import Path

from steps import ROOT, rackwise

DATA = Path("examples/demo")
OUT = Path("build/demo")


def main() -> None:
    """Run two commands, then print what is real and what is generated."""
    rackwise("audit", "--snapshot", DATA / "snapshot.json.gz", expect=2)
    rackwise(
        *("analyze", DATA / "snapshot.json.gz"),
        *("--flows", DATA / "flows", "--subnets", DATA / "subnets.csv"),
        *("--rates", DATA / "rates.csv"),
        *("--provider", "aws", "--out", OUT),
    )
    print("\nReal: the snapshot, taken by `rackwise snapshot` from 24 running Kafka brokers.")
    print("Generated: the day of flow logs, by `rackwise generate` for that snapshot.")
    print("Invented: the rates per topic, which split the bytes of flow logs among topics.")
    print(f"Report: {ROOT / OUT / 'report.html'}")


if __name__ == "__main__":
    main()
