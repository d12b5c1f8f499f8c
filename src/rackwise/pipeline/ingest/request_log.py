"""Facts from the request log of brokers (KIP-673), which has a line with JSON per request.

Goals, in order: no value of a line is guessed; no line is lost; each partition of a request is one
row. A broker writes such lines if its logger `kafka.request.logger` is set to DEBUG:

```
[2026-11-22 21:35:59,105] DEBUG Completed request:{"requestHeader":{"requestApiKey":0,..},
  "request":{"topicData":[{"name":"orders","partitionData":[{"index":1,"recordsSizeInBytes":279}]}]},
  "connection":"10.0.0.1:9092-10.1.5.20:44384-0-3",..} (kafka.request.logger)
              broker        client      processor, index (before Kafka 4 the index alone)
```

| request | row per | kind | bytes, of records as they travel | flow |
|---|---|---|---|---|
| Produce | partition written | produce | of the request | client -> broker |
| Fetch of a client | partition answered | fetch | of the response | broker -> client |
| Fetch of a replica | partition answered | replicate | of the response | broker -> replica |

A line has the principal of the client. A Fetch of a client has the client's rack. Newer versions
identify topics by id, and the snapshots have the names. The client id identifies the group if
members of only one group have that client id.

The outcome of a row is the first of these that holds, else the outcome of `canonical_facts`:

```
malformed:line charset json time connection     the line is not valid           (quarantine)
other-request       neither Produce nor Fetch
nodata              a Fetch that found no records
no-bytes            the line has no sizes: the logger was set or unset during the request
not-kafka           the broker's end is neither a listener nor the address of exactly one broker
```

Lines without `Completed request:` are not rows. Times without a zone are UTC.

What this does not do: count the bytes of the protocol around the records; find a topic that is in
no snapshot (its bytes belong to an unknown topic).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

from rackwise.pipeline.columns.address_columns import with_addresses
from rackwise.pipeline.fleet.listeners import with_listeners
from rackwise.pipeline.ingest.parquet_files import with_schema
from rackwise.pipeline.ingest.text import marked_lines
from rackwise.pipeline.ingest.text_lines import CHARSET, FILE, LINE, OF_FILE
from rackwise.pipeline.schemas import BRONZE_INPUT, BRONZE_REQUEST, LONGEST_TEXT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.ingest.files import FlowFile

MARK = "Completed request:"
HINT = "brokers write them when their logger kafka.request.logger is set to DEBUG"
SOURCE = "request log"
LONGEST_LINE = 2**22
"""Bytes; a line of this length has about 50,000 partitions."""
JSON, TIME, CONNECTION = (f"malformed:{what}" for what in ("json", "time", "connection"))
OTHER_REQUEST, NO_DATA, NO_BYTES, NOT_KAFKA = "other-request", "nodata", "no-bytes", "not-kafka"
PRODUCE, FETCH = 0, 1
_TIME = r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d{1,6}))?(Z|[+-]\d\d:?\d\d)?"
_CONNECTION = r"^(.+):(\d{1,5})-(.+):(\d{1,5})(-\d+){1,2}\z"
_SIZES = "array<struct<{0}: int, recordsSizeInBytes: bigint>>"
_BAD = "_bad string"
_LINE = (
    "requestHeader struct<requestApiKey: int, correlationId: bigint, clientId: string>, "
    f"request string, response string, connection string, principal string, {_BAD}"
)
_PRODUCE = (
    "topicData array<struct<name: string, topicId: string, "
    f"partitionData: {_SIZES.format('index')}>>, {_BAD}"
)
_FETCH = f"replicaId int, replicaState struct<replicaId: int>, rackId string, {_BAD}"
_FETCHED = (
    "responses array<struct<topic: string, topicId: string, "
    f"partitions: {_SIZES.format('partitionIndex')}>>, {_BAD}"
)


def read_request_logs(spark: SparkSession, files: Sequence[FlowFile]) -> DataFrame:
    """`schemas.BRONZE_REQUEST` of text files. Raises `InvalidFlows` if no line is a request."""
    lines, broken = marked_lines(spark, files, MARK, hint=HINT)
    strays = spark.createDataFrame(
        [(FILE, file.uri, OF_FILE) for file in broken],
        "outcome string, source_file string, row_offset long",
    )
    return request_rows(lines).unionByName(with_schema(strays, BRONZE_REQUEST))


def request_rows(lines: DataFrame) -> DataFrame:
    """`schemas.BRONZE_REQUEST` of lines: `value` and `source_file`."""
    value = F.col("value")
    is_short = F.octet_length(value) <= LONGEST_LINE
    is_text = is_short & F.is_valid_utf8(value)
    requests = lines.where(value.contains(MARK)).select(
        "source_file",
        F.left(F.make_valid_utf8(value), F.lit(LONGEST_TEXT)).alias("raw"),
        F.when(~is_short, LINE).when(~F.is_valid_utf8(value), CHARSET).alias("outcome"),
        _instant(value).alias("window_start"),
        _json(F.when(is_text, F.regexp_extract(value, rf"(?s){MARK}\s*(\{{.*\}})", 1)), _LINE),
    )
    return _partition_rows(_parse_requests(requests)).select(*BRONZE_REQUEST.names)


def request_flows(bronze: DataFrame, fleet: Fleet) -> DataFrame:
    """`schemas.BRONZE_INPUT` of `schemas.BRONZE_REQUEST`: names instead of addresses and ids.

    Columns that no request has are left out.
    """
    ends = with_addresses(bronze, {"broker": F.col("broker_address")})
    start = F.unix_seconds("window_start")
    found = with_listeners(
        ends, fleet, F.col("broker_ip"), F.col("broker_port"), start, into="_near"
    )
    ids = [(code, *pair) for pair, code in fleet.codes.brokers.items()]
    brokers = found.sparkSession.createDataFrame(ids, "_code int, cluster string, broker_id int")
    placed = found.join(F.broadcast(brokers), F.col("_near") == F.col("_code"), "left")
    named = _with_lookup(placed, "topic_id", "_topic_of_id", _topics_by_id(fleet))
    known = _with_lookup(named, "client_id", "_group_of_id", _groups_by_client(fleet))
    computed = {
        "topic": F.coalesce("topic_name", "_topic_of_id"),
        "client_group": F.when(F.col("kind") == "fetch", F.col("_group_of_id")),
        "source": F.lit(SOURCE),
        "outcome": F.coalesce("outcome", F.when(F.col("broker_id").isNull(), NOT_KAFKA)),
    }
    return known.select(
        *(
            computed.get(field.name, F.col(field.name)).cast(field.dataType).alias(field.name)
            for field in BRONZE_INPUT.fields
            if field.name in computed or field.name in known.columns
        )
    )


def _instant(value: Column) -> Column:
    """The first time in a line as an instant, independent of the session's time zone."""
    day, time, fraction, zone = (F.regexp_extract(value, _TIME, i) for i in range(1, 5))
    zone = F.when(zone == "", "Z").otherwise(zone)
    return F.concat(day, F.lit("T"), time, F.lit("."), F.rpad(fraction, 6, "0"), zone).try_cast(
        "timestamp"
    )


def _json(text: Column, schema: str) -> Column:
    return F.from_json(
        text, schema, {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_bad"}
    ).alias("json")


def _parse_requests(requests: DataFrame) -> DataFrame:
    """Adds `api`, `ends`, `produced`, `fetch`, `fetched` and the first outcomes."""
    line = F.col("json")
    api = line.getField("requestHeader").getField("requestApiKey")
    request, response = line.getField("request"), line.getField("response")
    is_json = line.isNotNull() & line.getField("_bad").isNull() & api.isNotNull()
    has_request = request.startswith("{")
    parsed = requests.select(
        "*",
        F.when(is_json, api).alias("api"),
        *(
            _json(F.when(is_json & has_request & (api == key), text), schema).alias(name)
            for key, text, schema, name in (
                (PRODUCE, request, _PRODUCE, "produced"),
                (FETCH, request, _FETCH, "fetch"),
                (FETCH, response, _FETCHED, "fetched"),
            )
        ),
    )
    is_data = F.col("api").isin(PRODUCE, FETCH)
    has_fetch_sizes = F.col("fetch").isNotNull() & F.col("fetched").isNotNull()
    has_sizes = F.col("produced").isNotNull() | has_fetch_sizes
    is_broken = F.lit(0) == 1
    for part in ("produced", "fetch", "fetched"):
        is_broken = is_broken | F.col(part).getField("_bad").isNotNull()
    outcome = (
        F.when(F.col("outcome").isNotNull(), F.col("outcome"))
        .when(F.col("api").isNull() | is_broken, JSON)
        .when(F.col("window_start").isNull(), TIME)
        .when(~is_data, OTHER_REQUEST)
        .when(~F.coalesce(line.getField("connection"), F.lit("")).rlike(_CONNECTION), CONNECTION)
        .when(~has_sizes, NO_BYTES)
    )
    return parsed.withColumn("outcome", outcome)


def _partition_rows(parsed: DataFrame) -> DataFrame:
    """One row per partition; one row for a line without partitions."""
    line, fetch = F.col("json"), F.col("fetch")
    connection = line.getField("connection")
    ends = [F.nullif(F.regexp_extract(connection, _CONNECTION, i), F.lit("")) for i in (1, 2, 3)]
    header = line.getField("requestHeader")
    replica = F.coalesce(fetch.getField("replicaState").getField("replicaId"), fetch["replicaId"])
    is_copy = replica >= 0
    sizes = F.coalesce(
        _sizes(F.col("produced").getField("topicData"), "name", "partitionData", "index"),
        _sizes(F.col("fetched").getField("responses"), "topic", "partitions", "partitionIndex"),
    )
    kind = F.when(F.col("api") == PRODUCE, "produce").when(
        F.col("api") == FETCH, F.when(is_copy, "replicate").otherwise("fetch")
    )
    rows = parsed.select(
        *("source_file", "raw", "window_start"),
        F.col("outcome").alias("_outcome"),
        kind.alias("kind"),
        ends[0].alias("broker_address"),
        ends[1].try_cast("int").alias("broker_port"),
        ends[2].alias("client_address"),
        header["clientId"].alias("client_id"),
        F.nullif(fetch.getField("rackId"), F.lit("")).alias("client_rack"),
        line["principal"].alias("principal"),
        F.when(is_copy, replica).alias("peer_broker_id"),
        F.concat_ws("/", connection, header["correlationId"]).alias("emitter"),
        F.explode_outer(F.when(F.col("outcome").isNull(), sizes)).alias("size"),
    )
    size = F.col("size")
    outcome = F.coalesce(
        "_outcome",
        F.when(size.isNull(), F.when(F.col("kind") == "produce", NO_BYTES).otherwise(NO_DATA)),
        F.when(size["bytes"].isNull(), NO_BYTES),
    )
    return rows.select(
        "*",
        outcome.alias("outcome"),
        *(size[name].alias(name) for name in ("topic_name", "topic_id", "partition", "bytes")),
        F.lit(None).cast("long").alias("row_offset"),
    )


def _sizes(topics: Column, name: str, partitions: str, index: str) -> Column:
    """An array of `topic_name, topic_id, partition, bytes` from topics with their partitions."""

    def of_topic(topic: Column) -> Column:
        return F.transform(
            F.coalesce(topic[partitions], F.array().cast(_SIZES.format(index))),
            lambda one: F.struct(
                topic[name].alias("topic_name"),
                topic["topicId"].alias("topic_id"),
                one[index].alias("partition"),
                one["recordsSizeInBytes"].alias("bytes"),
            ),
        )

    return F.flatten(F.transform(topics, of_topic))


def _topics_by_id(fleet: Fleet) -> Mapping[tuple[str, str], str]:
    return {
        (snapshot.name, topic.id): topic.name
        for snapshot in fleet.latest
        for topic in snapshot.cluster.topics.values()
        if topic.id is not None
    }


def _groups_by_client(fleet: Fleet) -> Mapping[tuple[str, str], str]:
    """(cluster, client id) -> group, for client ids that members of only one group have."""
    groups: dict[tuple[str, str], set[str]] = {}
    for snapshot in fleet.latest:
        for group in snapshot.cluster.groups:
            for member in group.members:
                if member.client_id is not None:
                    client = snapshot.name, member.client_id
                    groups.setdefault(client, set()).add(group.group)
    return {client: next(iter(names)) for client, names in groups.items() if len(names) == 1}


def _with_lookup(
    rows: DataFrame, column: str, into: str, known: Mapping[tuple[str, str], str]
) -> DataFrame:
    """Adds `into`: the value of (cluster, text in `column`) in `known`, or null."""
    frame = rows.sparkSession.createDataFrame(
        [(*pair, value) for pair, value in sorted(known.items())],
        f"_cluster string, _text string, {into} string",
    ).withColumn("_key", F.xxhash64("_cluster", "_text"))
    is_same = (F.col("_cluster") == F.col("cluster")) & (F.col("_text") == F.col(column))
    return (
        rows.withColumn("_key", F.xxhash64("cluster", column))
        .join(F.broadcast(frame), "_key", "left")
        .withColumn(into, F.when(is_same, F.col(into)))
        .drop("_key", "_cluster", "_text")
    )
