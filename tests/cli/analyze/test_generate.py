"""`rackwise generate`: what it writes, says and refuses."""

from __future__ import annotations

import gzip
from dataclasses import replace

import pytest
from pyarrow import parquet

from rackwise.adapters import files
from rackwise.cli.main import run
from rackwise.core.errors import InvalidConfig
from rackwise.core.fleet import FleetOptions, Shape, generate_fleet
from rackwise.core.json.strict import parse

SMALL = ("--brokers", "6", "--topics", "5", "--flows", "400", "--bad-rows", "0.1")


def document(data):
    return parse(data if isinstance(data, bytes) else data.encode(), where="", error=InvalidConfig)


@pytest.fixture
def generate(tmp_path):
    def call(*arguments, out="fleet"):
        return run(["generate", "--out", str(tmp_path / out), *arguments]), tmp_path / out

    return call


class TestFiles:
    def test_everything_analyze_reads_and_the_truth(self, generate, capsys):
        code, out = generate(*SMALL)
        assert code == 0
        assert sorted(path.relative_to(out).as_posix() for path in out.rglob("*.*")) == [
            *(f"flows/2026-11-21-0000{number}.parquet" for number in range(4)),
            "snapshots/cluster-001.json.gz",
            "subnets.csv",
            "truth.json",
        ]
        told = document((out / "truth.json").read_bytes())
        rows = sum(parquet.read_metadata(path).num_rows for path in (out / "flows").iterdir())
        assert told["rows"] == rows == 420
        cluster = files.read_snapshot(out / "snapshots" / "cluster-001.json.gz")
        assert len(cluster.partitions) == told["clusters"][0]["partitions"]
        assert len(files.read_subnets(out / "subnets.csv")) == 33
        stdout = capsys.readouterr().out.splitlines()
        assert stdout[0].startswith(f"{out}: 1 cluster, 6 brokers, ")
        assert stdout[1] == (
            f"rackwise analyze {out}/snapshots --flows {out}/flows --subnets {out}/subnets.csv "
            f"--levels region,zone --max-quarantine 0.1 --out {out}/result"
        )

    def test_canonical_rows_come_with_a_table_of_clients(self, generate, capsys):
        code, out = generate(*SMALL, "--flow-format", "canonical", "--racks", "a,b", "--rf", "2")
        assert code == 0
        assert set(files.read_clients(out / "clients.csv")["client_id"].values())
        assert f"--flow-format canonical --clients {out}/clients.csv" in capsys.readouterr().out

    def test_of_two_runs_into_a_folder_the_second_removes_nothing(
        self, generate, monkeypatch, capsys
    ):
        def begin_another(out):
            (out / "flows").mkdir(parents=True)
            (out / "flows" / "part-0").write_text("of the first run")

        monkeypatch.setattr("rackwise.cli.analyze.fleet_files._check_empty", begin_another)
        code, out = generate(*SMALL)
        assert code == 1
        assert f"cannot create {out}/flows: File exists" in capsys.readouterr().err
        assert [each.read_text() for each in out.rglob("part-0")] == ["of the first run"]

    def test_text_files_are_compressed_and_have_a_header(self, generate):
        code, out = generate(*SMALL, "--flow-format", "vpc-text", "--log-version", "2")
        assert code == 0
        lines = gzip.decompress((out / "flows" / "2026-11-21-00000.log.gz").read_bytes())
        assert lines.split(b"\n")[0].split(b" ")[:2] == [b"version", b"account-id"]

    @pytest.mark.parametrize("flow_format", ["gcp", "azure", "obi"])
    def test_flow_logs_of_other_clouds_are_json(self, generate, capsys, flow_format):
        code, out = generate(*SMALL, "--flow-format", flow_format, "--log-version", "2")
        assert code == 0
        assert f"--flow-format {flow_format} " in capsys.readouterr().out
        assert (
            gzip.decompress((out / "flows" / "2026-11-21-00000.json.gz").read_bytes())[:1] == b"{"
        )

    def test_equal_options_give_equal_folders(self, generate):
        _, one = generate(*SMALL, "--shape", "messy", "--clusters", "2", out="one")
        _, two = generate(*SMALL, "--shape", "messy", "--clusters", "2", out="two")
        names = sorted(path.relative_to(one) for path in one.rglob("*.*"))
        assert len(names) == 8
        assert all((one / name).read_bytes() == (two / name).read_bytes() for name in names)

    def test_each_look_is_a_snapshot_file_with_its_time(self, generate, capsys):
        code, out = generate(*SMALL, "--looks", "3", "--clusters", "2", "--retention", "0.5")
        assert code == 0
        assert sorted(path.name for path in (out / "snapshots").iterdir()) == [
            f"cluster-00{number}-2026-11-2{time}Z.json.gz"
            for number in (1, 2)
            for time in ("1T000000", "1T120000", "2T000000")
        ]
        first, last = (
            files.read_snapshot(out / "snapshots" / f"cluster-001-2026-11-2{time}Z.json.gz")
            for time in ("1T000000", "2T000000")
        )
        growth = last.partitions.offsets.end - first.partitions.offsets.end
        assert growth.sum() > 0
        told = document((out / "truth.json").read_bytes())
        assert (told["options"]["looks"], told["options"]["retention"]) == (3, 0.5)
        groups = {row["client_group"] for row in told["by_topic_and_group"]}
        assert {group.group for group in last.groups} & groups
        assert capsys.readouterr().out.splitlines()[0].endswith(", 3 looks")

    def test_json(self, generate, capsys):
        code, out = generate(*SMALL, "--json")
        told = document(capsys.readouterr().out)
        assert code == 0
        assert told["format"] == "rackwise.generated/1"
        assert told["truth"] == str(out / "truth.json")
        assert told["analyze"][:2] == ["rackwise", "analyze"]
        assert (told["clusters"], told["brokers"], told["flows"], told["files"]) == (1, 6, 400, 4)
        assert told["looks"] == 1

    def test_prices_of_another_provider(self, generate):
        _, aws = generate(*SMALL, out="aws")
        _, azure = generate(*SMALL, "--provider", "azure", out="azure")
        in_aws, in_azure = (document((p / "truth.json").read_bytes()) for p in (aws, azure))
        assert float(in_aws["total"][0]["usd"]) > 0
        (copied,) = (row["usd"] for row in in_azure["by_kind"] if row["kind"] == "replicate")
        assert copied == "0.000000000"
        # Some clients have no known rack, so that a total of zero is not known.
        assert in_azure["total"][0]["bytes_unknown"] > 0
        assert in_azure["total"][0]["usd"] is None


class TestSnapshot:
    """Flows for a cluster that exists already."""

    @pytest.fixture
    def snapshot(self, tmp_path):
        options = FleetOptions(brokers=6, topics=5, shape=Shape.MESSY, ipv6=0)
        cluster = generate_fleet(options).clusters[0]
        files.write_snapshot(cluster, tmp_path / "s.json.gz")
        return tmp_path / "s.json.gz"

    def test_the_day_after_it_was_taken(self, generate, snapshot, capsys):
        code, out = generate("--snapshot", str(snapshot), "--flows", "400")
        assert code == 0
        assert sorted(path.name for path in out.iterdir()) == ["flows", "subnets.csv", "truth.json"]
        assert {path.name[:10] for path in (out / "flows").iterdir()} == {"2026-11-22"}
        assert f"rackwise analyze {snapshot} --flows" in capsys.readouterr().out

    def test_looks_at_it_are_written_to_new_snapshots(self, generate, snapshot, capsys):
        code, out = generate("--snapshot", str(snapshot), "--flows", "400", "--looks", "2")
        assert code == 0
        old = files.read_snapshot(snapshot)
        for path in sorted((out / "snapshots").iterdir()):
            look = files.read_snapshot(path)
            assert look.cluster_id == old.cluster_id
            assert look.partitions.replicas == old.partitions.replicas
            assert look.groups
        assert f"rackwise analyze {out}/snapshots --flows" in capsys.readouterr().out

    def test_another_first_day(self, generate, snapshot):
        _, out = generate(
            "--snapshot", str(snapshot), "--flows", "40", "--first-day", "2026-12-30", "--days", "3"
        )
        days = {path.name[:10] for path in (out / "flows").iterdir()}
        assert days == {"2026-12-30", "2026-12-31", "2027-01-01"}

    def test_generated_addresses_are_written_to_a_new_snapshot(self, generate, tmp_path, snapshot):
        cluster = files.read_snapshot(snapshot)
        shared = [replace(broker, addresses=("127.0.0.1",)) for broker in cluster.brokers]
        files.write_snapshot(replace(cluster, brokers=tuple(shared)), tmp_path / "shared.json")
        code, out = generate(
            "--snapshot", str(tmp_path / "shared.json"), "--addresses", "--flows", "40"
        )
        assert code == 0
        made = files.read_snapshot(out / "snapshots" / "cluster-001.json.gz")
        assert len({broker.addresses for broker in made.brokers}) == 6
        assert made.partitions == cluster.partitions


class TestRefused:
    @pytest.mark.parametrize(
        ("arguments", "said", "hint"),
        [
            (
                ["--shape", "odd"],
                "invalid --shape: expected even, random, messy, grown, lost or uneven, got odd",
                "choose one of these for --shape",
            ),
            (
                ["--flow-format", "request-log"],
                "invalid --flow-format: expected vpc, vpc-text, canonical, gcp, azure, tgw or obi",
                "choose one of these for --flow-format",
            ),
            (
                ["--first-day", "today"],
                "invalid --first-day: expected a date such as 2026-11-21, got today",
                "write year, month and day with hyphens",
            ),
            (["--retention", "1"], "--retention requires --looks", "give --looks 2"),
            (["--rf", "61"], "expected --rf of 1 to 60, got 61", "give --rf a number"),
            (["--addresses"], "--addresses requires --snapshot", "omit --addresses"),
            (["--provider", "nobody"], 'expected prices of provider "nobody"', "--provider"),
            (["--racks", "a,,b"], "rack is empty", "set broker.rack"),
        ],
    )
    def test_invalid_options_are_rejected(self, generate, capsys, arguments, said, hint):
        code, out = generate(*arguments)
        told = capsys.readouterr()
        assert code == 1
        assert said in told.err
        assert hint in told.err
        assert told.out == ""
        assert not out.exists()

    def test_clusters_of_a_snapshot_are_as_they_are(self, generate, tmp_path, capsys):
        cluster = generate_fleet(FleetOptions(brokers=3, topics=1)).clusters[0]
        files.write_snapshot(cluster, tmp_path / "s.json")
        code, _ = generate("--snapshot", str(tmp_path / "s.json"), "--brokers", "3")
        told = capsys.readouterr().err
        assert code == 1
        assert "--snapshot excludes --clusters, --brokers" in told
        assert "omit them" in told

    def test_a_folder_that_is_not_empty_is_rejected(self, generate, tmp_path, capsys):
        (tmp_path / "fleet").mkdir()
        (tmp_path / "fleet" / "old.parquet").touch()
        code, _ = generate(*SMALL)
        told = capsys.readouterr().err
        assert code == 1
        assert "invalid --out: expected a new or empty folder" in told
        assert "the truth describes the files of one fleet" in told

    def test_a_folder_that_cannot_be_created_is_rejected(self, generate, tmp_path, capsys):
        (tmp_path / "file").touch()
        code, _ = generate(*SMALL, out="file/fleet")
        told = capsys.readouterr().err
        assert code == 1
        assert ": Not a directory" in told
        assert "choose another --out" in told
