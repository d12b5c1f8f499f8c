"""Reading a listing of a cloud or of Kubernetes, whose objects may have further members.

Clouds add fields at any time, so what is not declared is ignored. What is declared and missing is a
fault with its JSON path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from rackwise.core.errors import InvalidAddresses
from rackwise.core.inventory.addresses import canonical_address, instant
from rackwise.core.json.codec import Codec, ObjectRules
from rackwise.core.json.declare import Checked
from rackwise.core.json.faults import Fault, Faults
from rackwise.core.json.node import JsonNode
from rackwise.core.json.strict import parse

if TYPE_CHECKING:
    from collections.abc import Sequence


def _instant_hint(text: str) -> str | None:
    return None if instant(text) is not None else ""


def _address_hint(text: str) -> str | None:
    return None if canonical_address(text) is not None else ""


Instant: TypeAlias = Annotated[str, Checked(_instant_hint, "a time such as 2026-11-26T09:00:00Z")]
Address: TypeAlias = Annotated[str, Checked(_address_hint, "an IP address")]


def open_codec(*kinds: type) -> Codec:
    """A codec for classes whose objects may have members that are not declared."""
    return Codec(rules=dict.fromkeys(kinds, ObjectRules(is_open=True)))


def listing_root(data: bytes, *, where: str, hint: str) -> JsonNode:
    """The root of a listing. Raises `InvalidAddresses` for text that is no strict JSON."""
    return JsonNode(
        parse(data, where=where, error=InvalidAddresses), Faults(where, InvalidAddresses, hint=hint)
    )


def not_that(root: JsonNode, wanted: str, had: str) -> InvalidAddresses:
    """The error for another document than the wanted one."""
    error = root.faults.last(
        Fault(place="$", sentence=f"expected {wanted}, got {had}", wanted=wanted, had=had)
    )
    assert isinstance(error, InvalidAddresses)  # noqa: S101 (the class of its faults)
    return error


def items_of(root: JsonNode, codec: Codec, kind: type, *, mark: str, wanted: str) -> Sequence[Any]:
    """The objects of a list, which all have the key `mark`. Raises `InvalidAddresses`."""
    if not isinstance(root.value, list):
        raise not_that(root, wanted, "no list")
    form = codec.form(kind)
    found = []
    for number, item in enumerate(root.value):
        if isinstance(item, dict) and mark not in item:
            raise not_that(root, wanted, f'an object without "{mark}" at [{number}]')
        found.append(form.read(root.at(number)))
    root.faults.raise_if_any()
    return found
