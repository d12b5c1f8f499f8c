"""The rule about cordoned log folders (KIP-1066).

Kafka places no new replica in a cordoned folder (`cordoned.log.dirs`). A broker whose healthy
folders are all cordoned takes no new replicas, and Kafka rejects every new replica list that names
it, also of a partition that it holds:

```
log folders of broker 4      /data/a cordoned, /data/b             takes new replicas in /data/b
log folders of broker 5      /data/a cordoned, /data/b cordoned    takes none
```

A cordon is the first step before a disk or a broker is removed, so it is a remark and no fault. A
cordon that is forgotten lets the other brokers fill up.

What this does not do: tell how long a folder has been cordoned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.findings import FindingBatch, Severity
from rackwise.core.rules.registry import rule
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwise.core.model import Broker
    from rackwise.core.view import View


@rule("cordoned", Severity.INFO, "a log folder of a broker takes no new replicas")
def cordoned(view: View) -> Iterator[FindingBatch]:
    """Brokers with a cordoned log folder."""
    found = [
        broker
        for broker in view.cluster.brokers
        if any(each.is_cordoned for each in broker.log_dirs)
    ]
    texts = [("no cordoned log folder", _had(broker)) for broker in found]
    yield FindingBatch.of_brokers("cordoned", [broker.id for broker in found], texts)


def _had(broker: Broker) -> str:
    """`1 of 2 log folders: /data/a`; and what follows if no healthy folder is left."""
    paths = [escaped(each.path) for each in broker.log_dirs if each.is_cordoned]
    folders = counted(len(broker.log_dirs), "log folder")
    effect = "; the broker takes no new replicas" if broker.is_cordoned else ""
    return f"{len(paths)} of {folders}: {', '.join(paths)}{effect}"
