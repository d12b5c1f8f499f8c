"""Runs the tests of one capability: `make only CAP=planning`; `make only` lists the capabilities.

Further arguments go to pytest: `python tests/only.py planning -m "not server" -x`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

CAPABILITIES = {
    "placement": """
        core/placement cli/place adapters/kafka/test_create.py oracle/test_placement.py
    """,
    "planning": """
        core/planning solver/planning cli/plan
        adapters/files/test_plan.py pipeline/plans
    """,
    "apply": """
        core/applying adapters/kafka/test_applying*.py adapters/files/test_journal.py
        adapters/files/test_state_folder.py cli/apply
    """,
    "audit": """
        core/test_audit.py core/test_blast.py core/test_view.py core/findings core/model core/rules
        core/policy cli/audit
        adapters/files/test_policy.py adapters/files/test_snapshot.py pipeline/audit
    """,
    "identity": """
        core/identity core/wire adapters/identity adapters/launch adapters/zookeeper adapters/wire
        cli/broker_id chaos oracle/test_identity.py
    """,
    "consumers": """
        core/assignors core/fetch_diagnosis adapters/clients solver/test_optimal.py cli/consumer
        oracle/test_assignors.py oracle/test_sticky.py
    """,
    "producers": "core/partitioner adapters/clients cli/producer oracle/test_choices.py",
    "service": "core/replica_service core/sasl adapters/rpc cli/place/test_serve.py",
    "bill": """
        core/savings solver/test_savings.py solver/test_saving_ranges.py solver/test_moved_reads.py
        core/test_traffic.py core/test_subnets.py
        core/fleet core/meter core/billed adapters/kafka/logs adapters/kafka/test_commits.py
        pipeline report cli/analyze
    """,
    "deploy": "deploy house/test_wheel.py house/test_installed_wheel.py",
    "fleet": """
        core/test_fleet_file.py adapters/files/test_fleet_file.py cli/fleet
        core/nightly core/notices adapters/test_nightly_steps.py adapters/test_webhook.py
    """,
    "racks": "core/inventory cli/analyze/racks",
    "house": "house",
}
"""Capability -> files and folders of `tests`."""


def paths_of(capability: str) -> list[str]:
    """The files and folders of a capability's tests, relative to the repository."""
    found = []
    for pattern in CAPABILITIES[capability].split():
        matches = sorted((ROOT / "tests").glob(pattern))
        if not matches:
            raise SystemExit(f"invalid capability {capability}: expected tests at {pattern}")
        found += [str(each.relative_to(ROOT)) for each in matches]
    return found


def main(arguments: list[str]) -> int:
    """Run pytest on one capability, or list all; the exit status is pytest's."""
    if not arguments or arguments[0] not in CAPABILITIES:
        given = f"invalid CAP: got {arguments[0]!r}\n" if arguments else ""
        print(f"{given}expected CAP=NAME, one of: {', '.join(CAPABILITIES)}", file=sys.stderr)
        return 1
    capability, *options = arguments
    command = [sys.executable, "-m", "pytest", *paths_of(capability), "-m", "not long", *options]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
