"""Text and values of client settings; no error shows a text that may be a secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.errors import InvalidConfig, InvalidProperties
from rackwise.core.java_properties import property_entries
from rackwise.core.secret import Secret
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping


def text_of(settings: Mapping[str, str | Secret], key: str, default: str = "") -> str:
    """The value of a setting; blanks around it are dropped unless it is a secret."""
    value = settings.get(key, default)
    return value.reveal() if isinstance(value, Secret) else value.strip()


def one_of(key: str, value: str, allowed: tuple[str, ...]) -> None:
    """Raises `InvalidConfig` if the value is not allowed; an empty text stands for no value."""
    if value not in allowed:
        known = ", ".join(filter(None, allowed)) + (" or nothing" if "" in allowed else "")
        raise InvalidConfig(
            f"invalid {key}: expected {known}, got {escaped(value) or 'nothing'}",
            wanted=known,
            had=value,
            hint=f"set {key} in the client settings",
            where=key,
        )


def utf8_text(data: bytes, *, what: str, where: str) -> str:
    """The text of a file; `what` names it. Raises `InvalidConfig` if it is not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidConfig(
            f"invalid {what}: expected UTF-8, got another byte at {error.start}",
            wanted="UTF-8",
            hint="save the file as UTF-8, or write other characters as \\uXXXX",
            where=where,
        ) from None


def entries_of(text: str, *, what: str, where: str) -> list[tuple[int, str, str]]:
    """`line number, key, value` of each entry. Raises `InvalidConfig`."""
    try:
        return property_entries(text)
    except InvalidProperties as error:
        raise InvalidConfig(
            f"invalid {what}: expected escapes of Java, got others",
            wanted=error.wanted,
            hint=error.hint,
            where=where,
        ) from None
