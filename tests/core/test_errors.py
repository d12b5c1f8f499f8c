import re

import pytest

from rackwise.core import errors
from rackwise.core.errors import (
    AuditFailed,
    Conflict,
    InputError,
    InvalidRack,
    MissingDependency,
    OutcomeUnknown,
    PartialFailure,
    PlacementFailures,
    PlanFailures,
    ProtocolError,
    RackwiseError,
    Refused,
    WorldError,
)
from rackwise.core.identity.refusals import AmbiguousSpare, ClaimLost, KeyMissing, NotRegistered


def leaf_classes(branch=RackwiseError):
    for child in branch.__subclasses__():
        yield child
        yield from leaf_classes(child)


OWN = sorted({leaf for leaf in leaf_classes() if leaf.__module__ == errors.__name__}, key=str)


def test_docstring_lists_the_whole_tree():
    tree = errors.__doc__.split("```")[1]
    drawn = set(re.findall(r"\b[A-Z][A-Za-z]+\b", tree.split("\n", 2)[2]))
    missing = {leaf.__name__ for leaf in OWN} - drawn
    assert missing == set(), "add the error to the tree at the top of core/errors.py"


OF_PRODUCERS = {
    *(errors.PartitionerConfigError, errors.ViewError, errors.SplitError, errors.SplitFileError),
    *(errors.RackSourceError, errors.MissingClientError),
}
"""Named as the public interface of the producers names them."""


@pytest.mark.parametrize("leaf", OWN, ids=lambda leaf: leaf.__name__)
def test_every_error_has_a_docstring(leaf):
    assert leaf.__doc__
    is_of_the_wire = issubclass(leaf, ProtocolError)  # h11's names, which say whose fault it is
    has_suffix = leaf.__name__.endswith("Error")
    assert not has_suffix or leaf.__subclasses__() or is_of_the_wire or leaf in OF_PRODUCERS


AFTER_WRITES = {OutcomeUnknown, ClaimLost, NotRegistered}
"""A claim, a mapping or a file may be there already."""


@pytest.mark.parametrize(
    ("branch", "code"),
    [(InputError, 1), (Refused, 4), (PartialFailure, 3), (WorldError, 1), (MissingDependency, 1)],
)
def test_exit_codes(branch, code):
    assert branch.exit_code == code
    odd = AFTER_WRITES | {PlanFailures, PlacementFailures}
    assert {leaf.exit_code for leaf in leaf_classes(branch) if leaf not in odd} <= {code}


def test_missing_plans_and_placements_have_an_exit_code_without_writes():
    assert PlanFailures.exit_code == RackwiseError.exit_code
    assert PlacementFailures.exit_code == RackwiseError.exit_code


def test_only_errors_after_a_write_have_other_exit_codes():
    odd = {leaf for leaf in leaf_classes(WorldError) if leaf.exit_code != WorldError.exit_code}
    assert odd == AFTER_WRITES
    assert {leaf.exit_code for leaf in odd} == {PartialFailure.exit_code}


def test_standard_base_classes():
    assert issubclass(InputError, ValueError)
    assert issubclass(MissingDependency, ImportError)


def test_fields_and_message():
    error = InvalidRack("rack is bad", wanted="good", had="bad", hint="mend it", where="broker 1")
    assert str(error) == error.message == "rack is bad"
    assert error.as_dict() == {
        "error": "InvalidRack",
        "message": "rack is bad",
        "wanted": "good",
        "had": "bad",
        "hint": "mend it",
        "where": "broker 1",
    }


def test_identity_refused_has_code_row_and_details():
    error = AmbiguousSpare("two", row="D31", wanted="one", had="two", details={"ids": [7, 9]})
    fields = error.as_dict()
    assert {name: fields[name] for name in ("code", "row", "retryable", "details")} == {
        "code": "AMBIGUOUS_SPARE",
        "row": "D31",
        "retryable": True,
        "details": {"ids": [7, 9]},
    }
    assert fields["error"] == "AmbiguousSpare"


@pytest.mark.parametrize(
    ("value", "plain"), [(None, None), (3, 3), (1.5, 1.5), ("a", "a"), ((1, 2), "(1, 2)")]
)
def test_values_without_json_type_become_text(value, plain):
    assert RackwiseError("x", wanted=value).as_dict()["wanted"] == plain


def test_audit_failed_keeps_findings():
    error = AuditFailed("2 findings", findings=["a", "b"], hint="look")
    assert (error.wanted, error.had, list(error.findings)) == (0, 2, ["a", "b"])
    assert error.exit_code == 2


def test_a_partial_failure_keeps_every_item():
    error = PartialFailure("some", done=[1, 2], failed=[3], skipped=[4, 5, 6], hint="again")
    assert (error.done, error.failed, error.skipped) == ((1, 2), (3,), (4, 5, 6))
    assert (error.wanted, error.had) == (6, 2)


def test_remedy_is_the_default_hint():
    assert KeyMissing("no key").hint == KeyMissing.remedy
    assert KeyMissing("no key", hint="set it").hint == "set it"
    assert InvalidRack("no rack").hint is None


def test_conflict_keeps_the_failed_operation():
    error = Conflict("message", had=("ids/7", 3))
    assert (error.had, error.exit_code) == (("ids/7", 3), 4)


def test_server_refused_has_code_and_name():
    error = errors.ServerRefused("no", code=38, name="INVALID_REPLICATION_FACTOR", had=38, hint="h")
    assert (error.code, error.name, error.had, error.hint) == (
        38,
        "INVALID_REPLICATION_FACTOR",
        38,
        "h",
    )
    plain = errors.ServerRefused("no")
    assert (plain.code, plain.name) == (None, None)


def test_a_missing_client_names_the_extra_that_installs_it():
    error = errors.MissingClientError.of("kafka-python", extra="kafka")
    assert (str(error), error.wanted) == ("kafka-python is not installed", "kafka-python")
    assert error.hint == "pip install 'rackwise[kafka]'"
    assert isinstance(error, ImportError)


def test_a_long_value_is_cut_wherever_an_error_repeats_it():
    long = "x" * 5000
    error = InputError(f"invalid GOAL: got {long}", had=long, hint=f"not {long}, but repair")
    cut = "xxxxxxxxxxxxxxxxxxxx..(4,960 characters)..xxxxxxxxxxxxxxxxxxxx"
    assert str(error) == error.message == f"invalid GOAL: got {cut}"
    assert error.as_dict()["had"] == cut
    assert len(error.hint) < 100
    whole = "y" * 300
    assert InputError(whole).message == whole


@pytest.mark.parametrize(
    ("error", "asked"),
    [
        (MemoryError(), "an allocation failed"),
        (MemoryError("Unable to allocate 8 GiB\nmore"), "Unable to allocate 8 GiB"),
        (OSError(12, "Cannot allocate memory"), "[Errno 12] Cannot allocate memory"),
        (RuntimeError("can't start new thread"), "can't start new thread"),
        (ImportError("x.so: failed to map segment"), "x.so: failed to map segment"),
        (ImportError("x.so: cannot allocate memory"), "x.so: cannot allocate memory"),
    ],
)
def test_exhausted_memory_is_told_with_what_was_asked_for(error, asked):
    found = errors.MemoryExhausted.of(error)
    assert found.message == f"memory exhausted: {asked}"
    limits = "raise the limits of threads and memory of this process"
    more = "use a machine with more memory; plan needs less with --topics, analyze with --no-plans"
    assert found.hint == (limits if isinstance(error, RuntimeError) else more)
    assert found.exit_code == 1


@pytest.mark.parametrize(
    "error",
    [OSError(28, "No space left"), RuntimeError("no"), ImportError("no module"), KeyError("x")],
)
def test_other_exceptions_are_not_exhausted_memory(error):
    assert errors.MemoryExhausted.of(error) is None
