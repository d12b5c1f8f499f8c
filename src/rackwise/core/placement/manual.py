"""Manual rows: `5:4,3:2` puts partition 0 on brokers 5 and 4, and partition 1 on 3 and 2.

Commas separate partitions, and colons separate brokers. The preferred leader is the first broker.
Blanks around a number are ignored. All rows have the same length, and no row repeats a broker.

Source: `--replica-assignment` of Kafka's `TopicCommand`.
"""

from __future__ import annotations

import re

import numpy as np

from rackwise.core.errors import InvalidAssignment
from rackwise.core.placement.model import Placement
from rackwise.core.placement.rack_modes import ID_END
from rackwise.core.text import counted, escaped

HINT = "write brokers as 5:4,3:2, preferred leader first, one group for each partition"
BROKER = re.compile(r"[0-9]{1,10}")


def parse_assignment(text: str, *, first: int = 0) -> Placement:
    """The rows that a text gives to partitions from `first` on. Raises `InvalidAssignment`.

    >>> parse_assignment("5:4, 3:2").rows.tolist()
    [[5, 4], [3, 2]]
    """
    rows: list[list[int]] = []
    for partition, group in enumerate(text.split(","), start=first):
        row = [_broker(each.strip(), partition) for each in group.split(":")]
        repeats = sorted({broker for broker in row if row.count(broker) > 1})
        if repeats:
            told = ",".join(map(str, repeats))
            raise InvalidAssignment(
                f"invalid replicas of partition {partition}: expected different brokers, got "
                f"{told.replace(',', ', ')} more than once",
                wanted=len(row),
                had=len(set(row)),
                hint=HINT,
                upstream=(
                    "org.apache.kafka.tools.AdminCommandFailedException",
                    f"Partition replica lists may not contain duplicate entries: {told}",
                ),
            )
        if rows and len(row) != len(rows[0]):
            raise InvalidAssignment(
                f"partition {partition} has {counted(len(row), 'replica')}; "
                f"partition {first} has {len(rows[0])}",
                wanted=len(rows[0]),
                had=len(row),
                hint=HINT,
                upstream=(
                    "org.apache.kafka.tools.AdminOperationException",
                    f"Partition {partition - first} has different replication factor: {row}",
                ),
            )
        rows.append(row)
    return Placement(rows=np.array(rows, dtype=np.int32), first=first)


def _broker(text: str, partition: int) -> int:
    if BROKER.fullmatch(text) and int(text) < ID_END:
        return int(text)
    raise InvalidAssignment(
        f"invalid broker id of partition {partition}: expected 0 to {ID_END - 1}, got "
        f'"{escaped(text)}"',
        wanted=f"0 to {ID_END - 1}",
        had=escaped(text),
        hint=HINT,
    )
