"""`rackwise placers`: lists the built-in placers and those of installed packages."""

from __future__ import annotations

from dataclasses import MISSING, Field
from typing import TYPE_CHECKING, Any

import typer

from rackwise.cli.placer_options import BUILT_IN, NOTHING, find_placer, placer_names
from rackwise.cli.shell import Shell
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from rackwise.cli.place.documents import PlacerDocument
    from rackwise.cli.placer_options import AvailablePlacer


def placers(context: typer.Context) -> int:
    """List the placers that --placer accepts, with their options.

    Exit codes: 0 listed, 1 an installed placer cannot be loaded or its name is already used.
    """
    shell: Shell = context.obj
    offers = [find_placer(name) for name in placer_names()]
    if shell.is_json:
        from rackwise.cli.place.documents import PlacersDocument

        shell.document(PlacersDocument(placers=tuple(map(_document, offers))))
        return 0
    from rackwise.cli.tables import columns_text

    rows = [
        (
            escaped(offer.name),
            escaped(offer.distribution or BUILT_IN),
            escaped(" ".join(f"{each.name}={_default(each)}" for each in offer.options)) or "-",
            escaped(offer.about) or "no description",
        )
        for offer in offers
    ]
    shell.text(columns_text(("placer", "from", "options", "rows"), rows, numbers=()))
    return 0


def _default(option: Field[Any]) -> str:
    if option.default is MISSING:
        return "" if option.default_factory is MISSING else str(option.default_factory())
    return NOTHING if option.default is None else str(option.default)


def _document(offer: AvailablePlacer) -> PlacerDocument:
    from rackwise.cli.place.documents import PlacerDocument

    return PlacerDocument(
        name=offer.name,
        distribution=offer.distribution,
        about=offer.about,
        options={each.name: _default(each) for each in offer.options},
    )
