"""Every command that writes a file or a folder and needs no server, with small inputs."""

from __future__ import annotations

import json
import re
import resource
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import typer

from rackwise.cli.app import COMMANDS, build_app

DEMO = Path(__file__).parents[1] / "examples" / "demo"
SNAPSHOT = DEMO / "snapshot.json.gz"
BILL = ("analyze", SNAPSHOT, "--flows", DEMO / "flows", "--engine", "local")

REASSIGNMENT = {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2]}]}
RATES = DEMO.parent / "producers" / "rates.json"
SUBNETS = [{"CidrBlock": "10.0.1.0/24", "AvailabilityZone": "use1-a", "AvailabilityZoneId": "a1"}]
SUBNETS[0] |= {"SubnetId": "subnet-1", "VpcId": "vpc-1", "State": "available"}
INSTANCE = {
    "creationTimestamp": "2026-11-02T10:00:00.123-07:00",
    "id": "1",
    "name": "kafka-0",
    "networkInterfaces": [{"name": "nic0", "networkIP": "10.1.0.9"}],
    "zone": "https://www.googleapis.com/compute/v1/projects/p/zones/europe-west1-b",
}
PATH = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/kafka-0"
NIC = {
    "name": "kafka-0-nic",
    "ipConfigurations": [{"name": "ipconfig1", "privateIPAddress": "10.2.0.4"}],
    "virtualMachine": {"id": PATH},
}
MACHINE = {
    "id": PATH,
    "name": "kafka-0",
    "location": "westeurope",
    "zones": ["1"],
    "timeCreated": "2026-11-02T10:00:00+00:00",
}
NODE = {
    "kind": "Node",
    "metadata": {
        "name": "n1",
        "labels": {"topology.kubernetes.io/zone": "eu-west-1a"},
        "creationTimestamp": "2026-11-01T00:00:00Z",
    },
    "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]},
}
INPUTS = {
    "reassignment.json": REASSIGNMENT,
    "racks.csv": "broker,rack\n1,a\n2,b\n",
    "aws.json": {"Subnets": SUBNETS},
    "gcp.json": [INSTANCE],
    "nics.json": [NIC],
    "vms.json": [MACHINE],
    "kubernetes.json": {"kind": "NodeList", "items": [NODE]},
}
"""Name of a file -> its document or text."""
RESULT = "result"
"""The folder of a published result, which `report` reads."""


class Written(NamedTuple):
    """One way to write: the words of the command, and the option that names the target."""

    words: tuple
    option: str
    target: str
    """The name of the file or folder."""
    code: int = 0
    """The exit code of success."""


def written(words, *targets, code=0):
    """`Written` by the words of the command and its option."""
    names = [each for each in words[:2] if isinstance(each, str) and each in SUBCOMMANDS]
    return {
        " ".join([words[0], *names, option]): Written(words, option, target, code)
        for option, target in targets
    }


SUBCOMMANDS = {"simulate", "split", "kubernetes", "aws", "gcp", "azure"}
ON_FILES = ("snapshot", "--reassignment", "reassignment.json", "--racks", "racks.csv")
WRITTEN = {
    **written(ON_FILES, ("--out", "s.json.gz")),
    **written(("audit", "--snapshot", SNAPSHOT), ("--metrics", "a.prom"), code=2),
    **written(
        ("plan", "balance", "--snapshot", SNAPSHOT),
        *(("--out", "p.json"), ("--kafka-json", "k.json"), ("--rollback-json", "r.json")),
        code=2,
    ),
    **written(("consumer", "simulate", "--snapshot", SNAPSHOT), ("--out", "c.json")),
    **written(("producer", "split", "--snapshot", SNAPSHOT, "--rates", RATES), ("--out", "s.json")),
    **written(("racks", "kubernetes", "kubernetes.json"), ("--out", "k.csv")),
    **written(("racks", "aws", "aws.json"), ("--out", "a.csv")),
    **written(("racks", "gcp", "gcp.json"), ("--out", "g.csv")),
    **written(("racks", "azure", "nics.json", "--vms", "vms.json"), ("--out", "z.csv")),
    **written(("report", RESULT), ("--out", "r.html"), ("--metrics", "r.prom")),
    **written(BILL, ("--out", "bill")),
    **written(("generate", "--seed", "7", "--flows", "40", "--topics", "9"), ("--out", "fleet")),
}
"""Command and option -> how to write; the target is in the working folder."""
ON_SERVERS = {
    "nightly --out": "tests/cli/fleet/nightly",
    "stream run --out": "tests/pipeline/stream",
    "stream run --checkpoint": "tests/pipeline/stream",
    "stream compact --out": "tests/pipeline/stream",
    "broker-id acquire --report": "tests/cli/broker_id: a warning, since the broker starts",
    "sandbox --folder": "Kafka writes there",
    "analyze --tables": "tests/cli/test_full_disk.py",
}
"""The others -> where they are tested."""


def writing_options():
    """Command and option of everything that a user can have written, from the command line."""
    for name in COMMANDS:
        for words, command in _leaves(typer.main.get_command(build_app(name)), []):
            for option in command.params:
                told = getattr(option, "help", None) or ""
                if WRITES.match(told) and option.metavar != "URL":
                    yield " ".join([*words, option.opts[0]])


WRITES = re.compile(r"(Also )?([Ww]rite|[Kk]eep) .*\b(here|file|folder|FILE|moves|assignments)\b")


def _leaves(command, words):
    if not hasattr(command, "commands"):
        yield words, command
    for name, each in getattr(command, "commands", {}).items():
        yield from _leaves(each, [*words, name])


def prepare(folder):
    """Write the inputs of the commands."""
    for name, content in INPUTS.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / name).write_text(text)


@contextmanager
def size_limit(size):
    """Let this process write no file beyond this size, as a quota or a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def content(folder):
    """Path below a folder -> content of the file, or target of the link."""
    return {
        str(path.relative_to(folder)): str(path.readlink())
        if path.is_symlink()
        else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }
