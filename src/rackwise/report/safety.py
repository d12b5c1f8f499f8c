"""How many partitions are not rack-safe, and why that is not known.

```
found    of each cluster           shown
3        checked                   3 of 603 partitions are not rack-safe
3        prod could not be         at least 3 of 603 partitions are not rack-safe
0        prod could not be         not known
0        checked                   all 603 partitions are rack-safe
```

What this does not do: count (`core.audit.unsafe_partitions`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rackwise.core.audit import unchecked_placement
from rackwise.report.formats import NOT_KNOWN, count_of, count_text, name_text
from rackwise.report.ranges import Range

if TYPE_CHECKING:
    from collections.abc import Mapping

    Summary = Mapping[str, Any]

_NO_REASON: Final = "it was not audited"


def unchecked_clusters(summary: Summary) -> dict[str, str]:
    """Cluster -> why more of its partitions may be unsafe than were found.

    Of several reasons the first; clusters that were checked are left out.
    """
    reasons: dict[str, dict[str, str]] = {}
    for row in summary["findings"]["not_checked"]:
        reasons.setdefault(row["cluster"], {}).setdefault(row["rule"], row["reason"])
    found = {}
    for row in summary["clusters"]:
        why = unchecked_placement(reasons.get(row["name"], {}))
        if why or row["partitions_unsafe"] is None:
            found[row["name"]] = next(iter(why.values()), _NO_REASON)
    return found


def unsafe(summary: Summary) -> Range:
    """The partitions that are not rack-safe: a count, the least count, or not known."""
    count, is_open = summary["verdict"]["partitions_unsafe"], bool(unchecked_clusters(summary))
    if count is None or (is_open and not count):
        return Range(None, None)
    return Range(count_text(count), None if is_open else count_text(count))


def unsafe_text(count: int | None, reason: str | None) -> str:
    """The partitions of one cluster that are not rack-safe; `reason`: why there may be more.

    >>> unsafe_text(3, None), unsafe_text(3, "no data"), unsafe_text(0, "no data")
    ('3', 'at least 3', 'not known: no data')
    """
    if reason is None:
        return count_text(count)
    return Range(count_text(count), None).phrase() if count else f"{NOT_KNOWN}: {name_text(reason)}"


def why_open(summary: Summary) -> str:
    """Why more partitions may be unsafe than were found, with the clusters; empty if none may be.

    `no broker has a rack`; of a fleet `no broker has a rack (prod), and 2 more clusters`.
    """
    found = unchecked_clusters(summary)
    if not found:
        return ""
    name, reason = next(iter(found.items()))
    if len(summary["clusters"]) == 1:
        return name_text(reason)
    more = f", and {count_of(len(found) - 1, 'more cluster')}" if len(found) > 1 else ""
    return f"{name_text(reason)} ({name_text(name)}){more}"
