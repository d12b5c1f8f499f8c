"""A real Spark cluster on loopback: a standalone master, and workers with racks."""

from __future__ import annotations

import os
import re
import urllib.request
from contextlib import ExitStack, suppress
from pathlib import Path

import pyspark

from rackwise.adapters.sandbox import resolve
from rackwise.adapters.sandbox.ports import HOST, free_ports
from rackwise.adapters.sandbox.process import ServerProcess
from rackwise.adapters.sandbox.ready import wait_until_true

SPARK_HOME = Path(pyspark.__file__).parent
READY_S = 120
VARIABLE = "CLIENT_RACK"
SOURCES = os.environ.get("PYTHONPATH")
"""Where executors find another Rackwise than the installed one."""


def connector_jars():
    """The Kafka connector and its dependencies, in the form of `spark.jars`."""
    return ",".join(map(str, resolve("spark-kafka-4.2.0")))


class SparkCluster:
    """A master and one worker of one core per rack of `racks`; None is a worker without a rack.

    Used as a `with` block; `master` is its address, `conf` the settings of a driver on this
    machine.
    """

    def __init__(self, racks, *, java_home, folder, options=()):
        self.racks = racks
        self.java_home = java_home
        self.folder = folder
        self.options = options
        self.workers = []
        self._running = ExitStack()
        self._ports = free_ports(2)
        self.master = f"spark://{HOST}:{self._ports[0]}"

    @property
    def conf(self):
        return {
            "spark.driver.host": HOST,
            "spark.driver.bindAddress": HOST,
            "spark.executor.cores": "1",
            "spark.executor.memory": "600m",
            "spark.executor.extraJavaOptions": " ".join(("-XX:+UseSerialGC", *self.options)),
            "spark.cores.max": str(len(self.racks)),
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
            "spark.jars": connector_jars(),
            **({"spark.executorEnv.PYTHONPATH": SOURCES} if SOURCES else {}),
        }

    def __enter__(self):
        port, page = self._ports
        place = ["--host", HOST, "--port", str(port), "--webui-port", str(page)]
        try:
            self._start("master", ["org.apache.spark.deploy.master.Master", *place])
            for number, rack in enumerate(self.racks):
                worker = ["org.apache.spark.deploy.worker.Worker", "--host", HOST, "-c", "1"]
                worker += ["-m", "1g", "-d", str(self.folder / f"work-{number}"), self.master]
                self.workers.append(self._start(f"worker-{number}", worker, rack))
            self._wait()
        except BaseException:
            self._running.close()
            raise
        return self

    def __exit__(self, *_):
        self._running.close()

    def _start(self, name, command, rack=None):
        environment = {
            "SPARK_HOME": SPARK_HOME,
            "SPARK_LOCAL_IP": HOST,
            "SPARK_SCALA_VERSION": "2.13",
            "JAVA_HOME": self.java_home,
            **({VARIABLE: rack} if rack else {}),
        }
        folder = self.folder / name
        folder.mkdir(parents=True)
        server = ServerProcess(
            name=f"Spark's {name}",
            command=[
                "/usr/bin/env",
                f"--unset={VARIABLE}",
                *(f"{key}={value}" for key, value in environment.items()),
                str(SPARK_HOME / "bin" / "spark-class"),
                *("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
                *command,
            ],
            folder=folder,
        )
        self._running.callback(server.close)
        self._running.callback(server.stop)
        server.start()
        return server

    def executors(self):
        """Process ids of the running executors, by worker."""
        found = {}
        for status in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                parent = int(status.read_text().rpartition(")")[2].split()[1])
                found.setdefault(parent, []).append(int(status.parent.name))
        return [found.get(worker.pid, []) for worker in self.workers]

    def _wait(self):
        page = f"http://{HOST}:{self._ports[1]}/json/"

        def has_all():
            with suppress(OSError), urllib.request.urlopen(page, timeout=5) as answer:
                alive = re.search(r'"aliveworkers" *: *(\d+)', answer.read().decode())
                return alive is not None and int(alive[1]) == len(self.racks)
            return False

        if not wait_until_true(has_all, READY_S):
            message = f"{len(self.racks)} workers are wanted within {READY_S} s"
            raise AssertionError(message)
