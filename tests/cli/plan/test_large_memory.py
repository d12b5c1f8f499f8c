"""Commands on a cluster of 1,600,000 partitions stay below an address space of 2.5 GiB."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from large_clusters import LIMIT_KIB, Measured, large_cluster, measure
from rackwise.adapters.files import read_published, write_snapshot

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]

SIZE = "--max-input", "2GiB"
"""A plan of all partitions is larger than an input may be without it."""
NAMED_RACKS = "300=/r0", "301=/r1", "302=/r2"
COMMANDS = (
    (2, ("audit",)),
    (2, ("--json", "audit")),
    (2, ("audit", "--format", "sarif")),
    (2, ("audit", "--format", "junit")),
    (2, ("audit", "--format", "github")),
    (2, ("audit", "--metrics", "audit.prom")),
    (2, ("what-if", "--lose", "/r2")),
    (0, ("place", "--partitions", "12", "--replication-factor", "3", "--seed", "7")),
    (0, ("place", "--all-topics", "*", "--seed", "7")),
    (2, ("consumer", "evaluate", "--group", "readers")),
    (0, ("consumer", "simulate", "--group", "readers")),
    (2, ("doctor",)),
    (2, ("plan", "drain", "7")),
    (2, ("plan", "leaders")),
    (2, ("--json", "plan", "repair")),
    (2, ("plan", "add", *NAMED_RACKS)),
    (0, ("producer", "split", "--rates", "rates.json")),
    (0, ("producer", "simulate", "--rates", "rates.json")),
)
"""Exit code and words of commands that read the snapshot, and the rates of producers."""
DEMO_FLOWS = Path(__file__).parents[3] / "examples" / "demo" / "flows"
RATES = {
    "format": "rackwise-rates/1",
    "topic": "topic-00000",
    "made_at_ms": 1795219200000,
    "free_bytes_per_s": {"/r0": 4194304, "/r1": 4194304, "/r2": 1048576},
    "pinned_bytes_per_s": {},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("large")
    write_snapshot(large_cluster(seed=1), found / "snapshot.json")
    (found / "rates.json").write_text(json.dumps(RATES))
    return found


def run(folder: Path, *words: str) -> Measured:
    found = measure((*SIZE, *words, "--snapshot", "snapshot.json"), cwd=folder)
    assert "internal error" not in found.stderr
    assert "Traceback" not in found.stderr
    return found


@pytest.mark.parametrize(("code", "words"), COMMANDS)
def test_a_command_has_enough_memory(folder: Path, code: int, words: tuple[str, ...]) -> None:
    found = run(folder, *words)
    assert found.exit == code, found.stderr
    assert 0 < found.space_mib * 1024 <= LIMIT_KIB


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("plans", [(), ("--no-plans",)])
def test_analyze_and_its_report_have_enough_memory(folder: Path, plans: tuple[str, ...]) -> None:
    flows = (*("--flows", DEMO_FLOWS), "--max-quarantine", "1")
    words = (*SIZE, "analyze", "snapshot.json", *flows, "--engine", "local", "--out", "bill")
    for found in (
        measure((*words, *plans), cwd=folder),
        measure((*SIZE, "report", "bill"), cwd=folder),
    ):
        assert found.exit == 0, found.stderr
        assert 0 < found.space_mib * 1024 <= LIMIT_KIB
    summary = read_published(folder / "bill").summary
    planned = summary["plans"] and [row["verdict"] for row in summary["plans"]["rows"]]
    assert planned == (None if plans else ["proved"])


def test_plans_are_proved_explained_and_compared(folder: Path) -> None:
    assert run(folder, "plan", "set-rf", "*=2", "--out", "fewer.json").exit == 2
    in_kafkas_form = ("--kafka-json", "even-kafka.json", "--rollback-json", "back.json")
    assert run(folder, "plan", "balance", "--out", "even.json", *in_kafkas_form).exit == 2
    for name in ("fewer.json", "even.json"):
        assert run(folder, "proof", name).exit == 0
    assert run(folder, "explain", "fewer.json", "topic-00001-5").exit == 0
    for pair in (("fewer.json", "even.json"), ("snapshot.json", "even-kafka.json")):
        compared = measure((*SIZE, "diff", *pair), cwd=folder)
        assert compared.exit == 2, compared.stderr
    nowhere = ("--bootstrap-server", "127.0.0.1:1")
    for command in (("status",), ("apply", "--check")):
        read = measure((*SIZE, *command, "even.json", *nowhere), cwd=folder)
        assert "no broker answers at 127.0.0.1:1" in read.stderr


def test_a_search_that_does_not_fit_ends_with_a_hint(folder: Path) -> None:
    words = (*SIZE, "plan", "add", *NAMED_RACKS, "--snapshot", "snapshot.json")
    found = measure(words, cwd=folder, limit_kib=LIMIT_KIB * 4 // 5)
    assert "internal error" not in found.stderr
    assert found.exit == 1
    assert "error: not enough memory: expected about " in found.stderr
    assert "hint: " in found.stderr
