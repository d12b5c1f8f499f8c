"""The format `rackwise.policy/1`: a parsed table of TOML or JSON -> `Policy`, and back.

The fields are declared in `model`. Here is what a declaration does not say: the two spellings of a
count, and what the keys of one policy cannot ask for at once (`limits`):

```
count = [{ rack = "/eu", min = 2, max = 1 }]
    -> $.topics[0].count[0]: expected min of at most max, got min 2 and max 1
spread = { zone = "evne" }
    -> $.topics[0].spread.zone: expected even, distinct, off or { at_least = N }, got "evne"
weights = { 4 = 0 }
    -> $.brokers.weights["4"]: expected an integer of 1 or more, got 0
```

A plan keeps the policy that it was made under, so every key is written, also with its default
(except an empty `racks.map`): a later default does not change the meaning of the text.
`policy_of(policy_table(p)) == p`.

What this does not do: read a file; keep comments or the order of a file; know which levels, brokers
and racks there are (`checking`).
"""

# ruff: noqa: D102 (what Form says of a method holds in every form)

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from rackwise.core.json.codec import Codec, ObjectRules
from rackwise.core.json.faults import Fault, quoted, shown_value
from rackwise.core.json.forms import (
    EitherForm,
    Form,
    IntegerForm,
    MappingForm,
    ObjectMember,
    object_schema,
    read_members,
)
from rackwise.core.json.node import JsonNode
from rackwise.core.override import override
from rackwise.core.policy import model
from rackwise.core.policy.faults import PolicyFaults
from rackwise.core.policy.limits import fault_in
from rackwise.core.policy.model import (
    AuditPolicy,
    BalancePolicy,
    BrokerPolicy,
    CostPolicy,
    Policy,
    RackCount,
    RackLoss,
    RackPolicy,
    RackText,
    Spread,
    TopicBlock,
)
from rackwise.core.racks import MAX_LEVELS
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.core.json.canonical import Json
    from rackwise.core.json.forms import Definitions, Schema
    from rackwise.core.json.toml_faults import Where

POLICY_FORMAT = "rackwise.policy/1"
UNNAMED_LEVELS = ("zone", *(f"level{i}" for i in range(1, MAX_LEVELS + 1)))
"""What levels may be called when `racks.levels` names none."""


class RackCountForm(Form):
    """A count: a rack with `exactly`, or with `min`, `max` or both; written with min and max."""

    wanted = "a table"
    hint = None
    _NUMBER = IntegerForm(0, 2**63 - 1, "an integer of 0 or more")

    def __init__(self, rack: Form) -> None:
        numbers = (
            ObjectMember(key, key, self._NUMBER, may_be_absent=True)
            for key in ("exactly", "min", "max")
        )
        self._members = (ObjectMember("rack", "rack", rack, may_be_absent=True), *numbers)

    @override
    def read(self, node: JsonNode) -> RackCount:
        before = node.faults.count
        values = read_members(node, self._members, is_open=False)
        if node.faults.count != before:
            return self.stand_in
        if set(node.value) not in _COUNT_FORMS:
            had = ", ".join(node.value) or "nothing"
            self._add(node, f"expected rack with exactly, or with min, max or both, got {had}", had)
            return self.stand_in
        exactly = values["exactly"]
        least = (values["min"] or 0) if exactly is None else exactly
        most = values["max"] if exactly is None else exactly
        if most is not None and least > most:
            self._add(
                node,
                f"expected min of at most max, got min {least} and max {most}",
                least,
                "raise max or lower min; one number alone is exactly = N",
            )
        return RackCount(rack=values["rack"], min=least, max=most)

    @staticmethod
    def _add(node: JsonNode, sentence: str, had: object, hint: str | None = None) -> None:
        wanted = "{ rack = R, exactly = N } or { rack = R, min = N, max = N }"
        node.faults.add(
            Fault(place=node.path, sentence=sentence, wanted=wanted, had=had, hint=hint)
        )

    @property
    @override
    def stand_in(self) -> RackCount:
        return RackCount(rack="")

    @override
    def write(self, value: RackCount) -> Json:
        most = {} if value.max is None else {"max": value.max}
        return {"rack": value.rack, "min": value.min, **most}

    @override
    def schema(self, definitions: Definitions) -> Schema:
        name = RackCount.__name__
        docs = {**definitions.describe(RackCount), "exactly": "Number of replicas: min and max."}
        described = {"description": " ".join((RackCount.__doc__ or "").split())}
        found = object_schema(self._members, definitions, docs=docs)
        definitions[name] = described | found | {"required": ["rack"]}
        return {"$ref": f"#/$defs/{name}"}


_COUNT_FORMS = ({"rack", "exactly"}, {"rack", "min"}, {"rack", "max"}, {"rack", "min", "max"})


def policy_of(table: Mapping[str, object], *, where: Where = None) -> Policy:
    """The policy that a parsed table says.

    `where`: JSON path -> the file and the line, which an error names. Raises `InvalidPolicy`.
    """
    root = JsonNode(table, PolicyFaults(where))
    if isinstance(table, dict) and (had := table.get("format")) != POLICY_FORMAT:
        raise root.faults.last(
            Fault(
                place="$.format",
                sentence=f"expected {quoted(POLICY_FORMAT)}, got "
                f"{'nothing' if had is None else shown_value(had)}",
                wanted=POLICY_FORMAT,
                had=had,
                hint=f'begin the policy with format = "{POLICY_FORMAT}", or upgrade rackwise',
            )
        )
    policy: Policy = POLICY.read(root)
    root.faults.raise_if_any()
    return policy


def policy_table(policy: Policy) -> dict[str, Json]:
    """The policy as a table of plain values, which canonical JSON can hold."""
    return cast("dict[str, Any]", POLICY.write(policy))


def _check_racks(racks: RackPolicy, node: JsonNode) -> None:
    if len(racks.levels) > MAX_LEVELS:
        node.faults.add(
            Fault(
                place=node.at("levels").path,
                sentence=f"expected at most {MAX_LEVELS} levels, got {len(racks.levels)}",
                wanted=MAX_LEVELS,
                had=len(racks.levels),
            )
        )
    for name in racks.map:
        if name.startswith("/"):
            node.at("map").at(name).wrong("a plain name as key", hint="only names become paths")


def _check_block(block: TopicBlock, node: JsonNode) -> None:
    if not block.match:
        node.at("match").wrong("one glob or more", hint='match = ["*"] is every topic')


def _check_policy(policy: Policy, node: JsonNode) -> None:
    """Levels are known, and the rules of one block can hold together."""
    levels = policy.racks.levels
    for index, level in enumerate(policy.audit.rack_loss or ()):
        _check_level(node.at("audit").at("rack_loss").at(index), level, levels)
    for index, block in enumerate(policy.topics):
        at = node.at("topics").at(index)
        before = node.faults.count
        for level in block.spread:
            _check_level(at.at("spread").at(level), level, levels)
        if node.faults.count != before:
            continue
        conflict = fault_in(
            spread={_place_of(level, levels): spread for level, spread in block.spread.items()},
            count=block.count or (),
            pin=block.pin or {},
            replication=block.replication,
        )
        if conflict is not None:
            node.faults.add(
                Fault(
                    place=at.at(conflict.key).path,
                    sentence=conflict.message,
                    wanted=conflict.wanted,
                    had=conflict.had,
                    hint=conflict.hint,
                )
            )


def _check_level(node: JsonNode, level: str, levels: Sequence[str]) -> None:
    known = levels or UNNAMED_LEVELS
    if level not in known:
        named = ", ".join(map(escaped, levels)) or f"zone, level1 to level{MAX_LEVELS}"
        node.faults.add(
            Fault(
                place=node.path,
                sentence=f"no level is called {quoted(level)}",
                wanted=", ".join(known),
                had=level,
                hint=f"levels: {named}; racks.levels names them",
            )
        )


def _place_of(level: str, levels: Sequence[str]) -> int:
    """Index of a level; without names `zone` and `level1` are 0, `level2` is 1."""
    return levels.index(level) if levels else max(UNNAMED_LEVELS.index(level) - 1, 0)


_RULES = {
    kind: ObjectRules(has_no_null=True)
    for kind in (AuditPolicy, BalancePolicy, BrokerPolicy, CostPolicy)
} | {
    RackPolicy: ObjectRules(has_no_null=True, check=_check_racks),
    TopicBlock: ObjectRules(has_no_null=True, check=_check_block),
    Policy: ObjectRules(has_no_null=True, constants={"format": POLICY_FORMAT}, check=_check_policy),
}
_PARTS = Codec(names=vars(model))

POLICY = Codec(
    names=vars(model),
    forms={
        # Any key: a level that is not known is reported with the names of the known ones.
        Mapping[str, Spread]: MappingForm(_PARTS.form(Spread), "any"),
        RackLoss: EitherForm({"off": ()}, _PARTS.form(RackLoss), "off or a list of levels"),
        RackCount: RackCountForm(_PARTS.form(RackText)),
    },
    rules=_RULES,
).object(Policy)
"""The form of a policy."""
