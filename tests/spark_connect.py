"""A real server of Spark Connect on loopback, from PySpark's own jars."""

from __future__ import annotations

import socket
import sys
from contextlib import suppress

from rackwise.adapters.sandbox.ports import HOST, free_ports
from rackwise.adapters.sandbox.process import ServerProcess
from rackwise.adapters.sandbox.ready import wait_until_true
from spark_clusters import READY_S, SPARK_HOME

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


class ConnectServer:
    """A server with its own driver of two cores; `remote` is its address.

    Used as a `with` block. `conf`: the settings of its sessions; `java`: options of its JVM.
    """

    def __init__(self, *, java_home, folder, conf, java=""):
        (self.port,) = free_ports(1)
        self.remote = f"sc://{HOST}:{self.port}"
        settings = {
            "spark.connect.grpc.binding.address": HOST,
            "spark.connect.grpc.binding.port": str(self.port),
            "spark.driver.extraJavaOptions": java,
            **conf,
        }
        environment = {
            "SPARK_HOME": SPARK_HOME,
            "SPARK_LOCAL_IP": HOST,
            "SPARK_SCALA_VERSION": "2.13",
            "PYSPARK_PYTHON": sys.executable,
            "JAVA_HOME": java_home,
        }
        self._server = ServerProcess(
            name="Spark's Connect server",
            command=[
                "/usr/bin/env",
                *(f"{key}={value}" for key, value in environment.items()),
                *(str(SPARK_HOME / "bin" / "spark-submit"), "--class", SERVER),
                *("--master", "local[2]"),
                *(text for key, value in settings.items() for text in ("--conf", f"{key}={value}")),
            ],
            folder=folder,
        )

    def __enter__(self):
        self._server.start()
        if not wait_until_true(self._listens, READY_S):
            self.__exit__()
            message = f"a server of Spark Connect is wanted within {READY_S} s"
            raise AssertionError(message)
        return self

    def __exit__(self, *_):
        self._server.stop()
        self._server.close()

    def _listens(self):
        with suppress(OSError), socket.create_connection((HOST, self.port), timeout=1):
            return True
        return False
