"""A Spark job as users write it: unkeyed rows into a topic, each task near its executor.

The argument is a JSON document: master, conf, bootstrap, topic, rows, size, partitions of the rows.
"""

from __future__ import annotations

import json
import sys
from functools import partial

from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

from rackwise.adapters.clients.kafka_python.records import Reach, ends, records
from rackwise.adapters.clients.kafka_python.writer import write
from rackwise.core.errors import InvalidConfig
from rackwise.core.json.strict import parse
from rackwise.pipeline.kafka.records import KafkaTopic
from rackwise.pipeline.kafka.source import NAME, source_of
from rackwise.pipeline.runtime.session import session


def main(given):
    reach, name = Reach(bootstrap=given["bootstrap"]), given["topic"]
    topic = KafkaTopic(
        name=name,
        ends=partial(ends, reach, name),
        records=partial(records, reach, name),
        write=partial(write, reach, name),
    )
    with session("writing", master=given["master"], profile="small", conf=given["conf"]) as spark:
        spark.dataSource.register(source_of(topic))
        rows = spark.range(0, given["rows"], 1, given["partitions"])
        values = rows.select(F.repeat(F.lit("v"), given["size"]).alias("value"))
        values.write.format(NAME).mode("append").save()
        kafka = spark.read.format("kafka").option("subscribe", name)
        own = spark.read.format(NAME).load()
        theirs = kafka.option("kafka.bootstrap.servers", given["bootstrap"]).load()
        told = {"rows": own.count(), "is_same": own.schema.fields == theirs.schema.fields}
    print(json.dumps(told))


if __name__ == "__main__":
    main(parse(sys.argv[1].encode(), where="argument", error=InvalidConfig))
