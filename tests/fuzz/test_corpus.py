"""Inputs that once broke a reader are read or rejected; so are a few new ones in every run."""

from __future__ import annotations

import pytest
from hypothesis import given

from dressed_plans import check_dressed, dressed, lists_of
from forged_plans import CASES, document_of
from fuzz import forgeries, run
from fuzz.broken_inputs import CORPUS, broken, examples, found
from fuzz.run import check, find
from hostile_readers import READERS
from rackwise.core.errors import InputError

REJECTING = {"JKS store"}
"""Readers of entries and keys that are hostile, whatever they are given."""


FORGERIES = 12
"""Of the plan of each case, in every run."""


@pytest.mark.parametrize("name", sorted(READERS.keys() - REJECTING))
def test_every_reader_reads_its_examples(name):
    for data in examples()[name]:
        READERS[name](data)


@pytest.mark.parametrize("name", READERS)
def test_what_was_found_once_is_read_or_rejected(name):
    for data in found(name):
        check(name, data)


@pytest.mark.parametrize("name", READERS)
def test_broken_inputs_are_read_or_rejected(name):
    given(broken(name))(lambda data: check(name, data))()


def test_a_reader_that_breaks_is_found_and_its_input_minimised(monkeypatch):
    def breaking(data):
        if b"\0" in data:
            raise IndexError("a fault of ours")
        raise InputError("rejected")

    monkeypatch.setitem(READERS, "rack", breaking)
    _, bad = find("rack", seconds=60, first_seed=1)
    assert isinstance(bad.error, IndexError)
    assert b"\0" in bad.data
    assert len(bad.data) <= 2 * len(b"use1-az1")


class TestForgedPlans:
    """The proof rejects each forged plan, or it makes the same claims, or it is as good."""

    @pytest.mark.parametrize("case", CASES)
    def test_what_was_found_once_is_rejected_or_true(self, case):
        folder = CORPUS / f"{run.PLAN}{case}".replace(" ", "-")
        for file in sorted(folder.glob("*")):
            kind = file.name.partition("-")[0]
            forgeries.check_forgery(case, kind, file.read_bytes())

    @pytest.mark.parametrize("case", CASES)
    def test_forged_lists_that_all_else_fits_are_rejected_or_as_good(self, case):
        kinds = []
        for seed in range(FORGERIES):
            forgery = forgeries.forgery_of(case, seed)
            if forgery is not None:
                kinds.append(forgery.kind)
                assert forgeries.fault_of(case, forgery) is None, (seed, forgery.said)
        assert {*kinds} == {forgeries.FIELDS, forgeries.LISTS}

    @pytest.mark.parametrize("case", CASES)
    def test_the_forger_makes_a_proved_plan_of_the_lists_of_the_planner(self, case):
        assert check_dressed(dressed(case, lists_of(case)), case)

    def test_what_a_checker_believes_is_found_minimised_and_repeated(
        self, monkeypatch, tmp_path, capsys
    ):
        solver = document_of("balance")["solver"]
        monkeypatch.setattr(
            forgeries, "different_claims", lambda document, _: document.get("solver") != solver
        )
        monkeypatch.setattr(run, "CORPUS", tmp_path / "corpus")
        target = f"{run.PLAN}balance"
        tried, bad = run.find_in(target, seconds=60, first_seed=0)
        assert tried <= bad.seed
        assert bad.said.count(" -> ") == 1
        assert bad.said.startswith(".solver -> ")
        again = ["--seed", str(bad.seed), "--seconds", "0", target]
        assert run.main(again) == 1
        out = capsys.readouterr().out
        (file,) = (tmp_path / "corpus" / "plan-of-balance").iterdir()
        assert file.read_bytes() == bad.data
        assert out.splitlines() == [
            f"{target}: 0 inputs, a find",
            "  FalseAndProved: the plan balance states something else, and is proved",
            f"  made by {bad.said}",
            f"  corpus/plan-of-balance/{file.name}",
            f"  again: python tests/fuzz/run.py {' '.join(again[:-1])} '{target}'",
        ]
