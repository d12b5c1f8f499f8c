"""The file of a fleet, `rackwise.toml`: what it says of each cluster, and what it means.

```
[defaults]                                   [clusters.prod-eu]
provider = "aws"                             bootstrap = "kafka-1:9092,kafka-2:9092"
                                             window = "22:00-05:00"

-> FleetCluster(name="prod-eu", servers=("kafka-1:9092", "kafka-2:9092"), provider="aws", ..)
```

A key of a cluster wins over the same key of `defaults`. Text may hold references, `${env:NAME}` and
`${file:PATH}`, which the reader replaces before; an error of the file shows the reference, never
what it stands for. A URI of `flows` has no credentials, because commands get it on their command
line. So a fleet file holds no secret.

What this does not do: read files or the environment (see `adapters.files.fleet_file`); know whether
the files and brokers that it names exist.
"""

# ruff: noqa: D102, ARG002 (what Form says of a method holds in every form)

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from rackwise.core.byte_sizes import size_in_bytes
from rackwise.core.daily_hours import HOURS_HINT, HOURS_PATTERN, HOURS_WANTED, DailyHours
from rackwise.core.errors import InvalidConfig, InvalidFleetFile
from rackwise.core.host_port import host_and_port
from rackwise.core.json.codec import Codec, ObjectRules
from rackwise.core.json.declare import Checked
from rackwise.core.json.faults import Fault, quoted
from rackwise.core.json.forms import Form
from rackwise.core.json.node import JsonNode
from rackwise.core.json.strict import key_path
from rackwise.core.json.toml_faults import TomlFaults
from rackwise.core.override import override
from rackwise.core.policy import model
from rackwise.core.text import escaped
from rackwise.core.uri_credentials import has_credentials

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from rackwise.core.json.forms import Definitions, Schema
    from rackwise.core.json.toml_faults import Where
    from rackwise.core.policy.model import FilledText

FLEET_FILE = "rackwise.toml"
"""The name of a fleet file."""

REFERENCE = re.compile(r"\$\{(?:(env|file):([^{}]+)\})?")
"""A reference in a text; without groups where `${` begins something else."""
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""The name of an environment variable in a reference."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_QUOTED_KEY = re.compile(r'\["((?:[^"\\]|\\.)*)"\]')
_LONGEST_SIZE = 30


@dataclass(frozen=True, slots=True)
class TextsForm(Form):
    """One text, or a list of texts that are not empty; `separator`: what parts one text."""

    wanted: str
    hint: str | None = None
    separator: str | None = None
    pattern: re.Pattern[str] | None = None

    @override
    def read(self, node: JsonNode) -> tuple[str, ...]:
        value = node.value
        if isinstance(value, str):
            value = [value] if self.separator is None else value.split(self.separator)
        if not isinstance(value, list) or not value:
            self.wrong(node)
            return ()
        is_list = isinstance(node.value, list)
        for index, each in enumerate(value):
            if not isinstance(each, str) or not self._is_right(each.strip()):
                self.wrong(node.at(index) if is_list else node)
                return ()
        return tuple(each.strip() for each in value)

    def _is_right(self, text: str) -> bool:
        return bool(text) and (self.pattern is None or self.pattern.fullmatch(text) is not None)

    @override
    def schema(self, definitions: Definitions) -> Schema:
        return {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}


@dataclass(frozen=True, slots=True)
class _ServersForm(TextsForm):
    """Brokers, each as `HOST:PORT`."""

    @override
    def _is_right(self, text: str) -> bool:
        return host_and_port(text) is not None


@dataclass(frozen=True, slots=True)
class _FlowsForm(TextsForm):
    """Flow files; a URI with credentials is rejected, and the fault does not show it."""

    @override
    def read(self, node: JsonNode) -> tuple[str, ...]:
        found = TextsForm.read(self, node)  # slots leave super() without its class
        is_list = isinstance(node.value, list)
        for index, each in enumerate(found):
            if has_credentials(each):
                node.faults.add(
                    Fault(
                        place=node.at(index).path if is_list else node.path,
                        sentence="expected a URI without user and password, got one with them",
                        wanted="a URI without user and password",
                        had="a URI with them",
                        hint="remove them: credentials come from the environment of the object "
                        "store client",
                    )
                )
        return found


@dataclass(frozen=True, slots=True)
class _HoursForm(Form):
    """Hours of every day."""

    wanted: str = HOURS_WANTED
    hint: str | None = HOURS_HINT

    @override
    def read(self, node: JsonNode) -> DailyHours | None:
        hours = DailyHours.of(node.value) if isinstance(node.value, str) else None
        if hours is None:
            self.wrong(node)
        return hours

    @override
    def schema(self, definitions: Definitions) -> Schema:
        return {"type": "string", "pattern": f"^{HOURS_PATTERN.pattern}$"}


def _rate_hint(text: str) -> str | None:
    """The hint for a text that is no rate."""
    try:
        size_in_bytes(text[:_LONGEST_SIZE])
    except InvalidConfig as error:
        return error.hint
    return None if len(text) <= _LONGEST_SIZE else "write fewer digits"


Servers: TypeAlias = Annotated[tuple[str, ...], "servers"]
FlowPlaces: TypeAlias = Annotated[tuple[str, ...], "flows"]
AddressTables: TypeAlias = Annotated[tuple[str, ...], "address tables"]
RateText: TypeAlias = Annotated[str, Checked(_rate_hint, "a rate such as 50MB")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterKeys:
    """The keys of `[defaults]` and of `[clusters.NAME]`; a path is one from the file's folder."""

    bootstrap: Servers | None = None
    """Brokers to connect to, each as HOST:PORT: a text with commas, or a list; required."""
    command_config: FilledText | None = None
    """Path of the file of client properties for security, SASL and TLS."""
    owner: FilledText | None = None
    """Who answers for the cluster."""
    policy: FilledText | None = None
    """Path of the policy file."""
    subnets: FilledText | None = None
    """Path of the table with the racks of subnets."""
    addresses: AddressTables | None = None
    """Tables with the racks of addresses over time: a path, or a list of paths."""
    prices: FilledText | None = None
    """Path of the price table; absent: the shipped table."""
    provider: FilledText | None = None
    """Provider whose rows of the price table are used."""
    flows: FlowPlaces | None = None
    """Flow files: a path, a folder, a glob or a URI without credentials, or a list of them."""
    flow_format: FilledText | None = None
    """Format of the flow files."""
    window: DailyHours | None = None
    """Hours of every day in which `apply`, `resume` and `topic alter --replication-factor` start
    moves: HH:MM-HH:MM ZONE, such as "22:00-05:00 Europe/Berlin"; without a zone UTC."""
    throttle: RateText | None = None
    """Bytes per second and broker at which a plan copies, such as 50MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetTables:
    """The tables of a fleet file, as written."""

    defaults: ClusterKeys = field(default_factory=ClusterKeys)
    """Keys of every cluster that does not have them itself."""
    clusters: Mapping[str, ClusterKeys] = field(default_factory=lambda: MappingProxyType({}))
    """Name of a cluster -> its keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetCluster:
    """A cluster of a fleet; a path is absolute or begins at the working folder."""

    name: str
    servers: tuple[str, ...]
    """`HOST:PORT` of brokers."""
    command_config: str | None = None
    owner: str | None = None
    policy: str | None = None
    subnets: str | None = None
    addresses: tuple[str, ...] = ()
    """Paths."""
    prices: str | None = None
    provider: str | None = None
    flows: tuple[str, ...] = ()
    """Paths, globs or URIs."""
    flow_format: str | None = None
    window: DailyHours | None = None
    throttle: str | None = None
    """A rate in bytes per second and broker, as written."""

    @property
    def bootstrap_server(self) -> str:
        """The brokers, with commas, as `--bootstrap-server` takes them."""
        return ",".join(self.servers)


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetFile:
    """A fleet, in the order of its file."""

    name: str
    """Path of the file, as given."""
    clusters: tuple[FleetCluster, ...]

    def cluster(self, name: str) -> FleetCluster:
        """The cluster of that name. Raises `InvalidConfig` with the nearest name for another."""
        found = next((each for each in self.clusters if each.name == name), None)
        if found is not None:
            return found
        raise unknown_cluster(name, [each.name for each in self.clusters], self.name)


def unknown_cluster(name: str, known: Sequence[str], file: str) -> InvalidConfig:
    """The error for a name that no cluster of the file has."""
    return InvalidConfig(
        f"no cluster is called {quoted(name)} in {escaped(file)}",
        wanted=", ".join(known),
        had=name,
        hint=_nearest_hint(name, known, "clusters"),
        where=file,
    )


class FleetFaults(TomlFaults):
    """The faults of a fleet file: each names the line and the key, `clusters.prod-eu.window`.

    `references`: JSON path of a text -> the text as written, where references were replaced in it.
    """

    __slots__ = ("references",)

    def __init__(
        self, file: str, *, where: Where = None, references: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(file, InvalidFleetFile, locate=where)
        self.references = references or {}

    @override
    def wrong(self, place: str, wanted: str, had: object, *, hint: str | None = None) -> None:
        if place not in self.references:
            super().wrong(place, wanted, had, hint=hint)
            return
        reference = self.references[place]
        self.add(
            Fault(
                place=place,
                sentence=f"expected {wanted}, got another value from {quoted(reference)}",
                wanted=wanted,
                had=reference,
                hint=hint,
            )
        )

    @override
    def unknown(self, place: str, key: str, known: Collection[str]) -> None:
        self.add(
            Fault(
                place=key_path(place, key),
                sentence=f"unknown key {quoted(key)}",
                wanted=", ".join(known),
                had=key,
                hint=_nearest_hint(key, list(known), "known keys"),
            )
        )

    @override
    def shown_place(self, place: str) -> str:
        """The place as the dotted key of TOML."""
        return toml_path(place)


def toml_path(path: str) -> str:
    """A JSON path as the dotted key of TOML.

    >>> toml_path('$.clusters["prod-eu"].window')
    'clusters.prod-eu.window'
    """
    dotted = _QUOTED_KEY.sub(
        lambda key: f".{key[1]}" if re.fullmatch("[A-Za-z0-9_-]+", key[1]) else f'."{key[1]}"',
        path,
    )
    return dotted.removeprefix("$").removeprefix(".")


def _nearest_hint(text: str, known: Sequence[str], noun: str) -> str:
    near = get_close_matches(text, known, n=1)
    said = f"did you mean {escaped(near[0])}? " if near else ""
    return f"{said}{noun}: {', '.join(map(escaped, known)) or 'none'}"


def fleet_of(
    table: Mapping[str, object],
    *,
    name: str,
    where: Where = None,
    references: Mapping[str, str] | None = None,
) -> FleetFile:
    """The fleet that a parsed table says; its references are replaced.

    `where`: JSON path -> the file and the line, which an error names; `references`: JSON path of a
    text -> the text as written, where references were replaced. Raises `InvalidFleetFile`.
    """
    faults = FleetFaults(name, where=where, references=references)
    tables: FleetTables = FLEET_TABLES.read(JsonNode(dict(table), faults))
    faults.raise_if_any()
    clusters = tuple(_merged(key, own, tables.defaults) for key, own in tables.clusters.items())
    _check_names(clusters, faults)
    _check_servers(clusters, tables, faults)
    faults.raise_if_any()
    return FleetFile(name=name, clusters=clusters)


def _merged(name: str, own: ClusterKeys, defaults: ClusterKeys) -> FleetCluster:
    values: dict[str, Any] = {}
    for each in fields(ClusterKeys):
        value = getattr(own, each.name)
        values[each.name] = getattr(defaults, each.name) if value is None else value
    lists: dict[str, Any] = {key: values.pop(key) or () for key in ("addresses", "flows")}
    return FleetCluster(name=name, servers=values.pop("bootstrap") or (), **lists, **values)


def _check_names(clusters: Sequence[FleetCluster], faults: FleetFaults) -> None:
    """There are clusters, and a folder can be named after each of them."""
    if not clusters:
        faults.add(
            Fault(
                place="",
                sentence="expected at least one table [clusters.NAME], got none",
                wanted="[clusters.NAME]",
                had="nothing",
                hint='write [clusters.NAME] and bootstrap = "HOST:PORT"',
            )
        )
    names: dict[str, str] = {}
    for each in clusters:
        path = key_path("$.clusters", each.name)
        if _NAME.fullmatch(each.name) is None:
            faults.wrong(
                path,
                "a name of letters, digits, '.', '_' and '-'",
                each.name,
                hint="a folder is named after each cluster; at most 100 characters",
            )
        if (other := names.setdefault(each.name.lower(), each.name)) != each.name:
            faults.wrong(
                path,
                f"a name that differs from {quoted(other)} by more than case",
                each.name,
                hint="rename one of the two; some file systems ignore case",
            )


def _check_servers(
    clusters: Sequence[FleetCluster], tables: FleetTables, faults: FleetFaults
) -> None:
    """Each cluster has brokers, and shares none of them."""
    owners: dict[str, str] = {}
    for each in clusters:
        path = key_path("$.clusters", each.name)
        if not each.servers:
            faults.missing(path, "bootstrap", ())
        is_own = tables.clusters[each.name].bootstrap is not None
        written = key_path(path if is_own else "$.defaults", "bootstrap")
        for index, server in enumerate(each.servers):
            other = owners.setdefault(server.lower(), each.name)
            if other != each.name:
                item = f"{written}[{index}]"
                faults.wrong(
                    item if item in faults.references else written,
                    f"brokers that {quoted(other)} does not have",
                    server,
                    hint=f"{escaped(other)} and {escaped(each.name)} are one cluster: remove one",
                )


FLEET_TABLES = Codec(
    names=vars(model),
    forms={
        Servers: _ServersForm(
            "HOST:PORT, several with commas or as a list",
            'for example bootstrap = "kafka-1.internal:9092,kafka-2.internal:9092"',
            separator=",",
        ),
        FlowPlaces: _FlowsForm("a path or URI, or a list of them"),
        AddressTables: TextsForm("a path, or a list of paths"),
        DailyHours: _HoursForm(),
    },
    rules={
        ClusterKeys: ObjectRules(has_no_null=True),
        FleetTables: ObjectRules(has_no_null=True),
    },
).object(FleetTables)
"""The form of a fleet file."""
