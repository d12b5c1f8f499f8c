"""A Python worker of Spark that loses its socket, as Spark's Java takes it from an idle one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.spark

WORKER = """
import socket, sys
from rackwise.pipeline.runtime.worker_daemon import work
sys.argv = ["daemon", "pyspark.worker"]
near, far = socket.socketpair()
far.close()
print(work(near, True))
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
