"""`rackwise doctor`: why clients read across racks, and what to set."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rackwise.cli.installed import installed
from rackwise.cli.shell import Shell
from rackwise.cli.source import (
    ClientConfig,
    Server,
    SnapshotFile,
    check_source,
    only_topics,
    utc_now,
)
from rackwise.core.errors import InvalidConfig, MissingDependency
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from rackwise.adapters.kafka import KafkaAdminClient
    from rackwise.core.fetch_diagnosis import GroupBest, ReadingFacts
    from rackwise.core.findings import FindingList
    from rackwise.core.model import Cluster, Group

FORMAT = "rackwise.doctor/1"
PROBE_PARTITIONS = 20
DOUBT_S = 5.0
"""Followers fetch twice a second (`replica.fetch.wait.max.ms`): by then a new leader knows them."""
ASK_EVERY_S = 0.5
BEST = "reading-best"
TOPICS_LEFT_OUT = "--topics leaves out what the group reads beside"
FILE_HAS_NONE = "a snapshot does not hold it; --bootstrap-server asks the brokers"
NO_GROUPS = "the snapshot holds no groups; rackwise snapshot --groups takes them along"


def doctor(
    context: typer.Context,
    snapshot: SnapshotFile = None,
    bootstrap_server: Server = None,
    client_config: ClientConfig = None,
    group: Annotated[
        list[str] | None, typer.Option(metavar="G", help="Only this group; repeatable.")
    ] = None,
    client_rack: Annotated[
        list[str] | None,
        typer.Option(metavar="R", help="A client.rack that is in use; repeatable."),
    ] = None,
    topics: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Only these topics; repeatable.")
    ] = None,
    probe: Annotated[
        bool, typer.Option("--probe", help="Ask leaders which replica they send a client to.")
    ] = False,
    probe_partitions: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help=f"How many of them for each client rack; {PROBE_PARTITIONS} by default.",
        ),
    ] = None,
) -> int:
    """Find what keeps clients from reading in their own rack: brokers, clients, groups.

    Reads only; joins no group, commits no offset. Exit: 0 no finding, 2 there are some, 1 error,
    4 the principal lacks a right.
    """
    shell: Shell = context.obj
    check_source(snapshot, bootstrap_server, client_config)
    if probe_partitions is not None and not probe:
        raise InvalidConfig(
            "--probe-partitions requires --probe",
            wanted="--probe",
            had="--probe-partitions",
            hint="omit it, or give --probe",
        )
    wishes = _Wishes(
        groups=tuple(group or ()),
        client_racks=tuple(client_rack or ()),
        topics=tuple(topics or ("*",)),
        probes=(probe_partitions or PROBE_PARTITIONS) if probe else 0,
    )
    wishes.check(has_brokers=bootstrap_server is not None)
    from rackwise.core.fetch_diagnosis import diagnose_reading

    if snapshot is not None:
        facts = _facts_of_file(shell, snapshot, wishes)
    else:
        facts = _facts_of_brokers(shell, bootstrap_server or "", client_config, wishes)
    findings = diagnose_reading(facts)
    for note in facts.cluster.notes:
        shell.warn(escaped(f"{note.kind}: {note.text}"))
    if shell.is_json:
        shell.document(_document(facts, findings))
    else:
        from rackwise.cli.audit.doctor_text import doctor_text

        shell.text(doctor_text(facts, findings, has_color=shell.has_color()))
    return 2 if len(findings) else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wishes:
    """What is asked for; `probes` 0 is no probe at all."""

    groups: tuple[str, ...]
    client_racks: tuple[str, ...]
    topics: tuple[str, ...]
    probes: int

    def check(self, *, has_brokers: bool) -> None:
        """Refuse what cannot be: `InvalidConfig`."""
        if self.probes and not has_brokers:
            raise InvalidConfig(
                "--probe requires --bootstrap-server",
                wanted="--bootstrap-server",
                had="--snapshot",
                hint="omit --probe, or give --bootstrap-server instead of --snapshot",
            )
        if "" in self.client_racks:
            raise InvalidConfig(
                "invalid --client-rack: expected a rack, got nothing",
                wanted="a client rack",
                had="",
                hint="omit --client-rack: an empty client.rack is no rack",
            )

    def chosen(self, cluster: Cluster) -> Cluster:
        """The cluster with the wanted groups alone. Raises `GroupNotFound`."""
        if not self.groups:
            return cluster
        from rackwise.core.assignors import named_group

        wanted = dict.fromkeys(self.groups)
        return replace(cluster, groups=tuple(named_group(cluster.groups, name) for name in wanted))


def _facts_of_file(shell: Shell, path: Path, wishes: _Wishes) -> ReadingFacts:
    from rackwise.adapters import files
    from rackwise.core.fetch_diagnosis import ReadingFacts
    from rackwise.core.fetch_diagnosis.groups import GROUP_RULES

    read = files.read_snapshot(path, max_bytes=shell.max_input)
    chosen = wishes.chosen(read)
    cluster = only_topics(chosen, wishes.topics)
    best, not_read = _best(chosen)
    no_best = {
        group.group: TOPICS_LEFT_OUT
        for group in chosen.groups
        if not _reads(group, wishes.topics, every=False)
    }
    not_read |= dict.fromkeys(("reading-fetch-version", "reading-probe"), FILE_HAS_NONE)
    if not read.groups:
        not_read |= dict.fromkeys(GROUP_RULES, NO_GROUPS)
    return ReadingFacts(
        cluster=cluster,
        client_racks=wishes.client_racks,
        best={name: each for name, each in best.items() if name not in no_best},
        no_best=no_best,
        not_read=not_read,
    )


def _reads(group: Group, globs: Sequence[str], *, every: bool) -> bool:
    """Whether all topics of a group match, or some; a group that shows none is no exception."""
    topics = {topic for member in group.members for topic in member.topics or ()}
    matches = [any(fnmatchcase(topic, glob) for glob in globs) for topic in topics]
    return all(matches) if every else any(matches) or not matches


def _facts_of_brokers(
    shell: Shell, bootstrap: str, client_config: Path | None, wishes: _Wishes
) -> ReadingFacts:
    with installed("kafka", "talk to brokers"):
        from rackwise.adapters import kafka
    from rackwise.core.fetch_diagnosis import ReadingFacts

    settings = kafka.read_client_config(client_config) if client_config is not None else {}
    with (
        closing(kafka.connect(bootstrap, settings)) as admin,
        shell.progress("reading the cluster") as advance,
    ):
        cluster = wishes.chosen(
            kafka.read_cluster(
                admin,
                taken_at=utc_now(),
                topics=wishes.topics,
                sizes=False,
                groups=True,
                progress=advance,
            )
        )
        live = [broker.id for broker in cluster.brokers if broker.is_live]
        versions = kafka.read_fetch_versions(admin, live, progress=advance)
        no_best = {
            group.group: TOPICS_LEFT_OUT
            for group in cluster.groups
            if not _reads(group, wishes.topics, every=True)
        }
        best, not_read = _best(cluster, without=no_best)
        facts = ReadingFacts(
            cluster=cluster,
            client_racks=wishes.client_racks,
            fetch_versions=versions,
            best=best,
            no_best=no_best,
            not_read=not_read,
        )
        if not wishes.probes:
            why = {"reading-probe": "not asked for; --probe asks the leaders"}
            return replace(facts, not_read=not_read | why)
        return _probed(admin, facts, wishes.probes, advance)


def _probed(
    admin: KafkaAdminClient, facts: ReadingFacts, limit: int, advance: Callable[[int], None]
) -> ReadingFacts:
    """The facts with what leaders answer; doubtful answers are asked for again for a while."""
    from rackwise.adapters.kafka import ask_leaders
    from rackwise.core.fetch_diagnosis import doubtful_questions, probe_questions

    cluster = facts.cluster
    questions = probe_questions(cluster, _racks(facts), limit=limit)
    probed = replace(facts, probes=ask_leaders(admin, cluster, questions, progress=advance))
    deadline = time.monotonic() + DOUBT_S
    while (again := doubtful_questions(probed)) and time.monotonic() < deadline:
        time.sleep(ASK_EVERY_S)
        answers = {
            each.question: each for each in ask_leaders(admin, cluster, again, progress=advance)
        }
        probes = tuple(answers.get(each.question, each) for each in probed.probes)
        probed = replace(probed, probes=probes)
    return probed


def _racks(facts: ReadingFacts) -> set[str]:
    """Racks of clients that were named, and of members."""
    members = [member for group in facts.cluster.groups for member in group.members]
    return {*facts.client_racks, *(each.rack.text for each in members if each.rack is not None)}


def _best(
    cluster: Cluster, *, without: Collection[str] = ()
) -> tuple[dict[str, GroupBest], dict[str, str]]:
    """Group -> its best, as far as it is known; rule -> why it is not."""
    from rackwise.core.assignors import replica_racks
    from rackwise.core.fetch_diagnosis import group_best

    members = [member for group in cluster.groups for member in group.members]
    racks = replica_racks(cluster, {topic for each in members for topic in each.topics or ()})
    found: dict[str, GroupBest] = {}
    reasons: dict[str, str] = {}
    for group in cluster.groups:
        if group.group in without:
            continue
        try:
            best = group_best(group, racks)
        except MissingDependency as error:
            best, reasons[BEST] = None, f"{error.message}: {error.hint}"
        if best is not None:
            found[group.group] = best
    return found, reasons


def _document(facts: ReadingFacts, findings: FindingList) -> dict[str, Any]:
    cluster = facts.cluster
    return {
        "format": FORMAT,
        "cluster_id": cluster.cluster_id,
        "taken_at": cluster.taken_at,
        "source": cluster.source,
        "brokers": len(cluster.brokers),
        "topics": len(cluster.topics),
        "partitions": len(cluster.partitions),
        "groups": len(cluster.groups),
        "client_racks": sorted(_racks(facts)),
        "probes": len(facts.probes),
        "counts": dict(findings.counts),
        "findings": [finding.as_dict("group", "client_rack", "hint") for finding in findings],
        "not_checked": dict(findings.not_checked),
        "notes": [{"kind": note.kind, "text": note.text} for note in cluster.notes],
    }
