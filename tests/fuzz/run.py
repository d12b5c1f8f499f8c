"""Broken inputs for every reader: `python tests/fuzz/run.py [--seconds S] [--seed N] [READER...]`.

Each reader gets inputs for S seconds, by default 10. It may return a value or raise a
`RackwiseError`. Anything else is a find, and so is an input that takes more than a second. A find
is minimised and written into `tests/fuzz/corpus`, where `test_corpus.py` reads it in every test
run. Parquet files are damaged by their structure, by seeds from N.
Exits with 1 if there was a find.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, thread_time

from hypothesis import HealthCheck, Phase, given, seed, settings

sys.path.insert(0, str(Path(__file__).parents[1]))

from damaged_parquet import PARQUET_READERS, check_damaged
from fuzz.broken_inputs import CORPUS, broken
from hostile_readers import READERS
from rackwise.core.errors import RackwiseError

EXAMPLES = 5_000
"""Inputs between two looks at the clock."""
MOST_S = 1.0
"""CPU time for one input."""


class TooSlow(Exception):
    """A small input takes more than `MOST_S`."""


def check(name, data):
    """Law: a reader returns or rejects, and soon."""
    began = thread_time()
    with suppress(RackwiseError):
        READERS[name](data)
    if thread_time() - began > MOST_S:
        raise TooSlow(f"{len(data)} bytes")


def find(name, seconds, first_seed):
    """Number of inputs tried, and the minimised find: the input and the error, or None."""
    deadline = monotonic() + seconds
    tried, number = 0, first_seed
    last = []

    def law(data):
        last[:] = [data]
        check(name, data)

    while monotonic() < deadline:
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
            return tried, (last[0], error)
        tried, number = tried + EXAMPLES, number + 1
    return tried, None


def find_damaged(reader, seconds, first_seed):
    """Number of damaged Parquet files tried, and the error of a find, or None.

    Its notes have the seed, which repeats it.
    """
    deadline = monotonic() + seconds
    seed = first_seed
    with TemporaryDirectory() as folder:
        while monotonic() < deadline:
            try:
                check_damaged(reader, seed, folder)
            except Exception as error:  # noqa: BLE001 (whatever a reader raises is the find)
                return seed - first_seed, error
            seed += 1
    return seed - first_seed, None


def main(arguments):
    """One line for each reader."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("readers", nargs="*", metavar="READER", choices=[*READERS, []])
    wanted = parser.parse_args(arguments)
    finds = 0
    for name in wanted.readers or READERS:
        tried, bad = find(name, wanted.seconds, wanted.seed)
        print(f"{name}: {tried} inputs, {'no find' if bad is None else 'a find'}", flush=True)
        if bad is not None:
            data, error = bad
            place = CORPUS / name.replace(" ", "-") / sha256(data).hexdigest()[:16]
            place.parent.mkdir(exist_ok=True)
            place.write_bytes(data)
            print(f"  {type(error).__name__}: {error}\n  {place.relative_to(CORPUS.parent)}")
            finds += 1
    for reader in () if wanted.readers else PARQUET_READERS:
        tried, error = find_damaged(reader, wanted.seconds, wanted.seed)
        told = "a find" if error else "no find"
        print(f"Parquet of {reader}: {tried} inputs, {told}", flush=True)
        if error:
            notes = getattr(error, "__notes__", [])
            print("  " + "\n  ".join([f"{type(error).__name__}: {error}", *notes]))
            finds += 1
    return 1 if finds else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
