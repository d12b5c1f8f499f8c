r"""One codec between declared dataclasses and JSON documents.

Goals, in order: a field is declared once, and read, written and described from there; a document
with faults gives one error that names the first by its JSON path and counts the others; what is
written is read back equal; reading costs little more than the values that it makes.

A declaration is a frozen dataclass (or a NamedTuple, which is a list in the document). The type of
a field says what its value may be; `Annotated` adds bounds, a pattern, the words for an error:

```
BrokerId: TypeAlias = Annotated[int, Between(0, 2**31 - 1, "a broker id", hint=..)]

@dataclass(frozen=True)
class Cut:                               {"brokers": [1, 2], "least": 40, "reason": "racks"}
    brokers: tuple[BrokerId, ...]        $.cuts[0].brokers[1]: expected a broker id, got -1
    least: Count                         {"type": "object", "properties": {..}, "required": [..]}
    reason: str
```

Algorithm. A `Codec` turns a type into a `Form` once; a form reads a parsed value, writes one, and
gives its JSON Schema. Reading never stops at a fault: it records the fault and takes a stand-in, so
one reading finds all faults. Most values are right, so a form first asks `is_plain` whether a value
needs no conversion; a `JsonNode`, which knows the path, is created for the others.

| type                        | document                                                     |
|-----------------------------|--------------------------------------------------------------|
| `int`, `float`, `bool`      | a number, true or false; JSON's `true` is no number          |
| `str`, `Literal`            | a text, one of some texts                                    |
| `object`                    | any value                                                    |
| `X \| None`                 | null for an unknown value                                    |
| a `Literal \| X`            | one of some texts, or a list or an object of the form of X   |
| `tuple[X, ...]`, `Sequence` | a list, read as a tuple                                      |
| `tuple[A, B]`, a NamedTuple | a list of that length                                        |
| `Mapping[str, X]`           | an object whose keys are names; `Mapping[int, X]`: ids       |
| `Annotated[Mapping, Rows]`  | a list of objects, the key of the mapping is a member        |
| a dataclass                 | an object; unknown keys are faults, or go to a `Rest` field  |
| a union of dataclasses      | an object, one of its members names the class                |

Why not `msgspec`: it decodes faster, but its decoder keeps the last of two equal keys and takes any
integer, so the strict pass of `strict` would still be necessary and its speed would be lost. It
stops at the first fault, and its messages cannot carry a hint. It would also be the second
dependency of `core`. The columns of a snapshot (`adapters.files.snapshot.partitions`) are faster
than either, as they make no object for a partition.

Limits: the order of keys in a written document is that of the declaration (canonical JSON sorts
them); a million rows of one kind want columns of their own instead of a form.
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from types import MappingProxyType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from rackwise.core.json import declare
from rackwise.core.json.declare import (
    NAME_HINT,
    Between,
    Checked,
    Key,
    Later,
    Matching,
    Name,
    Omitted,
    Once,
    Rest,
    Rows,
    Says,
)
from rackwise.core.json.forms import (
    AnyForm,
    ChoiceForm,
    EitherForm,
    FlagForm,
    Form,
    IntegerForm,
    ListForm,
    MappingForm,
    NullableForm,
    NumberForm,
    ObjectForm,
    ObjectMember,
    RowsForm,
    TextForm,
    TupleForm,
    UnionForm,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwise.core.json.node import JsonNode


_DECLARED = {name: each for name, each in vars(declare).items() if name[0].isupper()}
"""What declarations import for type checkers alone."""


@dataclass(frozen=True, kw_only=True)
class ObjectRules:
    """What the declaration of one class does not say about its object."""

    constants: Mapping[str, str] = field(default_factory=dict)
    """Members that are always the same, key -> text."""
    derived: Mapping[str, Form] = field(default_factory=dict)
    """Properties that are written too; a member that is read must be equal to the property."""
    check: Callable[[Any, JsonNode], None] | None = None
    """Records faults between the fields of a value."""
    checks_faulty: bool = False
    """Whether the check runs also for a value whose fields have faults, and hold stand-ins."""
    is_open: bool = False
    """Whether members that are not declared are allowed."""
    reads_absent_as_null: bool = False
    """Whether a member that is absent is read as null, as in documents that Kafka writes."""
    has_no_null: bool = False
    """Whether a field with a default may be absent, and is absent, never null, where it is None."""


@dataclass(frozen=True, kw_only=True)
class Tagged:
    """How the classes of a union are distinguished."""

    tag: str
    """The member that names the class."""
    kinds: Mapping[str, type]
    """Name -> class."""
    wanted: str
    """The words for an object of the union in an error."""


class Codec:
    """Forms of types, each made once.

    `names`: what the annotations of the classes use beside their own module; `forms`: type -> its
    form, for types that are no JSON value; `rules`: class -> what its declaration does not say;
    `unions`: union -> how its classes are distinguished.
    """

    def __init__(
        self,
        *,
        names: Mapping[str, Any] = MappingProxyType({}),
        forms: Mapping[Any, Form] = MappingProxyType({}),
        rules: Mapping[type, ObjectRules] = MappingProxyType({}),
        unions: Mapping[Any, Tagged] = MappingProxyType({}),
    ) -> None:
        self._names = {**_DECLARED, "Mapping": Mapping, "Sequence": Sequence, **names}
        self._forms: dict[Any, Form] = dict(forms)
        self._rules = rules
        self._unions = unions

    def form(self, kind: Any) -> Form:  # noqa: ANN401 (any type)
        """The form of a type."""
        if kind not in self._forms:
            self._forms[kind] = self._made(kind)
        return self._forms[kind]

    def object(self, kind: type) -> ObjectForm:
        """The form of a class that is an object."""
        form = self.form(kind)
        if not isinstance(form, ObjectForm):
            raise TypeError(f"expected a dataclass, got {kind}")
        return form

    def _made(self, kind: Any, *markers: Any) -> Form:  # noqa: ANN401, PLR0911 (a table of kinds)
        if kind in self._unions:
            return self._union(self._unions[kind])
        if kind in self._forms and not markers:
            return self._forms[kind]
        origin, arguments = get_origin(kind), get_args(kind)
        if origin is Annotated:
            return self._made(arguments[0], *markers, *arguments[1:])
        if origin in {Union, types.UnionType}:
            return self._nullable(arguments, markers)
        if origin is Literal:
            says = _marker(markers, Says) or Says(f"one of {', '.join(map(str, arguments))}")
            return ChoiceForm(arguments, says.wanted, says.hint)
        if origin in {tuple, Sequence}:
            end = () if origin is tuple else (Ellipsis,)
            return self._tuple((*arguments, *end), markers)
        if origin is Mapping:
            return self._mapping(arguments, markers)
        if is_dataclass(kind) and isinstance(kind, type):
            return self._object(kind)
        if hasattr(kind, "_fields"):
            return self._named_tuple(kind, markers)
        return _leaf(kind, markers)

    def _nullable(self, arguments: tuple[Any, ...], markers: tuple[Any, ...]) -> Form:
        rest = [each for each in arguments if each is not type(None)]
        if len(rest) == 2 and get_origin(rest[0]) is Literal:  # noqa: PLR2004 (texts, another form)
            texts = get_args(rest[0])
            says = _marker(markers, Says) or Says(f"one of {', '.join(texts)}, or an object")
            either = EitherForm({text: text for text in texts}, self.form(rest[1]), says.wanted)
            return either if len(rest) == len(arguments) else NullableForm(either)
        if len(rest) != 1 or len(rest) == len(arguments):
            raise TypeError(f"expected a declared union, or one type and None, got {arguments}")
        return NullableForm(_or_null(self._made(rest[0], *markers)))

    def _tuple(self, arguments: tuple[Any, ...], markers: tuple[Any, ...]) -> Form:
        says = _marker(markers, Says)
        if len(arguments) == 2 and arguments[1] is Ellipsis:  # noqa: PLR2004 (X and ...)
            inner = self._made(arguments[0], *(each for each in markers if isinstance(each, Name)))
            return ListForm(
                inner,
                says.wanted if says else "a list",
                says.hint if says else None,
                _marker(markers, Once),
            )
        forms = tuple(map(self.form, arguments))
        wanted = says.wanted if says else f"a list of {len(forms)}"
        return TupleForm(forms, wanted, lambda *values: values, hint=says.hint if says else None)

    def _mapping(self, arguments: tuple[Any, ...], markers: tuple[Any, ...]) -> Form:
        key, value = arguments
        rows = _marker(markers, Rows)
        says = _marker(markers, Says)
        if rows is None:
            bounds = _marker(get_args(key), Between)
            return MappingForm(
                self.form(value),
                "ids" if key is int or bounds else "names",
                says.wanted if says else "an object",
                id_wanted=bounds.wanted if bounds else "a broker id",
            )
        if rows.value is not None:
            member = ObjectMember(rows.value, rows.value, self.form(value))
            return RowsForm(
                rows, self.form(key), (member,), lambda **said: next(iter(said.values()))
            )
        return RowsForm(rows, self.form(key), self._members(value, ObjectRules()), value)

    def _named_tuple(self, kind: Any, markers: tuple[Any, ...]) -> Form:  # noqa: ANN401
        says = _marker(markers, Says)
        wanted = says.wanted if says else "a list of " + ", ".join(kind._fields)
        hints = self._hints(kind)
        rule = self._rules.get(kind, ObjectRules())
        return TupleForm(
            tuple(self.form(hints[name]) for name in kind._fields), wanted, kind, rule.check
        )

    def _object(self, kind: type) -> ObjectForm:
        rule = self._rules.get(kind, ObjectRules())
        form = ObjectForm(
            kind,
            check=rule.check,
            checks_faulty=rule.checks_faulty,
            is_open=rule.is_open,
            reads_absent_as_null=rule.reads_absent_as_null,
            name=kind.__name__,
        )
        self._forms[kind] = form
        form.members = self._members(kind, rule)
        form.rest = self._rest(kind)
        form.is_open = form.is_open or form.rest is not None
        form.keys = frozenset(member.key for member in form.members)
        return form

    def _hints(self, kind: Any) -> dict[str, Any]:  # noqa: ANN401
        """The types of the fields; what a module imports for type checkers alone is in `names`."""
        return get_type_hints(kind, localns=self._names, include_extras=True)

    def _rest(self, kind: Any) -> str | None:  # noqa: ANN401
        """The field that takes the members which no other field declares."""
        hints = self._hints(kind).items()
        return next((name for name, hint in hints if _is_rest(hint)), None)

    def _members(self, kind: Any, rule: ObjectRules) -> tuple[ObjectMember, ...]:  # noqa: ANN401
        hints = self._hints(kind)
        members = [
            ObjectMember(key, key, TextForm(), constant=said)
            for key, said in rule.constants.items()
        ]
        if hasattr(kind, "_fields"):
            members += [ObjectMember(name, name, self.form(hints[name])) for name in kind._fields]
            return tuple(members)
        for each in fields(kind):
            hint = hints[each.name]
            if _is_rest(hint):
                continue
            markers = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
            default = each.default if each.default is not MISSING else None
            if each.default_factory is not MISSING:
                default = each.default_factory()
            key = _marker(markers, Key)
            is_optional = rule.has_no_null and default is not None
            is_omitted = _marker(markers, Omitted) is not None
            form = _listed(self.form(hint), each.name)
            if rule.has_no_null and isinstance(form, NullableForm):
                form, is_omitted = _without_null(form.inner), True
            members.append(
                ObjectMember(
                    key.name if key else each.name.rstrip("_"),
                    each.name,
                    form,
                    may_be_absent=is_omitted or is_optional or _marker(markers, Later) is not None,
                    is_omitted=is_omitted,
                    default=default,
                )
            )
        members += [
            ObjectMember(name, name, form, is_derived=True) for name, form in rule.derived.items()
        ]
        return tuple(members)

    def _union(self, union: Tagged) -> UnionForm:
        forms = {}
        for name, kind in union.kinds.items():
            rule = self._rules.get(kind, ObjectRules())
            form = ObjectForm(kind, check=rule.check, name=kind.__name__)
            form.members = (
                ObjectMember(union.tag, union.tag, TextForm(), constant=name),
                *self._members(kind, rule),
            )
            forms[name] = form
        return UnionForm(union.tag, forms, union.wanted)


def _marker(markers: Sequence[Any], kind: type) -> Any:  # noqa: ANN401 (an instance of `kind`)
    return next((each for each in markers if isinstance(each, kind)), None)


def _is_rest(hint: Any) -> bool:  # noqa: ANN401
    return get_origin(hint) is Annotated and _marker(get_args(hint)[1:], Rest) is not None


def _leaf(kind: Any, markers: tuple[Any, ...]) -> Form:  # noqa: ANN401
    says = _marker(markers, Says)
    bounds = _marker(markers, Between)
    if kind is int:
        bounds = bounds or Between()
        return IntegerForm(
            int(bounds.low), int(bounds.high), says.wanted if says else bounds.wanted, bounds.hint
        )
    if kind is float:
        bounds = bounds or Between(0.0, 2.0**63, "a number from 0 to 2^63")
        return NumberForm(
            bounds.low, bounds.high, says.wanted if says else bounds.wanted, bounds.hint
        )
    if kind is bool:
        return FlagForm()
    if kind is object:
        return AnyForm()
    if kind is str:
        return _text_form(markers, says)
    raise TypeError(f"expected a type with a form, got {kind}")


def _text_form(markers: tuple[Any, ...], says: Says | None) -> TextForm:
    matching, checked = _marker(markers, Matching), _marker(markers, Checked)
    if matching is not None:
        return TextForm(matching.wanted, matching.hint, pattern=matching.pattern)
    if checked is not None:
        return TextForm(checked.wanted, check=checked.check)
    if _marker(markers, Name) is not None:
        wanted = says.wanted if says else "a name without control characters"
        return TextForm(wanted, NAME_HINT, is_name=True)
    return TextForm(says.wanted if says else "a text", says.hint if says else None)


def _or_null(form: Form) -> Form:
    """The form with other words: null is as good."""
    if isinstance(form, ObjectForm | UnionForm) or form.wanted.endswith("or null"):
        return form
    return form.saying(f"{form.wanted} or null")


def _without_null(form: Form) -> Form:
    """The form with its own words again: null is not allowed."""
    return form.saying(form.wanted.removesuffix(" or null"))


def _listed(form: Form, name: str) -> Form:
    """The form with other words: a list is one of what the field is called."""
    if isinstance(form, ListForm | RowsForm) and form.wanted == "a list":
        return form.saying(f"a list of {name.replace('_', ' ')}")
    return form
