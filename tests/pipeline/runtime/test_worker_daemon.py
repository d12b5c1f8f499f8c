"""A Python worker of Spark that loses its socket, as Spark's Java takes it from an idle one."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import pyarrow as pa
import pytest

from rackwise.pipeline.runtime.worker_daemon import LOADED, has_pyspark_of, without_archives

pytestmark = pytest.mark.spark

WORKER = """
import socket, sys
from pyspark import daemon
from rackwise.pipeline.runtime.worker_daemon import silent
sys.argv = ["daemon", "pyspark.worker"]
near, far = socket.socketpair()
far.close()
print(silent(daemon.worker)(near, True))
"""


def test_a_worker_without_a_socket_ends_and_says_nothing():
    done = subprocess.run(
        [sys.executable, "-c", WORKER],
        env=os.environ | {"PYTHON_DAEMON_KILL_WORKER_ON_FLUSH_FAILURE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) != 0


def test_pyspark_is_loaded_from_the_folder_that_has_its_archives(tmp_path):
    home = tmp_path / "site-packages" / "pyspark"
    archives = [str(home / "python" / "lib" / "pyspark.zip"), str(home / "jars" / "core.jar")]
    others = [str(tmp_path), "", str(tmp_path / "mine.zip"), str(home / "python")]
    assert without_archives([*archives, *others]) == [*archives, *others], "no folder has PySpark"
    home.mkdir(parents=True)
    (home / "worker.py").touch()
    assert without_archives([*archives, *others]) == others


def test_workers_have_the_modules_that_the_daemon_has_loaded(spark):
    def loaded(batches):
        for _ in batches:
            names = [name for name in LOADED if name in sys.modules]
            yield pa.RecordBatch.from_pydict({"name": names})

    found = spark.range(1).mapInArrow(loaded, "name string").toArrow()
    assert {*found["name"].to_pylist()} == {*LOADED}


def test_archives_of_another_pyspark_stay(tmp_path):
    own = find_spec("pyspark").submodule_search_locations[0]
    assert has_pyspark_of([f"{own}/python/lib/pyspark.zip"])
    assert not has_pyspark_of([f"{own}/python/lib/pyspark.zip", str(tmp_path / "pyspark.zip")])
