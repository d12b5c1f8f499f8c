"""The CSV files of a result: columns and rows, which are made as they are written.

What this does not do: write a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rackwise.pipeline import schemas
from rackwise.pipeline.bill.billed.comparison import billed_rows
from rackwise.pipeline.bill.gold.tables import SCHEMAS
from rackwise.pipeline.bill.history import history_csv
from rackwise.pipeline.plans.earlier import with_earlier_findings_csv
from rackwise.pipeline.summary.document import LISTED, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql.types import StructType

    from rackwise.pipeline.bill.gold.result_bill import ResultBill
    from rackwise.pipeline.bill.model import Bill, CsvTable
    from rackwise.pipeline.plans.safety import Safety


def csv_tables(billed: ResultBill, safety: Safety) -> dict[str, CsvTable]:
    """Name of a file -> its columns and rows."""
    audits, earlier = safety.audits, safety.earlier
    rows = (
        {"cluster": one.cluster, **finding.as_dict()} for one in audits for finding in one.findings
    )
    losses = [*safety.losses, *(earlier.blast if earlier else ())]
    tables = _bill_tables(billed.bill) if billed.bill else {}
    tables["findings"] = with_earlier_findings_csv(_table(rows, schemas.FINDING), earlier)
    tables["blast"] = _table(losses, schemas.BLAST)
    if plans := safety.all_plans:
        tables["plans"] = _table(plans.rows, schemas.PLAN_SUMMARY)
    if billed.comparison is not None:
        tables["billed"] = _table(billed_rows(billed.comparison), schemas.BILLED)
    standings = billed.bill.standings if billed.bill else ()
    tables["history"] = history_csv(safety.days, standings)
    return tables


def _bill_tables(bill: Bill) -> dict[str, CsvTable]:
    tables = {name: _table(bill.roll_ups[name], SCHEMAS[name]) for name in LISTED}
    tables["focus"] = bill.charges
    tables["savings"] = _table(bill.savings, schemas.SAVINGS)
    for name, found, schema in (
        ("unmetered", bill.unmetered, schemas.UNMETERED),
        ("reconciliation", bill.reconciliation, schemas.RECONCILIATION),
    ):
        if found:
            tables[name] = _table(found, schema)
    return tables


def _table(rows: Iterable[Mapping[str, Any]], schema: StructType) -> CsvTable:
    names = tuple(schema.fieldNames())
    return names, ([plain(row[name]) for name in names] for row in rows)
