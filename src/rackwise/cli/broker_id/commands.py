"""`rackwise broker-id`: who has which id, and the operator's word on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rackwise.cli.broker_id.acquire import acquire
from rackwise.cli.broker_id.options import (
    Bootstrap,
    BrokerId,
    CommandConfig,
    Place,
    ServerProperties,
    StoreConfigFile,
    StoreUrl,
    opened,
    tell_problems,
)
from rackwise.cli.broker_id.show import show
from rackwise.cli.broker_id.watch import watch
from rackwise.cli.shell import Shell
from rackwise.core.errors import InvalidConfig
from rackwise.core.identity.nodes.store import TOPICS
from rackwise.core.identity.refusals import StoreCorrupt
from rackwise.core.text import counted

if TYPE_CHECKING:
    from rackwise.core.identity.operator.roster import Census, IdRow

By = Literal["scan", "watch"]

app = typer.Typer(
    help="Which id a broker has: it comes back as itself after it lost its disk (KIP-426).",
    rich_markup_mode=None,
)
app.command()(acquire)
app.command()(show)


@app.command("list")
def list_ids(
    context: typer.Context,
    store: StoreUrl = None,
    store_config: StoreConfigFile = None,
    server_properties: ServerProperties = None,
    bootstrap_server: Bootstrap = None,
    command_config: CommandConfig = None,
) -> int:
    """List every id: keys, registration, claim, owner, replicas, since when it is missing.

    Writes nothing. Exit: 0, 1 error, 4 refused.
    """
    shell: Shell = context.obj
    from rackwise.cli.broker_id import text as form

    place = Place(
        store=store,
        store_config=store_config,
        server_properties=server_properties,
        bootstrap_server=bootstrap_server,
        command_config=command_config,
    )
    census, rows = _listed(shell, place, topics=True)
    if shell.is_json:
        shell.document(form.rows_document(form.IDS, rows, census.problems, census.now_ms))
    else:
        shell.text(form.rows_text(rows, nobody="no id is known"))
    return 0


@app.command()
def missing(
    context: typer.Context,
    by: Annotated[
        By, typer.Option(help="Read all topics now, or trust the ids that watch has seen.")
    ] = "scan",
    store: StoreUrl = None,
    store_config: StoreConfigFile = None,
    server_properties: ServerProperties = None,
    bootstrap_server: Bootstrap = None,
    command_config: CommandConfig = None,
) -> int:
    """List ids that are neither registered nor retired and that replicas use or watch has seen.

    Writes nothing. Exit: 0 none, 2 some, 1 error, 4 refused.
    """
    shell: Shell = context.obj
    from rackwise.cli.broker_id import text as form

    place = Place(
        store=store,
        store_config=store_config,
        server_properties=server_properties,
        bootstrap_server=bootstrap_server,
        command_config=command_config,
    )
    census, rows = _listed(shell, place, topics=by == "scan")
    if by == "scan":
        _check_topics(census)
    rows = tuple(row for row in rows if row.is_missing)
    if shell.is_json:
        shell.document(form.rows_document(form.MISSING, rows, census.problems, census.now_ms))
    else:
        shell.text(form.rows_text(rows, nobody="no id is missing"))
    return 2 if rows else 0


@app.command()
def assign(
    context: typer.Context,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The host's key.")],
    id: BrokerId,
    force: Annotated[
        bool, typer.Option("--force", help="Take it from the key that is mapped to it.")
    ] = False,
    store: StoreUrl = None,
    store_config: StoreConfigFile = None,
    server_properties: ServerProperties = None,
    bootstrap_server: Bootstrap = None,
    command_config: CommandConfig = None,
) -> int:
    """Map a key to an id: the next start of that host takes it.

    Refused while another key's broker has the id. Exit: 0 written, 1 error, 4 refused.
    """
    shell: Shell = context.obj
    from rackwise.cli.broker_id import text as form

    place = Place(
        store=store,
        store_config=store_config,
        server_properties=server_properties,
        bootstrap_server=bootstrap_server,
        command_config=command_config,
    )
    from rackwise.adapters.launch import operator
    from rackwise.core.identity.nodes.keys import check_key

    check_key(key, allow_unstable=True)
    with opened(shell, place, read_only=False) as (opened_store, view):
        done = operator.assign(
            opened_store,
            view,
            key,
            id,
            force=force,
            has_registrations=not place.is_kraft,
        )
    if shell.is_json:
        shell.document(form.assigned_document(done))
    else:
        shell.text(form.assigned_text(done))
    return 0


@app.command()
def retire(
    context: typer.Context,
    id: BrokerId,
    force: Annotated[
        bool, typer.Option("--force", help="Though replicas are still assigned to it.")
    ] = False,
    unregister: Annotated[
        bool, typer.Option("--unregister", help="KRaft: unregister the broker, too.")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take a retired id back.")] = False,
    store: StoreUrl = None,
    store_config: StoreConfigFile = None,
    server_properties: ServerProperties = None,
    bootstrap_server: Bootstrap = None,
    command_config: CommandConfig = None,
) -> int:
    """Give an id up: its mappings go, and nobody gets it any more.

    Refused while it is registered, claimed or used by replicas. Exit: 0 done, 1 error, 4 refused.
    """
    shell: Shell = context.obj
    from rackwise.cli.broker_id import text as form

    place = Place(
        store=store,
        store_config=store_config,
        server_properties=server_properties,
        bootstrap_server=bootstrap_server,
        command_config=command_config,
    )
    _check_retire(force=force, unregister=unregister, undo=undo, is_kraft=place.is_kraft)
    from rackwise.adapters.launch import operator

    with opened(shell, place, read_only=False) as (opened_store, view):
        if undo:
            done = operator.undo(opened_store, view, id)
        else:
            done = operator.retire(
                opened_store, view, id, force=force, has_registrations=not place.is_kraft
            )
        if unregister:
            from rackwise.adapters.kafka.broker_view import AdminView

            if isinstance(view, AdminView):
                view.unregister(id)
    if shell.is_json:
        document = form.retired_document(done, is_retired=not undo, is_unregistered=unregister)
        shell.document(document)
    else:
        shell.text(form.retired_text(done, is_retired=not undo))
    return 0


@app.command()
def gc(
    context: typer.Context,
    apply: Annotated[bool, typer.Option("--apply", help="Delete them.")] = False,
    literal: Annotated[
        bool,
        typer.Option("--literal", help="The KIP's rule to the letter; deletes live mappings."),
    ] = False,
    store: StoreUrl = None,
    store_config: StoreConfigFile = None,
    server_properties: ServerProperties = None,
    bootstrap_server: Bootstrap = None,
    command_config: CommandConfig = None,
) -> int:
    """List mappings that nobody needs: the id lives under another key.

    Writes nothing without --apply. Exit: 0 none is left, 2 some are, 1 error, 4 refused.
    """
    shell: Shell = context.obj
    from rackwise.cli.broker_id import text as form

    place = Place(
        store=store,
        store_config=store_config,
        server_properties=server_properties,
        bootstrap_server=bootstrap_server,
        command_config=command_config,
    )
    from rackwise.adapters.launch import operator

    problems: dict[str, str] = {}
    if literal:
        shell.warn(
            "--literal compares the host that a broker advertises with the key: on a cluster of "
            "TLS or SASL alone every mapping is garbage to it; leave it out"
        )
    with opened(shell, place, read_only=not apply) as (opened_store, view):
        if literal:
            found = operator.garbage_literal(opened_store, apply=apply)
        else:
            found = operator.garbage(
                opened_store,
                view,
                apply=apply,
                has_registrations=not place.is_kraft,
                problems=problems,
            )
    tell_problems(shell, problems)
    if shell.is_json:
        document = form.garbage_document(
            found, is_applied=apply, is_literal=literal, problems=problems
        )
        shell.document(document)
    else:
        shell.text(form.garbage_text(found, is_applied=apply))
    return 2 if any(not each.is_deleted for each in found) else 0


app.command()(watch)


@app.command()
def init(
    context: typer.Context,
    check: Annotated[bool, typer.Option("--check", help="Only look; writes nothing.")] = False,
    store: StoreUrl = None,
    store_config: StoreConfigFile = None,
    server_properties: ServerProperties = None,
) -> int:
    """Make the nodes that must be there, with their ACLs; once per cluster, as Kafka's principal.

    Exit: 0 all are there, 2 one is missing or has another ACL, 1 error, 4 refused.
    """
    shell: Shell = context.obj
    from rackwise.adapters.launch.views.stores import init_store, read_store_config, store_warnings
    from rackwise.cli.broker_id import text as form

    url = Place(
        store=store,
        store_config=store_config,
        server_properties=server_properties,
        bootstrap_server=None,
        command_config=None,
    ).url
    config = None if store_config is None else read_store_config(store_config)
    for warning in store_warnings(url, config):
        shell.warn(warning)
    parents = init_store(url, config, check=check)
    if shell.is_json:
        shell.document(form.parents_document(parents, is_checked=check))
    else:
        shell.text(form.parents_text(parents))
    return 2 if any(each.state in {"missing", "differs"} for each in parents) else 0


def _listed(shell: Shell, place: Place, *, topics: bool) -> tuple[Census, tuple[IdRow, ...]]:
    """All that is known, and a row per id."""
    with opened(shell, place, read_only=True) as (opened_store, view):
        from rackwise.adapters.launch.views.census import read_census
        from rackwise.core.identity.operator.roster import roster

        census = read_census(opened_store, view, topics=topics)
    tell_problems(shell, census.problems)
    return census, roster(census)


def _check_topics(census: Census) -> None:
    """What replicas use is all known, or nobody can say that no id is missing."""
    unread = sorted(path for path in census.problems if path.startswith(TOPICS))
    if unread:
        raise StoreCorrupt(
            f"cannot tell which ids are missing: {counted(len(unread), 'topic')} cannot be read, "
            f"first {unread[0]}",
            wanted="every topic",
            had=census.problems[unread[0]],
            where=unread[0],
            hint=f"{StoreCorrupt.remedy}; --by watch does without topics",
        )


def _check_retire(*, force: bool, unregister: bool, undo: bool, is_kraft: bool) -> None:
    if undo and (force or unregister):
        raise InvalidConfig(
            "--undo goes with neither --force nor --unregister",
            wanted="--undo",
            had="--force" if force else "--unregister",
            hint="leave the other out",
        )
    if unregister and not is_kraft:
        raise InvalidConfig(
            "--unregister wants --bootstrap-server: only KRaft keeps a broker that is gone",
            wanted="--bootstrap-server",
            had=None,
            hint="leave --unregister out in ZooKeeper mode",
        )
