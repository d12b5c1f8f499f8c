"""`rackwise broker-id adopt`: the mappings of brokers that run without acquire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rackwise.cli.app import with_option_groups
from rackwise.cli.broker_id.options import StoreOptions, open_cluster, warn_of_problems
from rackwise.cli.shell import Shell
from rackwise.core.constants import GREATEST_ID
from rackwise.core.errors import InvalidConfig, PartialFailure

if TYPE_CHECKING:
    from rackwise.core.identity.operator.roster import UnreadableNode


@with_option_groups()
def adopt(
    context: typer.Context,
    ids: Annotated[
        list[int] | None,
        typer.Argument(metavar="[ID]...", min=0, max=GREATEST_ID, help="The brokers to adopt."),
    ] = None,
    all_brokers: Annotated[
        bool, typer.Option("--all", help="Adopt every registered broker.")
    ] = False,
    key: Annotated[
        str,
        typer.Option(
            "--key",
            metavar="TEMPLATE",
            help="Make the key of each broker from {host}, {label} (the first label of the host), "
            "{port} and {broker.id}. It must be the key that acquire uses on that host.",
        ),
    ] = "{host}",
    listener: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Take host and port from this listener. Without it all listeners must agree.",
        ),
    ] = None,
    allow_key: Annotated[
        bool,
        typer.Option("--allow-key", help="Accept keys that look as if they change with restarts."),
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Replace mappings of the same key or of the same id, too."),
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Show what would be written and write nothing.")
    ] = False,
    *,
    options: StoreOptions,
) -> int:
    """Write the mappings of brokers that run without acquire. No broker is stopped.

    From then on such a broker keeps its id: it may lose its disk before its first start through
    acquire. Run it again after brokers are added. Exit codes: 0 every broker has its mapping and
    its owner, 2 a broker lacks one, 1 error, 3 it stopped after some mappings were written, 4
    rejected before the first write.
    """
    shell: Shell = context.obj
    from rackwise.adapters.launch import operator
    from rackwise.cli.broker_id import documents, text
    from rackwise.core.identity.operator.key_template import KeyTemplate

    if bool(ids) == all_brokers:
        raise InvalidConfig(
            "expected ids or --all, got " + ("both" if all_brokers else "neither"),
            wanted="ID... or --all",
            had="both" if all_brokers else "neither",
            hint="use --all, and --check to see first what it writes",
        )
    template = KeyTemplate.parse(key, listener=listener, allow_unstable=allow_key)
    problems: dict[str, UnreadableNode] = {}
    stopped: PartialFailure | None = None
    with open_cluster(shell, options, read_only=check) as (opened_store, view):
        try:
            found = operator.adopt(
                opened_store,
                view,
                template,
                ids=ids or None,
                force=force,
                apply=not check,
                has_registrations=not options.is_kraft,
                problems=problems,
            )
        except PartialFailure as error:
            stopped, found = error, operator.adoptions_of(error)
    warn_of_problems(shell, problems)
    if shell.is_json:
        shell.document(documents.adopted_document(found, is_checked=check))
    else:
        shell.text(text.adopted_text(found))
    if stopped is not None:
        raise stopped
    return 2 if any(each.state in {"free", "rejected"} for each in found) else 0
