"""Prints what `rackwise analyze` would do, for `--explain-plan`.

```
fleet    1 snapshot of 1 cluster, 12 brokers, 6,969 partitions
flows    4 parquet files, 52,575 bytes, vpc
read by  2 tasks with pyarrow, 4 splits
engine   Spark 4.2.1 on local[*], 2 cores
rows     1,050 (counted: footers of all files)
CPU      26 s (estimate: constants measured on two shared cores, see benchmarks)
wall     13 to 26 s (estimate: CPU seconds on idle cores, the fixed part on all cores or on one)
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.cli.shell import installed
from rackwise.core.text import counted, escaped
from rackwise.report.formats import count_of

if TYPE_CHECKING:
    from rackwise.cli.analyze.documents import AnalyzePlanDocument
    from rackwise.cli.analyze.inputs import Inputs
    from rackwise.cli.analyze.settings import Settings
    from rackwise.cli.shell import Shell
    from rackwise.pipeline.ingest.explain.model import Estimate, FlowReading


def explain_plan(shell: Shell, inputs: Inputs, settings: Settings) -> None:
    """Print the plan of a run on stdout, as a document or as text.

    Raises what `pipeline.ingest.explain.plan.explain` raises.
    """
    from rackwise.cli.analyze.documents import CODEC, AnalyzePlanDocument

    with installed("spark", "analyze"), shell.progress("listing flow files"):
        from rackwise.pipeline.ingest.explain.plan import explain

        found = explain(
            inputs.flows,
            settings.flow_format,
            settings.dedupe,
            master=settings.master,
            remote=settings.remote,
            conf=settings.conf,
        )
    order = sorted(inputs.snapshots, key=lambda one: (one.taken_at, one.file))
    last = {one.name: one.cluster for one in order}
    document = AnalyzePlanDocument(
        snapshots=len(inputs.snapshots),
        skipped=len(inputs.failed),
        clusters=len(last),
        brokers=sum(len(cluster.brokers) for cluster in last.values()),
        partitions=sum(len(cluster.partitions) for cluster in last.values()),
        flow_format=settings.flow_format,
        engine=found.engine,
        flows=found.flows,
    )
    if shell.is_json:
        shell.document(document, CODEC)
    else:
        shell.text(_text(document))


def _text(plan: AnalyzePlanDocument) -> str:
    flows, engine = plan.flows, plan.engine
    skipped = f", {plan.skipped:,} skipped" if plan.skipped else ""
    cores = "an unknown number of cores" if engine.cores is None else counted(engine.cores, "core")
    rows = {
        "fleet": f"{counted(plan.snapshots, 'snapshot')} of {counted(plan.clusters, 'cluster')}, "
        f"{count_of(plan.brokers, 'broker')}, {count_of(plan.partitions, 'partition')}{skipped}",
        "flows": _files(flows, plan.flow_format),
        "read by": _reader(flows),
        "engine": f"Spark {escaped(engine.version)} on {escaped(engine.place)}, {cores}",
        "rows": _shown(flows.rows),
        "CPU": _shown(flows.cpu_s, " s"),
        "wall": _shown(flows.wall_s, " s"),
    }
    lines = [f"{name:8} {text}" for name, text in rows.items()]
    if flows.reader != "none":
        lines.append("         Plans, savings and findings are not in CPU and wall.")
    return "\n".join(lines)


def _files(flows: FlowReading, flow_format: str) -> str:
    kinds = [
        f"{count_of(kind.files, f'{kind.kind} file')}, {count_of(kind.bytes, 'byte')}"
        for kind in flows.kinds
    ]
    return "; ".join([*kinds, flow_format]) if kinds else "none"


def _reader(flows: FlowReading) -> str:
    if flows.reader == "none":
        return "nobody"
    if flows.reader == "spark":
        return f"Spark, because {'; '.join(flows.reasons)}"
    tasks = "an unknown number of tasks" if flows.tasks is None else count_of(flows.tasks, "task")
    return f"{tasks} with pyarrow, {count_of(flows.splits, 'split')}"


def _shown(number: Estimate, unit: str = "") -> str:
    if number.low is None or number.high is None:
        return f"not known: {number.source}"
    bounds = f"{number.low:,}"
    if number.high != number.low:
        bounds += f" to {number.high:,}"
    return f"{bounds}{unit} ({number.quality}: {number.source})"
