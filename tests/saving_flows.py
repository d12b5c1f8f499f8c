"""Flows of a bill as rows, for the suites of savings, and their columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.savings import FlowColumns, savings

if TYPE_CHECKING:
    from datetime import date

    from rackwise.core.savings.tariff import CrossingCost

NAMES = ("days", "kinds", "topics", "client_groups", "qualities", "racks")


class Flow(NamedTuple):
    """Bytes of one day between two racks, as in the bill. A rack is None where it is not known."""

    day: date
    kind: str
    topic: str
    client_group: str
    quality: str
    from_rack: str | None
    to_rack: str | None
    bytes: int


def columns_of(flows):
    """Codes in the order in which names appear; bytes are int64 if they fit."""
    *columns, bytes_ = zip(*flows, strict=True) if flows else [()] * len(Flow._fields)
    racks = tuple(dict.fromkeys([*columns[5], *columns[6]]))
    texts = [*(tuple(dict.fromkeys(column)) for column in columns[:5]), racks]
    codes = [
        np.array([texts[min(at, 5)].index(value) for value in column], dtype=np.int32)
        for at, column in enumerate(columns)
    ]
    is_small = all(one < 2**63 for one in bytes_)
    return FlowColumns(
        **dict(zip(NAMES, texts, strict=True)),
        **dict(zip(Flow._fields, codes, strict=False)),
        bytes=np.array(bytes_, dtype=np.int64 if is_small else object),
    )


class Found(NamedTuple):
    """The savings of one cluster, and what crosses before and after the waterfall."""

    rows: tuple
    today: CrossingCost
    left: CrossingCost


def all_savings(flows, layout, **given):
    """The savings of flows, every row read."""
    found = savings(columns_of(flows), layout, **given)
    return Found(tuple(found.rows()), found.today, found.left)
