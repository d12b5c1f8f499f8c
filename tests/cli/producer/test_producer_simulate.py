"""`rackwise producer simulate`; options and files that both commands refuse."""

from __future__ import annotations

import re
from functools import partial

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
from refusals import called, check_refused

QUICK = ("--duration", "5s")


@pytest.fixture
def call(tmp_path):
    return partial(said, tmp_path, "simulate")


def rows(out):
    return {line.split()[0]: line.split()[1:] for line in out.splitlines()[2:]}


class TestModes:
    def test_a_row_for_each(self, call):
        code, out, err = call(three_racks(), rates_text(UNEVEN))
        assert (code, err) == (0, "")
        lines = out.splitlines()
        assert lines[0] == "orders  12 partitions  2.00 MiB/s free, 0 bytes/s pinned  60 s"
        assert lines[1].startswith("mode")
        found = rows(out)
        assert list(found) == ["uniform", "kip", "upstream", "bounded"]
        assert found["kip"][:3] == ["100.0", "%", "1.500"]
        assert found["bounded"][:3] == ["73.3", "%", "1.100"]

    def test_one_document(self, call):
        terms = ["--json", "--mode", "bounded,kip,kip", "--eps", "0.2", "--seed", "5", *QUICK]
        code, out, err = call(three_racks(), rates_text(UNEVEN), *terms)
        assert (code, err) == (0, "")
        told = document(out)
        assert told["format"] == "rackwise.producer-simulation/1"
        assert (told["eps"], told["seed"], told["duration_ms"]) == (0.2, 5, 5000)
        assert told["weights"] == dict.fromkeys(AZ, 4)
        kip, bounded = told["modes"]
        assert (kip["mode"], kip["local_share"], bounded["mode"]) == ("kip", 1, "bounded")
        assert bounded["local_share"] == pytest.approx(0.8, abs=0.01)
        assert bounded["cross_bytes_per_s"] == pytest.approx(0.4 * MIB, rel=0.05)
        month = bounded["cross_bytes_per_s"] * 2_592_000 / 2**30
        assert bounded["usd_per_30d"] == pytest.approx(month * 0.02)

    def test_racks_of_two_forms(self, call):
        code, out, err = call(three_racks(racks=TWO_FORMS), rates_text(UNEVEN), *QUICK)
        assert (code, err) == (0, WARNED)
        assert rows(out)["kip"][:2] == ["100.0", "%"]

    def test_the_same_seed_gives_the_same_text(self, call):
        terms = ["--mode", "uniform", *QUICK]
        one = call(three_racks(), rates_text(UNEVEN), *terms)
        assert one == call(three_racks(), rates_text(UNEVEN), *terms)
        assert one != call(three_racks(), rates_text(UNEVEN), *terms, "--seed", "1")

    def test_a_greatest_load_factor(self, call):
        terms = ["--max-load-factor", "1.2", "--mode", "kip,bounded", *QUICK]
        code, out, err = call(three_racks(), rates_text(UNEVEN), *terms)
        assert (code, list(rows(out))[-1]) == (2, "bounded")
        assert re.fullmatch(r"kip: load factor 1\.50[0-9] is above --max-load-factor 1\.2\n", err)
        assert call(three_racks(), rates_text(UNEVEN), *terms[:3], "bounded", *QUICK)[0] == 0

    def test_faults(self, call):
        fault = ["--fault", "broker=1,at=2s,for=1h,kind=down"]
        slow = ["--fault", "broker=4,at=0ms,for=0.5min,kind=slow,rtt=300ms"]
        terms = ["--json", "--mode", "kip", *QUICK]
        _, out, _ = call(three_racks(), rates_text(UNEVEN), *terms)
        code, broken, _ = call(three_racks(), rates_text(UNEVEN), *terms, *fault, *slow)
        assert code == 0
        late = [document(text)["modes"][0]["undelivered_bytes"] for text in (out, broken)]
        assert late[1] > 10 * max(late[0], 17_000)
        waits = ["--availability-timeout", "500ms"]
        _, out, _ = call(three_racks(), rates_text(UNEVEN), *terms, *fault, *waits)
        assert document(out)["modes"][0]["undelivered_bytes"] < late[1]

    def test_sizes(self, call):
        sizes = ["--sticky-bytes", "1000", "--record-bytes", "600", "--mode", "kip"]
        wait = ["--rtt", "5ms", "--broker-bytes-per-s", "2e5", "--duration", "3s"]
        _, out, _ = call(three_racks(), rates_text(UNEVEN), "--json", *sizes, *wait)
        (kip,) = document(out)["modes"]
        assert kip["windows"] == pytest.approx(2 * MIB * 3 / 1200, rel=0.01)
        assert kip["undelivered_bytes"] > 2 * MIB

    def test_few_windows_are_reported(self, call):
        code, _, err = call(three_racks(), rates_text(f"{AZ[0]} 1 {AZ[1]} 1"), *QUICK)
        assert code == 0
        assert err == (
            "warning: the slowest producers complete 0 windows in that time, so shares are "
            "inaccurate; give a longer --duration or a smaller --sticky-bytes\n"
        )

    def test_nobody_sends(self, call):
        code, out, err = call(three_racks(), rates_text(""), *QUICK)
        assert (code, rows(out)["kip"][2]) == (0, "1.000")
        assert "complete 0 windows" in err

    def test_brokers_instead_of_leaders(self, call):
        racks = dict(enumerate([AZ[0], AZ[1], AZ[2], AZ[2], AZ[2], AZ[2]], start=1))
        terms = ["--json", "--mode", "kip", "--capacity", "brokers", *QUICK]
        _, out, _ = call(three_racks(racks=racks), rates_text(UNEVEN), *terms)
        assert document(out)["weights"] == {AZ[0]: 1, AZ[1]: 1, AZ[2]: 4}


class TestWhatIsTold:
    def test_racks_without_brokers(self, call):
        text = rates_text(f"{AZ[0]} 1e6 az9 1e6")
        code, out, err = call(three_racks(), text, "--mode", "kip", *QUICK)
        assert (code, rows(out)["kip"][0]) == (0, "50.0")
        assert err == (
            "warning: az9 has clients and no broker, so all they send crosses racks; place "
            "leaders there, or correct the rates\n"
        )

    def test_leaders_without_rack(self, call):
        racks = dict(enumerate([*AZ, *AZ], start=1)) | {6: None}
        code, _, err = call(three_racks(racks=racks), rates_text(UNEVEN), "--mode", "kip", *QUICK)
        assert code == 0
        assert err == (
            "warning: orders: 2 partitions with a leader without rack are not counted; set "
            "broker.rack\n"
        )


class TestRefused:
    @pytest.mark.parametrize(
        ("options", "message", "hint"),
        [
            (
                ["--mode", "kip,near"],
                "invalid --mode: expected some of uniform, kip, upstream, bounded, got 'near'",
                "--mode uniform,kip",
            ),
            (
                ["--duration", "60"],
                "invalid --duration: expected a duration such as 60s, got 60",
                "units: ms s min h d",
            ),
            (
                ["--rtt", "-2ms"],
                "invalid --rtt: expected a duration such as 60s, got -2ms",
                "units: ms s min h d",
            ),
            (
                ["--max-load-factor", "nan"],
                "invalid --max-load-factor: expected 1 or more, got nan",
                "1 is an even load; 1.2 lets a rack take a fifth more",
            ),
            (
                ["--max-load-factor", "0.9"],
                "invalid --max-load-factor: expected 1 or more, got 0.9",
                "1 is an even load; 1.2 lets a rack take a fifth more",
            ),
            (
                ["--eps", "-1"],
                "invalid eps: expected 0 or more, got -1.0",
                "0.1 lets a rack take a tenth more than its even part",
            ),
            (
                ["--eps", "nan"],
                "invalid eps: expected 0 or more, got nan",
                "0.1 lets a rack take a tenth more than its even part",
            ),
            (
                ["--usd-per-gib", "inf"],
                "invalid price: expected 0 to 2^63 usd per GiB, got inf",
                "0.02 is both sides of a crossing between zones at the list price of many clouds",
            ),
            (
                ["--sticky-bytes", "0"],
                "invalid sticky_bytes: expected a number above 0, up to 2^63, got 0",
                "use the producer's batch.size",
            ),
            (
                ["--topic", "other"],
                None,
                "omit --topic, or give the rates of that topic",
            ),
            (
                ["--fault", "broker=9,at=1s,for=1s,kind=down"],
                "invalid --fault: expected a broker of the cluster, got 9",
                "brokers: 1, 2, 3, 4, 5, 6",
            ),
        ],
    )
    def test_options(self, tmp_path, options, message, hint):
        given = written(tmp_path, three_racks(), rates_text(UNEVEN))
        if message is None:
            message = (
                "invalid --rates: expected the rates of other, got those of orders in "
                f"{tmp_path / 'r.json'}"
            )
        check_refused(["producer", "simulate", *given, *options], message, hint)

    @pytest.mark.parametrize(
        "fault",
        [
            "broker=1",
            "broker=1,at=1s,for=1s,kind=dead",
            "broker=1,at=1s,for=1s,kind=slow",
            "broker=1,at=1s,for=1s,kind=down,rtt=1s",
            "broker=1,at=1s,for=1s,kind=down,at=2s",
            "broker=one,at=1s,for=1s,kind=down",
            "broker=²,at=1s,for=1s,kind=down",
            "broker,at=1s,for=1s,kind=down",
            "\x1b",
        ],
    )
    def test_faults(self, tmp_path, fault):
        given = written(tmp_path, three_racks(), rates_text(UNEVEN))
        shown = fault.replace("\x1b", "\\x1b")
        check_refused(
            ["producer", "simulate", *given, "--fault", fault],
            (
                "invalid --fault: expected broker=3,at=10s,for=20s,kind=down, or "
                f"kind=slow,rtt=300ms, got {shown}"
            ),
            "give each of broker, at, for and kind once, and rtt only with kind=slow",
        )

    def test_a_broker_with_many_digits(self, call):
        fault = f"broker={'9' * 5000},at=1s,for=1s,kind=down"
        code, _, err = call(three_racks(), rates_text(UNEVEN), "--fault", fault)
        assert code == 1
        assert err.startswith("error: invalid --fault: expected a broker of the cluster, got 999")

    def test_a_topic_that_is_not_there(self, tmp_path):
        given = written(tmp_path, three_racks(), rates_text(UNEVEN, topic="gone"))
        check_refused(
            ["producer", "simulate", *given],
            "topic gone is not in the cluster",
            "check the spelling, and whether the principal may describe the topic",
        )

    def test_leaders_that_are_missing(self, tmp_path):
        cluster = three_racks(1, leaders={"orders-0": None})
        given = written(tmp_path, cluster, rates_text(UNEVEN))
        check_refused(
            ["producer", "simulate", *given],
            "invalid weights: expected at least one rack with a weight above 0, got none",
            "are the leaders missing in the snapshot?",
        )

    def test_pinned_bytes_without_leaders(self, tmp_path):
        given = written(tmp_path, three_racks(2), rates_text(UNEVEN, f"{AZ[2]} 5"))
        check_refused(
            ["producer", "simulate", *given],
            "rack use1-az3 receives 5.0 pinned bytes_per_s but has weight 0",
            "are the leaders missing in the snapshot?",
        )

    def test_invalid_rates_are_rejected(self, tmp_path):
        text = rates_text(UNEVEN).replace(str(MIB), "-5", 1)
        given = written(tmp_path, three_racks(), text)
        check_refused(
            ["producer", "simulate", *given],
            f"invalid {tmp_path / 'r.json'} at $.free_bytes_per_s.use1-az1: expected "
            f"bytes_per_s, a number from 0 "
            "to 2^63, got -5",
            "measure it again, and use 0 for a rack that sends nothing",
            file=tmp_path / "r.json",
        )

    def test_hostile_names(self, tmp_path):
        given = written(tmp_path, three_racks(), rates_text(UNEVEN, topic="or\u202eders"))
        check_refused(
            ["producer", "simulate", *given],
            "topic or\\u202eders is not in the cluster",
            "check the spelling, and whether the principal may describe the topic",
        )

    def test_both_sources_or_none(self, tmp_path):
        given = written(tmp_path, three_racks(), rates_text(UNEVEN))
        for options in (given[2:], [*given, "--bootstrap-server", "localhost:1"]):
            code, out, err = called("producer", "simulate", *options)
            assert (code, out) == (1, "")
            assert err.startswith(
                "error: expected exactly one of --snapshot and --bootstrap-server"
            )
