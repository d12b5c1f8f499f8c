"""Faults of a policy: each names the line of the file and the JSON path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.errors import InvalidPolicy
from rackwise.core.json.faults import Fault
from rackwise.core.json.toml_faults import TomlFaults, json_path

if TYPE_CHECKING:
    from rackwise.core.errors import InputError
    from rackwise.core.json.toml_faults import KeyPath, Where


class PolicyFaults(TomlFaults):
    """The faults of one policy; `where`: JSON path -> the file and the line."""

    __slots__ = ()

    def __init__(self, where: Where = None) -> None:
        super().__init__("policy", InvalidPolicy, locate=where)


def policy_error(
    keys: KeyPath, sentence: str, where: Where, *, wanted: object, had: object, hint: str
) -> InputError:
    """The error about the value at a place: `invalid policy.toml:14 at $.topics[1].match: ...`."""
    fault = Fault(place=json_path(keys), sentence=sentence, wanted=wanted, had=had, hint=hint)
    return PolicyFaults(where).last(fault)
