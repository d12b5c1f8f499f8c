"""How a run of `analyze` would read its flow files, on which Spark, and how long it would take.

Lists the files, opens some of them where this machine can, and decides as the run does. Spark is
started only if it has to list the files, or if it is not on this machine:

```
flow files  ->  kinds                       parquet 160 files, text.gz 2 files
            ->  by tasks, or by Spark       one file that tasks cannot open: Spark reads all
            ->  rows, CPU s, wall s         `costs`
```

What this does not do: read rows, check columns, publish anything.
"""

from __future__ import annotations

import os
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from pyspark import __version__
from pyspark.sql import SparkSession, is_remote

from rackwise.core.text import are, counted
from rackwise.pipeline.fleet.tasks import TASKS_PER_CORE, task_count
from rackwise.pipeline.ingest.explain.costs import (
    expected_cpu,
    expected_rows,
    expected_wall,
    rows_in,
    sample,
    unknown,
)
from rackwise.pipeline.ingest.explain.model import FileKind, FlowReading, SparkEngine
from rackwise.pipeline.ingest.files import flow_files, local_files
from rackwise.pipeline.ingest.formats import DEFAULT, input_format
from rackwise.pipeline.ingest.local_files import LOCAL
from rackwise.pipeline.ingest.splits import part_count, reading_tasks
from rackwise.pipeline.ingest.text_lines import GZIP, OTHER_CODECS
from rackwise.pipeline.runtime.remotes import is_local
from rackwise.pipeline.runtime.session import ALL_CORES, REMOTE, SUBMITTED, local_cores, session

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.pipeline.ingest.explain.costs import FileSample
    from rackwise.pipeline.ingest.explain.model import Estimate
    from rackwise.pipeline.ingest.files import FlowFile
    from rackwise.pipeline.ingest.formats import Dedupe, InputFormat

FILE_SYSTEM = "spark.hadoop.fs."
"""Start of the properties that decide what a path without a scheme is."""
FOLDERS_OF_CONF = ("HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_CONF_DIR")
PARQUET_KIND, TEXT = "parquet", "text"
"""Kinds of files; a kind of compressed text has the end of its names, too."""


class Explained(NamedTuple):
    """What a run would do."""

    engine: SparkEngine
    flows: FlowReading


def explain(
    flows: Sequence[str],
    flow_format: str,
    dedupe: Dedupe,
    *,
    master: str | None = None,
    remote: str | None = None,
    conf: Mapping[str, str],
) -> Explained:
    """What `analyze` would do with these flow files; `master`, `remote`, `conf` as in `session`.

    Raises `InvalidFlows` for a path that does not exist, and what `session` raises if a session is
    needed.
    """
    engine = _engine_here(master, remote, conf)
    files = local_files(flows) if engine else None
    if engine is None or files is None:
        with session(master=master, remote=remote, profile="tiny", conf=conf) as spark:
            engine = _engine_of(spark, remote)
            files = flow_files(spark, flows) if flows else ()
    return Explained(
        engine, planned_reading(files, input_format(flow_format), dedupe, engine.cores)
    )


def _engine_here(
    master: str | None, remote: str | None, conf: Mapping[str, str]
) -> SparkEngine | None:
    """The Spark that a session would start on this machine; None if it would be another one."""
    is_given = bool(remote or os.environ.get(REMOTE)) and master is None
    is_running = SparkSession.getActiveSession() is not None or SUBMITTED in os.environ
    is_configured = any(name in os.environ for name in FOLDERS_OF_CONF) or any(
        key.startswith(FILE_SYSTEM) for key in conf
    )
    place = master or ALL_CORES
    if is_given or is_running or is_configured or not is_local(place):
        return None
    return SparkEngine(version=__version__, place=place, cores=local_cores(place))


def _engine_of(spark: SparkSession, remote: str | None) -> SparkEngine:
    if is_remote() and not (remote and is_local(remote)):
        place = f"Spark Connect on {spark.client.host}"
    else:
        place = spark.conf.get("spark.master") or ""
    cores = task_count(spark) // TASKS_PER_CORE
    return SparkEngine(version=spark.version, place=place, cores=cores)


def planned_reading(
    files: Sequence[FlowFile], known: InputFormat, dedupe: Dedupe, cores: int | None
) -> FlowReading:
    """How a run reads these files with so many cores, and what it costs."""
    groups = _by_kind(files)
    kinds = tuple(
        FileKind(kind=kind, files=len(some), bytes=sum(file.size for file in some))
        for kind, some in groups.items()
    )
    if not files:
        none = unknown("the run reads no flow files")
        return FlowReading(
            kinds=kinds,
            reader="none",
            reasons=(),
            splits=None,
            tasks=None,
            rows=none,
            cpu_s=none,
            wall_s=none,
        )
    samples = {
        kind: sample(
            [file for file in some if _is_opened(file)], has_row_per_line=known.has_row_per_line
        )
        for kind, some in groups.items()
    }
    reasons = tuple(_why_spark(files, known, dedupe, samples))
    counts = [(file.size, part_count(file)) for file in files]
    sizes = [size // count for size, count in counts for _ in range(count)]
    least = None if cores is None else TASKS_PER_CORE * cores
    rows, of_text = _rows(files, kinds, samples)
    if reasons:
        cpu = unknown("nothing is measured for files that Spark reads")
    elif known.name != DEFAULT:
        cpu = unknown(f"nothing is measured for {known.title}")
    else:
        cpu = expected_cpu(rows, of_text, files=len(files))
    return FlowReading(
        kinds=kinds,
        reader="spark" if reasons else "tasks",
        reasons=reasons,
        splits=None if reasons else len(sizes),
        tasks=None if reasons or least is None else reading_tasks(least, sizes),
        rows=rows,
        cpu_s=cpu,
        wall_s=expected_wall(cpu, cores),
    )


def _is_opened(file: FlowFile) -> bool:
    """Whether the plan may look into it: credentials of a store are those of the executors."""
    return file.is_dealt and not file.is_stored


def _by_kind(files: Sequence[FlowFile]) -> dict[str, list[FlowFile]]:
    """Kind of `FileKind` -> its files, in order of the kinds."""
    found: defaultdict[str, list[FlowFile]] = defaultdict(list)
    for file in files:
        ends = (end for end in (GZIP, *OTHER_CODECS) if file.path.endswith(end))
        found[PARQUET_KIND if file.is_parquet else TEXT + next(ends, "")].append(file)
    return dict(sorted(found.items()))


def _why_spark(
    files: Sequence[FlowFile],
    known: InputFormat,
    dedupe: Dedupe,
    samples: Mapping[str, FileSample],
) -> list[str]:
    """The reasons why tasks do not read the files; none if they do."""
    reasons = []
    if dedupe == "exact":
        reasons.append("--dedupe exact compares rows with each other")
    if not known.is_by_file:
        reasons.append(f"Spark reads {known.title} into columns")
    elsewhere = sum(not (file.is_stored or file.path.startswith(LOCAL)) for file in files)
    if elsewhere:
        reasons.append(
            f"{counted(elsewhere, 'file')} {are(elsewhere)} on a store that tasks cannot open"
        )
    packed = sum(file.path.endswith(OTHER_CODECS) for file in files)
    if packed:
        reasons.append(f"{counted(packed, 'file')} {are(packed)} compressed, but not with gzip")
    texts = sum(not file.is_parquet for file in files)
    if known.is_by_file and texts and not known.deals_text:
        reasons.append(f"{counted(texts, 'file')} of {known.title} {are(texts)} text")
    if known.is_by_file:
        reasons += _by_columns(known, samples)
    return reasons


def _by_columns(known: InputFormat, samples: Mapping[str, FileSample]) -> list[str]:
    """The reasons that the columns of the opened files give."""
    names = known.bronze_schema().names
    opened = [columns for found in samples.values() for columns in found.columns]
    if "flow_direction" not in names or not opened:
        return []
    lacking = {
        kind: ["flow_direction" not in columns for columns in found.columns]
        for kind, found in samples.items()
    }
    count = sum(map(sum, lacking.values()))
    if count == len(opened) or any(any(lacking[kind]) for kind in lacking if kind != PARQUET_KIND):
        return [f"there is no flow direction in {count} of {counted(len(opened), 'opened file')}"]
    return []


def _rows(
    files: Sequence[FlowFile], kinds: Sequence[FileKind], samples: Mapping[str, FileSample]
) -> tuple[Estimate, int]:
    """The rows of all files, and those of text files among them."""
    if not all(map(_is_opened, files)):
        return unknown("files that only tasks or Spark open are not counted"), 0
    found = {kind.kind: rows_in(samples[kind.kind], kind.bytes) for kind in kinds}
    missing = [kind for kind, rows in found.items() if rows is None]
    if missing:
        return unknown(f"the rows of {missing[0]} files are not known before they are read"), 0
    rows = {kind: count for kind, count in found.items() if count is not None}
    of_text = sum(count for kind, count in rows.items() if kind != PARQUET_KIND)
    return expected_rows(sum(rows.values()), samples.values(), is_text=bool(of_text)), of_text
