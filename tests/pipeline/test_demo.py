"""`make demo` finds what the proxies of its cluster counted; numbers are read back.

The truth has the bytes of each connection, which the flow logs have too, and the record batches by
topic and group, which no flow log has.
"""

from __future__ import annotations

import csv
import gzip
import subprocess
import sys
from collections import Counter
from decimal import Decimal

import pytest

from rackwise.core.errors import InvalidSummary
from rackwise.core.json.strict import parse
from shown_commands import README, ROOT, TOUR, shown_commands

pytestmark = [pytest.mark.spark, pytest.mark.classic]
DEMO = ROOT / "examples" / "demo"
USD_PER_GIB = Decimal("0.02")
CLOSE = 0.05
"""What apportioning, and requests around the record batches, may add."""
REPLICAS = 3


def document(path):
    return parse(path.read_bytes(), where=path.name, error=InvalidSummary)


@pytest.fixture(scope="module")
def truth():
    return document(DEMO / "truth.json")


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Folder and printed text of the demo."""
    out = tmp_path_factory.mktemp("demo") / "out"
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "demo.py"), str(out)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return out, done.stdout


@pytest.fixture(scope="module")
def summary(shown):
    return document(shown[0] / "summary.json")


@pytest.fixture(scope="module")
def table(shown):
    def read(name):
        with (shown[0] / "csv" / f"{name}.csv").open(newline="") as file:
            return list(csv.DictReader(file))

    return read


def counted(truth, *key):
    sums = Counter()
    for row in truth["wire"]:
        sums[tuple(row[name] for name in key)] += row["bytes"]
    return sums


def whole(row):
    return sum(int(row[f"bytes_{place}"]) for place in ("local", "cross", "unknown"))


def per_topic(truth):
    """What is sent of each topic: by producers, to followers, to groups."""
    sums = Counter()
    for row in truth["batches"]:
        copies = REPLICAS if row["kind"] == "produce" else 1
        sums[row["topic"]] += copies * row["bytes"]
    return sums


def per_group(truth):
    sums = Counter()
    for row in truth["batches"]:
        if row["client_group"] is not None:
            sums[row["client_group"]] += row["bytes"]
    return sums


def first(sums, count):
    return [name for name, _ in sums.most_common(count)]


def test_every_byte_is_counted_by_kind_and_racks(truth, summary, table):
    by_kind = {(row["kind"],): whole(row) for row in summary["by_kind"]}
    assert by_kind == counted(truth, "kind")
    pairs = {(row["from_rack"], row["to_rack"]): whole(row) for row in table("by_pair")}
    assert pairs == counted(truth, "from_rack", "to_rack")
    assert summary["observed"]["seconds"] == truth["seconds"]


def test_the_price_is_that_of_the_bytes_that_crossed(truth, summary):
    crossed = sum(row["bytes"] for row in truth["wire"] if row["from_rack"] != row["to_rack"])
    usd = crossed * USD_PER_GIB / 2**30
    assert abs(Decimal(summary["verdict"]["usd"]) - usd) < Decimal("0.000001")
    month = Decimal(summary["verdict"]["usd"]) * 30 * 86_400 / truth["seconds"]
    assert abs(Decimal(summary["verdict"]["usd_30d"]) - month) < Decimal("0.01")


def test_topics_and_groups_have_the_bytes_that_were_decoded(truth, table):
    topics = {row["topic"]: whole(row) for row in table("by_topic")}
    for name, bytes_ in per_topic(truth).most_common(10):
        assert topics[name] == pytest.approx(bytes_, rel=CLOSE), name
    groups = {row["client_group"]: whole(row) for row in table("by_group")}
    for name, bytes_ in per_group(truth).items():
        assert groups[name] == pytest.approx(bytes_, rel=CLOSE), name


def test_those_that_pay_most_are_named(truth, summary, shown):
    topics, groups = first(per_topic(truth), 3), first(per_group(truth), 2)
    assert [row["topic"] for row in summary["by_topic"][:3]] == topics
    named = [row["client_group"] for row in summary["by_group"] if row["client_group"][0] != "("]
    assert named[:2] == groups
    lines = shown[1].splitlines()
    for head, names in (("  topics that pay most", topics), ("  groups that pay most", groups)):
        (line,) = [line for line in lines if line.startswith(head)]
        assert line.removeprefix(head).replace(",", "").split()[::2] == names


def test_almost_all_bytes_have_a_topic_and_a_group(summary):
    lost = summary["unattributed"]["bytes_cross"]
    assert lost < CLOSE * summary["verdict"]["bytes_cross"]


def test_the_network_and_the_cluster_agree_on_replication(truth, summary):
    both = summary["reconciliation"]
    assert both["ratio"] == pytest.approx(1, abs=0.1)
    logged = counted(truth, "kind")["replicate",] / truth["seconds"]
    assert both["flow_bytes_per_s"] == pytest.approx(logged, rel=0.001)


def test_follower_fetching_is_the_largest_saving_that_is_certain(summary):
    steps = [step for step in summary["savings"]["steps"] if step["view"] == "waterfall"]
    certain = {step["saving"]: Decimal(step["usd_low"] or 0) for step in steps}
    assert max(certain, key=certain.__getitem__) == "follower-fetch"
    assert certain["follower-fetch"] > 0
    total = summary["savings"]["total"]
    assert Decimal(total["usd_low"]) <= Decimal(total["usd_high"])


def test_the_repair_has_a_price_per_month(summary, shown):
    (plan,) = summary["plans"]["rows"]
    monthly = Decimal(plan["monthly_usd"])
    assert monthly > 0
    assert f"price of the repair   +${monthly:,.2f}, " in shown[1]


def test_the_bill_shown_is_what_is_printed(shown):
    out, told = shown
    told = told.replace(str(out), "build/demo")
    words, lines = next(
        (words, lines) for _, words, lines in shown_commands(TOUR) if words[0] == "analyze"
    )
    (in_readme,) = shown_commands(README)
    assert (in_readme.words, in_readme.lines) == (words, lines)
    assert f"$ rackwise {' '.join(words)}\n" in told
    assert [line for line in lines if line not in told.splitlines()] == []


@pytest.mark.parametrize("page", ["README.md", "docs/tour.md"])
def test_pages_show_what_is_printed(shown, page):
    _, _, told = shown[1].partition("\nDollars per 30 days:\n")
    told, _, _ = told.partition("\n\n")
    assert f"\nDollars per 30 days:\n{told}\n```" in (ROOT / page).read_text()


def test_the_data_have_no_path_of_the_machine_that_made_them():
    for path in DEMO.rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        text = gzip.decompress(content) if path.suffix == ".gz" else content
        assert b"/tmp/" not in text, path.name
        assert len(content) < 100_000, path.name
