"""`rackwise upgrade check`: the next step of KIP-36's rolling upgrade, from live registrations."""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from rackwise.cli.broker_id.options import StoreConfigFile
from rackwise.cli.shell import Shell, installed
from rackwise.core.errors import InvalidConfig, UnknownBroker
from rackwise.core.text import escaped, names_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from rackwise.cli.audit.documents import UpgradeDocument
    from rackwise.core.wire.registration import BrokerRegistration
    from rackwise.core.wire.upgrade import UpgradeAdvice, UpgradeMember

STEPS = 4
HEADER = ("broker", "registration", "software", "IBP", "rack", "endpoints")
UNKNOWN = "?"
SHOWN = 8
"""How many brokers a sentence names."""

app = typer.Typer(
    help="Check the rolling upgrade of KIP-36 on a cluster with ZooKeeper.",
    rich_markup_mode=None,
)


@app.callback()
def upgrade() -> None:
    """Check the rolling upgrade of KIP-36 on a cluster with ZooKeeper."""


@dataclass(frozen=True, slots=True)
class MemberOption:
    """One value of `--member`."""

    broker_id: int
    software: str | None
    ibp: str | None
    rack: str | None


@app.command()
def check(
    context: typer.Context,
    zookeeper: Annotated[
        str,
        typer.Option(
            metavar="H:P/CHROOT",
            help="Read this ZooKeeper, written as in zookeeper.connect of the brokers.",
        ),
    ],
    member: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID=SOFTWARE,IBP[,RACK]",
            help="State the version, inter.broker.protocol.version (empty: not set) and "
            "broker.rack of a broker. May be repeated.",
        ),
    ] = None,
    client: Annotated[
        list[str] | None,
        typer.Option(
            metavar="VERSION",
            help="State the version of a client that reads ZooKeeper. May be repeated.",
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(metavar="IBP", help="Check an upgrade to this version. [default: 0.10.0-IV1]"),
    ] = None,
    store_config: StoreConfigFile = None,
) -> int:
    """Print the next of KIP-36's four upgrade steps, and which brokers or clients would break.

    ZooKeeper does not contain the version and the inter.broker.protocol.version of a broker.
    Without --member they are unknown, which is a finding. Writes nothing. Exit codes: 0 no
    findings, 2 findings, 1 error.
    """
    shell: Shell = context.obj
    from rackwise.core.wire.upgrade import RACKS_TARGET, UpgradeMember, upgrade_findings

    given = _parse_members(member or ())
    target = RACKS_TARGET if to is None else to
    _check_versions(client or (), target)
    registered = _read_registrations(shell, zookeeper, store_config)
    _check_known(given, registered)
    members = [
        UpgradeMember(
            registration=each,
            software=given[id_].software if id_ in given else None,
            ibp=given[id_].ibp if id_ in given else None,
            rack=given[id_].rack if id_ in given else None,
        )
        for id_, each in sorted(registered.items())
    ]
    advice = upgrade_findings(members, client or (), to=target)
    if shell.is_json:
        shell.document(_document(members, advice))
    else:
        shell.text(_text(members, advice))
    return 2 if advice.findings else 0


def _parse_members(members: Sequence[str]) -> Mapping[int, MemberOption]:
    """Parse the values of --member, by broker id. Raises `InvalidConfig`."""
    found: dict[int, MemberOption] = {}
    for text in members:
        name, is_joined, rest = text.partition("=")
        parts = rest.split(",", 2)
        if not is_joined or not name.isascii() or not name.isdigit() or len(name) > 10:  # noqa: PLR2004 (digits of 32 bits)
            raise InvalidConfig(
                f"invalid --member: expected ID=SOFTWARE,IBP, got {escaped(text)}",
                wanted="ID=SOFTWARE,IBP",
                had=text,
                hint="use for example --member 1=0.10.0,0.9.0",
            )
        member = MemberOption(
            broker_id=int(name),
            software=parts[0] or None,
            ibp=parts[1] if len(parts) > 1 else None,
            rack=parts[2] if len(parts) > 2 else None,  # noqa: PLR2004 (the third part)
        )
        _check_member(member)
        if member.broker_id in found:
            raise InvalidConfig(
                f"invalid --member: broker {member.broker_id} appears twice",
                wanted=1,
                had=2,
                hint="omit one of them",
            )
        found[member.broker_id] = member
    return found


def _check_member(member: MemberOption) -> None:
    """Raise `InvalidConfig` before any node is read."""
    from rackwise.core.wire.ibp import parse_ibp, parse_software

    with _naming("--member"):
        if member.software is not None:
            parse_software(member.software)
        if member.ibp:
            parse_ibp(member.ibp)


def _check_versions(clients: Sequence[str], to: str) -> None:
    """Raise `InvalidConfig` before any node is read."""
    from rackwise.core.wire.ibp import parse_ibp, parse_software

    for client in clients:
        with _naming("--client"):
            parse_software(client)
    with _naming("--to"):
        parse_ibp(to)


@contextmanager
def _naming(option: str) -> Iterator[None]:
    """Name the option whose value is invalid."""
    try:
        yield
    except InvalidConfig as error:
        raise InvalidConfig(
            f"invalid {option}: {error.message}",
            wanted=error.wanted,
            had=error.had,
            hint=error.hint,
        ) from None


def _read_registrations(
    shell: Shell, zookeeper: str, config_file: Path | None
) -> Mapping[int, BrokerRegistration]:
    """Read every registered broker. Raises `RemoteProtocolError` for an invalid registration."""
    with installed("zookeeper", "read ZooKeeper's nodes"):
        from rackwise.adapters import zookeeper as nodes
    from rackwise.core.identity.nodes.nodes import ids_in_names
    from rackwise.core.identity.nodes.store import IDS
    from rackwise.core.wire.registration import read_registration

    address = nodes.Address.of_connect(zookeeper, "--zookeeper")
    config = None if config_file is None else nodes.read_store_config(config_file)
    if config is not None:
        for warning in config.warnings(address):
            shell.warn(warning)
    with closing(
        nodes.open_zookeeper(str(address), config, read_only=True, option=address.option)
    ) as store:
        paths = {f"{IDS}/{id_}": id_ for id_ in sorted(ids_in_names(store.children(IDS)))}
        found = {paths[path]: node for path, node in store.read(list(paths)).items() if node}
    if not found:
        raise InvalidConfig(
            f"expected registered brokers in {escaped(zookeeper)}, got none below {IDS}",
            wanted="brokers",
            had=0,
            hint="add the chroot of the brokers' zookeeper.connect; KRaft needs no such upgrade",
        )
    return {id_: read_registration(id_, node.data) for id_, node in found.items()}


def _check_known(given: Mapping[int, MemberOption], registered: Mapping[int, object]) -> None:
    unknown = sorted(given.keys() - registered.keys())
    if unknown:
        raise UnknownBroker(
            f"invalid --member: expected one of {names_text(sorted(registered), most=SHOWN)}, "
            f"got {unknown[0]}",
            wanted="a broker that is registered",
            had=unknown[0],
            hint="wait until that broker has started again, or omit its --member",
        )


def _text(members: Sequence[UpgradeMember], advice: UpgradeAdvice) -> str:
    from rackwise.cli.tables import columns_text

    lines = [columns_text(HEADER, [_cells(each) for each in members], numbers={0, 1}), ""]
    lines += _step_lines(advice)
    for finding in advice.findings:
        lines += [f"{finding.severity}: {finding.message}", f"  {finding.hint}"]
    return "\n".join(lines)


def _step_lines(advice: UpgradeAdvice) -> list[str]:
    from rackwise.core.wire.upgrade import STEPS as TO_DO

    if advice.step is None:
        version = f"version {advice.wanted_version} or later"
        return [f"all four steps to {advice.target} are done: every registration has {version}"]
    lines = [f"step {advice.step} of {STEPS} to {advice.target}: {TO_DO[advice.step]}"]
    lines.append(f"  not done: {names_text(advice.waiting, most=SHOWN)}")
    return lines


def _cells(member: UpgradeMember) -> tuple[str, ...]:
    registration = member.registration
    rack = _rack(member)
    return (
        str(registration.broker_id),
        str(registration.version),
        UNKNOWN if member.software is None else escaped(member.software),
        UNKNOWN if member.ibp is None else escaped(member.ibp) or "not set",
        "-" if rack is None else escaped(rack),
        escaped(" ".join(map(str, registration.endpoints))) or "-",
    )


def _rack(member: UpgradeMember) -> str | None:
    registered = member.registration.rack
    return member.rack if registered is None else registered


def _document(members: Sequence[UpgradeMember], advice: UpgradeAdvice) -> UpgradeDocument:
    from rackwise.cli.audit.documents import UpgradeDocument, UpgradeMemberDocument
    from rackwise.cli.documents import hinted_finding_rows
    from rackwise.core.wire.upgrade import STEPS as TO_DO

    return UpgradeDocument(
        target=advice.target,
        wanted_version=advice.wanted_version,
        step=advice.step,
        to_do=None if advice.step is None else TO_DO[advice.step],
        waiting=tuple(advice.waiting),
        unknown=tuple(advice.unknown),
        brokers=tuple(
            UpgradeMemberDocument(
                id=each.registration.broker_id,
                version=each.registration.version,
                software=each.software,
                ibp=each.ibp,
                rack=_rack(each),
                endpoints=tuple(map(str, each.registration.endpoints)),
            )
            for each in members
        ),
        findings=hinted_finding_rows(advice.findings),
    )
