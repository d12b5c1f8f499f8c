"""One finding, the rule that it breaks, and how severe that is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, NamedTuple, TypeAlias

from rackwise.core.text import escaped

NONE = -1
"""In the columns: no partition, topic, broker or level."""


class Severity(StrEnum):
    """How bad a finding is, worst first."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


Threshold: TypeAlias = Literal["error", "warning", "info", "never"]
"""The least severity that counts; `never` means that none does."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule that a check can find broken."""

    name: str
    severity: Severity
    sentence: str
    """When the rule is broken, as a clause: `a live broker has no rack`."""


class Finding(NamedTuple):
    """One broken rule in one place.

    Fields of the place are None where they do not apply; a finding without any is about the whole
    cluster. `wanted` and `had` list the same racks or brokers in the same order.

    A named tuple, as an audit may create a million of them: a frozen dataclass takes twice as
    long.
    """

    rule: str
    severity: Severity
    wanted: str
    had: str
    topic: str | None = None
    partition: int | None = None
    broker: int | None = None
    level: str | None = None
    """The level of racks at which the rule was checked."""
    group: str | None = None
    """A consumer group."""
    client_rack: str | None = None
    """The `client.rack` of a client."""
    where: str | None = None
    """A place that the other fields cannot name, such as `option kafka.client.rack`."""
    hint: str | None = None
    """What to do, as an imperative sentence."""

    @property
    def place(self) -> str:
        """`orders-1`, `topic orders on broker 4`, `group billing, topic orders` or `cluster`."""
        if self.where is not None:
            return escaped(self.where)
        if self.topic is not None and self.partition is not None:
            return f"{escaped(self.topic)}-{self.partition}"
        group = "" if self.group is None else f"group {escaped(self.group)}"
        topic = "" if self.topic is None else f"topic {escaped(self.topic)}"
        broker = "" if self.broker is None else f"broker {self.broker}"
        client = "" if self.client_rack is None else f"client rack {escaped(self.client_rack)}"
        on_broker = " on ".join(filter(None, (topic, broker)))
        return ", ".join(filter(None, (group, on_broker, client))) or "cluster"

    @property
    def message(self) -> str:
        """`orders-1: spread-even at az: wanted /e/a 1, /e/b 1; had /e/a 2, /e/b 0`."""
        return f"{self.place}: {self.claim}"

    @property
    def claim(self) -> str:
        """The message without the place."""
        level = "" if self.level is None else f" at {escaped(self.level)}"
        return f"{self.rule}{level}: wanted {self.wanted}; had {self.had}"

    def as_dict(self, *optional: str) -> dict[str, Any]:
        """The fields for one JSON object.

        `optional`: which of `group`, `client_rack`, `where` and `hint` the object has as well.
        """
        return {
            "rule": self.rule,
            "severity": str(self.severity),
            "topic": self.topic,
            "partition": self.partition,
            "broker": self.broker,
            "level": self.level,
            "wanted": self.wanted,
            "had": self.had,
            "message": self.message,
            **{name: getattr(self, name) for name in optional},
        }
