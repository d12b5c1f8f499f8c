"""`rackwise upgrade check`: KIP-36's rolling upgrade, judged from the live registrations."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rackwise.cli.broker_id.options import StoreConfigFile
from rackwise.cli.installed import installed
from rackwise.cli.shell import Shell
from rackwise.core.errors import InvalidConfig, UnknownBroker
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rackwise.core.wire.registration import BrokerRegistration
    from rackwise.core.wire.upgrade import UpgradeAdvice, UpgradeMember

FORMAT = "rackwise.upgrade/1"
STEPS = 4
HEADER = ("broker", "registration", "software", "IBP", "rack", "endpoints")
UNKNOWN = "?"
SHOWN = 8
"""Brokers that a sentence names."""

app = typer.Typer(
    help="KIP-36's rolling upgrade of a cluster on ZooKeeper: what is done, what is next.",
    rich_markup_mode=None,
)


@app.callback()
def upgrade() -> None:
    """KIP-36's rolling upgrade of a cluster on ZooKeeper: what is done, what is next."""


@dataclass(frozen=True, slots=True)
class MemberOption:
    """What `--member` says of one broker."""

    broker_id: int
    software: str | None
    ibp: str | None
    rack: str | None


@app.command()
def check(
    context: typer.Context,
    zookeeper: Annotated[
        str, typer.Option(metavar="H:P/CHROOT", help="As zookeeper.connect of the brokers.")
    ],
    member: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID=SOFTWARE,IBP[,RACK]",
            help="A broker's version, inter.broker.protocol.version (empty: not set) and "
            "broker.rack; repeatable.",
        ),
    ] = None,
    client: Annotated[
        list[str] | None,
        typer.Option(metavar="VERSION", help="Clients that read ZooKeeper; repeatable."),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(metavar="IBP", help="Where the upgrade goes. [default: 0.10.0-IV1]"),
    ] = None,
    store_config: StoreConfigFile = None,
) -> int:
    """Say which of KIP-36's four steps is next, and who would break.

    Software and IBP are not in ZooKeeper: tell them with --member, or they are not known. Reads
    only. Exit: 0 go on, 2 there are findings, 1 error.
    """
    shell: Shell = context.obj
    from rackwise.core.wire.upgrade import UpgradeMember, upgrade_findings

    told = _told(member or ())
    upgrade_findings((), client or (), to=to)
    registered = _registered(shell, zookeeper, store_config)
    _check_known(told, registered)
    members = [
        UpgradeMember(
            registration=each,
            software=told[id_].software if id_ in told else None,
            ibp=told[id_].ibp if id_ in told else None,
            rack=told[id_].rack if id_ in told else None,
        )
        for id_, each in sorted(registered.items())
    ]
    advice = upgrade_findings(members, client or (), to=to)
    if shell.is_json:
        shell.document(_document(members, advice))
    else:
        shell.text(_text(members, advice))
    return 2 if advice.findings else 0


def _told(members: Sequence[str]) -> Mapping[int, MemberOption]:
    """Broker id -> what is told of it. Raises `InvalidConfig`."""
    found: dict[int, MemberOption] = {}
    for text in members:
        name, is_joined, rest = text.partition("=")
        parts = rest.split(",", 2)
        if not is_joined or not name.isascii() or not name.isdigit() or len(name) > 10:  # noqa: PLR2004 (digits of 32 bits)
            raise InvalidConfig(
                f"invalid --member: expected ID=SOFTWARE,IBP, got {escaped(text)}",
                wanted="ID=SOFTWARE,IBP",
                had=text,
                hint="for example --member 1=0.10.0,0.9.0",
            )
        told = MemberOption(
            broker_id=int(name),
            software=parts[0] or None,
            ibp=parts[1] if len(parts) > 1 else None,
            rack=parts[2] if len(parts) > 2 else None,  # noqa: PLR2004 (the third part)
        )
        _check_versions(told)
        if told.broker_id in found:
            raise InvalidConfig(
                f"invalid --member: broker {told.broker_id} appears twice",
                wanted=1,
                had=2,
                hint="leave one of them out",
            )
        found[told.broker_id] = told
    return found


def _check_versions(told: MemberOption) -> None:
    """Raises `InvalidConfig` before anything is asked."""
    from rackwise.core.wire.ibp import parse_ibp, parse_software

    if told.software is not None:
        parse_software(told.software)
    if told.ibp:
        parse_ibp(told.ibp)


def _registered(
    shell: Shell, zookeeper: str, config_file: Path | None
) -> Mapping[int, BrokerRegistration]:
    """Every broker that is registered now. Raises `RemoteProtocolError` for one that is no such."""
    with installed("zookeeper", "read ZooKeeper's nodes"):
        from rackwise.adapters import zookeeper as nodes
    from rackwise.core.identity.nodes.nodes import ids_in_names
    from rackwise.core.identity.nodes.store import IDS
    from rackwise.core.wire.registration import read_registration

    url = f"zookeeper://{zookeeper}"
    config = None if config_file is None else nodes.read_store_config(config_file)
    if config is not None:
        for warning in config.warnings(nodes.Address.parse(url)):
            shell.warn(warning)
    with closing(nodes.open_zookeeper(url, config, read_only=True)) as store:
        paths = {f"{IDS}/{id_}": id_ for id_ in sorted(ids_in_names(store.children(IDS)))}
        found = {paths[path]: node for path, node in store.read(list(paths)).items() if node}
    if not found:
        raise InvalidConfig(
            f"expected registered brokers in {escaped(zookeeper)}, got none below {IDS}",
            wanted="brokers",
            had=0,
            hint="name the chroot that zookeeper.connect of the brokers has; KRaft has no such "
            "upgrade",
        )
    return {id_: read_registration(id_, node.data) for id_, node in found.items()}


def _check_known(told: Mapping[int, MemberOption], registered: Mapping[int, object]) -> None:
    unknown = sorted(told.keys() - registered.keys())
    if unknown:
        raise UnknownBroker(
            f"registered brokers are {_named(sorted(registered))}; --member names {unknown[0]}",
            wanted="a broker that is registered",
            had=unknown[0],
            hint="wait until it has started again, or leave it out",
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
    lines.append(f"  not done: {_named(advice.waiting)}")
    if advice.unknown:
        lines.append(f"  not known, tell it with --member: {_named(advice.unknown)}")
    return lines


def _named(brokers: Sequence[int]) -> str:
    more = f" and {len(brokers) - SHOWN} more" if len(brokers) > SHOWN else ""
    return f"{', '.join(map(str, brokers[:SHOWN]))}{more}"


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


def _document(members: Sequence[UpgradeMember], advice: UpgradeAdvice) -> dict[str, Any]:
    from rackwise.core.wire.upgrade import STEPS as TO_DO

    return {
        "format": FORMAT,
        "target": advice.target,
        "wanted_version": advice.wanted_version,
        "step": advice.step,
        "to_do": None if advice.step is None else TO_DO[advice.step],
        "waiting": list(advice.waiting),
        "unknown": list(advice.unknown),
        "brokers": [
            {
                "id": each.registration.broker_id,
                "version": each.registration.version,
                "software": each.software,
                "ibp": each.ibp,
                "rack": _rack(each),
                "endpoints": [str(endpoint) for endpoint in each.registration.endpoints],
            }
            for each in members
        ],
        "findings": [each.as_dict("hint") for each in advice.findings],
    }
