"""The commands of `rackwise broker-id`: list, assign, retire and clean up broker ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rackwise.cli.app import with_option_groups
from rackwise.cli.broker_id.acquire import acquire
from rackwise.cli.broker_id.adopt import adopt
from rackwise.cli.broker_id.options import (
    BrokerId,
    StoreOptions,
    Unasked,
    open_cluster,
    warn_of_problems,
)
from rackwise.cli.broker_id.show import show
from rackwise.cli.broker_id.watch import watch
from rackwise.cli.shell import Shell
from rackwise.core.errors import InvalidConfig
from rackwise.core.identity.nodes.store import TOPICS
from rackwise.core.identity.refusals import StoreCorrupt
from rackwise.core.text import counted

if TYPE_CHECKING:
    from rackwise.core.identity.operator.roster import Census, IdRow, UnreadableNode

By = Literal["scan", "watch"]

app = typer.Typer(
    help="Manage broker ids: a broker keeps its id after it loses its disk (KIP-426).",
    rich_markup_mode=None,
)
app.command()(acquire)
app.command()(show)


@app.command("list")
@with_option_groups()
def list_ids(
    context: typer.Context,
    *,
    options: StoreOptions,
) -> int:
    """List every id with its keys, registration, claim, owner, replicas and time missing.

    Writes nothing. Exit codes: 0 done, 1 error, 4 rejected.
    """
    shell: Shell = context.obj
    from rackwise.cli.broker_id import documents, text

    census, rows = _read_rows(shell, options, topics=True, unasked="warn")
    if shell.is_json:
        shell.document(
            documents.IdsDocument(
                now_ms=census.now_ms,
                ids=documents.id_documents(rows),
                problems=documents.problem_documents(census.problems),
            )
        )
    else:
        shell.text(text.rows_text(rows, empty="no id is known"))
    return 0


@app.command()
@with_option_groups()
def missing(
    context: typer.Context,
    by: Annotated[
        By,
        typer.Option(
            help="Read all topics now (scan), or use the ids that broker-id watch recorded."
        ),
    ] = "scan",
    *,
    options: StoreOptions,
) -> int:
    """List known ids that are neither registered nor retired.

    Known ids are those that replicas use or that broker-id watch recorded. Writes nothing. Exit
    codes: 0 no id is missing, 2 ids are missing, 1 error, 4 rejected.
    """
    shell: Shell = context.obj
    from rackwise.cli.broker_id import documents, text

    census, rows = _read_rows(shell, options, topics=by == "scan", unasked="reject")
    if by == "scan":
        _check_topics(census)
    rows = tuple(row for row in rows if row.is_missing)
    if shell.is_json:
        shell.document(
            documents.MissingIdsDocument(
                now_ms=census.now_ms,
                ids=documents.id_documents(rows),
                problems=documents.problem_documents(census.problems),
            )
        )
    else:
        shell.text(text.rows_text(rows, empty="no id is missing"))
    return 2 if rows else 0


@app.command()
@with_option_groups()
def assign(
    context: typer.Context,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The key of the host.")],
    id: BrokerId,
    force: Annotated[
        bool, typer.Option("--force", help="Remove the mapping of another key to this id.")
    ] = False,
    *,
    options: StoreOptions,
) -> int:
    """Map a key to an id: the host with this key takes the id at its next start.

    The command is rejected while a broker with another key holds the id. Exit codes: 0 written, 1
    error, 4 rejected.
    """
    shell: Shell = context.obj
    from rackwise.adapters.launch import operator
    from rackwise.cli.broker_id import documents, text
    from rackwise.core.identity.nodes.keys import check_key

    check_key(key, allow_unstable=True)
    with open_cluster(shell, options, read_only=False, unasked="warn") as (
        opened_store,
        view,
    ):
        done = operator.assign(
            opened_store,
            view,
            key,
            id,
            force=force,
            has_registrations=not options.is_kraft,
        )
    if shell.is_json:
        shell.document(documents.assigned_document(done))
    else:
        shell.text(text.assigned_text(done))
    return 0


app.command()(adopt)


@app.command()
@with_option_groups()
def retire(
    context: typer.Context,
    id: BrokerId,
    force: Annotated[
        bool,
        typer.Option("--force", help="Retire the id even if it has replicas."),
    ] = False,
    unregister: Annotated[
        bool, typer.Option("--unregister", help="Unregister the broker from a KRaft cluster, too.")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Put a retired id into use again.")] = False,
    *,
    options: StoreOptions,
) -> int:
    """Retire an id: delete its mappings, and never give it to a broker again.

    The command is rejected while the id is registered, claimed or used by replicas. Exit codes: 0
    done, 1 error, 4 rejected.
    """
    shell: Shell = context.obj
    from rackwise.cli.broker_id import documents, text

    _check_retire(force=force, unregister=unregister, undo=undo, is_kraft=options.is_kraft)
    from rackwise.adapters.launch import operator

    with open_cluster(shell, options, read_only=False, unasked="ignore" if undo else "reject") as (
        opened_store,
        view,
    ):
        if undo:
            done = operator.undo(opened_store, view, id)
        else:
            done = operator.retire(
                opened_store, view, id, force=force, has_registrations=not options.is_kraft
            )
        if unregister:
            from rackwise.adapters.kafka.broker_view import AdminView

            if isinstance(view, AdminView):
                view.unregister(id)
    if shell.is_json:
        document = documents.retired_document(done, is_retired=not undo, is_unregistered=unregister)
        shell.document(document)
    else:
        shell.text(text.retired_text(done, is_retired=not undo))
    return 0


@app.command()
@with_option_groups()
def gc(
    context: typer.Context,
    apply: Annotated[bool, typer.Option("--apply", help="Delete the listed mappings.")] = False,
    literal: Annotated[
        bool,
        typer.Option(
            "--literal", help="Apply the literal rule of KIP-426. It deletes live mappings."
        ),
    ] = False,
    *,
    options: StoreOptions,
) -> int:
    """List mappings whose id is in use by a broker with another key.

    Writes nothing without --apply. Exit codes: 0 none is left, 2 some are left, 1 error, 4
    rejected.
    """
    shell: Shell = context.obj
    from rackwise.adapters.launch import operator
    from rackwise.cli.broker_id import documents, text

    problems: dict[str, UnreadableNode] = {}
    if literal and options.is_kraft:
        raise _literal_without_registrations("--bootstrap-server")
    with open_cluster(
        shell, options, read_only=not apply, unasked="ignore" if literal else "reject"
    ) as (opened_store, view):
        if literal:
            if not options.sees_cluster(opened_store):
                raise _literal_without_registrations("a directory")
            shell.warn(
                "--literal compares the advertised host of a broker with the key; it deletes every "
                "mapping of a cluster that has only TLS or SASL listeners: omit --literal"
            )
            found = operator.garbage_literal(opened_store, apply=apply)
        else:
            found = operator.garbage(
                opened_store,
                view,
                apply=apply,
                has_registrations=not options.is_kraft,
                problems=problems,
            )
    warn_of_problems(shell, problems)
    if shell.is_json:
        document = documents.garbage_document(
            found, is_applied=apply, is_literal=literal, problems=problems
        )
        shell.document(document)
    else:
        shell.text(text.garbage_text(found, is_applied=apply))
    return 2 if any(not each.is_deleted for each in found) else 0


app.command()(watch)


@app.command()
@with_option_groups(without=("bootstrap_server", "command_config"))
def init(
    context: typer.Context,
    check: Annotated[
        bool, typer.Option("--check", help="Check the nodes and write nothing.")
    ] = False,
    *,
    options: StoreOptions,
) -> int:
    """Create the nodes of the identity store and their ACLs.

    Run it once per cluster, as the principal of the brokers. Without a login the nodes are open to
    any client that reaches ZooKeeper, which is a warning. Exit codes: 0 all nodes exist, 2 a node
    is missing or has another ACL, 1 error, 4 rejected.
    """
    shell: Shell = context.obj
    from rackwise.adapters.launch.views.stores import init_store, init_warnings, store_warnings
    from rackwise.cli.broker_id import documents, text

    url, config = options.url, options.config
    for warning in store_warnings(url, config):
        shell.warn(warning)
    parents = init_store(url, config, check=check)
    for warning in init_warnings(url, parents, config):
        shell.warn(warning)
    if shell.is_json:
        shell.document(documents.id_store_document(parents, is_checked=check))
    else:
        shell.text(text.parents_text(parents))
    return 2 if any(each.state in {"missing", "differs"} for each in parents) else 0


def _read_rows(
    shell: Shell, options: StoreOptions, *, topics: bool, unasked: Unasked
) -> tuple[Census, tuple[IdRow, ...]]:
    """Read the census, and make a row per id."""
    with open_cluster(shell, options, read_only=True, unasked=unasked) as (
        opened_store,
        view,
    ):
        from rackwise.adapters.launch.views.census import read_census
        from rackwise.core.identity.operator.roster import roster

        census = read_census(
            opened_store, view, topics=topics, sees_cluster=options.sees_cluster(opened_store)
        )
    warn_of_problems(shell, census.problems)
    return census, roster(census)


def _check_topics(census: Census) -> None:
    """Raise `StoreCorrupt` if a topic cannot be read: the used ids are then not all known."""
    unread = sorted(path for path in census.problems if path.startswith(TOPICS))
    if unread:
        raise StoreCorrupt(
            f"cannot tell which ids are missing: {counted(len(unread), 'topic')} cannot be read, "
            f"first {unread[0]}",
            wanted="every topic",
            had=census.problems[unread[0]].problem,
            where=unread[0],
            hint=f"{StoreCorrupt.remedy}, or use --by watch, which reads no topics",
        )


def _literal_without_registrations(had: str) -> InvalidConfig:
    return InvalidConfig(
        f"expected a store in ZooKeeper with --literal, got {had}: the literal rule reads "
        "/brokers/ids of the store, and brokers in KRaft mode do not write there",
        wanted="a store in ZooKeeper",
        had=had,
        hint="omit --literal",
    )


def _check_retire(*, force: bool, unregister: bool, undo: bool, is_kraft: bool) -> None:
    if undo and (force or unregister):
        raise InvalidConfig(
            "--undo cannot be combined with --force or --unregister",
            wanted="--undo",
            had="--force" if force else "--unregister",
            hint="omit --force and --unregister",
        )
    if unregister and not is_kraft:
        raise InvalidConfig(
            "--unregister needs --bootstrap-server: only KRaft keeps a stopped broker registered",
            wanted="--bootstrap-server",
            had=None,
            hint="omit --unregister in ZooKeeper mode",
        )
