"""Every code of `broker-id`: its error, how it ends, and what it says."""

import shlex

import pytest

from laws_decisions import check_code
from rackwise.core.errors import (
    IdentityRefused,
    InputError,
    MissingPermission,
    PartialFailure,
    RackwiseError,
    Unreachable,
    WorldError,
)
from rackwise.core.identity import refusals
from rackwise.core.identity.refusals import CODES, MetaWriteFailed, mapping_hint
from rackwise.core.text import escaped

EXITS = {
    75: "AmbiguousSpare SpareReserved WatcherAbsent Contention Unreachable",
    4: "MetaInconsistent ClusterMismatch MetaVersion MetaIncomplete MetaUnreadable DataWithoutMeta "
    "IdMismatch IdRange NoId Migration ControllerDisk NoCarrier IdInUse MappedIdHeld "
    "HostHasLiveBroker LastInSync MappingCorrupt StoreCorrupt NoIdLeft MissingPermission "
    "StoreNotReady NotFree StillUsed IdRetired",
    3: "MetaWriteFailed ClaimLost NotRegistered",
    1: "KeyMissing KeyInvalid KeyUnstable SecretExposed",
}
BRANCHES = {1: InputError, 3: (WorldError, PartialFailure), 4: IdentityRefused, 75: IdentityRefused}
HOUSE = {MissingPermission, Unreachable}


def own():
    return {
        value
        for value in vars(refusals).values()
        if isinstance(value, type)
        and issubclass(value, RackwiseError)
        and value.__module__ == refusals.__name__
    }


def test_each_ends_as_the_reference_says():
    ends = {name: exit_code for exit_code, names in EXITS.items() for name in names.split()}
    assert {each.error.__name__: each.exit for each in CODES} == ends


def test_every_error_has_its_line_and_every_line_its_error():
    assert {each.error for each in CODES} == own() | HOUSE
    assert len({each.code for each in CODES}) == len(CODES) == 36


@pytest.mark.parametrize("line", CODES, ids=lambda line: line.code)
def test_a_line_says_wanted_had_and_what_to_do(line):
    assert line.code == line.code.upper()
    assert all((line.expected, line.got, line.hint))
    if line.error not in HOUSE:
        check_code(line.error, line.code)
        assert issubclass(line.error, BRANCHES[line.exit])
        assert line.error("told").hint == line.hint
        assert line.error.__doc__


def test_a_refusal_keeps_row_and_details():
    error = refusals.IdInUse("id 7 is held (D12)", row="D12", details={"id": 7})
    assert (error.code, error.row, error.details) == ("ID_IN_USE", "D12", {"id": 7})
    assert refusals.NotFree("no").details == {}


def test_a_write_that_failed_in_part_keeps_each_dir():
    error = MetaWriteFailed("told", done=["/a"], failed=["/c"])
    assert (error.wanted, error.had, error.failed) == (2, 1, ("/c",))


@pytest.mark.parametrize("key", ["h7", "a b", "$(reboot)", "x; reboot", "`reboot`", "a'b", "a\nb"])
def test_a_shell_takes_any_key_of_a_hint_as_one_word(key):
    command = mapping_hint(key, 7).partition(": ")[2]
    assert shlex.split(command) == ["broker-id", "assign", escaped(key), "7", "--force"]
