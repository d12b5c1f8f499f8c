"""`rackwise broker-id show`: the nodes of one key or id, and a preview of `acquire`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from rackwise.cli.app import with_option_groups
from rackwise.cli.broker_id.options import (
    StoreOptions,
    open_cluster,
    warn_of_problems,
)
from rackwise.cli.shell import Shell
from rackwise.core.constants import GREATEST_ID
from rackwise.core.errors import InvalidConfig

if TYPE_CHECKING:
    from rackwise.core.identity.model import KeyMapping
    from rackwise.core.identity.operator.roster import Census, IdRow, UnreadableNode


@with_option_groups()
def show(
    context: typer.Context,
    key: Annotated[
        str | None, typer.Option(metavar="K", help="Show the nodes of this key.")
    ] = None,
    id: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, max=GREATEST_ID, help="Show the nodes of this id."),
    ] = None,
    *,
    options: StoreOptions,
) -> int:
    """Show every node about one key or id.

    With --server-properties it also shows what acquire would decide for that key. Writes nothing.
    Exit codes: 0 the nodes agree, 2 mapping, claim, registration and owner disagree, 1 error, 4
    rejected.
    """
    shell: Shell = context.obj
    from rackwise.cli.broker_id import documents, text

    if (key is None) == (id is None):
        raise InvalidConfig(
            "expected exactly one of --key and --id",
            wanted=1,
            had=0 if key is None else 2,
            hint="list every key and id with broker-id list",
        )
    with open_cluster(shell, options, read_only=True, unasked="warn") as (
        opened_store,
        view,
    ):
        from rackwise.adapters.launch.views.census import read_census
        from rackwise.adapters.launch.views.stores import mapping_writers
        from rackwise.core.identity.operator.roster import disagreements

        census = read_census(opened_store, view, sees_cluster=options.sees_cluster(opened_store))
        mapping, rows = _select(census, key, id)
        writers = None
        if key is not None:
            writers = mapping_writers(opened_store, options.url, options.config, key)
        decision = None
        if key is not None and options.server_properties is not None:
            from rackwise.adapters.launch.broker.server_properties import read_server_properties
            from rackwise.adapters.launch.preview import preview_decision

            properties = read_server_properties(options.server_properties)
            decision = preview_decision(opened_store, view, properties, key)
    conflicts = tuple(each for row in rows for each in disagreements(row))
    problems = _problems_of(census, key, rows)
    warn_of_problems(shell, problems)
    if shell.is_json:
        shell.document(
            documents.shown_id_document(
                rows, conflicts, mapping, decision, key=key, writers=writers, problems=problems
            )
        )
    else:
        shell.text(text.show_text(rows, conflicts, mapping, decision, key=key, writers=writers))
    return 2 if conflicts or problems else 0


def _select(
    census: Census, key: str | None, number: int | None
) -> tuple[KeyMapping | None, tuple[IdRow, ...]]:
    """Select the mapping of the key, and the rows of ids that it maps, claims or owns."""
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


def _problems_of(
    census: Census, key: str | None, rows: tuple[IdRow, ...]
) -> Mapping[str, UnreadableNode]:
    """Select the unreadable nodes of this key or these ids."""
    names = {key, *(str(row.id) for row in rows), *(name for row in rows for name in row.keys)}
    return {
        path: each
        for path, each in census.problems.items()
        if path.rpartition("/")[2] in names or "/topics" in path
    }
