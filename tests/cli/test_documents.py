"""Documents that commands print are declared, and written from their declaration."""

import pytest

from rackwise.cli.audit.documents import RackLossDocument
from rackwise.cli.documents import (
    FindingDocument,
    HintedFindingDocument,
    ReadingFindingDocument,
    as_json,
    finding_rows,
    hinted_finding_rows,
    reading_finding_rows,
)
from rackwise.core.findings import Finding, Severity

FINDING = Finding(
    rule="spread-even",
    severity=Severity.ERROR,
    wanted="/a 1",
    had="/a 2",
    topic="orders",
    partition=1,
    group="billing",
    hint="move one replica",
)


@pytest.mark.parametrize(
    ("rows", "optional"),
    [
        (finding_rows, ()),
        (hinted_finding_rows, ("hint",)),
        (reading_finding_rows, ("hint", "group", "client_rack")),
    ],
)
def test_a_finding_is_written_with_the_keys_of_its_row(rows, optional):
    kinds = {0: FindingDocument, 1: HintedFindingDocument, 3: ReadingFindingDocument}
    from rackwise.cli.documents import DOCUMENTS

    (row,) = rows([FINDING])
    written = DOCUMENTS.object(kinds[len(optional)]).write(row)
    assert written == FINDING.as_dict(*optional)


def test_an_optional_key_is_absent_without_a_value():
    loss = {
        "rack": "/a",
        "level": 1,
        "level_name": "az",
        "brokers": (1,),
        "offline": 0,
        "under_min_isr": 0,
        "leaders_lost": 0,
        "top_survivor": None,
        "replicas_lost": 1,
        "bytes_to_restore": 7,
        "unknown_sizes": 0,
    }
    assert as_json(RackLossDocument(**loss)) == {**loss, "brokers": [1]}
    named = as_json(RackLossDocument(**loss, offline_partitions=("orders-0",)))
    assert named["offline_partitions"] == ["orders-0"]
