"""The shape of a summary document, and the check that one has it.

A summary comes from the pipeline or from a file that somebody kept, copied or edited. Everything
after this check may index without asking. Keys that are not named here are let through, so that a
later writer may add some.

```
SHAPE                        means
str, int                     a value of that type; a boolean is no number
DOLLARS                      a decimal number as text, "0.420000000"
NUMBER                       a number, or one as text
SCALAR                       anything that is no list and no object
(shape, None)                that shape, or null
[shape]                      a list of such values
{"key": shape, ...}          an object with at least these keys
{ANY: shape}                 an object whose values all have that shape
```
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from rackwise.core.errors import InvalidSummary
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT: Final = "rackwise.summary/1"

DOLLARS: Final = "dollars"
NUMBER: Final = "number"
SCALAR: Final = "scalar"
ANY: Final = "*"

_WORDS: Final[Mapping[object, str]] = {
    str: "a text",
    int: "an integer",
    bool: "true or false",
    SCALAR: "a single value",
}
_DECIMAL = re.compile(r"-?\d{1,30}(\.\d{1,30})?([eE][-+]?\d{1,2})?", re.ASCII)
_COUNT: Final = (int, None)
_USD: Final = (DOLLARS, None)
_TEXT: Final = (str, None)
_ROLL_UP: Final = {
    "bytes_local": int,
    "bytes_cross": int,
    "bytes_unknown": int,
    "usd": _USD,
    "share": (NUMBER, None),
}
_SAVED: Final = {"bytes_saved": int, "usd_saved": _USD, "usd_saved_30d": _USD}

SHAPE: Final[Mapping[str, Any]] = {
    "run_id": str,
    "version": str,
    "clusters": [
        {
            "name": str,
            "cluster_id": _TEXT,
            "taken_at": _TEXT,
            "snapshots": int,
            "brokers": int,
            "racks": int,
            "topics": int,
            "partitions": int,
            "partitions_unsafe": int,
            "bytes_cross": _COUNT,
            "usd": _USD,
        }
    ],
    "levels": [str],
    "observed": ({"from": str, "to": str, "seconds": int}, None),
    "verdict": {
        "partitions": int,
        "partitions_unsafe": int,
        "findings": int,
        "bytes_total": _COUNT,
        "bytes_local": _COUNT,
        "bytes_cross": _COUNT,
        "bytes_unknown": _COUNT,
        "usd": _USD,
        "usd_30d": _USD,
    },
    "quality": {
        "bytes_measured": _COUNT,
        "bytes_apportioned": _COUNT,
        "bytes_estimated": _COUNT,
        "bytes_unknown_rack": _COUNT,
        "bytes_unpriced": _COUNT,
        "bytes_extrapolated_price": _COUNT,
        "bytes_unchecked_price": _COUNT,
        "rows_quarantined": _COUNT,
        "share_quarantined": (NUMBER, None),
        "rows_skipdata": _COUNT,
    },
    "matrix": [
        {
            "cluster": str,
            "level": int,
            "level_name": _TEXT,
            "from_rack": str,
            "to_rack": str,
            "bytes": int,
            "usd": _USD,
        }
    ],
    "by_topic": [{"cluster": str, "topic": str, **_ROLL_UP}],
    "by_group": [{"cluster": str, "client_group": str, **_ROLL_UP}],
    "by_pair": [{"cluster": str, "from_rack": str, "to_rack": str, **_ROLL_UP}],
    "by_level": [{"level": int, "level_name": _TEXT, **_ROLL_UP}],
    "by_day": [{"day": str, **_ROLL_UP}],
    "by_kind": [{"kind": str, **_ROLL_UP}],
    "savings": (
        {
            "total": _SAVED,
            "steps": [
                {
                    "view": str,
                    "saving": str,
                    "eps": _TEXT,
                    **_SAVED,
                    "load_factor": (NUMBER, None),
                    "reasons": [str],
                }
            ],
            "conditions": {ANY: str},
            "count": int,
            "rows": [
                {
                    "cluster": str,
                    "topic": _TEXT,
                    "client_group": _TEXT,
                    "saving": str,
                    "view": str,
                    "eps": _TEXT,
                    **_SAVED,
                }
            ],
        },
        None,
    ),
    "rows": {ANY: int},
    "findings": {
        "by_rule": [{"rule": str, "severity": str, "count": int, "sentence": str}],
        "worst": [
            {
                "cluster": str,
                "rule": str,
                "severity": str,
                "topic": _TEXT,
                "partition": _COUNT,
                "broker": _COUNT,
                "level": SCALAR,
                "wanted": _TEXT,
                "had": _TEXT,
                "message": _TEXT,
            }
        ],
        "not_checked": [{"cluster": str, "rule": str, "reason": str}],
    },
    "blast": [
        {
            "cluster": str,
            "rack": str,
            "level": int,
            "partitions_offline": int,
            "partitions_below_min_isr": int,
            "leaders_lost": int,
            "top_survivor_leader_share": (NUMBER, None),
            "replicas_lost": int,
            "bytes_to_restore": _COUNT,
            "cross_bytes_to_restore": _COUNT,
            "usd_to_restore": _USD,
            "groups_lost": _COUNT,
            "member_share_lost": (NUMBER, None),
        }
    ],
    "plans": (
        {
            "goal": str,
            "clusters": int,
            "planned": int,
            "proved": int,
            "moves": int,
            "partitions": int,
            "bytes": _COUNT,
            "usd": _USD,
            "rows": [
                {
                    "cluster": str,
                    "status": str,
                    "minimise": str,
                    "moves": _COUNT,
                    "partitions": _COUNT,
                    "leader_changes": _COUNT,
                    "bytes": _COUNT,
                    "cross_bytes": _COUNT,
                    "usd": _USD,
                    "lower_bound": _COUNT,
                    "verdict": _TEXT,
                    "reason": _TEXT,
                    "hint": _TEXT,
                    "file": _TEXT,
                }
            ],
        },
        None,
    ),
    "method": {
        "prices": [
            {
                "provider": str,
                "region": str,
                "level": str,
                "kind": str,
                "usd_per_gb_out": SCALAR,
                "usd_per_gb_in": SCALAR,
                "gb_bytes": SCALAR,
                "valid_from": SCALAR,
                "valid_to": SCALAR,
                "source": SCALAR,
                "is_checked": bool,
                "is_extrapolated": bool,
                "row": SCALAR,
            }
        ],
        "outcomes": [{"reason": str, "rows": int, "bytes": _COUNT}],
        "rows_in": _COUNT,
        "bytes_in": _COUNT,
        "files": [{"file": str, "rows": int, "quarantined": int}],
        "precedence": [{"cluster": str, "day": str, "kind": str, "source": str}],
        "options": {ANY: object},
        "versions": {ANY: SCALAR},
    },
    "csv": [str],
    "failed": [{"snapshot": str, "error": str, "message": str, "hint": _TEXT}],
    "notes": [str],
}


def check(summary: Mapping[str, Any]) -> None:
    """Refuse a document that is no summary of this format.

    Raises `InvalidSummary` with the JSON path of the first fault.
    """
    had = summary.get("format") if isinstance(summary, dict) else summary
    if had != FORMAT:
        raise InvalidSummary(
            f"expected a document of format {FORMAT}, got {escaped(repr(had))[:80]}",
            wanted=FORMAT,
            had=escaped(str(had)),
            hint="run rackwise analyze again, or render it with the Rackwise that wrote it",
            where="$.format",
        )
    _check(summary, SHAPE, "$")


def _check(value: Any, shape: Any, where: str) -> None:  # noqa: ANN401 (the language above)
    match shape:
        case (inner, None):
            if value is not None:
                _check(value, inner, where)
        case [inner]:
            _demand(isinstance(value, list), "a list", value, where)
            for index, item in enumerate(value):
                _check(item, inner, f"{where}[{index}]")
        case dict():
            _demand(isinstance(value, dict), "an object", value, where)
            _check_keys(value, shape, where)
        case _:
            _demand(_is(value, shape), _WORDS.get(shape, "a decimal number"), value, where)


def _check_keys(value: Mapping[str, object], shape: Mapping[str, Any], where: str) -> None:
    if ANY in shape:
        shape = dict.fromkeys(value, shape[ANY])
    for key, inner in shape.items():
        if key not in value:
            raise InvalidSummary(
                f'missing key "{key}"',
                wanted=key,
                hint="run rackwise analyze again: the summary was cut or edited",
                where=where,
            )
        _check(value[key], inner, f"{where}.{escaped(key)}")


def _is(value: object, shape: Any) -> bool:  # noqa: ANN401 (the language above)
    if shape is DOLLARS:
        return isinstance(value, str) and _DECIMAL.fullmatch(value) is not None
    if shape is NUMBER:
        return _is(value, DOLLARS) or (
            isinstance(value, int | float) and _DECIMAL.fullmatch(str(value)) is not None
        )
    if shape is SCALAR:
        return not isinstance(value, dict | list)
    if shape is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, shape)


def _demand(is_right: bool, wanted: str, had: object, where: str) -> None:  # noqa: FBT001
    if not is_right:
        shown = escaped(repr(had))[:40]
        raise InvalidSummary(
            f"expected {wanted}, got {shown}",
            wanted=wanted,
            had=shown,
            hint="run rackwise analyze again: the summary was cut or edited",
            where=where,
        )
