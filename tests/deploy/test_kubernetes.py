"""The manifests: valid for the API's schemas, built by kustomize, with commands that exist."""

import re
import subprocess
import sys
from contextlib import closing
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path

import pytest
import yaml

from command_lines import of_shell, parsed
from deploy_tools import needs
from hand_made_plans import lists, plan_file
from kafka_traffic import create, delete
from kubernetes_api import StandInApi, node, served
from kubernetes_api import pod as pod_on_n1
from rackwise.adapters.files.fleet_file import read_fleet_file
from rackwise.adapters.kafka import connect
from rackwise.cli.source import utc_now
from refusals import called
from shown_commands import ROOT

FOLDER = ROOT / "deploy" / "kubernetes"
PARTS = ("base", "apply", "metrics", "racks")
VERSIONS = ("1.30.0", "1.37.0")
MANIFESTS = sorted(each for each in FOLDER.glob("*/*.yaml") if each.name != "kustomization.yaml")
SECRET_MODE = 0o440
CANARY = "canary-of-the-api"
TOPIC = "in-a-window"
BEFORE = [[0, 1]]
AFTER = [2, 1]


def read(file):
    return [each for each in yaml.safe_load_all(file.read_text()) if each]


OBJECTS = list(chain.from_iterable(map(read, MANIFESTS)))


def of_kind(*kinds):
    return [each for each in OBJECTS if each["kind"] in kinds]


def pod_of(item):
    """The specification of the pods of a CronJob, Job or Deployment."""
    spec = item["spec"]
    if item["kind"] == "CronJob":
        spec = spec["jobTemplate"]["spec"]
    return spec["template"]["spec"]


WORKLOADS = of_kind("CronJob", "Job", "Deployment")
OURS = [each for each in WORKLOADS if pod_of(each)["containers"][0]["image"].startswith("rackwise")]


def named(item):
    return item["metadata"]["name"]


def cron_job(name):
    (found,) = [each for each in of_kind("CronJob") if named(each) == name]
    return found


def validated(version, files):
    validate = Path(sys.executable).with_name("kubernetes-validate")
    return subprocess.run(
        [validate, "--strict", "-k", version, *files], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("version", VERSIONS)
class TestSchema:
    def test_each_object_is_valid(self, version):
        done = validated(version, MANIFESTS)
        told = done.stdout + done.stderr
        assert done.returncode == 0, told
        assert told.count(" passed for resource ") == len(OBJECTS) > 8

    def test_a_key_that_does_not_exist_is_found(self, version, tmp_path):
        text = (FOLDER / "base" / "nightly.yaml").read_text()
        (tmp_path / "x.yaml").write_text(text.replace("concurrencyPolicy", "concurrency", 1))
        assert validated(version, [tmp_path / "x.yaml"]).returncode != 0


@pytest.mark.parametrize("part", PARTS)
class TestKustomize:
    def test_it_lists_each_file_of_its_folder(self, part):
        (listed,) = read(FOLDER / part / "kustomization.yaml")
        names = set(listed["resources"]) | {
            file for each in listed.get("configMapGenerator", ()) for file in each["files"]
        }
        assert names | {"kustomization.yaml"} == {each.name for each in (FOLDER / part).iterdir()}

    @needs("kubectl")
    def test_kubectl_builds_what_the_files_have(self, part):
        command = ["kubectl", "kustomize", FOLDER / part]
        built = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        objects = list(yaml.safe_load_all(built))
        kinds = sorted((each["kind"], named(each)) for each in objects)
        files = [each for each in MANIFESTS if each.parent.name == part]
        wanted = sorted(
            (each["kind"], named(each)) for each in chain.from_iterable(map(read, files))
        )
        assert [each for each in kinds if each[0] != "ConfigMap"] == wanted
        assert (part == "base") == any(kind == "ConfigMap" for kind, _ in kinds)


class TestCommands:
    def test_nightly_is_a_command_with_these_options(self):
        nightly = cron_job("rackwise-nightly")
        (container,) = pod_of(nightly)["containers"]
        assert container["command"] == ["/bin/sh", "-c"]
        name, options = parsed(of_shell(container["args"][0]))
        assert name == "nightly"
        assert (str(options["fleet"]), str(options["out"])) == (
            "/etc/rackwise/fleet/rackwise.toml",
            "/data",
        )

    @pytest.mark.parametrize(("code", "wanted"), [(0, 0), (1, 1), (2, 0), (3, 3), (4, 4)])
    def test_only_exit_code_2_becomes_0(self, tmp_path, code, wanted):
        nightly = cron_job("rackwise-nightly")
        (container,) = pod_of(nightly)["containers"]
        (tmp_path / "rackwise").write_text(f"#!/bin/sh\nexit {code}\n")
        (tmp_path / "rackwise").chmod(0o755)
        command = [*container["command"], *container["args"]]
        done = subprocess.run(command, env={"PATH": f"{tmp_path}:/bin"}, check=False)
        assert done.returncode == wanted

    def test_apply_is_a_command_with_a_window(self):
        (job,) = of_kind("Job")
        (container,) = pod_of(job)["containers"]
        assert container["command"] == ["rackwise"]
        name, options = parsed(container["args"])
        assert name == "apply"
        end, now = map(datetime.fromisoformat, (options["until"], utc_now()))
        assert end < now, "a file that nobody edited moves nothing"
        fleet = read_fleet_file(FOLDER / "base" / "rackwise.toml", environ={})
        assert fleet.cluster(options["cluster"]).throttle == "50MB"
        assert options["fleet"] == "/etc/rackwise/fleet/rackwise.toml"

    def test_racks_asks_the_api_and_merges_into_a_table_on_the_volume(self, tmp_path, monkeypatch):
        pod = pod_of(cron_job("rackwise-racks"))
        (container,) = pod["containers"]
        assert container["command"] == ["rackwise"]
        name, options = parsed(container["args"])
        assert (name, options["file"]) == ("kubernetes", None)
        folders = {each["mountPath"] for each in container["volumeMounts"]}
        table = Path(options["merge"])
        assert str(table.parent) in folders

        written = tmp_path / table.name
        words = [each.replace(str(table), str(written)) for each in container["args"]]
        api = StandInApi([node("n1", "a"), pod_on_n1("p1")], token=CANARY)
        with served(api, tmp_path) as kubeconfig:
            monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
            for _ in range(2):
                assert called(*words)[0] == 0
        assert '"10.1.0.7","a"' in written.read_text()
        (role,) = of_kind("ClusterRole")
        may_list = {kind for rule in role["rules"] for kind in rule["resources"]}
        assert {path.rpartition("/")[2] for path, _ in api.asked} == may_list

    def test_the_fleet_file_is_one_whose_paths_are_mounted(self):
        fleet = read_fleet_file(FOLDER / "base" / "rackwise.toml", environ={})
        nightly = cron_job("rackwise-nightly")
        mounts = [each["mountPath"] for each in pod_of(nightly)["containers"][0]["volumeMounts"]]
        for cluster in fleet.clusters:
            assert str(Path(cluster.command_config).parent) in mounts


@pytest.mark.kafka
class TestRestartedApply:
    """What the command line of the Job does on a real cluster."""

    @pytest.fixture
    def admin(self, kraft_cluster):
        with closing(connect(kraft_cluster.bootstrap)) as admin:
            create(admin, TOPIC, BEFORE)
            yield admin
            delete(admin, TOPIC)

    @pytest.fixture
    def job(self, admin, kraft_cluster, tmp_path, monkeypatch):
        """Run the Job with an end of its window."""
        state = tmp_path / "state"
        monkeypatch.setenv("RACKWISE_STATE", str(state))
        plan = plan_file(tmp_path / "plan.json", admin, {(TOPIC, 0): AFTER})
        fleet = tmp_path / "rackwise.toml"
        fleet.write_text(
            f'[clusters.prod]\nbootstrap = "{kraft_cluster.bootstrap}"\nthrottle = "50MB"\n'
        )
        (item,) = of_kind("Job")
        (container,) = pod_of(item)["containers"]
        verb, _, _, *rest = container["args"]

        def run(until=None):
            words = [verb, plan, f"--fleet={fleet}", *rest]
            if until is not None:
                words[-1] = f"--until={until:%Y-%m-%dT%H:%M:%SZ}"
            return called(*words)

        run.journals = lambda: {
            each: each.read_bytes() for each in state.rglob("*.journal") if each.stat().st_size
        }
        return run

    def test_the_file_as_it_is_writes_nothing(self, admin, job):
        code, out, err = job()
        assert (code, out) == (1, "")
        assert err.startswith("error: invalid --until: expected a time after ")
        assert (lists(admin, TOPIC), job.journals()) == (dict(enumerate(BEFORE)), {})

    def test_it_moves_inside_the_window_and_a_restart_after_it_writes_nothing(self, admin, job):
        now = datetime.fromisoformat(utc_now())
        code, _, err = job(now + timedelta(hours=1))
        assert code == 0, err
        assert lists(admin, TOPIC) == {0: AFTER}
        written = job.journals()
        assert written
        assert job(now - timedelta(minutes=5))[0] == 1
        assert job.journals() == written


class TestHardening:
    @pytest.mark.parametrize("item", WORKLOADS, ids=named)
    def test_no_pod_is_root_or_writes_outside_its_volumes(self, item):
        pod = pod_of(item)
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] > 0
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        asks_the_api = pod.get("serviceAccountName") == "rackwise-racks"
        assert pod["automountServiceAccountToken"] is asks_the_api
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert set(container["resources"]) == {"requests", "limits"}

    @pytest.mark.parametrize("item", OURS, ids=named)
    def test_secrets_are_files_that_only_the_group_of_the_pod_reads(self, item):
        pod = pod_of(item)
        secrets = [each["secret"] for each in pod["volumes"] if "secret" in each]
        assert len(secrets) == (named(item) != "rackwise-racks")
        assert all(each["defaultMode"] == SECRET_MODE for each in secrets)
        assert pod["securityContext"]["fsGroup"] == pod["securityContext"]["runAsGroup"]
        assert "valueFrom" not in str(pod)

    @pytest.mark.parametrize("item", OURS, ids=named)
    def test_the_network_policy_selects_its_pods(self, item):
        spec = item["spec"]["jobTemplate"]["spec"] if item["kind"] == "CronJob" else item["spec"]
        labels = spec["template"]["metadata"]["labels"]
        (policy,) = [each for each in of_kind("NetworkPolicy") if named(each) == "rackwise"]
        assert policy["spec"]["podSelector"]["matchLabels"].items() <= labels.items()
        assert policy["spec"]["ingress"] == []

    def test_each_rule_that_is_a_comment_is_valid_and_in_the_guide(self, tmp_path):
        file = FOLDER / "base" / "networkpolicy.yaml"
        text = re.sub(r"^    # (- |    |  )", r"    \1", file.read_text(), flags=re.MULTILINE)
        (policy,) = yaml.safe_load_all(text)
        (tmp_path / file.name).write_text(text)
        assert validated(VERSIONS[0], [tmp_path / file.name]).returncode == 0
        (active,) = read(file)
        added = policy["spec"]["egress"][len(active["spec"]["egress"]) :]
        guide = (ROOT / "docs" / "guides" / "kubernetes.md").read_text()
        ports = [str(each["port"]) for rule in added for each in rule["ports"]]
        assert ports == ["80", "80", "9198", "88", "88", "8443"]
        blocks = [each["ipBlock"]["cidr"] for rule in added for each in rule.get("to", ())]
        assert len(blocks) == 2
        for each in (*(block.removesuffix("/32") for block in blocks), "TCP 9198", "UDP 88"):
            assert each in guide

    def test_two_nights_never_run_at_once(self):
        nightly = cron_job("rackwise-nightly")
        assert nightly["spec"]["concurrencyPolicy"] == "Forbid"

    def test_the_role_only_lists_and_only_the_part_racks_has_one(self):
        (role,) = of_kind("ClusterRole")
        assert role["rules"] == [
            {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["list"]},
            {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["list"]},
        ]
        granting = [
            file.parent.name
            for file in MANIFESTS
            for each in read(file)
            if "Role" in each["kind"] or each["metadata"]["name"] == "rackwise-racks"
        ]
        assert set(granting) == {"racks"}
