"""Lines of a journal as plain JSON values, and back.

Goals, in order: what is written is read back equal; what was not written so is refused, with the
JSON path; one line has one form.

```
BatchIntent(batch=2, act="move", partitions=(("orders", 4),))
{"type": "batch_intent", "batch": 2, "act": "move", "partitions": [["orders", 4]]}
```

A table gives each field its form, a way out and a way in. Partitions are `[topic, number]`,
throttle keys `["broker", "4", "follower.replication.throttled.rate"]`.

What this does not do: text, order, checks, and the fields that a writer adds (`seq`, `at`,
`check`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, get_args

from rackwise.core.applying.journal.lines import (
    BatchIntent,
    BatchResult,
    Begin,
    ElectIntent,
    ElectResult,
    End,
    Go,
    Line,
    PartitionLine,
    Pause,
    Setting,
    ThrottleIntent,
    ThrottleRestored,
    ThrottleSet,
)
from rackwise.core.applying.model import Mode, PartitionClass, RequestKind, Stop, ThrottleKey
from rackwise.core.applying.throttle_configs import LISTS, RATES
from rackwise.core.errors import InvalidPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rackwise.core.json.canonical import Json


@dataclass(frozen=True, slots=True)
class _Form:
    """How one field is written, and read; reading raises `InvalidPlan`."""

    write: Callable[[Any], Json]
    read: Callable[[Any, str], Any]


def _refuse(wanted: str, had: object, where: str) -> InvalidPlan:
    shown = type(had).__name__ if isinstance(had, list | dict) else repr(had)
    return InvalidPlan(
        f"invalid {where}: expected {wanted}, got {shown}", wanted=wanted, had=had, where=where
    )


def _plain(value: Json) -> Json:
    return value


def _int(value: object, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _refuse("an integer from 0 on", value, where)
    return value


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise _refuse("a text", value, where)
    return value


def _list(value: object, where: str, length: int | None = None) -> list[object]:
    if not isinstance(value, list) or (length is not None and len(value) != length):
        raise _refuse("a list" if length is None else f"a list of {length}", value, where)
    return value


def _partition(value: object, where: str) -> tuple[str, int]:
    topic, number = _list(value, where, 2)
    return _text(topic, f"{where}[0]"), _int(number, f"{where}[1]")


def _key(value: object, where: str) -> ThrottleKey:
    kind, name, key = (
        _text(part, f"{where}[{i}]") for i, part in enumerate(_list(value, where, 3))
    )
    if kind == "broker" and key in RATES and name.isascii() and name.isdigit():
        return ThrottleKey("broker", name, key)
    if kind == "topic" and key in LISTS:
        return ThrottleKey("topic", name, key)
    raise _refuse("a throttle key of a broker or a topic", value, where)


def _setting(value: object, where: str) -> Setting:
    key, prior, ours = _list(value, where, 3)
    return Setting(
        key=_key(key, f"{where}[0]"),
        prior=None if prior is None else _text(prior, f"{where}[1]"),
        ours=_text(ours, f"{where}[2]"),
    )


def _write_setting(setting: Setting) -> Json:
    return [list(setting.key), setting.prior, setting.ours]


def _choice(alias: object) -> _Form:
    """One of the texts of a `Literal`."""
    choices = get_args(alias)

    def read(value: object, where: str) -> str:
        if value not in choices:
            raise _refuse(f"one of {', '.join(choices)}", value, where)
        return str(value)

    return _Form(_plain, read)


def _or_null(form: _Form) -> _Form:
    return _Form(
        lambda value: None if value is None else form.write(value),
        lambda value, where: None if value is None else form.read(value, where),
    )


def _many(form: _Form) -> _Form:
    return _Form(
        lambda values: [form.write(value) for value in values],
        lambda value, where: tuple(
            form.read(item, f"{where}[{i}]") for i, item in enumerate(_list(value, where))
        ),
    )


def _with_code(form: _Form) -> _Form:
    def read(value: object, where: str) -> tuple[Any, str]:
        item, code = _list(value, where, 2)
        return form.read(item, f"{where}[0]"), _text(code, f"{where}[1]")

    return _Form(lambda pair: [form.write(pair[0]), pair[1]], read)


_INT = _Form(_plain, _int)
_TEXT = _Form(_plain, _text)
_PARTITION = _Form(list, _partition)
_PARTITIONS = _many(_PARTITION)
_KEY = _Form(list, _key)
_BATCH = {"batch": _INT, "act": _choice(RequestKind), "partitions": _PARTITIONS}
_REFUSED = {"refused": _many(_with_code(_PARTITION)), "unknown": _PARTITIONS}

_FORMS: Mapping[type[Line], Mapping[str, _Form]] = {
    Begin: {
        "plan": _TEXT,
        "mode": _choice(Mode),
        "throttle": _or_null(_INT),
        "dropped": _PARTITIONS,
    },
    ThrottleIntent: {"settings": _many(_Form(_write_setting, _setting))},
    ThrottleSet: {"done": _many(_KEY), "failed": _many(_with_code(_KEY))},
    BatchIntent: _BATCH,
    BatchResult: {"batch": _INT, "act": _choice(RequestKind), "accepted": _PARTITIONS, **_REFUSED},
    PartitionLine: {
        "partition": _PARTITION,
        "class": _choice(PartitionClass),
        "code": _or_null(_TEXT),
    },
    Pause: {"reasons": _many(_TEXT)},
    Go: {},
    ElectIntent: {"batch": _INT, "partitions": _PARTITIONS},
    ElectResult: {"batch": _INT, "elected": _PARTITIONS, **_REFUSED},
    ThrottleRestored: {"keys": _many(_KEY), "changed": _many(_KEY)},
    End: {
        **dict.fromkeys(("done", "failed", "skipped", "dropped"), _INT),
        "stop": _or_null(_choice(Stop)),
    },
}

_TYPES = {line.type: line for line in _FORMS}


def fields_of(line: Line) -> dict[str, Json]:
    """A line as plain JSON values, `type` first.

    >>> from rackwise.core.applying.journal.lines import Pause
    >>> fields_of(Pause(reasons=("broker 4 is down",)))
    {'type': 'pause', 'reasons': ['broker 4 is down']}
    """
    forms = _FORMS[type(line)]
    values = {field.name.rstrip("_"): getattr(line, field.name) for field in fields(line)}
    return {"type": line.type, **{name: forms[name].write(values[name]) for name in forms}}


def line_of(values: Mapping[str, Json], where: str = "$") -> Line:
    """The line that was written as `values`. Raises `InvalidPlan` with the JSON path."""
    kind = _TYPES.get(_text(values.get("type"), f"{where}.type"))
    if kind is None:
        raise _refuse(f"one of {', '.join(_TYPES)}", values["type"], f"{where}.type")
    forms = _FORMS[kind]
    for name in values:
        if name != "type" and name not in forms:
            raise _refuse(f"no key {name!r} in {kind.type}", name, where)
    read = {}
    for field in fields(kind):
        name = field.name.rstrip("_")
        if name not in values:
            raise _refuse(f"a key {name!r} in {kind.type}", "none", where)
        read[field.name] = forms[name].read(values[name], f"{where}.{name}")
    return kind(**read)
