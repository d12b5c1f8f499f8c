"""Forms of mappings: an object whose keys are data, and a list of objects with a key member."""

# ruff: noqa: D102 (what Form says of a method holds in every form)

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from rackwise.core.json.declare import ID_KEY_HINT, MAX_ID, NAME_HINT
from rackwise.core.json.forms.form import Form
from rackwise.core.json.forms.objects import ObjectMember, object_schema, read_members
from rackwise.core.json.node import CONTROL, JsonNode
from rackwise.core.override import override

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rackwise.core.json.declare import Rows
    from rackwise.core.json.forms.form import Definitions, Schema
    from rackwise.core.json.strict import Json


@dataclass(frozen=True, slots=True)
class MappingForm(Form):
    """An object whose keys are not known before.

    `keys`: `names`, `ids` (decimal numbers without leading zeros, read as integers), or `any`.
    """

    inner: Form
    keys: Literal["names", "ids", "any"] = "names"
    wanted: str = "an object"
    hint: str | None = None
    id_wanted: str = "a broker id"
    empty: ClassVar[Any] = MappingProxyType({})

    @override
    def read(self, node: JsonNode) -> Mapping[Any, Any]:
        if not isinstance(node.value, dict):
            self.wrong(node)
            return MappingProxyType({})
        found: dict[Any, Any] = {}
        for key, item in node.value.items():
            if self.keys == "ids" and not _is_id(key):
                node.faults.wrong(node.path, f"{self.id_wanted} as key", key, hint=ID_KEY_HINT)
                continue
            if self.keys == "names" and (not key or CONTROL.search(key)):
                wanted = "a name without control characters"
                node.faults.wrong(node.path, wanted, key, hint=NAME_HINT)
            value = (
                item
                if self.inner.is_plain(item)
                else self.inner.read(JsonNode(item, node.faults, node, key))
            )
            found[int(key) if self.keys == "ids" else key] = value
        return MappingProxyType(dict(sorted(found.items())) if self.keys == "ids" else found)

    @override
    def write(self, value: Any) -> Json:  # noqa: ANN401
        return {str(key): self.inner.write(item) for key, item in value.items()}

    @override
    def schema(self, definitions: Definitions) -> Schema:
        names = {"propertyNames": {"pattern": "^(0|[1-9][0-9]*)$"}} if self.keys == "ids" else {}
        return {
            "type": "object",
            **names,
            "additionalProperties": self.inner.schema(definitions),
        }


def _is_id(key: str) -> bool:
    is_number = key.isascii() and key.isdigit() and str(int(key[:20])) == key
    return is_number and int(key) <= MAX_ID


@dataclass(frozen=True, slots=True)
class RowsForm(Form):
    """A mapping as a list of objects, in the order of the keys; see `Rows`."""

    rows: Rows
    key: Form
    members: tuple[ObjectMember, ...]
    make: Callable[..., Any]
    wanted: str = "a list"
    hint: str | None = None
    empty: ClassVar[Any] = MappingProxyType({})

    @override
    def read(self, node: JsonNode) -> Mapping[Any, Any]:
        found: dict[Any, Any] = {}
        if not isinstance(node.value, list):
            self.wrong(node)
            return MappingProxyType(found)
        members = (ObjectMember(self.rows.key, self.rows.key, self.key), *self.members)
        for index, item in enumerate(node.value):
            row = JsonNode(item, node.faults, node, index)
            before = node.faults.count
            values = read_members(row, members, is_open=False)
            key = values.pop(self.rows.key)
            if key in found and node.faults.count == before:
                at = JsonNode(item[self.rows.key], node.faults, row, self.rows.key)
                at.wrong(f"each {self.rows.key} once", hint=self.rows.hint)
            found[key] = self.make(**values)
        return MappingProxyType(found)

    @override
    def write(self, value: Any) -> Json:  # noqa: ANN401
        written: list[Json] = []
        for key in sorted(value, key=_in_order):
            row = {self.rows.key: self.key.write(key)}
            item = value[key]
            for member in self.members:
                part = item if self.rows.value else getattr(item, member.attribute)
                row[member.key] = member.form.write(part)
            written.append(row)
        return written

    @override
    def schema(self, definitions: Definitions) -> Schema:
        members = (ObjectMember(self.rows.key, self.rows.key, self.key), *self.members)
        return {"type": "array", "items": object_schema(members, definitions)}


def _in_order(key: object) -> Any:  # noqa: ANN401 (ids, or texts by their UTF-8)
    return key.encode("utf-8", "surrogatepass") if isinstance(key, str) else key
