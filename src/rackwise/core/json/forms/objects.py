"""Forms of objects whose members are declared: a dataclass, a dict, or one of several classes."""

# ruff: noqa: D102 (what Form says of a method holds in every form)

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rackwise.core.json.forms.form import Form, is_written_as_it_is
from rackwise.core.json.forms.lists import ListForm
from rackwise.core.json.node import JsonNode
from rackwise.core.override import override

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rackwise.core.json.forms.form import Definitions, Schema
    from rackwise.core.json.strict import Json


@dataclass(frozen=True, slots=True)
class ObjectMember:
    """One member of an object: its key, the field, and how its value is read and written."""

    key: str
    attribute: str
    form: Form
    may_be_absent: bool = False
    is_omitted: bool = False
    default: Any = None
    is_derived: bool = False
    constant: str | None = None
    is_written_as_it_is: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_written_as_it_is", is_written_as_it_is(self.form))


def read_members(
    node: JsonNode,
    members: Sequence[ObjectMember],
    *,
    is_open: bool,
    reads_absent_as_null: bool = False,
) -> dict[str, Any]:
    """Field -> value of an object; a stand-in for each member that is missing."""
    value, faults = node.value, node.faults
    if not isinstance(value, dict):
        node.wrong("an object")
        return {each.attribute: each.form.stand_in for each in members if each.constant is None}
    values: dict[str, Any] = {}
    known = 0
    for member in members:
        key = member.key
        if key in value:
            known += 1
            if member.constant is not None:
                continue
            item = value[key]
            values[member.attribute] = (
                item
                if member.form.is_plain(item)
                else member.form.read(JsonNode(item, faults, node, key))
            )
        elif member.may_be_absent:
            values[member.attribute] = member.default
        elif reads_absent_as_null:
            values[member.attribute] = member.form.read(JsonNode(None, faults, node, key))
        else:
            node.missing(key)
            values[member.attribute] = member.form.stand_in
    if known < len(value) and not is_open:
        keys = [member.key for member in members]
        for key in value:
            if key not in keys:
                node.unknown(key, keys)
    return values


def object_schema(
    members: Sequence[ObjectMember],
    definitions: Definitions,
    *,
    docs: Mapping[str, str] = MappingProxyType({}),
    is_open: bool = False,
) -> Schema:
    """The schema of an object; `docs`: field -> its meaning."""
    properties = {}
    for member in members:
        part = (
            {"const": member.constant}
            if member.constant is not None
            else member.form.schema(definitions)
        )
        doc = docs.get(member.attribute)
        properties[member.key] = {**part, **({"description": doc} if doc else {})}
    return {
        "type": "object",
        "properties": properties,
        "required": [member.key for member in members if not member.may_be_absent],
        **({} if is_open else {"additionalProperties": False}),
    }


@dataclass(slots=True, eq=False)
class ObjectForm(Form):
    """An object that is a dataclass."""

    kind: type
    members: tuple[ObjectMember, ...] = ()
    check: Callable[[Any, JsonNode], None] | None = None
    checks_faulty: bool = False
    is_open: bool = False
    name: str = ""
    wanted: str = "an object"
    hint: str | None = None
    reads_absent_as_null: bool = False
    rest: str | None = None
    """The field that takes the members which no other field declares; None: there is none."""
    keys: frozenset[str] = frozenset()
    """The keys of `members`, where there is a `rest`."""

    @override
    def read(self, node: JsonNode) -> Any:  # noqa: ANN401
        before = node.faults.count
        values = read_members(
            node,
            self.members,
            is_open=self.is_open,
            reads_absent_as_null=self.reads_absent_as_null,
        )
        if self.rest is not None:
            values[self.rest] = self._other_members(node.value)
        derived = {each.key: values.pop(each.attribute) for each in self.members if each.is_derived}
        made = self.kind(**values)
        if node.faults.count != before:
            if self.check is not None and self.checks_faulty:
                self.check(made, node)
            return made
        for key, said in derived.items():
            found = getattr(made, key)
            if said != found:
                JsonNode(said, node.faults, node, key).wrong(f'"{found}"')
        if self.check is not None:
            self.check(made, node)
        return made

    def _other_members(self, value: Json) -> dict[str, Json]:
        if not isinstance(value, dict) or self.keys.issuperset(value):
            return {}
        return {key: item for key, item in value.items() if key not in self.keys}

    @property
    @override
    def stand_in(self) -> Any:  # noqa: ANN401
        rest: dict[str, Any] = {} if self.rest is None else {self.rest: {}}
        return self.kind(
            **{
                each.attribute: each.form.stand_in
                for each in self.members
                if each.constant is None and not each.is_derived
            },
            **rest,
        )

    @override
    def write(self, value: Any) -> Json:  # noqa: ANN401
        return self._written(value, is_streamed=False)

    def streamed(self, value: Any) -> dict[str, Any]:  # noqa: ANN401
        """The value for `json_pieces`: as `write`, but lists of objects are iterators."""
        return self._written(value, is_streamed=True)

    def _written(self, value: Any, *, is_streamed: bool) -> dict[str, Any]:  # noqa: ANN401
        written: dict[str, Any] = {}
        for member in self.members:
            if member.constant is not None:
                written[member.key] = member.constant
                continue
            item = getattr(value, member.attribute)
            if not (member.is_omitted and item == member.default):
                if member.is_written_as_it_is:
                    written[member.key] = item
                elif is_streamed and isinstance(member.form, ListForm):
                    written[member.key] = map(member.form.inner.write, item)
                else:
                    written[member.key] = member.form.write(item)
        if self.rest is not None:
            rest = getattr(value, self.rest)
            written |= {key: rest[key] for key in sorted(rest)}
        return written

    @override
    def schema(self, definitions: Definitions) -> Schema:
        if self.name not in definitions:
            definitions[self.name] = {}
            doc = (self.kind.__doc__ or "").partition("\n\n")[0].strip()
            definitions[self.name] = {
                **({"description": " ".join(doc.split())} if doc else {}),
                **object_schema(
                    self.members,
                    definitions,
                    docs=definitions.describe(self.kind),
                    is_open=self.is_open,
                ),
            }
        return {"$ref": f"#/$defs/{self.name}"}


@dataclass(frozen=True, slots=True)
class RecordForm(Form):
    """An object that stays a dict: its members are checked; others are allowed if it is open."""

    members: Mapping[str, Form]
    is_open: bool = False
    may_be_absent: frozenset[str] = frozenset()
    wanted: str = "an object"
    hint: str | None = None

    @override
    def read(self, node: JsonNode) -> Any:  # noqa: ANN401
        read_members(node, self._object_members(), is_open=self.is_open)
        return node.value

    @property
    @override
    def stand_in(self) -> dict[str, Any]:
        return {}

    @override
    def schema(self, definitions: Definitions) -> Schema:
        return object_schema(self._object_members(), definitions, is_open=self.is_open)

    def _object_members(self) -> list[ObjectMember]:
        return [
            ObjectMember(key, key, form, may_be_absent=key in self.may_be_absent)
            for key, form in self.members.items()
        ]


@dataclass(frozen=True, slots=True)
class UnionForm(Form):
    """An object of one of several classes; the member `tag` names the class."""

    tag: str
    forms: Mapping[str, ObjectForm]
    wanted: str
    hint: str | None = None

    @override
    def read(self, node: JsonNode) -> Any:  # noqa: ANN401
        if not isinstance(node.value, dict):
            self.wrong(node)
        elif self.tag not in node.value:
            node.missing(self.tag)
        else:
            name = node.value[self.tag]
            if isinstance(name, str) and name in self.forms:
                return self.forms[name].read(node)
            node.at(self.tag).wrong(f"one of {', '.join(self.forms)}")
        return self.stand_in

    @property
    @override
    def stand_in(self) -> Any:  # noqa: ANN401
        return next(iter(self.forms.values())).stand_in

    @override
    def write(self, value: Any) -> Json:  # noqa: ANN401
        return next(form for form in self.forms.values() if form.kind is type(value)).write(value)

    @override
    def schema(self, definitions: Definitions) -> Schema:
        return {"oneOf": [form.schema(definitions) for form in self.forms.values()]}
