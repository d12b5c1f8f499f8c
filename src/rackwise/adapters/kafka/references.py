r"""Replaces references in values, so that a settings file need not contain a secret.

| reference | is replaced by | Kafka's class of the provider |
|---|---|---|
| `${env:NAME}` | the environment variable | `EnvVarConfigProvider` |
| `${file:/path:key}` | the value of a key in another properties file | `FileConfigProvider` |
| `${dir:/path:name}`, `${directory:/path:name}` | the content of a file, without its last line end | `DirectoryConfigProvider` |

These names need no `config.providers` in the file. If the file has `config.providers`, its names
count, too. A reference to another provider stays as it is, as in Java.

Source: KIP-421, KIP-632, KIP-887.
"""  # noqa: E501 (a row of a table)

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from rackwise.adapters.kafka.setting_text import entries_of, utf8_text
from rackwise.adapters.secret_files import check_private, read_regular
from rackwise.core.errors import InvalidConfig
from rackwise.core.fleet_file import VARIABLE
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

REFERENCE = re.compile(r"\$\{([A-Za-z0-9_.-]++):([^}$]++)\}")
"""A name and what to look up. Without `$` in it, the time of a long text stays linear."""
_KINDS = {"env": "env", "file": "file", "dir": "dir", "directory": "dir"}
_CLASSES = {
    "EnvVarConfigProvider": "env",
    "FileConfigProvider": "file",
    "DirectoryConfigProvider": "dir",
}
_PACKAGE = "org.apache.kafka.common.config.provider."
_SETTING = re.compile(r"config\.providers\.([A-Za-z0-9_-]+)\.(class|param\..+)", re.DOTALL)


class References:
    """Looks up references of one settings file."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._kinds = dict(_KINDS)

    def declare(self, entries: Iterable[tuple[int, str, str]], name: str) -> None:
        """Take the names of `config.providers.NAME.class`.

        Raises `InvalidConfig` for another class, and for parameters of a provider.
        """
        for line, key, value in entries:
            found = _SETTING.fullmatch(key)
            if found is None:
                continue
            kind = _CLASSES.get(value.strip().removeprefix(_PACKAGE))
            if found[2] != "class" or kind is None:
                had = key if found[2] != "class" else value
                raise InvalidConfig(
                    f"invalid config provider: expected {', '.join(_CLASSES)} without parameters, "
                    f"got {escaped(had)}",
                    wanted=", ".join(_CLASSES),
                    had=had,
                    hint="write the value as ${env:NAME}, ${file:/path:key} or ${dir:/path:name}",
                    where=f"{name}:{line}",
                )
            self._kinds[found[1]] = kind

    def resolved(self, value: str, where: str, *, key: str, is_secret: bool) -> str:
        """The value with its references replaced.

        `is_secret`: whether files that it comes from must be private. Raises `InvalidConfig` for a
        reference to nothing, `SecretExposed` for the mode of a file.
        """

        def look_up(reference: re.Match[str]) -> str:
            kind, rest = self._kinds.get(reference[1]), reference[2]
            path, _, entry = rest.partition(":")
            holds = key if is_secret else None
            if kind == "env" and VARIABLE.fullmatch(rest):
                return self._variable(rest, where)
            if kind == "file" and path and entry:
                return self._entry(path, entry, where, holds)
            if kind == "dir" and path and entry:
                return self._content(path, entry, where, holds)
            return reference[0]

        return REFERENCE.sub(look_up, value)

    def _variable(self, name: str, where: str) -> str:
        found = self._environ.get(name)
        if found is None:
            raise _no_value(
                f"environment variable {name} is not set",
                f"export {name}, or write the value into a file of mode 0600",
                where,
            )
        return found

    def _entry(self, path: str, entry: str, where: str, holds: str | None) -> str:
        what = f"referenced file {escaped(path)}"
        entries = entries_of(_text(path, where, holds), what=what, where=where)
        found = {key: value for _, key, value in entries}.get(entry)
        if found is None:
            raise _no_value(
                f"expected {escaped(entry)} in {escaped(path)}, got no such key",
                f"add a line {escaped(entry)}=VALUE to {escaped(path)}",
                where,
            )
        return found

    @staticmethod
    def _content(path: str, entry: str, where: str, holds: str | None) -> str:
        if "/" in entry or entry in {".", ".."}:
            raise _no_value(
                f"invalid file name in a reference: expected a name, got {escaped(entry)}",
                "${dir:/folder:name} takes the file name in the folder",
                where,
            )
        text = _text(str(PurePosixPath(path) / entry), where, holds)
        return text.removesuffix("\n").removesuffix("\r")


def _text(path: str, where: str, holds: str | None) -> str:
    data, status = read_regular(
        path, what="referenced file", hint="correct the path in the reference", where=where
    )
    if holds is not None:
        check_private(status, path, holds=holds)
    return utf8_text(data, what=f"referenced file {escaped(path)}", where=where)


def _no_value(problem: str, hint: str, where: str) -> InvalidConfig:
    return InvalidConfig(problem, wanted="a value", had="none", hint=hint, where=where)
