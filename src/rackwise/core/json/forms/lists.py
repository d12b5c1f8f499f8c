"""Forms of lists: of any length, of a fixed length, and a list or object in place of a text."""

# ruff: noqa: D102 (what Form says of a method holds in every form)

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from rackwise.core.json.faults import Fault, shown_value
from rackwise.core.json.forms.form import Form, is_written_as_it_is
from rackwise.core.json.node import JsonNode
from rackwise.core.json.strict import key_path
from rackwise.core.override import override

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rackwise.core.json.declare import Once
    from rackwise.core.json.forms.form import Definitions, Schema
    from rackwise.core.json.strict import Json


@dataclass(frozen=True, slots=True)
class ListForm(Form):
    """A list of values of one form."""

    inner: Form
    wanted: str = "a list"
    hint: str | None = None
    once: Once | None = None
    empty: ClassVar[Any] = ()

    @override
    def read(self, node: JsonNode) -> tuple[Any, ...]:
        if not isinstance(node.value, list):
            self.wrong(node)
            return ()
        is_plain, read, faults = self.inner.is_plain, self.inner.read, node.faults
        values = [
            item if is_plain(item) else read(JsonNode(item, faults, node, index))
            for index, item in enumerate(node.value)
        ]
        return tuple(values if self.once is None else _each_once(self.once, node, values))

    @override
    def write(self, value: Any) -> Json:  # noqa: ANN401
        if is_written_as_it_is(self.inner):
            return list(value)
        write = self.inner.write
        return [write(item) for item in value]

    @override
    def schema(self, definitions: Definitions) -> Schema:
        return {"type": "array", "items": self.inner.schema(definitions)}


def _each_once(once: Once, node: JsonNode, values: list[Any]) -> list[Any]:
    """The values of a list, sorted if declared; records each one that appears again."""
    keys = [getattr(value, once.by) for value in values] if once.by else values
    seen: set[Any] = set()
    for index, key in enumerate(keys):
        item = node.value[index]
        # An item that could not be read has a stand-in, which says nothing about the document.
        if key in seen and (isinstance(item, dict) if once.by else item == key):
            at = JsonNode(item, node.faults, node, index)
            node.faults.add(
                Fault(
                    place=key_path(at.path, once.by) if once.by else at.path,
                    sentence=f"expected each {once.what} once, got {shown_value(key)} twice",
                    wanted=1,
                    had=2,
                    hint=once.hint,
                )
            )
        seen.add(key)
    if not once.is_sorted:
        return values
    return [values[place] for place in sorted(range(len(keys)), key=keys.__getitem__)]


@dataclass(frozen=True, slots=True)
class EitherForm(Form):
    """One of some texts, or a list or an object of another form.

    `texts`: text -> what it is read as.
    """

    texts: Mapping[str, Any]
    other: Form
    wanted: str
    hint: str | None = None

    @override
    def read(self, node: JsonNode) -> Any:  # noqa: ANN401
        if isinstance(node.value, dict | list):
            return self.other.read(node)
        if isinstance(node.value, str) and node.value in self.texts:
            return self.texts[node.value]
        self.wrong(node)
        return self.stand_in

    @property
    @override
    def stand_in(self) -> Any:  # noqa: ANN401
        return next(iter(self.texts.values()))

    @override
    def write(self, value: Any) -> Json:  # noqa: ANN401
        return value if isinstance(value, str) else self.other.write(value)

    @override
    def schema(self, definitions: Definitions) -> Schema:
        return {"anyOf": [{"enum": list(self.texts)}, self.other.schema(definitions)]}


@dataclass(frozen=True, slots=True)
class TupleForm(Form):
    """A list of fixed length; `make`: what to build of its values."""

    inners: tuple[Form, ...]
    wanted: str
    make: Callable[..., Any]
    check: Callable[[Any, JsonNode], None] | None = None
    hint: str | None = None
    is_written_as_it_is: bool = field(init=False)

    def __post_init__(self) -> None:
        is_json = all(map(is_written_as_it_is, self.inners))
        object.__setattr__(self, "is_written_as_it_is", is_json)

    @override
    def read(self, node: JsonNode) -> Any:  # noqa: ANN401
        if not isinstance(node.value, list) or len(node.value) != len(self.inners):
            self.wrong(node)
            return self.stand_in
        before = node.faults.count
        value = self.make(
            *(
                item if form.is_plain(item) else form.read(JsonNode(item, node.faults, node, index))
                for index, (form, item) in enumerate(zip(self.inners, node.value, strict=True))
            )
        )
        if self.check is not None and node.faults.count == before:
            self.check(value, node)
        return value

    @property
    @override
    def stand_in(self) -> Any:  # noqa: ANN401
        return self.make(*(form.stand_in for form in self.inners))

    @override
    def write(self, value: Any) -> Json:  # noqa: ANN401
        if self.is_written_as_it_is:
            return list(value)
        return [form.write(item) for form, item in zip(self.inners, value, strict=True)]

    @override
    def schema(self, definitions: Definitions) -> Schema:
        return {
            "type": "array",
            "prefixItems": [form.schema(definitions) for form in self.inners],
            "minItems": len(self.inners),
            "maxItems": len(self.inners),
        }
