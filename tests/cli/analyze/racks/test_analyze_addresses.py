"""`rackwise analyze --addresses` with a table that `rackwise racks kubernetes` wrote."""

from __future__ import annotations

import pytest

from canonical_flows import flow, write_flows
from kubernetes_api import kubectl_list, node, pod
from rackwise.adapters.files import write_snapshot
from rackwise.cli.main import run
from small_fleets import GIB, cluster, group

NODES = (node("n1", "/eu/a"), node("n2", "/eu/b", "10.9.0.2"))
POD = {"owner": ("StatefulSet", "reader"), "start": "2026-11-01T00:00:00Z"}


@pytest.fixture
def analyzed(tmp_path, capsys):
    """Bill an hour in which 10.1.0.7 reads 1 GiB from /eu/a and 2 GiB from /eu/b."""
    write_snapshot(cluster(), tmp_path / "demo.json")
    at = {"client_address": "10.1.0.7", "window_s": 3_600}
    flows = [flow("fetch", 1, GIB, **at), flow("fetch", 2, 2 * GIB, **at)]
    path = write_flows(tmp_path / "flows", flows)

    def call(*options):
        capsys.readouterr()
        command = ["analyze", str(tmp_path / "demo.json"), "--flows", path]
        command += ["--flow-format", "canonical", "--engine", "local", "--levels", "region,zone"]
        code = run([*command, "--out", str(tmp_path / "out"), *options])
        shown = capsys.readouterr()
        assert code == 0, shown.err
        return next(line for line in shown.out.splitlines() if line.startswith("bytes"))

    return call


@pytest.mark.parametrize(
    ("start", "told"),
    [
        ("2026-11-01T00:00:00Z", "1.00 GiB of 3.00 GiB cross racks (33.3 %), 2.00 GiB local"),
        ("2026-11-01T00:59:59Z", "1.00 GiB of 3.00 GiB cross racks (33.3 %), 2.00 GiB local"),
        ("2026-11-01T01:00:00Z", "0 bytes of 3.00 GiB cross racks (0 %), 0 bytes local, 3.00 GiB"),
    ],
)
def test_the_bill_has_the_zone_of_the_pod_while_it_runs(analyzed, tmp_path, start, told):
    table = tmp_path / "addresses.csv"
    reader = pod("reader-0", on="n2", start=start, owner=("StatefulSet", "reader"))
    (tmp_path / "list.json").write_bytes(kubectl_list(*NODES, reader))
    assert run(["racks", "kubernetes", str(tmp_path / "list.json"), "--out", str(table)]) == 0
    assert told in analyzed("--addresses", str(table))


ENDED = "10.1.0.7,/eu/a,,,2026-01-02T00:00:00Z\n"
SUCCESSION = "10.1.0.7,/eu/b,,,2026-01-10T00:00:00Z\n10.1.0.7,/eu/a,,2026-01-10T00:00:00Z,\n"


@pytest.mark.parametrize(
    ("reported", "rows", "told"),
    [
        (None, SUCCESSION, "0 bytes of 84.4 KiB cross racks (0 %), 84.4 KiB local"),
        ("/eu/b", SUCCESSION, "0 bytes of 84.4 KiB cross racks (0 %), 84.4 KiB local"),
        (None, ENDED, "84.4 KiB of 84.4 KiB cross racks (100 %)"),
        ("/eu/b", ENDED, "84.4 KiB of 84.4 KiB cross racks (100 %)"),
        ("/eu/a", ENDED, "0 bytes of 84.4 KiB cross racks (0 %), 84.4 KiB local"),
    ],
)
def test_a_member_has_the_rack_of_its_row_at_the_snapshot(tmp_path, capsys, reported, rows, told):
    """The leader is in /eu/a; the subnet of the member is in /eu/c."""
    reader = group("g", ("m", reported, "10.1.0.7", [("orders", 0)]))
    made = cluster(
        topics={"orders": [(1,)]}, groups=[reader], taken_at="2026-01-20T00:00:00Z", min_isr=1
    )
    write_snapshot(made, tmp_path / "demo.json")
    for name, text in (
        ("rates.csv", "cluster,topic,client_group,bytes_out_per_s\ndemo,orders,g,1\n"),
        ("subnets.csv", "cidr,rack\n10.1.0.0/16,/eu/c\n"),
        ("addresses.csv", f"address,rack,owner,from,to\n{rows}"),
    ):
        (tmp_path / name).write_text(text)
    command = ["analyze", str(tmp_path / "demo.json"), "--out", str(tmp_path / "out")]
    command += ["--engine", "local", "--levels", "region,zone"]
    for option in ("rates", "subnets", "addresses"):
        command += [f"--{option}", str(tmp_path / f"{option}.csv")]
    assert run(command) == 0
    assert told in capsys.readouterr().out


def test_tables_of_two_sources_are_used_together(analyzed, tmp_path, capsys):
    nodes, pods, other = (tmp_path / f"{name}.csv" for name in ("nodes", "pods", "other"))
    nodes.write_text("address,rack,owner\n10.0.0.1,/eu/a,vm\n")
    pods.write_text("address,rack,owner\n10.0.0.1,/eu/a,\n10.1.0.7,/eu/b,shop/reader\n")
    told = analyzed("--addresses", str(nodes), "--addresses", str(pods))
    assert "1.00 GiB of 3.00 GiB cross racks (33.3 %)" in told
    other.write_text("address,rack\n10.1.0.7,/eu/c\n")
    options = ["--addresses", str(pods), "--addresses", str(other), "--engine", "local"]
    command = ["analyze", str(tmp_path / "demo.json"), "--out", str(tmp_path / "out"), *options]
    assert run(command) == 1
    assert f"got /eu/c in {other}:2 and /eu/b in {pods}:3" in capsys.readouterr().err


def test_without_the_table_the_rack_is_not_known(analyzed):
    assert "0 bytes local, 3.00 GiB unknown" in analyzed()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("10.1.0.256,/eu/a,,,", 'addresses.csv:2: address: expected an IP address, got "10.1.0.25'),
        ("10.1.0.0/24,/eu/a,,,", 'address: expected an IP address, got "10.1.0.0/24"'),
        ("10.1.0.7,/eu//a,,,", 'rack: expected a rack, got "/eu//a"'),
        ("10.1.0.7,,,,", "rack: expected a rack, got an empty cell"),
        ("10.1.0.7,a,,2026-11-01,", 'from: expected a time with its zone, got "2026-11-01"'),
        ("10.1.0.7,a,,,2026-11-01T00:00:00", "to: expected a time with its zone"),
        ("10.1.0.7,a,,2026-11-02T00:00:00Z,2026-11-01T00:00:00Z", "to: expected a time after from"),
        ("10.1.0.7,a,,,\n10.1.0.7,b,,,", "invalid racks of 10.1.0.7: expected one rack at a time"),
        ("10.1.0.7,a", "expected 5 cells, got 2"),
    ],
)
def test_a_wrong_table_is_rejected(tmp_path, capsys, lines, message):
    write_snapshot(cluster(), tmp_path / "demo.json")
    table = tmp_path / "addresses.csv"
    table.write_text(f"address,rack,owner,from,to\n{lines}\n")
    command = ["analyze", str(tmp_path / "demo.json"), "--out", str(tmp_path / "out")]
    assert run([*command, "--engine", "local", "--addresses", str(table)]) == 1
    assert message in capsys.readouterr().err
