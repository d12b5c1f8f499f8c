"""`rackwise spark-cache`: stores the classes of Spark's Java, so that Spark starts sooner."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import typer

from rackwise.cli.shell import Shell, installed
from rackwise.core.errors import WorldError
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

BYTES_PER_MB = 1_000_000
STDERR = 2
LONGEST = 500
"""Characters of what a failed command printed."""


def spark_cache(context: typer.Context) -> int:
    """Store the classes that Spark's Java loads in the cache folder.

    Analyzes a small generated cluster once and lets Java write an archive of its classes. All later
    sessions of this Java and PySpark that Rackwise starts here use it. Delete the file to go back.
    """
    shell: Shell = context.obj
    with installed("spark", "store the classes of Spark"):
        from rackwise.pipeline.runtime.class_archive import stored_classes
        from rackwise.pipeline.runtime.session import JAVA_OPTIONS, settings

    with (
        TemporaryDirectory() as folder,
        shell.progress("analyzing a small generated cluster, then waiting for Java"),
        _kept_output(Path(folder, "output")) as output,
        stored_classes(os.environ) as (path, options),
    ):
        java = settings("local[*]", "small", {}, java_options=options)[JAVA_OPTIONS]
        _analyze(Path(folder), f"{JAVA_OPTIONS}={java}", output)
    megabytes = path.stat().st_size // BYTES_PER_MB
    if shell.is_json:
        from rackwise.cli.analyze.documents import CODEC, SparkCacheDocument

        shell.document(SparkCacheDocument(path=str(path), bytes=path.stat().st_size), CODEC)
    else:
        shell.text(f"{path}  {megabytes} MB")
    return 0


@contextmanager
def _kept_output(file: Path) -> Iterator[Path]:
    """Keep what this process and its Java print; Java's workers complain when it ends."""
    sys.stderr.flush()
    own = os.dup(STDERR)
    with file.open("wb") as kept:
        os.dup2(kept.fileno(), STDERR)
    try:
        yield file
    finally:
        sys.stderr.flush()
        os.dup2(own, STDERR)
        os.close(own)


def _analyze(folder: Path, conf: str, output: Path) -> None:
    """Generate a cluster and analyze it. Raises `WorldError` if that fails."""
    made = f"{folder}/in"
    _run(
        output, "generate", "--out", made, *("--brokers", "6", "--topics", "20", "--flows", "1000")
    )
    _run(
        output,
        *("analyze", f"{folder}/in/snapshots", "--flows", f"{folder}/in/flows"),
        *("--subnets", f"{folder}/in/subnets.csv", "--levels", "region,zone"),
        *("--out", f"{folder}/out", "--master", "local[*]", "--conf", conf),
    )


def _run(output: Path, *arguments: str) -> None:
    from rackwise.cli.main import run

    told = StringIO()
    with redirect_stdout(told):
        code = run(["--quiet", *arguments])
    if code not in {0, 2}:
        sys.stderr.flush()
        had = output.read_text(errors="replace")[-LONGEST:]
        raise WorldError(
            f"rackwise {arguments[0]} ended with exit code {code}: {escaped(had)}",
            wanted=0,
            had=had,
            hint=f"make rackwise {arguments[0]} work on this machine first",
        )
