"""The interface of a form, and the form of a value that may be null."""

# ruff: noqa: D102, ARG002 (what Form says of a method holds in every form)

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from rackwise.core.override import override

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rackwise.core.json.node import JsonNode
    from rackwise.core.json.strict import Json

Schema = dict[str, Any]
"""A JSON Schema, or a part of one."""


class Definitions(dict[str, Schema]):
    """The schemas of objects by name; `describe`: class -> the meaning of its fields."""

    def __init__(self, describe: Callable[[type], Mapping[str, str]] | None = None) -> None:
        super().__init__()
        self.describe = describe or (lambda _: {})


class Form(ABC):
    """How values of one type are read, written and described."""

    wanted: str
    """The words for a value of this form in an error."""
    hint: str | None
    empty: ClassVar[Any] = None
    """The stand-in, where it is always the same."""

    def is_plain(self, value: Json) -> bool:
        """Whether a parsed value is right and needs no conversion."""
        return False

    def read(self, node: JsonNode) -> Any:  # noqa: ANN401 (of the declared type)
        """The value; records faults, and then gives a stand-in."""
        if self.is_plain(node.value):
            return node.value
        self.wrong(node)
        return self.stand_in

    @property
    def stand_in(self) -> Any:  # noqa: ANN401 (of the declared type)
        """A value of the type, for one that could not be read."""
        return self.empty

    def write(self, value: Any) -> Json:  # noqa: ANN401 (of the declared type)
        """The value as plain JSON."""
        return value

    @abstractmethod
    def schema(self, definitions: Definitions) -> Schema:
        """The JSON Schema; schemas of objects go to `definitions`."""

    def saying(self, wanted: str) -> Form:
        """The same form with other words for an error."""
        other = copy(self)
        object.__setattr__(other, "wanted", wanted)
        return other

    def wrong(self, node: JsonNode) -> None:
        """Record that the node is not of this form."""
        node.wrong(self.wanted, hint=self.hint)


def is_written_as_it_is(form: Form) -> bool:
    """Whether the values of a form are JSON already."""
    if isinstance(form, NullableForm):
        return is_written_as_it_is(form.inner)
    return type(form).write is Form.write


@dataclass(frozen=True, slots=True)
class NullableForm(Form):
    """Null, or a value of another form."""

    inner: Form

    @override
    def is_plain(self, value: Json) -> bool:
        return value is None or self.inner.is_plain(value)

    @override
    def read(self, node: JsonNode) -> Any:  # noqa: ANN401
        return None if node.value is None else self.inner.read(node)

    @override
    def write(self, value: Any) -> Json:  # noqa: ANN401
        return None if value is None else self.inner.write(value)

    @override
    def schema(self, definitions: Definitions) -> Schema:
        return {"anyOf": [self.inner.schema(definitions), {"type": "null"}]}
