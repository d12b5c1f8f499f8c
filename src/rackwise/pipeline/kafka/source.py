"""The Spark data source `rackwise-kafka`: reads one topic as a stream or a table, and writes it.

Register the class with `spark.dataSource.register(source_of(topic))`, then use its format name:

```
spark.readStream.format("rackwise-kafka").load()             kafka.records
spark.read.format("rackwise-kafka").load()                   kafka.table
frame.write.format("rackwise-kafka").mode("append").save()   kafka.sink
frame.writeStream.format("rackwise-kafka")...                kafka.sink
```

What this does not do: take options. The class holds the topic and its connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

from rackwise.core.errors import InvalidConfig
from rackwise.core.override import override
from rackwise.pipeline.kafka.records import SCHEMA, KafkaTopic, TopicReader
from rackwise.pipeline.kafka.sink import TopicStreamWriter, TopicWriter, check_columns
from rackwise.pipeline.kafka.table import FilteredTable, TopicTable

if TYPE_CHECKING:
    from pyspark.sql.datasource import (
        DataSourceReader,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
    )
    from pyspark.sql.types import StructType

    from rackwise.pipeline.kafka.sink import Write

NAME = "rackwise-kafka"


def source_of(topic: KafkaTopic, *, takes_filters: bool = False) -> type[DataSource]:
    """The data source class to register.

    `takes_filters`: for a session in which `kafka.table.PUSHDOWN` is true; load the frame again for
    each query.
    """
    table = FilteredTable if takes_filters else TopicTable

    class TopicSource(DataSource):
        @classmethod
        @override
        def name(cls) -> str:
            return NAME

        @override
        def schema(self) -> str:
            return SCHEMA

        @override
        def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002
            return table(topic)

        @override
        def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802
            return TopicReader(topic)

        @override
        def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: FBT001
            return TopicWriter(_appending(topic, schema, overwrites=overwrite))

        @override
        def streamWriter(  # noqa: N802
            self,
            schema: StructType,
            overwrite: bool,  # noqa: FBT001
        ) -> DataSourceStreamWriter:
            return TopicStreamWriter(_appending(topic, schema, overwrites=overwrite))

    return TopicSource


def _appending(topic: KafkaTopic, schema: StructType, *, overwrites: bool) -> Write:
    """The function that writes records. Raises `InvalidConfig`."""
    if overwrites or topic.write is None:
        raise InvalidConfig(
            "a topic is appended to; "
            + ("it was to be replaced" if overwrites else "this one can only be read"),
            wanted="append",
            had="overwrite" if overwrites else None,
            hint='write with mode("append")' if overwrites else "give KafkaTopic a function write",
        )
    check_columns(schema)
    return topic.write
