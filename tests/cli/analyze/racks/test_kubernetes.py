"""`rackwise racks kubernetes`: from a file, from standard input, and from an API over HTTPS.

The API is a stand-in (see `kubernetes_api`); the client is the official one.
"""

from __future__ import annotations

import csv
import io
import sys

import pytest
import trustme

from kubernetes_api import StandInApi, job, kubeconfig, kubectl_list, node, pod, served
from rackwise.cli.main import run

CANARY = "canary-8c1d"
_ONE_POD = b'{"kind": "PodList", "items": [{"metadata": {"name": "p"}, "spec": {}, "status": %s}]}'
CART = pod(
    "cart-6b7f-x2",
    addresses=("10.1.0.7", "fd00::7"),
    owner=("ReplicaSet", "cart-6b7f"),
    labels={"pod-template-hash": "6b7f"},
)
NODES = (node("n1", "eu-west-1a"), node("n2", "eu-west-1b", "10.0.0.2"))


@pytest.fixture
def rows(tmp_path, capsys):
    """Run the command on objects; the rows (address, rack, owner, from, to) and stderr."""

    def call(*objects, options=()):
        file = tmp_path / "list.json"
        file.write_bytes(kubectl_list(*objects))
        assert run(["racks", "kubernetes", str(file), *options]) == 0
        shown = capsys.readouterr()
        return [tuple(each) for each in csv.reader(io.StringIO(shown.out))][1:], shown.err

    return call


def owners(found):
    return {row[0]: row[2] for row in found[0]}


class TestRows:
    def test_a_pod_has_the_zone_of_its_node_for_each_of_its_addresses(self, rows):
        found, said = rows(*NODES, CART)
        start = "2026-11-26T09:00:00Z"
        assert found == [
            ("10.0.0.1", "eu-west-1a", "", "2026-11-01T00:00:00Z", ""),
            ("10.0.0.2", "eu-west-1b", "", "2026-11-01T00:00:00Z", ""),
            ("10.1.0.7", "eu-west-1a", "shop/cart", start, ""),
            ("fd00::7", "eu-west-1a", "shop/cart", start, ""),
        ]
        assert said == ""

    @pytest.mark.parametrize(
        ("owner", "labels", "name"),
        [
            (("ReplicaSet", "cart-6b7f"), {"pod-template-hash": "6b7f"}, "shop/cart"),
            (("ReplicaSet", "cart-6b7f"), {}, "shop/cart-6b7f"),
            (("ReplicaSet", "cart-6b7f"), {"pod-template-hash": "11"}, "shop/cart-6b7f"),
            (("StatefulSet", "store-6b7f"), {"pod-template-hash": "6b7f"}, "shop/store-6b7f"),
            (("DaemonSet", "agent"), {"pod-template-hash": "6b7f"}, "shop/agent"),
            (("StrimziPodSet", "kafka-broker"), {}, "shop/kafka-broker"),
            (("Node", "n1"), {}, "shop/p"),
            (None, {}, "shop/p"),
            (("Job", "report-28"), {}, "shop/report-28"),
        ],
    )
    def test_the_owner_is_the_workload(self, rows, owner, labels, name):
        found = rows(NODES[0], pod("p", owner=owner, labels=labels))
        assert owners(found)["10.1.0.7"] == name

    def test_the_owner_of_a_job_is_its_cron_job_if_the_file_has_the_job(self, rows):
        found = rows(
            NODES[0], pod("p", owner=("Job", "report-28")), job("report-28", cron_job="report")
        )
        assert owners(found)["10.1.0.7"] == "shop/report"

    def test_pods_on_the_host_network_are_the_row_of_the_node_without_owner(self, rows):
        found = rows(NODES[0], pod("agent", addresses=("10.0.0.1",), has_host_network=True), CART)
        assert owners(found) == {
            "10.0.0.1": "",
            "10.1.0.7": "shop/cart",
            "fd00::7": "shop/cart",
        }

    def test_a_pod_that_has_finished_has_an_end(self, rows):
        found, _ = rows(
            NODES[0], pod("p", phase="Succeeded", finished="2026-11-26T09:30:00Z"), CART
        )
        assert [row[2:] for row in found if row[0] == "10.1.0.7"] == [
            ("shop/cart", "2026-11-26T09:00:00Z", ""),
        ]
        found, _ = rows(NODES[0], pod("p", phase="Succeeded", finished="2026-11-26T09:30:00Z"))
        assert found[1][4] == "2026-11-26T09:30:00Z"

    def test_what_has_no_rack_has_no_row_and_is_named(self, rows):
        found, said = rows(
            *NODES,
            node("n3", address="10.0.0.3"),
            pod("lost", on="n3"),
            pod("waiting", on=None, addresses=()),
            pod("ended", phase="Failed"),
        )
        assert [row[0] for row in found] == ["10.0.0.1", "10.0.0.2"]
        assert "1 node (n3) without the label topology.kubernetes.io/zone" in said
        assert "1 pod (shop/lost) on nodes of unknown rack" in said
        assert "1 pod (shop/waiting) without an address or a node" in said
        assert "1 pod (shop/ended) finished at an unknown time" in said

    def test_another_label_gives_the_racks(self, rows):
        label = "topology.k8s.aws/zone-id"
        found, _ = rows(node("n1", "eu-west-1a", **{label: "euw1-az3"}), options=("--label", label))
        assert found[0][1] == "euw1-az3"

    def test_zones_are_converted_by_a_table(self, rows, tmp_path):
        zones = tmp_path / "zones.csv"
        zones.write_text("name,id\neu-west-1a,euw1-az3\n")
        found, _ = rows(NODES[0], CART, options=("--zones", str(zones), "--as", "id"))
        assert {row[1] for row in found} == {"euw1-az3"}

    def test_one_namespace(self, rows):
        other = pod("p", namespace="other", addresses=("10.1.0.8",))
        found, _ = rows(NODES[0], CART, other, options=("--namespace", "other"))
        assert [row[0] for row in found] == ["10.0.0.1", "10.1.0.8"]


class TestMerge:
    def test_a_pod_that_is_gone_gets_an_end(self, tmp_path, capsys):
        file, table = tmp_path / "list.json", tmp_path / "addresses.csv"
        call = ["racks", "kubernetes", str(file), "--merge", str(table), "--at"]
        file.write_bytes(kubectl_list(*NODES, CART))
        assert run([*call, "2026-11-26T10:00:00Z"]) == 0
        first = table.read_text()
        assert run([*call, "2026-11-26T11:00:00Z"]) == 0
        assert table.read_text() == first
        moved = pod("pay-1", on="n2", start="2026-11-26T11:30:00Z")
        file.write_bytes(kubectl_list(*NODES, moved))
        assert run([*call, "2026-11-26T12:00:00Z"]) == 0
        assert list(csv.reader(io.StringIO(table.read_text())))[3:] == [
            ["10.1.0.7", "eu-west-1a", "shop/cart", "2026-11-26T09:00:00Z", "2026-11-26T11:30:00Z"],
            ["10.1.0.7", "eu-west-1b", "shop/pay-1", "2026-11-26T11:30:00Z", ""],
            ["fd00::7", "eu-west-1a", "shop/cart", "2026-11-26T09:00:00Z", "2026-11-26T12:00:00Z"],
        ]
        shown = capsys.readouterr().out.splitlines()[-1]
        assert shown == f"{table}: 5 rows, 3 of them without an end"

    def test_a_listing_of_one_namespace_ends_no_row_of_another(self, tmp_path):
        file, table = tmp_path / "list.json", tmp_path / "addresses.csv"
        other = pod("p", namespace="other", addresses=("10.1.0.8",))
        call = ["racks", "kubernetes", str(file), "--merge", str(table)]
        file.write_bytes(kubectl_list(NODES[0], CART, other))
        assert run(call) == 0
        file.write_bytes(kubectl_list(NODES[0]))
        assert run([*call, "--namespace", "other"]) == 0
        ends = {row["address"]: row["to"] for row in csv.DictReader(io.StringIO(table.read_text()))}
        assert ends["10.1.0.8"]
        assert not ends["10.1.0.7"]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--merge", "a.csv", "--out", "b.csv"], "--merge cannot be combined with --out"),
            (["--at", "yesterday"], "invalid --at: expected a time with its zone, got yesterday"),
            (["--as", "id"], "expected both --zones and --as, got one of them"),
            (["--context", "here"], "FILE cannot be combined with --context"),
        ],
    )
    def test_wrong_options(self, tmp_path, capsys, options, message):
        file = tmp_path / "list.json"
        file.write_bytes(kubectl_list(NODES[0]))
        assert run(["racks", "kubernetes", str(file), *options]) == 1
        assert message in capsys.readouterr().err


class TestBadInput:
    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (b"", "invalid list.json"),
            (b"[]", "expected a list of nodes and pods, got no kind"),
            (b'{"kind": "Deployment", "items": []}', 'got "Deployment"'),
            (b'{"kind": "List", "items": {}}', "$.items: expected a list of items, got an object"),
            (b'{"kind": "List", "items": [7]}', "$.items[0]: expected an object, got 7"),
            (b'{"kind": "List", "items": []}', "expected at least one node, got none"),
            (
                _ONE_POD % b'{"podIP": "10.0.0.256"}',
                '$.items[0].status.podIP: expected an IP address or null, got "10.0.0.256"',
            ),
            (
                _ONE_POD % b'{"startTime": "yesterday"}',
                "$.items[0].status.startTime: expected a time such as",
            ),
            (b'{"kind": "NodeList", "items": [{"status": {}}]}', 'missing key "metadata"'),
        ],
    )
    def test_what_is_no_list_of_nodes_and_pods(self, tmp_path, monkeypatch, capsys, data, message):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "list.json").write_bytes(data)
        assert run(["racks", "kubernetes", "list.json"]) == 1
        assert message in capsys.readouterr().err

    def test_standard_input_has_the_same_limit_as_a_file(self, monkeypatch, capsys):
        stdin = io.TextIOWrapper(io.BytesIO(kubectl_list(*NODES)))
        monkeypatch.setattr(sys, "stdin", stdin)
        assert run(["racks", "kubernetes", "-", "--max-input", "100"]) == 1
        assert "invalid standard input: expected at most 100 bytes" in capsys.readouterr().err


class TestCluster:
    """The official client, and a stand-in for the API over HTTPS."""

    @pytest.fixture
    def cluster(self, tmp_path, monkeypatch):
        pods = [pod(f"p{n}", addresses=(f"10.1.0.{n}",)) for n in range(5)]
        report = pod("r", owner=("Job", "report-28"), addresses=("10.1.0.9",), namespace="other")
        jobs = [job("report-28", cron_job="report", namespace="other")]
        api = StandInApi([*NODES, *pods, report, *jobs], token=CANARY)
        with served(api, tmp_path) as path:
            monkeypatch.setenv("KUBECONFIG", str(path))
            yield api

    def test_all_pages_of_nodes_pods_and_jobs_are_read(self, cluster, capsys):
        assert run(["racks", "kubernetes"]) == 0
        found = {
            row["address"]: row for row in csv.DictReader(io.StringIO(capsys.readouterr().out))
        }
        assert len(found) == 2 + 5 + 1
        assert found["10.1.0.9"]["owner"] == "other/report"
        asked = [path for path, _ in cluster.asked]
        assert asked.count("/api/v1/pods") == 3
        assert all(query["limit"] == ["500"] for _, query in cluster.asked)

    def test_one_namespace_is_asked_for(self, cluster, capsys):
        assert run(["racks", "kubernetes", "--context", "here", "--namespace", "other"]) == 0
        out = capsys.readouterr().out
        assert "10.1.0.9" in out
        assert "10.1.0.3" not in out
        assert "/api/v1/namespaces/other/pods" in [path for path, _ in cluster.asked]

    def test_jobs_that_may_not_be_listed_own_their_pods(self, cluster, capsys):
        cluster.forbidden = {"jobs"}
        assert run(["racks", "kubernetes"]) == 0
        assert "other/report-28" in capsys.readouterr().out

    def test_pods_that_may_not_be_listed_are_an_error(self, cluster, capsys):
        cluster.forbidden = {"pods"}
        assert run(["racks", "kubernetes"]) == 4
        assert "does not permit to list pods" in capsys.readouterr().err

    def test_a_wrong_token_is_an_error_that_does_not_show_it(self, cluster, capsys):
        cluster.token = f"another than {CANARY}"
        assert run(["racks", "kubernetes", "--debug"]) == 1
        shown = capsys.readouterr()
        assert "did not accept the credentials" in shown.err
        assert CANARY not in shown.err + shown.out

    def test_a_stranger_with_another_certificate_is_not_asked(
        self, cluster, tmp_path, monkeypatch, capsys
    ):
        trustme.CA().cert_pem.write_to_path(tmp_path / "stranger.pem")
        path = kubeconfig(tmp_path, cluster.url, tmp_path / "stranger.pem", token=CANARY)
        monkeypatch.setenv("KUBECONFIG", str(path))
        assert run(["racks", "kubernetes"]) == 1
        shown = capsys.readouterr()
        assert "cannot get the answer of https://127.0.0.1:" in shown.err
        assert CANARY not in shown.err
        assert cluster.asked == []

    def test_an_answer_that_is_cut_off_is_an_error(self, cluster, capsys):
        cluster.cuts_answers = True
        assert run(["racks", "kubernetes"]) == 1
        said = capsys.readouterr().err
        assert "cannot get the answer of https://127.0.0.1:" in said
        assert "internal error" not in said

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            (f"users:\n- token: *{CANARY}\n", "is no kubeconfig: line 2 is no YAML"),
            ("a: [b", "is no kubeconfig: line 1 is no YAML"),
            ("\0", "is no kubeconfig"),
            ("[]", "is no kubeconfig"),
            (f"{{clusters: 7, users: {CANARY}}}", "is no kubeconfig"),
            ("", "is empty"),
            ("{current-context: gone, contexts: [], clusters: [], users: []}", "gone"),
        ],
    )
    def test_a_damaged_kubeconfig_is_an_error_that_names_the_cause(
        self, tmp_path, monkeypatch, capsys, text, reason
    ):
        path = tmp_path / "config"
        path.write_text(text)
        monkeypatch.setenv("KUBECONFIG", str(path))
        assert run(["racks", "kubernetes", "--debug"]) == 1
        said = capsys.readouterr().err
        assert "cannot find a Kubernetes cluster" in said
        assert reason in said
        assert CANARY not in said

    @pytest.mark.parametrize("options", [[], ["--context", "elsewhere"]])
    def test_no_configuration_is_an_error(self, tmp_path, monkeypatch, capsys, options):
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "missing"))
        monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
        assert run(["racks", "kubernetes", *options]) == 1
        assert "cannot find a Kubernetes cluster" in capsys.readouterr().err
