"""Forms of single values: numbers, flags, texts and choices; and of values that are not checked."""

# ruff: noqa: D102, ARG002 (what Form says of a method holds in every form)

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from rackwise.core.json.forms.form import Form
from rackwise.core.json.node import CONTROL
from rackwise.core.override import override

if TYPE_CHECKING:
    import re
    from collections.abc import Callable

    from rackwise.core.json.forms.form import Definitions, Schema
    from rackwise.core.json.node import JsonNode
    from rackwise.core.json.strict import Json


@dataclass(frozen=True, slots=True)
class IntegerForm(Form):
    """An integer within bounds."""

    low: int
    high: int
    wanted: str
    hint: str | None = None

    @override
    def is_plain(self, value: Json) -> bool:
        return type(value) is int and self.low <= value <= self.high

    @property
    @override
    def stand_in(self) -> int:
        return max(self.low, 0)

    @override
    def schema(self, definitions: Definitions) -> Schema:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}


@dataclass(frozen=True, slots=True)
class NumberForm(Form):
    """A number within bounds, with a point or without; read as a float."""

    low: float
    high: float
    wanted: str
    hint: str | None = None

    @override
    def is_plain(self, value: Json) -> bool:
        return type(value) is float and self.low <= value <= self.high

    @override
    def read(self, node: JsonNode) -> float:
        if type(node.value) in {int, float} and self.low <= node.value <= self.high:
            return float(node.value)
        self.wrong(node)
        return self.stand_in

    @property
    @override
    def stand_in(self) -> float:
        return max(self.low, 0.0)

    @override
    def schema(self, definitions: Definitions) -> Schema:
        bounds = {"minimum": self.low, "maximum": self.high}
        return {
            "type": "number",
            **{key: each for key, each in bounds.items() if abs(each) < float("inf")},
        }


@dataclass(frozen=True, slots=True)
class FlagForm(Form):
    """True or false."""

    wanted: str = "true or false"
    hint: str | None = None
    empty: ClassVar[Any] = False

    @override
    def is_plain(self, value: Json) -> bool:
        return value is True or value is False

    @override
    def schema(self, definitions: Definitions) -> Schema:
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class TextForm(Form):
    """Any text, or one that is a name, fits a pattern, or passes a check."""

    wanted: str = "a text"
    hint: str | None = None
    is_name: bool = False
    pattern: re.Pattern[str] | None = None
    check: Callable[[str], str | None] | None = None
    empty: ClassVar[Any] = ""

    @override
    def is_plain(self, value: Json) -> bool:
        return (
            isinstance(value, str)
            and (not self.is_name or (bool(value) and not CONTROL.search(value)))
            and (self.pattern is None or self.pattern.fullmatch(value) is not None)
            and (self.check is None or self.check(value) is None)
        )

    @override
    def wrong(self, node: JsonNode) -> None:
        hint = self.hint
        if self.check is not None and isinstance(node.value, str):
            hint = self.check(node.value) or hint
        node.wrong(self.wanted, hint=hint)

    @override
    def schema(self, definitions: Definitions) -> Schema:
        if self.pattern is not None:
            return {"type": "string", "pattern": f"^(?:{self.pattern.pattern})$"}
        return {"type": "string", **({"minLength": 1} if self.is_name else {})}


@dataclass(frozen=True, slots=True)
class ChoiceForm(Form):
    """One of some texts."""

    options: tuple[str, ...]
    wanted: str
    hint: str | None = None

    @override
    def is_plain(self, value: Json) -> bool:
        return isinstance(value, str) and value in self.options

    @property
    @override
    def stand_in(self) -> str:
        return self.options[0]

    @override
    def schema(self, definitions: Definitions) -> Schema:
        return {"enum": list(self.options)}


@dataclass(frozen=True, slots=True)
class ScalarForm(Form):
    """Any value that is no list and no object."""

    wanted: str = "a single value"
    hint: str | None = None

    @override
    def is_plain(self, value: Json) -> bool:
        return not isinstance(value, dict | list)

    @override
    def schema(self, definitions: Definitions) -> Schema:
        return {"type": ["null", "boolean", "number", "string"]}


@dataclass(frozen=True, slots=True)
class AnyForm(Form):
    """Any value."""

    wanted: str = "a value"
    hint: str | None = None

    @override
    def is_plain(self, value: Json) -> bool:
        return True

    @override
    def schema(self, definitions: Definitions) -> Schema:
        return {}
