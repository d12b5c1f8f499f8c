"""KIP-36's rolling upgrade, judged from what the brokers registered and what is told of them.

```
step   is done when                                                          then
1      every broker has inter.broker.protocol.version set, to the old value   upgrade the software
2      every broker runs the new software                                     raise the IBP
3      the IBP is raised on every broker                                      restart one by one
4      every registration shows the version that the new IBP writes           racks are used
```

The step is the first that is not done; None when all four are.

Goals, in order: nothing is guessed; what a registration proves needs not be told; who would break
is said before anybody does.

Software and IBP are not in ZooKeeper: they are told for each broker, or not known. A registration
proves a least of both, as only such a broker writes it:

```
version        1              2            3                  4                  5
software       before 0.9.0   from 0.9.0   from 0.10.0        from 0.10.2        from 2.7
IBP            -              -            from 0.10.0-IV1    from 0.10.0-IV1    from 2.7-IV0
```

Findings, in this order, then by broker:

```
reader-breaks       error    0.9.0.0 reads versions 1 and 2 only (KAFKA-3100), and later ones are
                             there or come with the target; a warning where the software is unknown
ibp-too-early       error    an IBP with racks, while another broker runs software before 0.10.0
rack-hidden         warning  broker.rack is known, the registration is below 3: nobody sees it yet
partial-racks       warning  of the registrations from 3 on some have a rack and some have none
listener-only-new   warning  host is null: clients that read host and port cannot connect
rack-too-long       warning  a rack of more than 249 characters
```

What this does not do: read ZooKeeper; ask brokers; upgrade anything.

Source: KIP-36 "Compatibility, Deprecation, and Migration Plan", KAFKA-3100.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rackwise.core.findings import Severity
from rackwise.core.text import escaped
from rackwise.core.wire.ibp import (
    FINAL,
    RACKS_SINCE,
    RACKS_SOFTWARE,
    Release,
    Version,
    parse_ibp,
    parse_software,
    registration_version,
)
from rackwise.core.wire.registration import ENDPOINTS_SINCE, RACK_SINCE, BrokerRegistration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RACKS_TARGET = "0.10.0-IV1"
"""The IBP that KIP-36 upgrades to."""
LONGEST_RACK = 249

STEPS = {
    1: "set inter.broker.protocol.version on all brokers to the version they speak now",
    2: "upgrade the software of one broker after the other",
    3: "raise inter.broker.protocol.version on all brokers",
    4: "restart the brokers one by one, so that they register anew",
}
"""What is to be done in each step of KIP-36."""

_SHOWN = 8
_RACK_SHOWN = 60
_BREAKS: Release = (0, 9, 0, 0)
_MENDED: Release = (0, 9, 0, 1)
_OLDEST: Version = (0, 0, 0, 0)
_PROVEN: tuple[tuple[int, Release, Version], ...] = (
    (5, (2, 7, 0, 0), (2, 7, 0, 0)),
    (4, (0, 10, 2, 0), RACKS_SINCE),
    (3, RACKS_SOFTWARE, RACKS_SINCE),
    (2, (0, 9, 0, 0), _OLDEST),
    (1, (0, 0, 0, 0), _OLDEST),
)
"""Version of a registration -> the least software and IBP of the broker that wrote it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeMember:
    """A broker of the cluster. `software`, `ibp`: as told, None = not known.

    `ibp` "" = not set in its server.properties: the broker speaks what its software does.
    `rack`: its `broker.rack`, where the registration does not have it.
    """

    registration: BrokerRegistration
    software: str | None = None
    ibp: str | None = None
    rack: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeFinding:
    """What stands in the way, or must be known. `broker`: None = a client, or the cluster."""

    code: str
    severity: Severity
    broker: int | None
    message: str
    hint: str

    def as_dict(self) -> dict[str, Any]:
        """The fields, for one JSON object."""
        return {
            "code": self.code,
            "severity": str(self.severity),
            "broker": self.broker,
            "message": self.message,
            "hint": self.hint,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeAdvice:
    """`step`: 1 to 4, the first that is not done; None = all are. `target`: the IBP.

    `waiting`: brokers for which that step is not done. `unknown`: those of them of which nobody
    says what the step asks for. `wanted_version`: of registrations, once all is done.
    """

    step: int | None
    target: str
    wanted_version: int
    waiting: tuple[int, ...]
    unknown: tuple[int, ...]
    findings: tuple[UpgradeFinding, ...]


def upgrade_findings(
    members: Sequence[UpgradeMember], clients: Sequence[str] = (), *, to: str | None = None
) -> UpgradeAdvice:
    """The next step of the upgrade to the IBP `to`, and who would break.

    `clients`: versions of clients that read ZooKeeper. `to`: None = the steps are judged for the
    first IBP with racks, and no reader is held against what is not yet there. Raises
    `InvalidConfig` for a version or an IBP that is none.
    """
    target = RACKS_TARGET if to is None else to
    wanted = parse_ibp(target)
    known = sorted(map(_known, members), key=lambda each: each.broker_id)
    version = registration_version(target, software=".".join(map(str, wanted[:3])))
    newest = max((each.version for each in known), default=0)
    comes = version if to is not None and wanted >= RACKS_SINCE else None
    step, waiting = _step(known, wanted, version)
    return UpgradeAdvice(
        step=step,
        target=target,
        wanted_version=version,
        waiting=tuple(each.broker_id for each in waiting),
        unknown=tuple(each.broker_id for each in waiting if each.lacks(step)),
        findings=(
            *_breaking(known, clients, newest, comes=comes),
            *_too_early(known),
            *_hidden(known),
            *_partial(known),
            *_hostless(known),
            *_long(known),
        ),
    )


@dataclass(frozen=True, slots=True)
class _Known:
    """A member, and the least that its software and IBP can be."""

    member: UpgradeMember
    told_software: Release | None
    least_software: Release
    least_ibp: Version
    proven_ibp: Version

    @property
    def broker_id(self) -> int:
        return self.member.registration.broker_id

    @property
    def version(self) -> int:
        return self.member.registration.version

    @property
    def rack(self) -> str | None:
        registered = self.member.registration.rack
        return self.member.rack if registered is None else registered

    @property
    def is_before_racks(self) -> bool:
        """Whether its software is known to be older than 0.10.0."""
        if self.told_software is not None:
            return self.told_software < RACKS_SOFTWARE
        return self.version < ENDPOINTS_SINCE

    def lacks(self, step: int | None) -> bool:
        """Whether nobody says what this step asks for."""
        told = {1: self.member.ibp, 2: self.member.software, 3: self.member.ibp}
        return step in told and told[step] is None


def _known(member: UpgradeMember) -> _Known:
    version = member.registration.version
    proven = next(row for row in _PROVEN if version >= row[0])
    software = None if member.software is None else parse_software(member.software)
    ibp = proven[2]
    if member.ibp:
        ibp = parse_ibp(member.ibp)
    elif member.ibp is not None and software is not None:
        ibp = (*software[:3], FINAL)
    return _Known(member, software, max(software or _OLDEST, proven[1]), ibp, proven[2])


def _step(
    known: Sequence[_Known], wanted: Version, version: int
) -> tuple[int | None, Sequence[_Known]]:
    """The first step that is not done, and for whom. A registration proves its whole release."""
    release = wanted[:3]
    waiting = {
        1: [each for each in known if not each.member.ibp and each.proven_ibp < release],
        2: [each for each in known if each.least_software[:3] < release],
        3: [each for each in known if each.least_ibp < wanted and each.proven_ibp < release],
        4: [each for each in known if each.version < version],
    }
    return next(((step, late) for step, late in waiting.items() if late), (None, ()))


def _breaking(
    known: Sequence[_Known], clients: Sequence[str], newest: int, *, comes: int | None
) -> Iterator[UpgradeFinding]:
    """`newest`: version of the newest registration. `comes`: version that the target brings."""
    if newest < RACK_SINCE and comes is None:
        for client in clients:
            parse_software(client)
        return
    there = f"version {newest} is there" if newest >= RACK_SINCE else f"version {comes} will come"
    only = "registrations of version 1 and 2 only (KAFKA-3100)"
    for each in known:
        if each.told_software == _BREAKS:
            yield _found(
                "reader-breaks",
                each,
                f"broker {each.broker_id} runs 0.9.0.0, which reads {only}; {there}",
                "upgrade it to 0.9.0.1 or later before any broker registers so",
            )
        elif each.told_software is None and each.version == ENDPOINTS_SINCE:
            yield _found(
                "reader-breaks",
                each,
                f"the software of broker {each.broker_id} is not known; "
                f"0.9.0.0 reads {only}, and {there}",
                f"tell it: --member {each.broker_id}=SOFTWARE,IBP",
                Severity.WARNING,
            )
    for client in clients:
        if parse_software(client) < _MENDED:
            yield UpgradeFinding(
                code="reader-breaks",
                severity=Severity.ERROR,
                broker=None,
                message=f"clients of version {client} read {only}; {there}",
                hint="upgrade them to 0.9.0.1 or later first",
            )


def _too_early(known: Sequence[_Known]) -> Iterator[UpgradeFinding]:
    old = [each for each in known if each.is_before_racks]
    for each in known:
        others = [other for other in old if other is not each]
        if others and max(each.least_ibp, each.proven_ibp) >= RACKS_SINCE:
            yield _found(
                "ibp-too-early",
                each,
                f"broker {each.broker_id} speaks 0.10.0-IV1 or later, and software before 0.10.0 "
                f"runs on {_named(others)}",
                "set inter.broker.protocol.version back to the old version until all are upgraded",
            )


def _hidden(known: Sequence[_Known]) -> Iterator[UpgradeFinding]:
    for each in known:
        if each.rack is not None and each.version < RACK_SINCE:
            yield _found(
                "rack-hidden",
                each,
                f"broker {each.broker_id} has rack {_short(each.rack)}, and its registration "
                f"version {each.version}: the rack is not seen until step 4",
                "go on with the steps; topics that are made before do not heed it",
                Severity.WARNING,
            )


def _partial(known: Sequence[_Known]) -> Iterator[UpgradeFinding]:
    new = [each for each in known if each.version >= RACK_SINCE]
    having = [each for each in new if each.member.registration.rack is not None]
    lacking = [each for each in new if each.member.registration.rack is None]
    if having and lacking:
        yield UpgradeFinding(
            code="partial-racks",
            severity=Severity.WARNING,
            broker=None,
            message=f"{_named(having)} registered with a rack, {_named(lacking)} without",
            hint="set broker.rack on all: until then new topics ignore racks, or are refused",
        )


def _hostless(known: Sequence[_Known]) -> Iterator[UpgradeFinding]:
    for each in known:
        registration = each.member.registration
        if registration.version >= ENDPOINTS_SINCE and registration.host is None:
            yield _found(
                "listener-only-new",
                each,
                f"broker {each.broker_id} registered without a host, as it has no PLAINTEXT "
                "listener: clients that read host and port cannot connect",
                "upgrade such clients to ones that read endpoints, or keep a PLAINTEXT listener",
                Severity.WARNING,
            )


def _long(known: Sequence[_Known]) -> Iterator[UpgradeFinding]:
    for each in known:
        if each.rack is not None and len(each.rack) > LONGEST_RACK:
            yield _found(
                "rack-too-long",
                each,
                f"the rack of broker {each.broker_id} has {len(each.rack)} characters, more than "
                f"{LONGEST_RACK}: {_short(each.rack)}",
                "give it a shorter broker.rack",
                Severity.WARNING,
            )


def _found(
    code: str, each: _Known, message: str, hint: str, severity: Severity = Severity.ERROR
) -> UpgradeFinding:
    return UpgradeFinding(
        code=code, severity=severity, broker=each.broker_id, message=message, hint=hint
    )


def _named(known: Sequence[_Known]) -> str:
    """`broker 1`, `brokers 1, 2`, and of many the first."""
    shown = ", ".join(str(each.broker_id) for each in known[:_SHOWN])
    more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
    return f"broker{'s' if len(known) > 1 else ''} {shown}{more}"


def _short(rack: str) -> str:
    text = escaped(rack)
    return text if len(text) <= _RACK_SHOWN else f"{text[:_RACK_SHOWN]}..."
