"""A Spark job as users write it: it reads one topic whole, with the given options.

The argument is a JSON document: master, conf, options. Prints rows and bytes of values as JSON.
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

from rackwise.core.errors import InvalidConfig
from rackwise.core.json.strict import parse
from rackwise.pipeline.runtime.session import session


def main(given):
    with session("reading", master=given["master"], profile="small", conf=given["conf"]) as spark:
        read = spark.read.format("kafka").options(**given["options"]).load()
        row = read.agg(F.count("*").alias("rows"), F.sum(F.length("value")).alias("bytes"))
        (found,) = row.collect()
    print(json.dumps(found.asDict()))


if __name__ == "__main__":
    main(parse(sys.argv[1].encode(), where="argument", error=InvalidConfig))
