"""`rackwise producer split`."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from consumer_snapshots import document
from producer_snapshots import (
    AZ,
    MIB,
    TWO_FORMS,
    UNEVEN,
    WARNED,
    rates_text,
    said,
    three_racks,
    written,
)
from rackwise.adapters.files import fingerprint, parse_rack_rates, read_split, write_split
from rackwise.core.partitioner import Bytes, PartitionerCounters
from refusals import check_refused
from small_clusters import small_cluster


@pytest.fixture
def call(tmp_path):
    return partial(said, tmp_path, "split")


class TestAdvice:
    def test_in_rows(self, call):
        code, out, err = call(three_racks(), rates_text(UNEVEN))
        assert (code, err) == (0, "")
        lines = [line.split() for line in out.splitlines()]
        assert out.splitlines()[0] == (
            "orders  12 partitions  even share by leaders, 0.02 USD per GiB that crosses"
        )
        assert [line[-1] for line in lines[1:4]] == ["1.500", "0.000", "0.500"]
        assert lines[5] == ["rack-blind", "33.3", "%", "1.000", "1.33", "MiB/s", "67.50", "0.00"]
        row = ["0.1", "73.3", "%", "1.100", "546", "KiB/s", "27.00", "40.50", "<-", "--eps"]
        assert lines[8] == row
        assert lines[10] == ["no", "bound", "100.0", "%", "1.500", "0", "bytes/s", "0.00", "67.50"]
        assert lines[12] == [AZ[0], "1.00", "MiB/s", "0", "bytes/s", "4", "6"]
        assert lines[14] == [AZ[2], "0", "bytes/s", "0", "bytes/s", "4", "0"]
        assert len(lines) == 15

    def test_in_one_document(self, call):
        terms = ["--json", "--eps", "0.3", "--usd-per-gib", "1", "--capacity", "brokers"]
        code, out, _ = call(three_racks(), rates_text(UNEVEN), *terms)
        told = document(out)
        assert (code, told["format"]) == (0, "rackwise.producer-split/1")
        assert [each["eps"] for each in told["bounds"]] == [None, 0, 0.05, 0.1, 0.2, 0.3, None]
        kinds = [each["kind"] for each in told["bounds"]]
        assert kinds == ["uniform", *["bounded"] * 5, "kip"]
        assert told["bounds"][5]["shares"][AZ[0]][AZ[2]] == pytest.approx(0.133333)
        assert told["bounds"][6]["usd_saved"] == 3375.0
        assert told["advised_leaders"] == {AZ[0]: 6, AZ[1]: 6, AZ[2]: 0}
        assert told["weights"] == dict.fromkeys(AZ, 2)
        assert told["racks_without_leaders"] == []
        assert told["is_changed"] is told["largest_change"] is None

    def test_racks_of_two_forms_and_a_split_of_them(self, call, tmp_path):
        """Broker 1 has a path already: two leaders of its zone are in another rack to producers."""
        out, words = tmp_path / "split.json", ["--json", "--out", str(tmp_path / "split.json")]
        code, printed, err = call(three_racks(racks=TWO_FORMS), rates_text(UNEVEN), *words)
        assert (code, err) == (0, WARNED)
        assert document(printed)["weights"] == {f"/us/{AZ[0]}": 2, AZ[0]: 2, AZ[1]: 4, AZ[2]: 4}
        shares = read_split(out).shares
        assert shares[AZ[1]][AZ[1]] > 0.7
        assert shares[AZ[0]][AZ[0]] == pytest.approx(0.3666667)

    def test_no_bound_at_all(self, call):
        code, out, _ = call(three_racks(), rates_text(UNEVEN), "--eps", "inf", "--json")
        assert (code, document(out)["eps"]) == (0, None)

    def test_clients_without_leaders_and_too_many_pinned_bytes(self, call):
        text = rates_text(f"{AZ[0]} {MIB} {AZ[2]} {MIB}", f"{AZ[1]} {9 * MIB}")
        code, out, err = call(three_racks(2), text)
        assert (code, err) == (0, "")
        lines = out.splitlines()
        assert lines[-1] == "use1-az2: its pinned traffic exceeds the bound"
        assert lines[-2].endswith("clients and no leader")

    def test_a_rack_that_cannot_be_advised(self, call):
        code, out, _ = call(three_racks(), rates_text(f"{AZ[0]} 1 z 3"))
        assert code == 0
        row = ["z", "3", "bytes/s", "0", "bytes/s", "0", "-", "clients", "and", "no", "leader"]
        assert out.splitlines()[-1].split() == row

    def test_hostile_names(self, tmp_path):
        topic = "or\u202eders"
        cluster = small_cluster({1: '/"><b>/a'}, {f"{topic}-0": [1]})
        code, out, err = said(tmp_path, "split", cluster, rates_text('/"><b>/a 1', topic=topic))
        assert (code, err) == (0, "")
        assert out.startswith("or\\u202eders  1 partition  ")


class TestOut:
    @pytest.fixture
    def out(self, tmp_path):
        return tmp_path / "split.json"

    def test_what_is_written(self, call, out):
        cluster, text = three_racks(), rates_text(UNEVEN)
        code, _, err = call(cluster, text, "--out", str(out), "--valid-for", "90s")
        assert (code, err) == (0, "")
        split = read_split(out)
        assert (split.topic, split.eps, split.capacity) == ("orders", 0.1, "leaders")
        assert split.shares[AZ[1]][AZ[1]] == pytest.approx(11 / 15)
        assert split.weights == dict.fromkeys(AZ, 4)
        assert split.made_from.snapshot == fingerprint(cluster)
        assert split.made_from.rates == hashlib.sha256(text.encode()).hexdigest()
        assert split.valid_for_ms == 90_000
        assert split.made_at_ms > 1_790_000_000_000
        assert out.read_text().count("\n") == 1

    def test_an_equal_split_is_no_difference(self, call, out):
        for _ in range(2):
            code, _, err = call(three_racks(), rates_text(UNEVEN), "--out", str(out))
            assert (code, err) == (0, "")

    def test_a_replaced_split_with_other_content_exits_with_2(self, call, out):
        call(three_racks(), rates_text(UNEVEN), "--out", str(out))
        terms = ["--out", str(out), "--eps", "0.2", "--json"]
        code, told, err = call(three_racks(), rates_text(UNEVEN), *terms)
        assert code == 2
        assert err == (
            f"{out} had other content; its shares changed by at most 0.067; a change of 0.02 is "
            "worth a new split\n"
        )
        assert document(told)["is_changed"] is True
        assert document(told)["largest_change"] == pytest.approx(0.2 / 3)
        assert read_split(out).eps == 0.2
        assert call(three_racks(), rates_text(UNEVEN), *terms)[0] == 0

    def test_an_older_one_of_the_same_is_renewed(self, call, out):
        call(three_racks(), rates_text(UNEVEN), "--out", str(out))
        write_split(out, replace(read_split(out), made_at_ms=5))
        assert call(three_racks(), rates_text(UNEVEN), "--out", str(out))[0] == 0
        assert read_split(out).made_at_ms > 5

    def test_a_file_that_is_no_split_is_left_alone(self, tmp_path):
        given = written(tmp_path, three_racks(), rates_text(UNEVEN))
        rates = tmp_path / "r.json"
        check_refused(
            ["producer", "split", *given, "--out", str(rates)],
            (
                f"invalid {rates} at $.format: expected format rackwise-split/1, got "
                f'"rackwise-rates/1"'
            ),
            "is it the right file for this option?",
            file=rates,
        )

    def test_without_a_bound_there_is_nothing_to_write(self, tmp_path, out):
        given = written(tmp_path, three_racks(), rates_text(UNEVEN))
        check_refused(
            ["producer", "split", *given, "--out", str(out), "--eps", "inf"],
            "--out requires a finite --eps, got inf",
            "without a bound no split is needed: set partitioner.rack.aware only",
        )
        assert not out.exists()

    @pytest.mark.parametrize("time", ["0s", "0.1ms"])
    def test_an_invalid_time_is_rejected(self, tmp_path, out, time):
        given = written(tmp_path, three_racks(), rates_text(UNEVEN))
        check_refused(
            ["producer", "split", *given, "--out", str(out), "--valid-for", time],
            f"invalid --valid-for: expected 1ms or more, got {time}",
            "start with 1h, and write the split again every half hour",
        )

    def test_a_folder_that_is_not_there(self, tmp_path):
        given = written(tmp_path, three_racks(), rates_text(UNEVEN))
        out = tmp_path / "none" / "split.json"
        check_refused(
            ["producer", "split", *given, "--out", str(out)],
            f"{out} cannot be written: No such file or directory",
            "look at the folder and its permissions; nothing was changed",
        )


FALLBACKS = {
    "blank-rack",
    "rack-unmatched",
    "no-local-leader",
    "local-excluded",
    "local-backlog",
    "no-leader",
    "split-rack-unavailable",
    "stale-split",
    "internal",
}


class TestTheGuide:
    """What docs/guides/producers.md shows is what is printed."""

    GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "producers.md"

    @pytest.mark.parametrize(
        ("verb", "options"),
        [
            ("split", ()),
            ("simulate", ()),
            (
                "simulate",
                (
                    "--mode",
                    "kip,upstream,bounded",
                    "--fault",
                    "broker=1,at=10s,for=1h,kind=down",
                ),
            ),
        ],
    )
    def test_tables(self, tmp_path, verb, options):
        code, out, _ = said(tmp_path, verb, three_racks(), rates_text(UNEVEN), *options)
        assert code == 0
        assert out in self.GUIDE.read_text()

    def test_its_rates_are_read(self):
        (text,) = re.findall(r"```json\n(.*?)```", self.GUIDE.read_text(), re.DOTALL)
        found = parse_rack_rates(text.encode(), where="producers.md")
        assert found.rates.free == {AZ[0]: MIB, AZ[1]: MIB, AZ[2]: 0}

    def test_what_it_says_of_penalties_and_counters_runs(self):
        blocks = re.findall(r"```python\n(.*?)```", self.GUIDE.read_text(), re.DOTALL)
        values = [text for text in blocks if "penalty_step(" in text or "producer_metrics(" in text]
        assert len(values) == 2
        none = Bytes(local_bytes=7)
        found = PartitionerCounters(none, none, windows={}, switches={}, fallbacks={})
        names = {"producer": SimpleNamespace(counters=lambda: {"orders": found})}
        for text in values:
            exec(compile(text, "producers.md", "exec"), names)  # noqa: S102 (our own text)
        assert 'service="checkout",topic="orders"' in names["text"]

    def test_every_reason_of_a_fallback_is_explained(self):
        page = self.GUIDE.read_text().partition("## Watch it")[2]
        assert set(re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE)) == FALLBACKS
