"""Rows of an address table from the nodes and pods of a Kubernetes cluster.

The rack of a pod is a label of its node, `topology.kubernetes.io/zone` unless another is given. Its
owner is `namespace/workload`, where the workload is what controls the pod:

```
controlled by          owner                                                        example
ReplicaSet             its Deployment: the name without the hash, if the pod's      shop/cart
                       label pod-template-hash is that hash; else its own name
Job                    its CronJob, if the listing has the Job; else its own name   shop/report
another object         its name (StatefulSet, DaemonSet, StrimziPodSet, ..)         kafka/broker
nothing, or a Node     the name of the pod                                          shop/debug
```

A pod on the host network has the address of its node. Several such pods share it, so they get no
rows: the row of the node has no owner. That row also covers traffic that a node sends for its pods
under its own address (masquerading).

A pod that has finished no longer has its address, although Kubernetes still shows it: its row ends
when its last container ended. If that is not known, the pod gets no row.

What this does not do: read a cluster or a file; guess the rack of a node without the label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.core.inventory.addresses import AddressRow
from rackwise.core.inventory.zones import ZONE_LABEL
from rackwise.core.racks import Rack
from rackwise.core.text import counted, escaped, names_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

FINISHED = frozenset({"Succeeded", "Failed"})
"""Phases of pods that have given their address back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesNode:
    """A node."""

    name: str
    labels: Mapping[str, str]
    addresses: tuple[str, ...]
    """Its addresses of the type InternalIP."""
    created: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Controller:
    """The object that controls a pod or a job."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesPod:
    """A pod."""

    namespace: str
    name: str
    node: str | None
    """None until it is scheduled."""
    addresses: tuple[str, ...]
    has_host_network: bool
    controller: Controller | None
    template_hash: str | None
    """Its label `pod-template-hash`."""
    phase: str
    start: datetime | None
    finished: datetime | None
    """When its last container ended; None if one runs or if it is not known."""

    @property
    def text(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesListing:
    """What a listing contains."""

    nodes: Sequence[KubernetesNode]
    pods: Sequence[KubernetesPod]
    cron_jobs: Mapping[tuple[str, str], str]
    """(namespace, name of a Job) -> name of its CronJob."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InventoryRows:
    """Rows, and what got none."""

    rows: tuple[AddressRow, ...]
    notes: tuple[str, ...] = ()
    """Sentences about what has no row, and why."""


def kubernetes_rows(listing: KubernetesListing, *, label: str = ZONE_LABEL) -> InventoryRows:
    """The rows of nodes and pods. `label`: the label of nodes whose value is the rack."""
    racks = {
        node.name: Rack(node.labels[label]) for node in listing.nodes if node.labels.get(label)
    }
    rows = [
        AddressRow(
            address=address, rack=racks[node.name], start=node.created, where=f"node {node.name}"
        )
        for node in listing.nodes
        if node.name in racks
        for address in node.addresses
    ]
    waiting: list[str] = []
    unknown: list[str] = []
    lost: list[str] = []
    for pod in listing.pods:
        if pod.has_host_network:
            continue
        if pod.phase in FINISHED and pod.finished is None:
            if pod.addresses:
                lost.append(pod.text)
        elif pod.node is None or not pod.addresses:
            waiting.append(pod.text)
        elif pod.node not in racks:
            unknown.append(pod.text)
        else:
            rows += _pod_rows(pod, racks[pod.node], owner_of(pod, listing.cron_jobs))
    without = [node.name for node in listing.nodes if node.name not in racks]
    return InventoryRows(
        rows=tuple(rows), notes=tuple(_notes(label, without, unknown, waiting, lost))
    )


def owner_of(pod: KubernetesPod, cron_jobs: Mapping[tuple[str, str], str]) -> str:
    """`namespace/workload` of a pod."""
    controller, name = pod.controller, pod.name
    if controller is not None and controller.kind != "Node":
        name = controller.name
        if controller.kind == "ReplicaSet" and pod.template_hash:
            name = name.removesuffix(f"-{pod.template_hash}") or name
        if controller.kind == "Job":
            name = cron_jobs.get((pod.namespace, name), name)
    return f"{pod.namespace}/{name}"


def is_of_namespace(row: AddressRow, namespace: str) -> bool:
    """Whether a listing of one namespace contains such a row; it always has all nodes."""
    return not row.owner or row.owner.startswith(f"{namespace}/")


def _pod_rows(pod: KubernetesPod, rack: Rack, owner: str) -> Iterator[AddressRow]:
    for address in pod.addresses:
        yield AddressRow(
            address=address,
            rack=rack,
            owner=owner,
            start=pod.start,
            end=pod.finished if pod.phase in FINISHED else None,
            where=f"pod {pod.text}",
        )


def _notes(
    label: str,
    nodes: Sequence[str],
    unknown: Sequence[str],
    waiting: Sequence[str],
    lost: Sequence[str],
) -> Iterable[str]:
    if nodes:
        yield (
            f"{_count(nodes, 'node')} without the label {escaped(label)}: their rack is not known, "
            f"so they and their pods have no row; set the label, or name another with --label"
        )
    if unknown:
        yield f"{_count(unknown, 'pod')} on nodes of unknown rack: no row"
    if waiting:
        yield f"{_count(waiting, 'pod')} without an address or a node: no row"
    if lost:
        yield f"{_count(lost, 'pod')} finished at an unknown time: no row"


def _count(names: Sequence[str], noun: str) -> str:
    """`2 pods (shop/a, shop/b)`."""
    return f"{counted(len(names), noun)} ({names_text(names)})"
