"""A text that is never shown by accident: passwords, keys, login lines."""

from __future__ import annotations

from typing import NoReturn, final

from rackwise.core.override import override


@final
class Secret:
    """A text whose `repr`, `str` and `format` are `***`; it cannot be pickled or written as JSON.

    >>> f"{Secret('s3cret')} {[Secret('s3cret')]}"
    '*** [***]'
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself, for the one call that needs it."""
        return self._text

    @override
    def __repr__(self) -> str:
        return "***"

    @override
    def __format__(self, _: str) -> str:
        return "***"

    @override
    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret cannot be pickled")
