"""Nodes, pods and jobs from the lists of the Kubernetes API, as `kubectl get -o json` prints them.

A list is a `List` of objects that name their kinds, or a `PodList`, `NodeList` or `JobList`. Other
kinds in a `List` are ignored. Of an object, the fields that are declared here are read; all others
are ignored, because each version of Kubernetes adds some.

What this does not do: connect to a cluster (`adapters.kubernetes` does); decide racks and owners
(`core.inventory.kubernetes` does).

Source: the Kubernetes API, core/v1 Node and Pod, batch/v1 Job.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from rackwise.adapters.files.tables.listings import Address, Instant, open_codec
from rackwise.core.errors import InvalidAddresses
from rackwise.core.inventory.addresses import canonical_address, instant
from rackwise.core.inventory.kubernetes import (
    FINISHED,
    Controller,
    KubernetesListing,
    KubernetesNode,
    KubernetesPod,
)
from rackwise.core.json.declare import OMITTED, Key, NameText
from rackwise.core.json.faults import Fault, Faults, quoted
from rackwise.core.json.node import JsonNode
from rackwise.core.json.strict import parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

KINDS = ("Node", "Pod", "Job")
LISTS = {f"{kind}List": kind for kind in KINDS}
HINT = "write the file with `kubectl get nodes,pods -A -o json`"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerReference:
    """An object that another object belongs to."""

    kind: NameText
    name: NameText
    controller: Annotated[bool | None, OMITTED] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectMetadata:
    """What every object of Kubernetes has."""

    name: NameText
    namespace: Annotated[str | None, OMITTED] = None
    labels: Annotated[Mapping[str, str] | None, OMITTED] = None
    owners: Annotated[tuple[OwnerReference, ...] | None, OMITTED, Key("ownerReferences")] = None
    created: Annotated[Instant | None, OMITTED, Key("creationTimestamp")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeAddress:
    """An address of a node; `address` may be a host name."""

    type: str
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStatus:
    """The state of a node."""

    addresses: Annotated[tuple[NodeAddress, ...] | None, OMITTED] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeObject:
    """A Node."""

    metadata: ObjectMetadata
    status: Annotated[NodeStatus | None, OMITTED] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSpec:
    """What a pod should be."""

    node: Annotated[str | None, OMITTED, Key("nodeName")] = None
    has_host_network: Annotated[bool | None, OMITTED, Key("hostNetwork")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PodAddress:
    """One of the addresses of a pod."""

    ip: Annotated[Address | None, OMITTED] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerEnd:
    """The end of a container."""

    finished: Annotated[Instant | None, OMITTED, Key("finishedAt")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerState:
    """The state of a container; `terminated` is absent while it waits or runs."""

    terminated: Annotated[ContainerEnd | None, OMITTED] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerStatus:
    """A container of a pod."""

    state: Annotated[ContainerState | None, OMITTED] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PodStatus:
    """The state of a pod."""

    phase: Annotated[str | None, OMITTED] = None
    ip: Annotated[Address | None, OMITTED, Key("podIP")] = None
    ips: Annotated[tuple[PodAddress, ...] | None, OMITTED, Key("podIPs")] = None
    start: Annotated[Instant | None, OMITTED, Key("startTime")] = None
    containers: Annotated[tuple[ContainerStatus, ...] | None, OMITTED, Key("containerStatuses")] = (
        None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PodObject:
    """A Pod."""

    metadata: ObjectMetadata
    spec: PodSpec
    status: Annotated[PodStatus | None, OMITTED] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobObject:
    """A Job."""

    metadata: ObjectMetadata


@dataclass(frozen=True, slots=True, kw_only=True)
class ListMetadata:
    """What a list of the API has; `continue` is set if more pages follow."""

    continue_: Annotated[str | None, OMITTED] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectList:
    """A list of objects."""

    kind: str
    items: tuple[object, ...]
    metadata: Annotated[ListMetadata | None, OMITTED] = None


KUBERNETES = open_codec(
    OwnerReference,
    ObjectMetadata,
    NodeAddress,
    NodeStatus,
    NodeObject,
    PodSpec,
    PodAddress,
    ContainerEnd,
    ContainerState,
    ContainerStatus,
    PodStatus,
    PodObject,
    JobObject,
    ListMetadata,
    ObjectList,
)
OBJECTS = {"Node": NodeObject, "Pod": PodObject, "Job": JobObject}


def parse_kubernetes(data: bytes, *, where: str) -> KubernetesListing:
    """The nodes, pods and jobs of a list. Raises `InvalidAddresses`, also if it has no node."""
    listing = joined([parse_list(data, where=where)[0]])
    check_nodes(listing, where=where)
    return listing


def parse_list(data: bytes, *, where: str) -> tuple[KubernetesListing, str]:
    """The objects of one list, and the token of the page that follows; empty for the last page.

    Raises `InvalidAddresses`.
    """
    faults = Faults(where, InvalidAddresses, hint=HINT)
    root = JsonNode(parse(data, where=where, error=InvalidAddresses), faults)
    kind = root.value.get("kind") if isinstance(root.value, dict) else None
    if not isinstance(kind, str) or (kind != "List" and kind not in LISTS):
        raise faults.last(
            Fault(
                place="$.kind",
                sentence=f"expected a list of nodes and pods, got "
                f"{quoted(kind) if isinstance(kind, str) else 'no kind'}",
                wanted="List",
                had=kind,
                hint=HINT,
            )
        )
    document: ObjectList = KUBERNETES.form(ObjectList).read(root)
    found: dict[str, list[object]] = {name: [] for name in KINDS}
    for number, item in enumerate(document.items):
        node = root.at("items").at(number)
        own = LISTS.get(kind) or (item.get("kind") if isinstance(item, dict) else None)
        if isinstance(own, str) and own in OBJECTS:
            found[own].append(KUBERNETES.form(OBJECTS[own]).read(node))
        elif not isinstance(item, dict):
            node.wrong("an object")
    faults.raise_if_any()
    listing = KubernetesListing(
        nodes=[_node(each) for each in found["Node"] if isinstance(each, NodeObject)],
        pods=[_pod(each) for each in found["Pod"] if isinstance(each, PodObject)],
        cron_jobs=dict(_cron_jobs(each for each in found["Job"] if isinstance(each, JobObject))),
    )
    return listing, (document.metadata.continue_ or "") if document.metadata else ""


def joined(listings: Iterable[KubernetesListing]) -> KubernetesListing:
    """Several pages as one listing."""
    pages = list(listings)
    return KubernetesListing(
        nodes=[node for page in pages for node in page.nodes],
        pods=[pod for page in pages for pod in page.pods],
        cron_jobs={job: name for page in pages for job, name in page.cron_jobs.items()},
    )


def check_nodes(listing: KubernetesListing, *, where: str) -> None:
    """Check that a listing has nodes, without which no rack is known. Raises `InvalidAddresses`."""
    if not listing.nodes:
        raise Faults(where, InvalidAddresses).last(
            Fault(
                place="",
                sentence="expected at least one node, got none",
                wanted=1,
                had=0,
                hint=f"{HINT}: the rack of a pod is a label of its node",
            )
        )


def _node(found: NodeObject) -> KubernetesNode:
    addresses = (found.status.addresses if found.status else None) or ()
    internal = (canonical_address(each.address) for each in addresses if each.type == "InternalIP")
    return KubernetesNode(
        name=found.metadata.name,
        labels=found.metadata.labels or {},
        addresses=tuple(address for address in internal if address),
        created=_time(found.metadata.created),
    )


def _pod(found: PodObject) -> KubernetesPod:
    metadata, status = found.metadata, found.status or PodStatus()
    texts = [each.ip for each in status.ips or ()] or [status.ip]
    addresses = (canonical_address(text) for text in texts if text)
    controller = next((each for each in metadata.owners or () if each.controller), None)
    phase = status.phase or "Unknown"
    return KubernetesPod(
        namespace=metadata.namespace or "default",
        name=metadata.name,
        node=found.spec.node,
        addresses=tuple(address for address in addresses if address),
        has_host_network=bool(found.spec.has_host_network),
        controller=None
        if controller is None
        else Controller(kind=controller.kind, name=controller.name),
        template_hash=(metadata.labels or {}).get("pod-template-hash"),
        phase=phase,
        start=_time(status.start),
        finished=_finished(status) if phase in FINISHED else None,
    )


def _finished(status: PodStatus) -> datetime | None:
    ends = [
        _time(each.state.terminated.finished) if each.state and each.state.terminated else None
        for each in status.containers or ()
    ]
    known = [end for end in ends if end is not None]
    return max(known) if known and len(known) == len(ends) else None


def _cron_jobs(jobs: Iterable[JobObject]) -> Iterable[tuple[tuple[str, str], str]]:
    for job in jobs:
        for owner in job.metadata.owners or ():
            if owner.controller and owner.kind == "CronJob":
                yield (job.metadata.namespace or "default", job.metadata.name), owner.name


def _time(text: str | None) -> datetime | None:
    return None if text is None else instant(text)
