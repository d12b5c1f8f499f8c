"""`rackwise racks`: writes the racks of addresses and subnets, from Kubernetes or a cloud."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from rackwise.cli.app import reject_combined, with_option_groups
from rackwise.cli.racks.options import TableOptions, ZoneOptions, read_input, write_addresses
from rackwise.cli.shell import Shell, installed
from rackwise.core.errors import InvalidAddresses

if TYPE_CHECKING:
    from rackwise.core.inventory.kubernetes import KubernetesListing

ZONE_LABEL = "topology.kubernetes.io/zone"

app = typer.Typer(
    help="Write the racks of addresses and subnets, from Kubernetes or a cloud.",
    rich_markup_mode=None,
)


@app.command()
@with_option_groups()
def kubernetes(
    context: typer.Context,
    zones: ZoneOptions,
    table: TableOptions,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE|-]",
            help="Output of `kubectl get nodes,pods -A -o json`. [default: ask the cluster]",
        ),
    ] = None,
    kube_context: Annotated[
        str | None,
        typer.Option("--context", metavar="NAME", help="Use this context of the kubeconfig."),
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="List the pods of this namespace only."),
    ] = None,
    label: Annotated[
        str, typer.Option(metavar="NAME", help="Take racks from this label of nodes.")
    ] = ZONE_LABEL,
) -> int:
    """Write the rack and the workload of each pod address, with the times of the pod.

    Reads only the cluster. Exit codes: 0 written, 1 error.
    """
    shell: Shell = context.obj
    from rackwise.core.inventory.kubernetes import (
        InventoryRows,
        is_of_namespace,
        kubernetes_rows,
    )

    if file is not None:
        reject_combined(
            "FILE",
            ["--context"] if kube_context is not None else [],
            hint="omit FILE to ask the cluster",
        )
        data, where = read_input(shell, file, InvalidAddresses)
        listing = _of_file(data, where, namespace)
    else:
        listing = _of_cluster(shell, kube_context, namespace)
    found = kubernetes_rows(listing, label=label)
    rows = InventoryRows(rows=zones.convert(shell, found.rows), notes=found.notes)
    if namespace is None:
        return write_addresses(shell, rows, table)
    return write_addresses(
        shell, rows, table, is_listed=partial(is_of_namespace, namespace=namespace)
    )


def _of_file(data: bytes, where: str, namespace: str | None) -> KubernetesListing:
    from dataclasses import replace

    from rackwise.adapters.files.tables.kubernetes import parse_kubernetes

    listing = parse_kubernetes(data, where=where)
    if namespace is None:
        return listing
    return replace(listing, pods=[pod for pod in listing.pods if pod.namespace == namespace])


def _of_cluster(shell: Shell, context: str | None, namespace: str | None) -> KubernetesListing:
    with installed("kubernetes", "read a Kubernetes cluster"):
        from rackwise.adapters.kubernetes import open_kubernetes, read_kubernetes
    with shell.progress("listing nodes and pods"):
        return read_kubernetes(open_kubernetes(context), namespace=namespace)
