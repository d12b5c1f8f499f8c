"""The recipes of ARCHITECTURE.md work: each is followed in a copy of the source tree."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from canonical_flows import flow, write_flows

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "examples" / "demo" / "snapshot.json.gz"
RECIPES = re.findall(r"^\| an? ([\w -]+) \| ", (ROOT / "ARCHITECTURE.md").read_text(), re.MULTILINE)


class Copy:
    """A copy of the source tree in which a recipe is followed."""

    def __init__(self, folder: Path) -> None:
        self.source = folder / "src" / "rackwise"
        shutil.copytree(
            ROOT / "src" / "rackwise",
            self.source,
            ignore=shutil.ignore_patterns("__pycache__"),
        )

    def write(self, name: str, text: str) -> None:
        """Add a file."""
        file = self.source / name
        file.parent.mkdir(parents=True, exist_ok=True)
        assert not file.exists()
        file.write_text(text)

    def insert(self, name: str, after: str, line: str) -> None:
        """Add one line after the only line that is `after`."""
        file = self.source / name
        text = file.read_text()
        assert text.count(after) == 1, f"{after!r} in {name}"
        file.write_text(text.replace(after, after + line))

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run Python with this copy."""
        return subprocess.run(
            [sys.executable, *command],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(self.source.parent), "COLUMNS": "100"},
            capture_output=True,
            text=True,
            check=False,
        )

    def rackwise(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the command line of this copy."""
        return self.run("-m", "rackwise.cli", *arguments)


@pytest.fixture
def tree(tmp_path):
    return Copy(tmp_path)


def test_there_is_a_test_for_each_recipe():
    assert RECIPES == [
        "audit rule",
        "flow-log format",
        "price provider",
        "placer",
        "client library",
        "command or option",
        "error",
        "gold column",
        "metric",
    ]


def test_an_audit_rule(tree):
    tree.write(
        "core/rules/names.py",
        '''"""Rules about names of topics."""

import numpy as np

from rackwise.core.findings import FindingBatch, Severity
from rackwise.core.rules.registry import rule


@rule("short-name", Severity.WARNING, "a partition exists")
def short_name(view):
    """Each partition, to see that the rule is judged."""
    rows = np.arange(3)
    yield FindingBatch(rule="short-name", texts=[("none", "one")], text=rows * 0, row=rows)
''',
    )
    tree.insert(
        "core/rules/__init__.py",
        "from rackwise.core.rules import loss  # noqa: F401\n",
        "from rackwise.core.rules import names  # noqa: F401\n",
    )
    done = tree.rackwise("audit", "--snapshot", str(DEMO), "--rule", "short-name")
    assert done.returncode == 2, done.stderr
    assert re.search(r"short-name +warning +3 +a partition exists", done.stdout), done.stdout


def test_a_flow_log_format(tree, tmp_path):
    tree.write(
        "pipeline/ingest/formats/copied.py",
        '''"""Canonical flows under another name."""

from rackwise.pipeline.ingest.formats.canonical import CanonicalFormat


class CopiedFormat(CanonicalFormat):
    """As canonical flows."""

    name = "copied"
''',
    )
    tree.insert(
        "pipeline/ingest/formats/__init__.py",
        "from rackwise.pipeline.ingest.formats.canonical import CanonicalFormat\n",
        "from rackwise.pipeline.ingest.formats.copied import CopiedFormat\n",
    )
    tree.insert(
        "pipeline/ingest/formats/__init__.py",
        "        CanonicalFormat(),\n",
        "        CopiedFormat(),\n",
    )
    done = tree.rackwise("analyze", "--help")
    assert done.returncode == 0, done.stderr
    assert "copied" in done.stdout
    read = flow("fetch", 0, 2**30, cluster="shop", topic="clicks", client_rack="use1-az2")
    write_flows(tmp_path / "flows", [read])
    done = tree.rackwise(
        *("analyze", str(DEMO), "--flows", str(tmp_path / "flows"), "--flow-format", "copied"),
        *("--engine", "local", "--no-plans", "--out", str(tmp_path / "bill")),
    )
    assert "1.00 GiB of 1.00 GiB cross racks" in done.stdout, done.stderr


def test_a_price_provider(tree):
    with (tree.source / "adapters" / "files" / "tables" / "prices.csv").open("a") as table:
        table.write(
            "mycloud,*,zone,*,0.03,0,1073741824,2026-11-01,,https://mycloud.example/,true\n"
        )
    done = tree.rackwise(*("plan", "repair", "--snapshot", str(DEMO), "--provider", "mycloud"))
    assert done.returncode == 2, done.stderr
    assert re.search(r"^price +.*\$", done.stdout, re.MULTILINE), done.stdout


def test_a_placer(tree):
    tree.write(
        "core/placement/placers/lowest.py",
        '''"""Lowest ids first: a placer to learn from."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Lowest:
    """Each partition on the brokers of the lowest ids."""

    name = "lowest"

    def place(self, request):
        """The same row for each partition."""
        ids = [broker.id for broker in request.brokers][: request.replication]
        return np.tile(np.array(ids, dtype=np.int32), (request.partitions, 1))
''',
    )
    tree.insert(
        "core/placement/place.py",
        "from rackwise.core.placement.placers.levels import Levels\n",
        "from rackwise.core.placement.placers.lowest import Lowest\n",
    )
    tree.insert("core/placement/place.py", '"levels": Levels', ', "lowest": Lowest')
    size = ["--partitions", "2", "--replication-factor", "2"]
    done = tree.rackwise("place", "--snapshot", str(DEMO), *size, "--placer", "lowest")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "0:1,0:1\n"


def test_a_client_library(tree):
    lazy = "from rackwise import lazy_names\n\n__getattr__, __dir__ = lazy_names(__name__)\n"
    tree.write("adapters/clients/mini/__init__.py", lazy)
    home = "rackwise.adapters.clients.mini"
    names = [f"from {home}.group import {name} as {name}\n" for name in ("RackRange", "attach")]
    tree.write("adapters/clients/mini/__init__.pyi", "".join(names))
    tree.write("mini.py", f"from {home} import __dir__, __getattr__\n")
    tree.write(
        "adapters/clients/mini/group.py",
        '''"""Assignors for mini: range with racks."""

import time

from rackwise.adapters.clients import private
from rackwise.adapters.clients.group import Participant
from rackwise.adapters.clients.serving import DecidesRange, Serving, join_all


class RackRange(DecidesRange, Serving):
    """Kafka's "range" for mini."""

    client = "mini"

    def __init__(self, rack=None):
        self._participant = Participant(
            rule=self.rule, decide=self.decide, clock=time.monotonic, rack=rack
        )

    def brokers_of(self, cluster):
        """Broker id -> rack."""
        return cluster.racks


def attach(consumer, *assignors):
    """Join assignors to the consumer that uses them."""
    private.check_version("mini", consumer.version)
    join_all(consumer, assignors, rack=consumer.rack, instance_id=None, min_interval_ms=0)
''',
    )
    tree.insert("adapters/clients/private.py", "SUPPORTED = {", '"mini": ((1, 2), (1, 3)), ')
    code = """
from rackwise.adapters.clients.group import ReportedMember
from rackwise.mini import RackRange, attach
from rackwise.core.wire.consumer import decode_assignment


class Cluster:
    _listeners = set()
    racks = {1: "a", 2: "b"}
    _partitions = {"t": {0: type("P", (), {"replicas": [2], "leader": 2, "isr": [2]}),
                         1: type("P", (), {"replicas": [1], "leader": 1, "isr": [1]})}}

    def partitions_for_topic(self, topic):
        return set(self._partitions[topic])


class Consumer:
    version = "1.2.5"
    rack = "a"
    _client = type("Client", (), {"cluster": Cluster()})


consumer, leader = Consumer(), RackRange()
attach(consumer, leader)
members = [ReportedMember(member_id=id, topics=("t",), rack=rack) for id, rack in ["ma", "nb"]]
answer = leader.assign_members(consumer._client.cluster, ["m", "n"], members)
read = {id: decode_assignment(data).partitions for id, data in answer.items()}
print({id: [tuple(each) for each in found] for id, found in read.items()}, leader.last_error)
"""
    done = tree.run("-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "{'m': [('t', 1)], 'n': [('t', 0)]} None\n"


def test_a_command_or_option(tree):
    tree.write(
        "cli/audit/hello.py",
        '''"""`rackwise hello`: greets."""

from typing import Annotated

import typer


def hello(
    context: typer.Context,
    name: Annotated[str, typer.Option(help="Greets this name.")] = "world",
) -> int:
    """Greet."""
    shell = context.obj
    if shell.is_json:
        shell.document({"format": "hello/1", "name": name})
    else:
        shell.text(f"hello {name}")
    return 0
''',
    )
    tree.insert(
        "cli/app.py",
        "COMMANDS = {\n",
        '    "hello": Command("audit.hello", "Greet", Heading.LOOK, "hello --name rack"),\n',
    )
    done = tree.rackwise("hello", "--name", "rack")
    assert (done.returncode, done.stdout) == (0, "hello rack\n"), done.stderr
    done = tree.rackwise("hello", "--name", "rack", "--json")
    assert (done.returncode, done.stdout) == (0, '{"format": "hello/1", "name": "rack"}\n'), (
        done.stderr
    )
    shown = tree.rackwise("--help").stdout
    assert "\nLook:\n  hello        Greet\n    rackwise hello --name rack\n" in shown


def test_an_option_of_a_command_that_exists(tree):
    tree.insert(
        "cli/place/placers.py",
        "def placers(context: typer.Context",
        ", is_short: Annotated[bool, typer.Option('--short', help='Print names only.')] = False",
    )
    tree.insert("cli/place/placers.py", "import typer\n", "from typing import Annotated\n")
    tree.insert(
        "cli/place/placers.py",
        "    shell: Shell = context.obj\n",
        "    if is_short:\n        shell.text(' '.join(placer_names()))\n        return 0\n",
    )
    done = tree.rackwise("placers", "--short")
    assert (done.returncode, done.stdout) == (0, "kip36 unaware striped ring levels\n"), done.stderr


def test_an_error(tree, tmp_path):
    tree.insert(
        "core/errors.py",
        "class InvalidSnapshot(InputError):\n",
        '    """A snapshot, or what it is made from, is wrong."""\n\n\n'
        'class WrongName(InputError):\n    """A file has a name that no format has."""\n\n\n'
        "class Rest(InputError):\n",
    )
    tree.insert(
        "adapters/files/bounded_read.py",
        "def _check_regular(status: os.stat_result, name: str) -> None:\n",
        "    from rackwise.core.errors import WrongName\n"
        "    if name.endswith('.txt'):\n"
        "        raise WrongName(f'invalid {escaped(name)}: expected .json, got .txt',\n"
        "            wanted='.json', had='.txt', hint='rename the file', where=name)\n",
    )
    snapshot = tmp_path / "s.txt"
    snapshot.write_text("{}")
    message, hint = f"invalid {snapshot}: expected .json, got .txt", "rename the file"
    done = tree.rackwise("audit", "--snapshot", str(snapshot))
    assert (done.returncode, done.stdout) == (1, ""), done.stdout
    assert done.stderr == f"error: {message}\nhint: {hint}\n"
    done = tree.rackwise("audit", "--snapshot", str(snapshot), "--json")
    assert '"error": "WrongName"' in done.stderr
    assert f'"hint": "{hint}"' in done.stderr


@pytest.mark.spark
@pytest.mark.long
def test_a_gold_column(tree, tmp_path):
    tree.insert(
        "pipeline/schemas.py",
        'CROSS_RACK = _table(\n    "cross_rack",\n',
        '    is_local=(_BOOL, "whether the bytes cross no level"),\n',
    )
    tree.insert(
        "pipeline/bill/cost.py",
        '        "level": crossed,\n',
        '        "is_local": crossed == LOCAL,\n',
    )
    demo = ROOT / "examples" / "demo"
    done = tree.rackwise(
        *("analyze", str(DEMO), "--flows", str(demo / "flows"), "--provider", "aws"),
        *("--subnets", str(demo / "subnets.csv"), "--out", str(tmp_path / "bill")),
    )
    assert done.returncode in {0, 2}, done.stderr
    code = "import sys, pyarrow.dataset as d; print(d.dataset(sys.argv[1]).schema.names)"
    (table,) = (tmp_path / "bill").rglob("cross_rack")
    assert "is_local" in tree.run("-c", code, str(table)).stdout


def test_a_metric(tree):
    with (tree.source / "report" / "metrics" / "run.py").open("a") as file:
        file.write(
            """

@metric("days_measured", "The days that the run covers.")
def _days_measured(summary):
    yield (), 7
"""
        )
    code = (
        "import json, sys; from rackwise.report.metrics.run import run_metrics;"
        "sys.path.insert(0, 'tests/report'); import summaries;"
        "print(run_metrics(summaries.summary(), now='2026-11-24T00:00:00Z'))"
    )
    done = tree.run("-c", code)
    assert "rackwise_days_measured 7" in done.stdout, done.stderr
