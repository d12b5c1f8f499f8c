"""Ask the JVMs of a session what they would tell Kafka: each executor's own answer, not one's.

The JVM that runs a task is the one that builds the consumer, so a static method of Java called in a
task sees what the consumer will see. Many more partitions than cores are asked, so that each
executor gets some; those that get none do not answer, and the count says so.

```
range of 4 x cores partitions   -> java_method(getenv, ..)   run by executors
one row that Spark has at hand  -> java_method(getenv, ..)   worked out on the driver as it plans
```

The same on classic and on Connect: no context, no RDD, no gateway.

What this does not do: promise to reach all executors, or judge (see `spark_check`).
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
"""How Java's null comes back."""


def check_client_rack(
    spark: SparkSession,
    options: Mapping[str, str],
    cluster: Cluster | None = None,
    *,
    variable: str,
) -> FindingList:
    """Ask, then judge: findings about a job that reads Kafka with these options.

    `variable`: the one to ask for where the options name none.
    """
    asked = variable_of(options, variable)
    return diagnose_spark(options, asked, ask(spark, asked, allow_list(options)), cluster)


def ask(spark: SparkSession, variable: str, pattern: str | None = None) -> Answers:
    """What executors and driver answer; `pattern`: a regular expression of Java's for `variable`.

    Two actions, of one number for each partition.
    """
    clients = _clients(spark)
    asked = PARTITIONS_PER_CORE * _cores(spark)
    questions = spark.range(0, asked, 1, asked).select(*_questions(variable, clients))
    return Answers(
        executors=_jvms(questions),
        driver=next(iter(_jvms(_at_hand(spark).select(*_questions(variable, clients)))), None),
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
    """A static method of Java, as text; null where it throws."""
    return F.try_reflect(F.lit(name), F.lit(method), *(F.lit(each) for each in arguments))


def _clients(spark: SparkSession) -> Column:
    """The version of kafka-clients; null in a session without them."""
    version = _java("org.apache.kafka.common.utils.AppInfoParser", "getVersion")
    try:
        _at_hand(spark).select(version).schema  # noqa: B018 (reading it looks the class up)
    except AnalysisException:
        return F.lit(None).cast("string")
    return version


def _at_hand(spark: SparkSession) -> DataFrame:
    """One row that the driver has: what is asked of it the driver answers itself."""
    return spark.sql("VALUES (1)")


def _cores(spark: SparkSession) -> int:
    """Partitions that Spark makes of its own accord: as many as there are cores."""
    return spark.range(1 << 12).select(F.spark_partition_id().alias("at")).distinct().count()


def _jvms(answers: DataFrame) -> dict[Jvm, int]:
    """JVM -> number of answers, in order of their names."""
    counts = Counter(
        Jvm(**{key: None if value == NOTHING else value for key, value in row.asDict().items()})
        for row in answers.collect()
    )
    return dict(sorted(counts.items(), key=lambda item: item[0].name))


def _is_allowed(spark: SparkSession, variable: str, pattern: str | None) -> bool | None:
    """Whether Java finds that the whole name matches; None where it takes the pattern for none."""
    if pattern is None:
        return True
    whole = F.lit(variable).rlike(f"^(?:{pattern})$")
    try:
        return bool(_at_hand(spark).select(whole).collect()[0][0])
    except PySparkException:
        return None
