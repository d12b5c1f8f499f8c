"""The advice of a run without traffic is true: the second snapshot gives it a bill."""

from __future__ import annotations

from pathlib import Path

from refusals import called

DEMO = Path(__file__).parents[3] / "examples" / "demo"
QUICK = ("--engine", "local", "--no-plans", "--provider", "aws", "--extrapolate")


def test_a_second_snapshot_gives_the_bill_that_one_snapshot_asks_for(tmp_path):
    looks = [DEMO / "snapshot.json.gz", DEMO / "earlier.json.gz"]
    code, out, _ = called("analyze", looks[0], *QUICK, "--out", tmp_path / "one")
    assert code == 0
    assert "Take a second snapshot an hour later" in " ".join(out.split())
    code, out, _ = called("analyze", *looks, *QUICK, "--out", tmp_path / "two")
    assert code == 0
    assert out.startswith("Cross-rack traffic costs between $")
    assert "second snapshot" not in out
