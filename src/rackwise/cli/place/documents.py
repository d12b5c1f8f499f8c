"""The documents of `rackwise place`, `placers` and `topic`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.json.declare import OMITTED


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerShareDocument:
    """What one broker holds of a placement."""

    id: int
    """Id of the broker."""
    replicas: int
    """Replicas that it holds."""
    leaders: int
    """Partitions whose preferred leader it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RackShareDocument:
    """What the brokers of one rack hold of a placement."""

    rack: str
    """The rack."""
    brokers: int
    """Number of its brokers."""
    replicas: int
    """Replicas that they hold."""
    leaders: int
    """Partitions whose preferred leader is in the rack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementDocument:
    """A placement for one topic."""

    format: Literal["rackwise.placement/1"] = "rackwise.placement/1"
    server: Annotated[str | None, OMITTED] = None
    """Address of the `rackwise serve` that gave the rows, with `--from-server`."""
    cluster_id: str | None
    """Id of the cluster; null if it is not known."""
    taken_at: str | None
    """Time at which the cluster was read, UTC."""
    topic: str | None
    """Name of the topic, with `--topic` and `--all-topics`."""
    placer: str | None
    """Name of the placer."""
    placer_options: Mapping[str, str]
    """Options of the placer that were given."""
    rack_mode: str | None
    """How racks are used: `enforced`, `safe`, `one-rack` or `disabled`."""
    seed: int | None
    """Seed of the random numbers; an equal seed gives equal rows."""
    first_partition: int
    """Number of the partition of the first row."""
    rows: tuple[tuple[int, ...], ...]
    """Brokers of each partition, preferred leader first."""
    brokers: tuple[BrokerShareDocument, ...]
    """Share of each broker."""
    racks: tuple[RackShareDocument, ...]
    """Share of each rack."""
    forced: tuple[str, ...]
    """Uneven shares that the racks force, as sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedTopicDocument:
    """A topic that has no new rows, and why."""

    topic: str
    """Name of the topic."""
    error: str
    """Class of the error."""
    message: str
    """What was expected, and what was found."""
    hint: str | None
    """What to do, as an imperative sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementsDocument:
    """Placements for existing topics, with `--all-topics`."""

    format: Literal["rackwise.placements/1"] = "rackwise.placements/1"
    topics: tuple[PlacementDocument, ...]
    """The placement of each topic, by name."""
    failed: tuple[FailedTopicDocument, ...]
    """Topics that cannot be placed; they stay where they are."""
    left_out: tuple[str, ...]
    """Topics without partitions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacerDocument:
    """One placer."""

    name: str
    """Name for `--placer`."""
    distribution: str | None
    """The package that offers the placer; null for a built-in one."""
    about: str
    """First sentence of its description."""
    options: Mapping[str, str]
    """Option -> its default as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacersDocument:
    """The placers that `--placer` accepts."""

    format: Literal["rackwise.placers/1"] = "rackwise.placers/1"
    placers: tuple[PlacerDocument, ...]
    """The built-in placers, then those of installed packages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScramUserDocument:
    """The login of a client of `serve`."""

    format: Literal["rackwise.scram-user/1"] = "rackwise.scram-user/1"
    user: str
    mechanism: str
    iterations: int
    line: str
    """The line for the file of `--scram-users`, with salted keys; keep it secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicDocument:
    """The outcome of a command that creates or expands a topic."""

    format: Literal["rackwise.topic/1"] = "rackwise.topic/1"
    topic: str
    """Name of the topic."""
    outcome: Literal["created", "exists", "differs", "expanded"]
    """What the command found or did. `differs`: the topic exists with another size."""
    first_partition: int
    """Number of the partition of the first row."""
    rows: tuple[tuple[int, ...], ...]
    """Brokers of each partition that was written, or of all existing ones."""
    seed: int | None
    """Seed of the random numbers; null if nothing was placed."""
    placer: Annotated[str | None, OMITTED] = None
    """Name of the placer; absent if nothing was placed."""
    placer_options: Annotated[Mapping[str, str] | None, OMITTED] = None
    """Options of the placer; absent if nothing was placed."""
    rack_mode: Annotated[str | None, OMITTED] = None
    """How racks were used; absent if nothing was placed."""
