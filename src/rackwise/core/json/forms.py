"""Forms: how the values of one type are read, written and described (see `codec`)."""

# ruff: noqa: D102, ARG002 (what Form says of a method holds in every form)

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from rackwise.core.json.declare import ID_KEY_HINT, MAX_ID, NAME_HINT
from rackwise.core.json.faults import Fault, shown_value
from rackwise.core.json.node import CONTROL, JsonNode
from rackwise.core.json.strict import key_path
from rackwise.core.override import override

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Mapping, Sequence

    from rackwise.core.json.declare import Once, Rows
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


def _is_written_as_it_is(form: Form) -> bool:
    """Whether the values of a form are JSON already."""
    if isinstance(form, NullableForm):
        return _is_written_as_it_is(form.inner)
    return type(form).write is Form.write


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
        if _is_written_as_it_is(self.inner):
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
        is_json = all(map(_is_written_as_it_is, self.inners))
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
        object.__setattr__(self, "is_written_as_it_is", _is_written_as_it_is(self.form))


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
