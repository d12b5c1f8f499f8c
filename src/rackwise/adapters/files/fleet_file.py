"""Fleet files, `rackwise.toml`: TOML, with references to the environment and to files.

`${env:NAME}` stands for a variable, `${file:PATH}` for the content of a file without the line feed
at its end. Text that they stand for is never shown in an error.

A path in the file, also one of a reference, begins at the folder of the file.

What this does not do: know what the keys mean (see `core.fleet_file`).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rackwise.adapters.clock import ZONE_HINT, time_zone
from rackwise.adapters.files.bounded_read import MAX_BYTES, read_bytes
from rackwise.adapters.files.toml_text import parse_toml, toml_place
from rackwise.core.errors import InputError, InvalidConfig, InvalidFleetFile
from rackwise.core.fleet_file import (
    FLEET_FILE,
    REFERENCE,
    FleetCluster,
    FleetFaults,
    fleet_of,
    unknown_cluster,
)
from rackwise.core.json.faults import Fault, quoted
from rackwise.core.json.strict import key_path
from rackwise.core.text import escaped

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping

    from rackwise.core.fleet_file import FleetFile

_MOST_SECRET = 2**20
"""Bytes of the largest file of a reference."""
_PATHS = ("command_config", "policy", "subnets", "prices")


def find_fleet_file(start: Path) -> Path | None:
    """The first `rackwise.toml` in a folder or in one above it; None if there is none."""
    start = start.absolute()
    folders = (start, *start.parents)
    return next((each / FLEET_FILE for each in folders if (each / FLEET_FILE).is_file()), None)


def read_fleet_file(
    path: str | Path,
    *,
    environ: Mapping[str, str],
    only: str | None = None,
    max_bytes: int = MAX_BYTES,
) -> FleetFile:
    """The fleet in a TOML file.

    `environ`: variable -> value, for references. `only`: read this cluster alone, so that another
    one whose references have no value does not matter. Raises `InvalidConfig` if the path is no
    readable regular file within `max_bytes` or no cluster is called `only`, `InvalidFleetFile` if
    the content is no fleet, a reference has no value or a time zone is not known; its `where` is
    `file:line`.
    """
    name = str(path)
    data = read_bytes(path, error=InvalidFleetFile, max_bytes=max_bytes)
    text, table = parse_toml(data, where=name, error=InvalidFleetFile)

    clusters = table.get("clusters")
    if only is not None and isinstance(clusters, dict):
        if only not in clusters:
            raise unknown_cluster(only, list(clusters), name)
        table = table | {"clusters": {only: clusters[only]}}

    def where(place: str) -> str:
        return toml_place(text, name, place)

    folder = Path(path).parent
    resolved = _References(FleetFaults(name, where=where), folder, environ)
    table = resolved.replaced(table, "$")
    resolved.faults.raise_if_any()
    fleet = fleet_of(table, name=name, where=where, references=resolved.written)
    _check_zones(fleet, table, FleetFaults(name, where=where, references=resolved.written))
    clusters = tuple(_from_folder(each, folder) for each in fleet.clusters)
    return replace(fleet, clusters=clusters)


def _check_zones(fleet: FleetFile, table: Mapping[str, Any], faults: FleetFaults) -> None:
    """Raise `InvalidFleetFile` for the first window in a time zone that this machine lacks."""
    for each in fleet.clusters:
        if each.window is None or time_zone(each.window.zone) is not None:
            continue
        is_own = "window" in table["clusters"][each.name]
        place = key_path("$.clusters", each.name) if is_own else "$.defaults"
        place = key_path(place, "window")
        faults.wrong(place, "hours in a known time zone", str(each.window), hint=ZONE_HINT)
        faults.raise_if_any()


def _from_folder(cluster: FleetCluster, folder: Path) -> FleetCluster:
    """The cluster with paths that begin at the working folder."""
    paths: dict[str, Any] = {
        key: str(folder / value) for key in _PATHS if (value := getattr(cluster, key)) is not None
    }
    flows = tuple(each if "://" in each else str(folder / each) for each in cluster.flows)
    addresses = tuple(str(folder / each) for each in cluster.addresses)
    return replace(cluster, **paths, addresses=addresses, flows=flows)


class _References:
    """Replaces references in the texts of a table; `written`: JSON path -> the text before."""

    def __init__(self, faults: FleetFaults, folder: Path, environ: Mapping[str, str]) -> None:
        self.faults = faults
        self.written: dict[str, str] = {}
        self._folder = folder
        self._environ = environ

    def replaced(self, value: Any, path: str) -> Any:  # noqa: ANN401 (any value of TOML)
        """The value with the texts that its references stand for."""
        if isinstance(value, dict):
            return {key: self.replaced(each, key_path(path, key)) for key, each in value.items()}
        if isinstance(value, list):
            return [self.replaced(each, f"{path}[{i}]") for i, each in enumerate(value)]
        if not isinstance(value, str) or "${" not in value:
            return value
        self.written[path] = value
        return REFERENCE.sub(lambda found: self._text(found, path), value)

    def _text(self, found: re.Match[str], path: str) -> str:
        kind, name = found.groups()
        if kind is None:
            self._add(path, 'expected "${env:NAME}" or "${file:PATH}" after "${"', found[0], None)
            return ""
        if kind == "env":
            if name in self._environ:
                return self._environ[name]
            self._add(
                path, f"the variable {escaped(name)} is not set", name, f"set {escaped(name)}"
            )
            return ""
        try:
            data = read_bytes(self._folder / name, error=InvalidConfig, max_bytes=_MOST_SECRET)
            return data.decode().removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError:
            self._add(path, f"expected UTF-8 in {quoted(name)}", name, "save the file as UTF-8")
        except InputError as error:
            self._add(path, error.message, name, error.hint)
        return ""

    def _add(self, path: str, sentence: str, had: str, hint: str | None) -> None:
        self.faults.add(Fault(place=path, sentence=sentence, wanted="a value", had=had, hint=hint))
