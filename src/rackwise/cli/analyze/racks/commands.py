"""`rackwise racks`: writes the racks of addresses and subnets, from Kubernetes or a cloud."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rackwise.cli.analyze.racks.options import (
    OutFile,
    TableOptions,
    ZoneOptions,
    read_input,
    write_addresses,
    write_table,
)
from rackwise.cli.app import with_option_groups
from rackwise.cli.shell import Shell, installed
from rackwise.cli.usage.combined import reject_combined
from rackwise.core.errors import InvalidAddresses
from rackwise.core.inventory.zones import ZONE_LABEL, ZoneForm
from rackwise.core.text import counted, names_text

if TYPE_CHECKING:
    from rackwise.core.inventory.kubernetes import KubernetesListing

Listing = Annotated[
    str, typer.Argument(metavar="FILE|-", help="The JSON that the command line of the cloud wrote.")
]

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
    from rackwise.core.inventory.kubernetes import is_of_namespace, kubernetes_rows

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
    rows = zones.convert(shell, found)
    if namespace is None:
        return write_addresses(shell, rows, table)
    return write_addresses(
        shell, rows, table, is_listed=partial(is_of_namespace, namespace=namespace)
    )


def _of_file(data: bytes, where: str, namespace: str | None) -> KubernetesListing:
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


@app.command()
def aws(
    context: typer.Context,
    file: Listing,
    as_: Annotated[
        ZoneForm,
        typer.Option("--as", help="Write racks as ids of zones, as MSK has them, or as names."),
    ] = "id",
    out: OutFile = None,
) -> int:
    """Write the zone of each subnet in the output of `aws ec2 describe-subnets`.

    Exit codes: 0 written, 1 error.
    """
    shell: Shell = context.obj
    from rackwise.adapters.files.tables.clouds.aws import parse_aws_subnets
    from rackwise.adapters.files.writing import csv_text
    from rackwise.cli.analyze.racks.documents import SubnetRowDocument, SubnetsDocument
    from rackwise.core.inventory.clouds import subnet_rows

    data, where = read_input(shell, file, InvalidAddresses)
    rows = subnet_rows(parse_aws_subnets(data, where=where), as_)
    document = SubnetsDocument(
        file=None if out is None else str(out),
        rows=tuple(SubnetRowDocument(cidr=str(row.network), rack=row.rack.text) for row in rows),
    )
    text = csv_text(["cidr", "rack"], [(str(row.network), row.rack.text) for row in rows])
    write_table(shell, out, text, document, counted(len(rows), "subnet"))
    return 0


@app.command()
@with_option_groups()
def gcp(context: typer.Context, file: Listing, zones: ZoneOptions, table: TableOptions) -> int:
    """Write the zone of each address in the output of `gcloud compute instances list`.

    A subnet of Google Cloud belongs to a region, so a list of subnets is rejected.
    Exit codes: 0 written, 1 error.
    """
    shell: Shell = context.obj
    from rackwise.adapters.files.tables.clouds.gcp import parse_gcp_instances
    from rackwise.core.inventory.clouds import machine_rows

    data, where = read_input(shell, file, InvalidAddresses)
    found = machine_rows(parse_gcp_instances(data, where=where))
    rows = zones.convert(shell, found)
    return write_addresses(shell, rows, table)


@app.command()
@with_option_groups()
def azure(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="NICS", help="Output of `az network nic list`.")],
    zones: ZoneOptions,
    table: TableOptions,
    vms: Annotated[Path, typer.Option(metavar="FILE", help="Output of `az vm list`.")],
) -> int:
    """Write the zone of each address in the output of `az network nic list`.

    A virtual network of Azure spans all zones, so a list of them is rejected. The number of a zone
    means another place in another subscription: convert it by --zones.
    Exit codes: 0 written, 1 error.
    """
    shell: Shell = context.obj
    from rackwise.adapters.files.tables.clouds.azure import parse_azure
    from rackwise.core.inventory.clouds import machine_rows

    nics, where = read_input(shell, file, InvalidAddresses)
    data, vms_where = read_input(shell, str(vms), InvalidAddresses)
    machines, missing = parse_azure(nics, data, nics_where=where, vms_where=vms_where)
    found = machine_rows(machines)
    notes = found.notes
    if missing:
        names = names_text(missing)
        notes += (
            f"{counted(len(missing), 'interface')} of machines not in --vms ({names}): no row",
        )
    rows = zones.convert(shell, replace(found, notes=notes))
    return write_addresses(shell, rows, table)
