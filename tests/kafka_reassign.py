"""Kafka's own `kafka-reassign-partitions`, run as an operator runs it, to check our files."""

from __future__ import annotations

import os
import subprocess

from kafka_traffic import first, until
from rackwise.adapters.sandbox import KAFKA_4_3, resolve

TOOL = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
TOOLS = "oracle-4.3.1"
RUN_S = 60


def kafkas_tool(java_home, bootstrap, *words, code=0):
    """What the tool prints; its exit code must be `code`."""
    path = os.pathsep.join(map(str, [*resolve(TOOLS), *resolve(KAFKA_4_3)]))
    java = [java_home / "bin" / "java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    done = subprocess.run(
        [*java, "-cp", path, TOOL, "--bootstrap-server", bootstrap, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def executed(java_home, bootstrap, file, names):
    """Let the tool execute a reassignment file; it reports that it started these partitions."""
    words = ("--reassignment-json-file", file, "--execute")
    said = kafkas_tool(java_home, bootstrap, *words)
    started = ",".join(names)
    assert f"Successfully started partition reassignment{'s' * (len(names) > 1)} for {started}" in (
        said.splitlines()
    ), said


def verified(java_home, admin, bootstrap, file, names):
    """The tool reports that the reassignment of each partition is complete."""
    until(lambda: not admin.list_partition_reassignments(), "the reassignment to end")
    wanted = {f"Reassignment of partition {name} is completed." for name in names}
    asked = ("--reassignment-json-file", file, "--verify")
    first(
        lambda: kafkas_tool(java_home, bootstrap, *asked).splitlines(),
        wanted.issubset,
        "every broker to know that the reassignment is complete",
    )
