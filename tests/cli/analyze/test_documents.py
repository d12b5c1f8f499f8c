"""Documents of the commands that need Spark or Kafka, printed without either.

The fixture `declared_documents` reads each printed document back by its declaration.
"""

from __future__ import annotations

from datetime import date
from types import SimpleNamespace

from rackwise.cli import sandbox
from rackwise.cli.analyze import spark_check, stream
from rackwise.cli.analyze.documents import CODEC
from rackwise.cli.shell import Shell
from rackwise.core.errors import InvalidSummary
from rackwise.core.findings import Finding, FindingList, Severity
from rackwise.core.json.strict import parse
from rackwise.core.model import Broker
from rackwise.core.racks import Rack
from rackwise.pipeline.spark_racks.check import RULES, Answers, Jvm
from rackwise.pipeline.stream.counts import CompactCounts
from rackwise.pipeline.stream.store import Batch
from report.summaries import summary

SHELL = Shell(is_json=True)


def printed(capsys):
    return parse(capsys.readouterr().out.encode(), where="stdout", error=InvalidSummary)


def test_a_run_of_a_stream(capsys):
    batches = [
        Batch(
            token="t",  # noqa: S106 (no password)
            batch_id=number,
            attempt="a",
            reasons={"malformed:json": 1, "kept": 2},
            bytes=200,
            offsets={},
            days=None,
        )
        for number in range(2)
    ]
    stream._show_run(SHELL, batches)
    assert printed(capsys) == {
        "format": "rackwise.stream-run/1",
        "batches": 2,
        "messages": 6,
        "kept": 4,
        "reasons": {"kept": 4, "malformed:json": 2},
        "bytes": 400,
    }


def test_a_compacted_day_contains_the_summary_unchanged(capsys):
    numbers = dict.fromkeys(
        ("messages", "accepted", "superseded", "duplicate", "quarantined", "conflicts"), 3
    )
    numbers |= {"late": 0, "rows": 9, "bytes": 900, "batches": 1}
    of_day = summary()
    counts = CompactCounts(**numbers, reasons={"malformed:json": 3})
    stream._show_day(SHELL, date(2026, 11, 21), counts, of_day)
    assert printed(capsys) == {
        "format": "rackwise.compact/1",
        "date": "2026-11-21",
        "telemetry": {**numbers, "reasons": {"malformed:json": 3}},
        "summary": of_day,
    }


def test_a_check_of_a_spark_job(capsys):
    jvm = Jvm(host="10.0.0.1", pid="7", value="use1-az1")
    rule = next(iter(RULES))
    finding = Finding(rule, Severity.ERROR, wanted="a", had="b", where="option o", hint="do it")
    found = FindingList(RULES, [finding])
    answers = Answers(executors={jvm: 8}, driver=jvm, asked=8)
    document = spark_check._document({"kafka.client.rack": "a"}, "RACK", answers, found)
    SHELL.document(document, CODEC)
    result = printed(capsys)
    assert result["executors"] == [{**result["driver"], "answers": 8}]
    assert result["driver"]["rack"] == "use1-az1"
    assert result["racks"] == {"use1-az1": 1}
    assert result["findings"] == [finding.as_dict("where", "group", "client_rack", "hint")]


def test_a_sandbox(capsys):
    brokers = (
        Broker(id=0, rack=Rack("a"), host="127.0.0.1", port=9092),
        Broker(id=1, rack=None, host="127.0.0.1", port=9093),
    )
    cluster = SimpleNamespace(
        bootstrap="127.0.0.1:9092", folder="/box", brokers=brokers, pid=lambda _: None
    )
    SHELL.document(sandbox.document(cluster, None))
    result = printed(capsys)
    assert [each["rack"] for each in result["brokers"]] == ["a", None]
    assert result["zookeeper_connect"] is None
