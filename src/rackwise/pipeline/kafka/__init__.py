"""Kafka topics as Spark sources and sinks that read and write in the executor's rack.

They require Spark 4.2, which has limits of a batch and filters of a table for sources in Python.
"""

from pyspark import __version__

from rackwise.pipeline.runtime.session import check_version

check_version(
    __version__,
    (4, 2),
    what="the data source rackwise-kafka",
    instead="read with Spark's own connector (--connector jvm)",
)
