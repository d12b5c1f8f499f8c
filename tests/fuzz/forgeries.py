"""Forged plans by seeds: fields that are changed in a document, and lists that all else fits.

`forged_plans` and `dressed_plans` have the forgers and their laws. A seed gives the same forgery
each time.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from random import Random

from dressed_plans import check_dressed, dressed, forged_lists
from forged_plans import (
    different_claims,
    document_of,
    edit_of,
    edited,
    places,
    sealed_again,
)
from rackwise.core.json.strict import parse

FIELDS, LISTS = "fields", "lists"
"""Kinds of forgeries; a file of the corpus begins with its kind."""


class FalseAndProved(AssertionError):
    """A forged plan is proved, and claims what the plan of the planner does not."""


@dataclass(frozen=True)
class Forgery:
    """The file of a forged plan, and how it was made."""

    kind: str
    data: bytes
    said: str
    edits: tuple = ()


def forgery_of(case, seed):
    """The forgery of a seed; None if the seed gives no plan at all."""
    rng = Random(f"{case} {seed}")
    if rng.random() < 0.5:
        return _of_fields(case, rng)
    lists, said = forged_lists(case, rng)
    data = dressed(case, lists, rng if rng.random() < 0.5 else None)
    return None if data is None else Forgery(LISTS, data, said)


def _of_fields(case, rng):
    document, edits = document_of(case), []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        by_path = {}
        for path, steps in places(document):
            by_path.setdefault(path, []).append(steps)
        del by_path[".sha256"]
        if not by_path:
            break
        path = rng.choice(sorted(by_path))
        edits.append(edit_of(document, path, rng.choice(by_path[path]), rng, case))
        document = edited(document, edits[-1:])
    return _with_edits(case, edits)


def _with_edits(case, edits):
    data = sealed_again(edited(document_of(case), edits))
    return Forgery(FIELDS, data, "; ".join(map(str, edits)), tuple(edits))


def check_forgery(case, kind, data):
    """Law: a forged plan is rejected, or makes the same claims, or is as good.

    Raises what broke it.
    """
    if kind == LISTS:
        check_dressed(data, case)
    elif different_claims(parse(data, where="plan", error=ValueError), case):
        raise FalseAndProved(f"the plan {case} states something else, and is proved")


def fault_of(case, forgery):
    """What a forgery breaks; None if the law holds."""
    try:
        check_forgery(case, forgery.kind, forgery.data)
    except Exception as error:  # noqa: BLE001 (whatever the checker raises is the find)
        return error
    return None


def minimised(case, forgery):
    """The forgery without the edits that it does not need to break the law."""
    at = 0
    while at < len(forgery.edits):
        fewer = [*forgery.edits[:at], *forgery.edits[at + 1 :]]
        with suppress(LookupError, TypeError):  # an edit inside what another one made
            smaller = _with_edits(case, fewer)
            if fewer and fault_of(case, smaller) is not None:
                forgery, at = smaller, -1
        at += 1
    return forgery
