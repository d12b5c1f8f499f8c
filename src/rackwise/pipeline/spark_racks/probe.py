"""Queries the client settings of all JVMs of a session with a Spark job.

The JVM that runs a task also builds the consumer. So a static Java method that a task calls sees
the same environment as the consumer. The number of partitions asked is much larger than the number
of cores, so that each executor gets some. An executor that gets none does not answer, and the
number of answers shows it.

```
range of 4 x cores partitions   -> java_method(getenv, ..)   run by executors
one row of local data           -> java_method(getenv, ..)   evaluated by the driver
```

The probe works the same on classic Spark and on Connect: it uses no context, no RDD and no gateway.

What this does not do: guarantee to reach all executors, or judge (see `spark_racks.check`).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

from rackwise.pipeline.spark_racks.check import (
    AUTOMATIC,
    Answers,
    Jvm,
    allow_list,
    diagnose_spark,
    variable_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame, SparkSession

    from rackwise.core.findings import FindingList
    from rackwise.core.model import Cluster

PARTITIONS_PER_CORE = 4
NOTHING = "null"
"""The text that Spark returns for Java's null."""


def check_client_rack(
    spark: SparkSession,
    options: Mapping[str, str],
    cluster: Cluster | None = None,
    *,
    variable: str,
) -> FindingList:
    """Ask the JVMs, then return findings about a job that reads Kafka with these options.

    `variable`: the variable to ask for if the options name none.
    """
    name = variable_of(options, variable)
    return diagnose_spark(options, name, ask(spark, name, allow_list(options)), cluster)


def ask(spark: SparkSession, variable: str, pattern: str | None = None) -> Answers:
    """The answers of executors and driver; `pattern`: a Java regular expression for `variable`.

    Runs two actions; each partition returns one number.
    """
    clients = _clients(spark)
    asked = PARTITIONS_PER_CORE * _cores(spark)
    questions = spark.range(0, asked, 1, asked).select(*_questions(variable, clients))
    return Answers(
        executors=_jvms(questions),
        driver=next(iter(_jvms(_local_row(spark).select(*_questions(variable, clients)))), None),
        asked=asked,
        is_allowed=_is_allowed(spark, variable, pattern),
    )


def _questions(variable: str, clients: Column) -> list[Column]:
    return [
        _java("java.net.InetAddress", "getLocalHost").alias("host"),
        _java("java.lang.ProcessHandle", "current").alias("pid"),
        _java("java.lang.System", "getenv", variable).alias("value"),
        _java("java.lang.System", "getProperty", AUTOMATIC).alias("providers"),
        clients.alias("clients"),
    ]


def _java(name: str, method: str, *arguments: str) -> Column:
    """The result of a static Java method, as text; null if it throws."""
    return F.try_reflect(F.lit(name), F.lit(method), *(F.lit(each) for each in arguments))


def _clients(spark: SparkSession) -> Column:
    """The version of kafka-clients; null in a session without kafka-clients."""
    version = _java("org.apache.kafka.common.utils.AppInfoParser", "getVersion")
    try:
        _local_row(spark).select(version).schema  # noqa: B018 (the schema loads the Java class)
    except AnalysisException:
        return F.lit(None).cast("string")
    return version


def _local_row(spark: SparkSession) -> DataFrame:
    """One row of local data; the driver itself evaluates expressions on it."""
    return spark.sql("VALUES (1)")


def _cores(spark: SparkSession) -> int:
    """Spark's default number of partitions, which is the number of cores."""
    return spark.range(1 << 12).select(F.spark_partition_id().alias("at")).distinct().count()


def _jvms(answers: DataFrame) -> dict[Jvm, int]:
    """JVM -> number of answers, sorted by name."""
    counts = Counter(
        Jvm(**{key: None if value == NOTHING else value for key, value in row.asDict().items()})
        for row in answers.collect()
    )
    return dict(sorted(counts.items(), key=lambda item: item[0].name))


def _is_allowed(spark: SparkSession, variable: str, pattern: str | None) -> bool | None:
    """Whether Java matches the whole name; None if Java rejects the pattern."""
    if pattern is None:
        return True
    whole = F.lit(variable).rlike(f"^(?:{pattern})$")
    try:
        return bool(_local_row(spark).select(whole).collect()[0][0])
    except PySparkException:
        return None
