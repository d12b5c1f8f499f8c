"""The daemon of Python workers, asked as Spark's Java asks it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time

import pyspark
import pytest

pytestmark = pytest.mark.spark


def is_there(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def stderr_of_an_idle_worker(module, folder):
    """What a daemon prints after one of its workers lost its socket."""
    conf = {
        "PYTHON_UNIX_DOMAIN_ENABLED": "true",
        "PYTHON_WORKER_FACTORY_SOCK_DIR": str(folder),
        "PYTHON_DAEMON_KILL_WORKER_ON_FLUSH_FAILURE": "1",
        "SPARK_REUSE_WORKER": "1",
    }
    daemon = subprocess.Popen(
        [sys.executable, "-m", module, "pyspark.worker"],
        env=os.environ | conf,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    length = int.from_bytes(daemon.stdout.read(4))
    with socket.socket(socket.AF_UNIX) as java:
        java.connect(daemon.stdout.read(length).decode())
        worker = int.from_bytes(java.recv(4))
    deadline = time.monotonic() + 60
    while is_there(worker):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return daemon.communicate(timeout=60)[1].decode()


@pytest.mark.skipif(
    pyspark.__version__.startswith("4.0"), reason="Spark 4.0 has no Unix domain sockets"
)
def test_an_idle_worker_that_is_stopped_says_nothing(tmp_path):
    from rackwise.pipeline.runtime.session import settings

    module = settings("local[1]", "small", {})["spark.python.daemon.module"]
    assert "BrokenPipeError" in stderr_of_an_idle_worker("pyspark.daemon", tmp_path)
    assert stderr_of_an_idle_worker(module, tmp_path) == ""
