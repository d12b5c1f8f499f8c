"""Flow logs of AWS Transit Gateways as rows of VPC flow logs: text with a header, or Parquet.

A gateway logs each flow at the attachments that it passes. What enters the gateway is ingress, at
the attachment of the sender; what leaves it is egress, at the attachment of the receiver. VPC flow
logs have it the other way round, because there a network interface logs what it sends:

```
at the attachment of    flow_direction in the log    flow_direction of the row
the sender              ingress                      egress
the receiver            egress                       ingress
```

So the duplicates are those of VPC flow logs: a flow that both attachments log is counted once (see
`vpc_duplicates`). The log of a single attachment has each flow once.

`tgw_src_az_id` is the zone of the sender: an attachment serves only senders in zones where it has a
subnet. `tgw_dst_az_id` is not the zone of the receiver: a gateway prefers to stay in the zone of
the sender, and traffic crosses the zones behind it. It is not read.

There is no action: security groups are not applied at a gateway.

What this does not do: recognize a flow that passes two peered gateways, which both log it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

from rackwise.pipeline.ingest.parquet_files import with_schema
from rackwise.pipeline.ingest.vpc_files import PARTIAL, read_log_parquet, read_log_text
from rackwise.pipeline.ingest.vpc_rows import MISSING, OK
from rackwise.pipeline.schemas import BRONZE_VPC, VPC_NUMBERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from rackwise.pipeline.ingest.files import FlowFile

ATTACHMENT, ZONE = "tgw_attachment_id", "tgw_src_az_id"
TGW_REQUIRED = (
    ATTACHMENT,
    *("srcaddr", "dstaddr"),
    *VPC_NUMBERS,
    *("log_status", "flow_direction"),
)
TGW_COLUMNS = (*TGW_REQUIRED, ZONE)
DIRECTION = "malformed:flow_direction"


def read_tgw_logs(spark: SparkSession, files: Sequence[FlowFile]) -> DataFrame:
    """`schemas.BRONZE_VPC` of text and Parquet files. Raises `UnfitColumns`, `InvalidFlows`."""
    parquet = [file for file in files if file.is_parquet]
    exported = (
        _rows(read_log_parquet(spark, parquet, TGW_COLUMNS, TGW_REQUIRED)) if parquet else None
    )
    if exported is not None and len(parquet) == len(files):
        return exported
    text, _ = read_log_text(
        spark, [file for file in files if not file.is_parquet], TGW_COLUMNS, TGW_REQUIRED
    )
    rows = _rows(text)
    return rows if exported is None else rows.unionByName(exported)


def _rows(logged: DataFrame) -> DataFrame:
    """Rows of VPC flow logs from rows with the columns of the gateway's log."""
    own = {name: F.col(name).cast("string") for name in TGW_COLUMNS if name in logged.columns}
    direction = F.nullif(own["flow_direction"], F.lit(MISSING))
    is_lacking = (own["log_status"] == OK) & direction.isNull()
    fault = F.col("malformed") if "malformed" in logged.columns else F.lit(None).cast("string")
    zone = own.get(ZONE, F.lit(None).cast("string"))
    inverted = (
        F.when(direction == "ingress", "egress")
        .when(direction == "egress", "ingress")
        .otherwise(direction)
    )
    columns = own | {
        "interface_id": own[ATTACHMENT],
        "action": F.lit("ACCEPT"),
        "flow_direction": inverted.alias("flow_direction", metadata={PARTIAL: False}),
        "src_zone": F.nullif(zone, F.lit(MISSING)),
        "malformed": F.coalesce(fault, F.when(is_lacking, DIRECTION)),
        "raw": F.col("raw") if "raw" in logged.columns else F.lit(None).cast("string"),
        "source_file": F.col("source_file"),
        "row_offset": F.col("row_offset"),
    }
    named = [column.alias(name) for name, column in columns.items() if name in BRONZE_VPC.names]
    return with_schema(logged.select(*named), BRONZE_VPC)
