"""KIP-36's rolling upgrade, checked from the brokers' registrations and given versions.

```
step   is done when                                                          then
1      every broker has inter.broker.protocol.version set, to the old value   upgrade the software
2      every broker runs the new software                                     raise the IBP
3      the IBP is raised on every broker                                      restart one by one
4      every registration shows the version that the new IBP writes           racks are used
```

The next step is the first that is not done; None when all four are done.

Goals, in order: guess nothing, and say what is not known; do not ask for a version that a
registration proves; report which broker or client the upgrade breaks, before any step.

Software and IBP are not in ZooKeeper: the caller gives them for each broker, or they are not known.
A registration proves a lowest version of both, as only such a broker writes it:

```
version        1              2            3                  4                  5
software       before 0.9.0   from 0.9.0   from 0.10.0        from 0.10.2        from 2.7
IBP            -              -            from 0.10.0-IV1    from 0.10.0-IV1    from 2.7-IV0
```

`UPGRADE_RULES` has the rules. `reader-breaks` is an error for software 0.9.0.0 and a warning where
the software is not known. `partial-racks` looks at registrations of version 3 and later only.

What this does not do: read ZooKeeper; ask brokers; upgrade anything.

Source: KIP-36 "Compatibility, Deprecation, and Migration Plan", KAFKA-3100.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rackwise.core.findings import Finding, FindingList, RuleTable, Severity
from rackwise.core.text import escaped, names_text
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
    from collections.abc import Callable, Iterator, Sequence

RACKS_TARGET = "0.10.0-IV1"
"""The IBP that KIP-36 upgrades to."""
LONGEST_RACK = 249

STEPS = {
    1: "set inter.broker.protocol.version on all brokers to the version they speak now",
    2: "upgrade the software of one broker after the other",
    3: "raise inter.broker.protocol.version on all brokers",
    4: "restart the brokers one by one, so that they register anew",
}
"""What to do in each step of KIP-36."""

SOFTWARE_STEP = 2
"""The step that needs the software of every broker; steps 1 and 3 need the IBP."""

_SHOWN = 8
_RACK_SHOWN = 60
_BREAKS: Release = (0, 9, 0, 0)
_REPAIRED: Release = (0, 9, 0, 1)
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
    """A broker of the cluster that is being upgraded."""

    registration: BrokerRegistration
    software: str | None = None
    """Version of its software; None = not known."""
    ibp: str | None = None
    """Its inter.broker.protocol.version; "" = not set (that of its software), None = not known."""
    rack: str | None = None
    """Its `broker.rack`, where the registration does not have it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeAdvice:
    """The next step of an upgrade, and what is in its way."""

    step: int | None
    """1 to 4, the first step that is not done; None = all are done."""
    target: str
    """The IBP to upgrade to."""
    wanted_version: int
    """Version of all registrations once the upgrade is done."""
    waiting: tuple[int, ...]
    """Brokers for which the step is not done."""
    unknown: tuple[int, ...]
    """Brokers among them for which the version that the step needs is not known."""
    findings: tuple[Finding, ...]


def upgrade_findings(
    members: Sequence[UpgradeMember], clients: Sequence[str] = (), *, to: str = RACKS_TARGET
) -> UpgradeAdvice:
    """The next step of the upgrade to the IBP `to`, and the findings about brokers and clients.

    `clients`: versions of clients that read ZooKeeper. They and the brokers are checked against the
    registrations that exist and against those that the target brings. Raises `InvalidConfig` for a
    malformed version or IBP.
    """
    wanted = parse_ibp(to)
    known = sorted(map(_known, members), key=lambda each: each.broker_id)
    version = registration_version(to, software=".".join(map(str, wanted[:3])))
    step, waiting = _step(known, wanted, version)
    lacking = [each for each in waiting if each.lacks(step)]
    state = _State(
        known=known,
        clients=clients,
        newest=max((each.version for each in known), default=0),
        coming=version if wanted >= RACKS_SINCE else None,
        step=step,
        lacking=lacking,
    )
    return UpgradeAdvice(
        step=step,
        target=to,
        wanted_version=version,
        waiting=tuple(each.broker_id for each in waiting),
        unknown=tuple(each.broker_id for each in lacking),
        findings=tuple(
            FindingList(
                UPGRADE_RULES,
                (each for check in UPGRADE_RULES.checks.values() for each in check(state)),
            )
        ),
    )


@dataclass(frozen=True, slots=True)
class _Known:
    """A broker with the lowest versions that its software and IBP can have."""

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
        """Whether the version that this step needs is not known."""
        given = {1: self.member.ibp, 2: self.member.software, 3: self.member.ibp}
        return step in given and given[step] is None


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
    """The first step that is not done, and the brokers that wait for it.

    A registration proves its whole release.
    """
    release = wanted[:3]
    waiting = {
        1: [each for each in known if not each.member.ibp and each.proven_ibp < release],
        2: [each for each in known if each.least_software[:3] < release],
        3: [each for each in known if each.least_ibp < wanted and each.proven_ibp < release],
        4: [each for each in known if each.version < version],
    }
    return next(((step, late) for step, late in waiting.items() if late), (None, ()))


class _State(NamedTuple):
    """What the rules look at."""

    known: Sequence[_Known]
    """Brokers in id order."""
    clients: Sequence[str]
    """Versions of clients that read ZooKeeper."""
    newest: int
    """Version of the newest registration; 0 if there is none."""
    coming: int | None
    """Version of registrations that the target IBP will write; None if it writes no racks."""
    step: int | None
    """The next step."""
    lacking: Sequence[_Known]
    """Brokers of which the version that this step needs is not known."""


UPGRADE_RULES: RuleTable[Callable[[_State], Iterator[Finding]]] = RuleTable()
"""Rule name -> rule, in the order in which findings are listed."""
_ONLY_OLD = "which reads registrations of version 1 and 2 only (KAFKA-3100)"
_READS_ALL = "version 0.9.0.1 or later"


@UPGRADE_RULES.rule(
    "version-unknown",
    Severity.WARNING,
    "the version that the next step depends on is not known of every broker",
)
def _version_unknown(state: _State) -> Iterator[Finding]:
    if state.lacking:
        what = "software" if state.step == SOFTWARE_STEP else "inter.broker.protocol.version"
        first = state.lacking[0].broker_id
        yield UPGRADE_RULES.finding(
            "version-unknown",
            wanted=f"the {what} of every broker",
            had=f"not known of {_named(state.lacking)}; ZooKeeper does not have it",
            hint=f"give it for each of them, such as --member {first}=SOFTWARE,IBP",
        )


@UPGRADE_RULES.rule(
    "reader-breaks",
    Severity.ERROR,
    "a broker or a client cannot read registrations that exist or will be written",
)
def _reader_breaks(state: _State) -> Iterator[Finding]:
    if state.newest < RACK_SINCE and state.coming is None:
        for client in state.clients:
            parse_software(client)
        return
    cause = (
        f"version {state.newest} exists"
        if state.newest >= RACK_SINCE
        else f"version {state.coming} will be written"
    )
    for each in state.known:
        if each.told_software == _BREAKS:
            yield UPGRADE_RULES.finding(
                "reader-breaks",
                broker=each.broker_id,
                wanted=_READS_ALL,
                had=f"0.9.0.0, {_ONLY_OLD}; {cause}",
                hint="upgrade it to 0.9.0.1 or later before any broker registers so",
            )
        elif each.told_software is None and each.version == ENDPOINTS_SINCE:
            yield UPGRADE_RULES.finding(
                "reader-breaks",
                severity=Severity.WARNING,
                broker=each.broker_id,
                wanted=_READS_ALL,
                had=f"a version that is not known, perhaps 0.9.0.0, {_ONLY_OLD}; {cause}",
                hint=f"give its version: --member {each.broker_id}=SOFTWARE,IBP",
            )
    for client in state.clients:
        if parse_software(client) < _REPAIRED:
            yield UPGRADE_RULES.finding(
                "reader-breaks",
                where=f"clients of version {client}",
                wanted=_READS_ALL,
                had=f"{client}, {_ONLY_OLD}; {cause}",
                hint="upgrade them to 0.9.0.1 or later first",
            )


@UPGRADE_RULES.rule(
    "ibp-too-early",
    Severity.ERROR,
    "a broker speaks an IBP with racks while another runs software before 0.10.0",
)
def _ibp_too_early(state: _State) -> Iterator[Finding]:
    old = [each for each in state.known if each.is_before_racks]
    for each in state.known:
        others = [other for other in old if other is not each]
        if others and max(each.least_ibp, each.proven_ibp) >= RACKS_SINCE:
            yield UPGRADE_RULES.finding(
                "ibp-too-early",
                broker=each.broker_id,
                wanted="an IBP before 0.10.0-IV1 until all brokers run software 0.10.0 or later",
                had=f"0.10.0-IV1 or later, and software before 0.10.0 on {_named(others)}",
                hint="set inter.broker.protocol.version back to the old version until all are "
                "upgraded",
            )


@UPGRADE_RULES.rule(
    "rack-hidden",
    Severity.WARNING,
    "a broker has a rack, and its registration is too old to show it",
)
def _rack_hidden(state: _State) -> Iterator[Finding]:
    for each in state.known:
        if each.rack is not None and each.version < RACK_SINCE:
            yield UPGRADE_RULES.finding(
                "rack-hidden",
                broker=each.broker_id,
                wanted=f"a registration of version 3 or later, which shows rack "
                f"{_short(each.rack)}",
                had=f"version {each.version}; the rack is hidden until step 4",
                hint="continue with the steps; topics that are created before ignore the rack",
            )


@UPGRADE_RULES.rule(
    "partial-racks",
    Severity.WARNING,
    "some registrations have a rack and some have none",
)
def _partial_racks(state: _State) -> Iterator[Finding]:
    new = [each for each in state.known if each.version >= RACK_SINCE]
    having = [each for each in new if each.member.registration.rack is not None]
    lacking = [each for each in new if each.member.registration.rack is None]
    if having and lacking:
        yield UPGRADE_RULES.finding(
            "partial-racks",
            wanted="a rack in every registration",
            had=f"{_named(having)} with a rack, {_named(lacking)} without",
            hint="set broker.rack on all brokers: until then new topics ignore racks, or are "
            "rejected",
        )


@UPGRADE_RULES.rule(
    "listener-only-new",
    Severity.WARNING,
    "a registration has no host, so clients that read host and port cannot connect",
)
def _listener_only_new(state: _State) -> Iterator[Finding]:
    for each in state.known:
        registration = each.member.registration
        if registration.version >= ENDPOINTS_SINCE and registration.host is None:
            yield UPGRADE_RULES.finding(
                "listener-only-new",
                broker=each.broker_id,
                wanted="a host and a port for clients that read no endpoints",
                had="none, as the broker has no PLAINTEXT listener",
                hint="upgrade such clients to ones that read endpoints, or keep a PLAINTEXT "
                "listener",
            )


@UPGRADE_RULES.rule("rack-too-long", Severity.WARNING, "a rack has more than 249 characters")
def _rack_too_long(state: _State) -> Iterator[Finding]:
    for each in state.known:
        if each.rack is not None and len(each.rack) > LONGEST_RACK:
            yield UPGRADE_RULES.finding(
                "rack-too-long",
                broker=each.broker_id,
                wanted=f"a rack of at most {LONGEST_RACK} characters",
                had=f"{len(each.rack)} characters: {_short(each.rack)}",
                hint="give it a shorter broker.rack",
            )


def _named(known: Sequence[_Known]) -> str:
    """`broker 1`, `brokers 1, 2`, and of many the first."""
    ids = names_text([each.broker_id for each in known], most=_SHOWN)
    return f"broker{'s' if len(known) > 1 else ''} {ids}"


def _short(rack: str) -> str:
    text = escaped(rack)
    return text if len(text) <= _RACK_SHOWN else f"{text[:_RACK_SHOWN]}..."
