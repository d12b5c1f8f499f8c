"""Several names of a fleet file that turn out to be one cluster, by its id.

Counted under each name, its bytes and dollars would be counted twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TWINS_HINT: Final = "keep one of the names in the fleet file, or correct bootstrap of the other"


def twins(ids: Mapping[str, str | None]) -> dict[str, tuple[str, ...]]:
    """Cluster id -> its names, for each cluster that has several. None: the id is not known.

    >>> twins({"eu": "x", "us": "y", "old": "x", "gone": None, "away": None})
    {'x': ('eu', 'old')}
    """
    names: dict[str, list[str]] = {}
    for name, cluster_id in ids.items():
        if cluster_id is not None:
            names.setdefault(cluster_id, []).append(name)
    return {cluster_id: tuple(each) for cluster_id, each in names.items() if len(each) > 1}


def twins_text(cluster_id: str, names: Sequence[str]) -> str:
    """The error as a sentence, safe to print.

    >>> twins_text("x", ("eu", "old"))
    'eu and old are one cluster, x'
    """
    return f"{' and '.join(map(escaped, names))} are one cluster, {escaped(cluster_id)}"
