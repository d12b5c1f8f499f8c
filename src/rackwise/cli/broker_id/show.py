"""`rackwise broker-id show`: every node about one key or id, and what a start would decide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from rackwise.cli.broker_id.options import (
    Bootstrap,
    CommandConfig,
    Place,
    ServerProperties,
    StoreConfigFile,
    StoreUrl,
    opened,
    tell_problems,
)
from rackwise.cli.shell import Shell
from rackwise.core.errors import InvalidConfig
from rackwise.core.kafka_limits import GREATEST_ID

if TYPE_CHECKING:
    from rackwise.core.identity.model import KeyMapping
    from rackwise.core.identity.operator.roster import Census, IdRow


def show(
    context: typer.Context,
    key: Annotated[str | None, typer.Option(metavar="K", help="A host's key.")] = None,
    id: Annotated[
        int | None, typer.Option(metavar="N", min=0, max=GREATEST_ID, help="Or an id.")
    ] = None,
    store: StoreUrl = None,
    store_config: StoreConfigFile = None,
    server_properties: ServerProperties = None,
    bootstrap_server: Bootstrap = None,
    command_config: CommandConfig = None,
) -> int:
    """Show every node about one key or id; writes nothing.

    With --server-properties also what acquire would decide for that key. Exit: 0, or 2 where
    mapping, claim, registration and owner disagree; 1 error, 4 refused.
    """
    shell: Shell = context.obj
    from rackwise.cli.broker_id import text as form

    if (key is None) == (id is None):
        raise InvalidConfig(
            "expected exactly one of --key and --id",
            wanted=1,
            had=0 if key is None else 2,
            hint="broker-id list has every key and id",
        )
    place = Place(
        store=store,
        store_config=store_config,
        server_properties=server_properties,
        bootstrap_server=bootstrap_server,
        command_config=command_config,
    )
    with opened(shell, place, read_only=True) as (opened_store, view):
        from rackwise.adapters.launch.views.census import read_census
        from rackwise.core.identity.operator.roster import disagreements

        census = read_census(opened_store, view)
        mapping, rows = _about(census, key, id)
        decision = None
        if key is not None and server_properties is not None:
            from rackwise.adapters.launch.broker.server_properties import read_server_properties
            from rackwise.adapters.launch.preview import preview_decision

            properties = read_server_properties(server_properties)
            decision = preview_decision(opened_store, view, properties, key)
    told = tuple(each for row in rows for each in disagreements(row))
    problems = _about_these(census, key, rows)
    tell_problems(shell, problems)
    if shell.is_json:
        shell.document(
            form.show_document(rows, told, mapping, decision, key=key, problems=problems)
        )
    else:
        shell.text(form.show_text(rows, told, mapping, decision, key=key))
    return 2 if told or problems else 0


def _about(
    census: Census, key: str | None, number: int | None
) -> tuple[KeyMapping | None, tuple[IdRow, ...]]:
    """The key's mapping, and the rows of the ids that it, its claims or its broker has."""
    from rackwise.core.identity.operator.roster import roster, row_of

    if number is not None:
        return None, (row_of(census, number),)
    mapping = next((each for each in census.mappings if each.key == key), None)
    rows = tuple(
        row
        for row in roster(census)
        if key in row.keys
        or (row.claim is not None and row.claim.key == key)
        or (row.owner is not None and row.owner.key == key)
    )
    return mapping, rows


def _about_these(census: Census, key: str | None, rows: tuple[IdRow, ...]) -> Mapping[str, str]:
    """Nodes that cannot be read, of this key or these ids."""
    names = {key, *(str(row.id) for row in rows), *(name for row in rows for name in row.keys)}
    return {
        path: text
        for path, text in census.problems.items()
        if path.rpartition("/")[2] in names or "/topics" in path
    }
