"""`rackwise doctor`: finds why clients read across racks and says which settings to change."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rackwise.cli.app import with_option_groups
from rackwise.cli.shell import Shell
from rackwise.cli.source import (
    ClusterSource,
    Groups,
    Topics,
    connected,
    select_topics,
    utc_now,
)
from rackwise.core.errors import InvalidConfig, MissingDependency
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from rackwise.adapters.kafka import KafkaAdminClient
    from rackwise.cli.audit.documents import DoctorDocument
    from rackwise.core.fetch_diagnosis import GroupBest, ReadingFacts
    from rackwise.core.findings import FindingList
    from rackwise.core.model import Cluster, Group

PROBE_PARTITIONS = 20
DOUBT_S = 5.0
"""Followers fetch twice a second (`replica.fetch.wait.max.ms`): a new leader knows them by then."""
ASK_EVERY_S = 0.5
BEST = "reading-best"
TOPICS_LEFT_OUT = "--topics excludes other topics that the group reads"
FILE_HAS_NONE = "not in a snapshot; use --bootstrap-server to ask the brokers"
NO_GROUPS = "the snapshot has no groups; take it with rackwise snapshot"


@with_option_groups()
def doctor(
    context: typer.Context,
    source: ClusterSource,
    group: Groups = None,
    client_rack: Annotated[
        list[str] | None,
        typer.Option(
            metavar="R", help="Also check a client that has this client.rack. May be repeated."
        ),
    ] = None,
    topics: Topics = None,
    probe: Annotated[
        bool, typer.Option("--probe", help="Ask leaders which replica a client should read.")
    ] = False,
    probe_partitions: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help=f"Probe this many partitions per client rack. [default: {PROBE_PARTITIONS}]",
        ),
    ] = None,
) -> int:
    """Find why clients do not read from their own rack: brokers, clients or groups.

    Reads only; joins no group and commits no offset. Exit codes: 0 no finding, 2 findings, 1 error,
    4 missing authorization.
    """
    shell: Shell = context.obj
    if probe_partitions is not None and not probe:
        raise InvalidConfig(
            "--probe-partitions requires --probe",
            wanted="--probe",
            had="--probe-partitions",
            hint="omit it, or give --probe",
        )
    request = _DiagnosisRequest(
        groups=tuple(group or ()),
        client_racks=tuple(client_rack or ()),
        topics=tuple(topics or ("*",)),
        probes=(probe_partitions or PROBE_PARTITIONS) if probe else 0,
    )
    request.check(has_brokers=source.bootstrap_server is not None)
    from rackwise.core.fetch_diagnosis import diagnose_reading

    if source.snapshot is not None:
        facts = _read_file(shell, source.snapshot, request)
    else:
        facts = _read_brokers(shell, source.bootstrap_server or "", source.command_config, request)
    findings = diagnose_reading(facts)
    for note in facts.cluster.notes:
        shell.warn(escaped(f"{note.kind}: {note.text}"))
    if shell.is_json:
        shell.document(_document(facts, findings))
    else:
        from rackwise.cli.audit.doctor_text import doctor_text

        name = facts.cluster.name or shell.cluster_name
        shell.text(doctor_text(facts, findings, name=name, has_color=shell.has_color()))
    return 2 if len(findings) else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _DiagnosisRequest:
    """What the options ask for."""

    groups: tuple[str, ...]
    client_racks: tuple[str, ...]
    topics: tuple[str, ...]
    probes: int
    """Partitions to probe per client rack; 0 probes nothing."""

    def check(self, *, has_brokers: bool) -> None:
        """Reject options that do not fit together. Raises `InvalidConfig`."""
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

    def select_groups(self, cluster: Cluster) -> Cluster:
        """Keep only the requested groups. Raises `GroupNotFound`."""
        if not self.groups:
            return cluster
        from rackwise.core.assignors import find_group

        names = dict.fromkeys(self.groups)
        return replace(cluster, groups=tuple(find_group(cluster.groups, name) for name in names))


def _read_file(shell: Shell, path: Path, request: _DiagnosisRequest) -> ReadingFacts:
    from rackwise.adapters import files
    from rackwise.core.fetch_diagnosis import ReadingFacts
    from rackwise.core.fetch_diagnosis.groups import GROUP_RULES

    snapshot = files.read_snapshot(path, max_bytes=shell.max_input)
    chosen = request.select_groups(snapshot)
    cluster = select_topics(chosen, request.topics)
    best, not_read = _best(chosen)
    no_best = {
        group.group: TOPICS_LEFT_OUT
        for group in chosen.groups
        if not _reads(group, request.topics, every=False)
    }
    not_read |= dict.fromkeys(("reading-fetch-version", "reading-probe"), FILE_HAS_NONE)
    if not snapshot.groups:
        not_read |= dict.fromkeys(GROUP_RULES, NO_GROUPS)
    return ReadingFacts(
        cluster=cluster,
        client_racks=request.client_racks,
        best={name: each for name, each in best.items() if name not in no_best},
        no_best=no_best,
        not_read=not_read,
    )


def _reads(group: Group, globs: Sequence[str], *, every: bool) -> bool:
    """Whether all (or some) topics of a group match. A group that shows no topic matches."""
    topics = {topic for member in group.members for topic in member.topics or ()}
    matches = [any(fnmatchcase(topic, glob) for glob in globs) for topic in topics]
    return all(matches) if every else any(matches) or not matches


def _read_brokers(
    shell: Shell, bootstrap: str, command_config: Path | None, request: _DiagnosisRequest
) -> ReadingFacts:
    from rackwise.core.fetch_diagnosis import ReadingFacts

    with (
        connected(bootstrap, command_config) as admin,
        shell.progress("reading the cluster") as advance,
    ):
        from rackwise.adapters import kafka

        cluster = request.select_groups(
            kafka.read_cluster(
                admin,
                taken_at=utc_now(),
                topics=request.topics,
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
            if not _reads(group, request.topics, every=True)
        }
        best, not_read = _best(cluster, without=no_best)
        facts = ReadingFacts(
            cluster=cluster,
            client_racks=request.client_racks,
            fetch_versions=versions,
            best=best,
            no_best=no_best,
            not_read=not_read,
        )
        if not request.probes:
            why = {"reading-probe": "not requested; use --probe to ask the leaders"}
            return replace(facts, not_read=not_read | why)
        return _probe(admin, facts, request.probes, advance)


def _probe(
    admin: KafkaAdminClient, facts: ReadingFacts, limit: int, advance: Callable[[int], None]
) -> ReadingFacts:
    """Add the answers of leaders to the facts. Doubtful answers are asked for again for a while."""
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
    """Racks of --client-rack and of group members."""
    members = [member for group in facts.cluster.groups for member in group.members]
    return {*facts.client_racks, *(each.rack.text for each in members if each.rack is not None)}


def _best(
    cluster: Cluster, *, without: Collection[str] = ()
) -> tuple[dict[str, GroupBest], dict[str, str]]:
    """Return the best assignment per group as far as known, and per rule why it is not known."""
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


def _document(facts: ReadingFacts, findings: FindingList) -> DoctorDocument:
    from rackwise.cli.audit.documents import DoctorDocument
    from rackwise.cli.documents import cluster_fields, note_rows, reading_finding_rows

    cluster = facts.cluster
    return DoctorDocument(
        **cluster_fields(cluster),
        groups=len(cluster.groups),
        client_racks=tuple(sorted(_racks(facts))),
        probes=len(facts.probes),
        counts=findings.counts,
        findings=reading_finding_rows(findings),
        not_checked=findings.not_checked,
        notes=note_rows(cluster.notes),
    )
