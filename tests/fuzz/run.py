"""Broken inputs for every reader, and forged plans for the proof.

`python tests/fuzz/run.py [--seconds S] [--seed N] [TARGET...]`; a target is a reader, `Parquet of
READER`, or `plan of CASE`.

Each target gets inputs for S seconds, by default 10, by seeds from N. A reader may return a value
or raise a `RackwiseError`. Anything else is a find, and so is an input that takes more than a
second. A forged plan must be rejected, make the same claims as the real one, or be as good.

A find of a reader or of the proof is minimised and written into `tests/fuzz/corpus`, where
`test_corpus.py` reads it in every test run. For each find, one line repeats it. Exits with 1 if
there was a find.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from shlex import join
from tempfile import TemporaryDirectory
from time import monotonic, thread_time

from hypothesis import HealthCheck, Phase, given, seed, settings

sys.path.insert(0, str(Path(__file__).parents[1]))

from damaged_parquet import PARQUET_READERS, check_damaged
from forged_plans import CASES
from fuzz.broken_inputs import CORPUS, broken
from fuzz.forgeries import fault_of, forgery_of, minimised
from hostile_readers import READERS
from rackwise.core.errors import RackwiseError

EXAMPLES = 5_000
"""Inputs between two looks at the clock."""
MOST_S = 1.0
"""CPU time for one input."""
PARQUET, PLAN = "Parquet of ", "plan of "
"""Beginnings of the names of targets that are no readers of `READERS`."""
TARGETS = (
    *READERS,
    *(PARQUET + reader for reader in PARQUET_READERS),
    *(PLAN + case for case in CASES),
)


class TooSlow(Exception):
    """A small input takes more than `MOST_S`."""


@dataclass(frozen=True)
class Find:
    """An input that breaks the law of its target."""

    error: Exception
    seed: int
    data: bytes | None = None
    """The minimised input, for the corpus."""
    file: str = ""
    """How the name of its file begins."""
    said: str = ""
    """How the input was made."""


def check(name, data):
    """Law: a reader returns or rejects, and soon."""
    began = thread_time()
    with suppress(RackwiseError):
        READERS[name](data)
    if thread_time() - began > MOST_S:
        raise TooSlow(f"{len(data)} bytes")


def seeds_until(deadline, first_seed):
    """Seeds from the first one on; at least one."""
    number = first_seed
    while number == first_seed or monotonic() < deadline:
        yield number
        number += 1


def find(name, seconds, first_seed):
    """Number of inputs of a reader tried, and the find, or None."""
    tried, last = 0, []

    def law(data):
        last[:] = [data]
        check(name, data)

    for number in seeds_until(monotonic() + seconds, first_seed):
        run = settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )(seed(number)(given(broken(name))(law)))
        try:
            run()
        except Exception as error:  # noqa: BLE001 (whatever a reader raises is the find)
            return tried, Find(error, number, last[0])
        tried += EXAMPLES
    return tried, None


def find_damaged(reader, seconds, first_seed):
    """Number of damaged Parquet files tried, and the find, or None."""
    with TemporaryDirectory() as folder:
        for number in seeds_until(monotonic() + seconds, first_seed):
            try:
                check_damaged(reader, number, folder)
            except Exception as error:  # noqa: BLE001 (whatever a reader raises is the find)
                return number - first_seed, Find(error, number)
    return number + 1 - first_seed, None


def find_forged(case, seconds, first_seed):
    """Number of forgeries of the plan of a case, and the find, or None."""
    tried = 0
    for number in seeds_until(monotonic() + seconds, first_seed):
        forgery = forgery_of(case, number)
        if forgery is None:
            continue
        if fault_of(case, forgery) is not None:
            least = minimised(case, forgery)
            error = fault_of(case, least)
            return tried, Find(error, number, least.data, f"{least.kind}-", least.said)
        tried += 1
    return tried, None


def find_in(target, seconds, first_seed):
    """Number of inputs of a target tried, and the find, or None."""
    if target.startswith(PARQUET):
        return find_damaged(target.removeprefix(PARQUET), seconds, first_seed)
    if target.startswith(PLAN):
        return find_forged(target.removeprefix(PLAN), seconds, first_seed)
    return find(target, seconds, first_seed)


def written(target, found):
    """The file of a find in the corpus."""
    name = found.file + sha256(found.data).hexdigest()[:16]
    place = CORPUS / target.replace(" ", "-") / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(found.data)
    return str(place.relative_to(CORPUS.parent))


def lines_of(target, found):
    """What is printed about a find."""
    yield f"{type(found.error).__name__}: {found.error}"
    yield from getattr(found.error, "__notes__", [])
    if found.said:
        yield f"made by {found.said}"
    if found.data is not None:
        yield written(target, found)
    words = ["--seed", str(found.seed), "--seconds", "0", target]
    yield f"again: {join(['python', 'tests/fuzz/run.py', *words])}"


def main(arguments):
    """One line for each target."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("targets", nargs="*", metavar="TARGET", choices=[*TARGETS, []])
    wanted = parser.parse_args(arguments)
    finds = 0
    for target in wanted.targets or TARGETS:
        tried, found = find_in(target, wanted.seconds, wanted.seed)
        told = "no find" if found is None else "a find"
        print(f"{target}: {tried} inputs, {told}", flush=True)
        if found is not None:
            print("  " + "\n  ".join(lines_of(target, found)), flush=True)
            finds += 1
    return 1 if finds else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
