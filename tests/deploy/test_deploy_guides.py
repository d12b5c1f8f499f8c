"""The guides of alerts and Kubernetes say what the files say, and their commands run."""

import os
import re
import shlex
import shutil
import subprocess
import tomllib
from datetime import datetime

import pytest
import yaml

from command_lines import of_shell, parsed
from deploy_tools import needs
from rackwise.adapters.files.fleet_file import read_fleet_file
from rackwise.adapters.webhook import read_webhook
from refusals import called
from shown_commands import ROOT, blocks_of

ALERTS = ROOT / "docs" / "guides" / "alerts.md"
KUBERNETES = ROOT / "docs" / "guides" / "kubernetes.md"
RULES = ROOT / "deploy" / "prometheus" / "alerts.yml"
SERVICE = ROOT / "deploy" / "systemd" / "rackwise-nightly.service"
NIGHTLY, NOTICES, APPLY = (text for _, text in blocks_of(KUBERNETES, "yaml"))
"""Overlays; that of notices is added to that of the nightly run."""
needs_kubectl = needs("kubectl")
PATHS = re.compile(r"\bdeploy/[\w./-]+\w")


def test_the_guide_has_each_alert_with_its_severity():
    groups = yaml.safe_load(RULES.read_text())["groups"]
    rules = {each["alert"]: each["labels"]["severity"] for one in groups for each in one["rules"]}
    rows = dict(re.findall(r"^\| `(Rackwise\w+)` \| (\w+) \|", ALERTS.read_text(), re.MULTILINE))
    assert rows == rules


@pytest.mark.parametrize("page", [ALERTS, KUBERNETES], ids=lambda page: page.name)
def test_each_file_that_a_guide_names_exists(page):
    named = set(PATHS.findall(page.read_text()))
    assert len(named) > 2
    assert [each for each in named if not (ROOT / each).exists()] == []


def samples(file):
    return set(re.findall(r"^rackwise_\w+(?:\{.*?\})?", file.read_text(), re.MULTILINE))


def test_the_command_that_writes_metrics_writes_them_and_a_report_has_them_too(
    tmp_path, monkeypatch
):
    ((_, block),) = blocks_of(ALERTS, "sh")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    folders, audit = [shlex.split(line) for line in block.splitlines()]
    subprocess.run(folders, check=True)
    assert called(*audit[1:])[0] == 2
    audited = samples(tmp_path / audit[-1])
    assert 'rackwise_partitions_unsafe{cluster="shop"}' in audited
    demo = ROOT / "examples" / "demo"
    looks = (demo / "earlier.json.gz", demo / "snapshot.json.gz")
    bill = ("--flows", demo / "flows", "--subnets", demo / "subnets.csv", "--provider", "aws")
    assert called("analyze", *looks, *bill, "--engine", "local", "--out", "bill")[0] == 0
    assert called("report", "bill", "--metrics", "bill.prom")[0] == 0
    placement = {each for each in audited if "findings" not in each}
    assert placement <= samples(tmp_path / "bill.prom")


def test_the_service_posts_notices_with_the_lines_of_the_guide(tmp_path):
    ((_, block),) = blocks_of(ALERTS, "ini")
    (command,) = re.findall("^ExecStart=(.+)$", block, re.MULTILINE)
    (own,) = re.findall("^ExecStart=(.+)$", SERVICE.read_text(), re.MULTILINE)
    assert command.startswith(f"{own} --notify ")
    (name,) = re.findall("^LoadCredential=([^:]+):", block, re.MULTILINE)
    url = "https://hooks.example/canary"
    (tmp_path / name).write_text(f"{url}\n")
    (tmp_path / name).chmod(0o400)  # as systemd makes it
    # What systemd makes of the line.
    words = shlex.split(command.replace("$$", "$").replace("%d", str(tmp_path)))
    _, options = parsed(words[1:])
    assert read_webhook(options["notify"], environ={}).reveal() == url


def test_the_fleet_of_the_guide_finds_the_login_of_the_service(tmp_path):
    ((_, text),) = blocks_of(ALERTS, "toml")
    (tmp_path / "rackwise.toml").write_text(text)
    environ = {"CREDENTIALS_DIRECTORY": "/run/credentials/x"}
    (prod,) = read_fleet_file(tmp_path / "rackwise.toml", environ=environ).clusters
    name = re.search(r"LoadCredential=([^:]+):", SERVICE.read_text())[1]
    assert prod.command_config == f"/run/credentials/x/{name}"


def test_the_overlay_replaces_what_the_base_has():
    overlay = yaml.safe_load(NIGHTLY)
    base = yaml.safe_load(
        (ROOT / "deploy" / "kubernetes" / "base" / "kustomization.yaml").read_text()
    )
    (replaced,), (made,) = overlay["configMapGenerator"], base["configMapGenerator"]
    assert (replaced["name"], replaced["files"]) == (made["name"], made["files"])
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert overlay["images"][0]["newTag"] == f"{version}-spark"
    for each in overlay["resources"]:
        folder = re.search(r"//(deploy/\S+)\?ref=main", each)[1]
        assert (ROOT / folder / "kustomization.yaml").is_file()


@pytest.fixture
def built(tmp_path):
    """What kubectl makes of an overlay of the guide, with the folders of this repository."""

    def build(text):
        here = os.path.relpath(ROOT, tmp_path)
        text = text.replace("https://github.com/rackwise/rackwise//", f"{here}/")
        (tmp_path / "kustomization.yaml").write_text(text.replace("?ref=main", ""))
        shutil.copy(ROOT / "deploy" / "kubernetes" / "base" / "rackwise.toml", tmp_path)
        command = ["kubectl", "kustomize", tmp_path]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return [each for each in yaml.safe_load_all(done.stdout) if each]

    return build


def test_the_commands_on_the_plan_are_commands():
    blocks = "".join(text for _, text in blocks_of(KUBERNETES, "text"))
    lines = re.findall(r"^rackwise (.*)", blocks, re.MULTILINE)
    assert lines
    for line in lines:
        parsed(shlex.split(line))


@needs_kubectl
class TestOverlays:
    def test_no_image_and_no_namespace_of_ours_is_left(self, built):
        for text in (NIGHTLY, APPLY):
            objects = built(text)
            images = re.findall(r"'image': '([^']*rackwise[^']*)'", str(objects))
            assert images
            assert all(each.startswith("registry.example/rackwise:") for each in images)
            namespaces = {each["metadata"].get("namespace") for each in objects}
            assert namespaces - {None} == {"rackwise"}

    def test_apply_gets_its_plan_cluster_and_window(self, built):
        (job,) = built(APPLY)
        (container,) = job["spec"]["template"]["spec"]["containers"]
        assert (container["image"], container["command"]) == (
            "registry.example/rackwise:0.1.0",
            ["rackwise"],
        )
        name, options = parsed(container["args"])
        assert (name, options["cluster"]) == ("apply", "prod")
        assert str(options["plan"]) in KUBERNETES.read_text()
        assert datetime.fromisoformat(options["until"]).tzinfo is not None

    def test_the_nightly_run_gets_the_webhook_of_the_secret(self, built):
        (nightly,) = [each for each in built(NIGHTLY + NOTICES) if each["kind"] == "CronJob"]
        pod = nightly["spec"]["jobTemplate"]["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        (own,) = [each for each in built(NIGHTLY) if each["kind"] == "CronJob"]
        args = own["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["args"]
        notify = " --notify '${file:/etc/rackwise/clients/webhook}'"
        assert [each.replace(notify, "") for each in container["args"]] == args
        assert parsed(of_shell(container["args"][0]))[1]["notify"] in notify

    def test_apply_mounts_what_the_first_overlay_makes(self, built):
        made = {(each["kind"], each["metadata"]["name"]) for each in built(NIGHTLY)}
        (job,) = built(APPLY)
        volumes = {each["name"]: each for each in job["spec"]["template"]["spec"]["volumes"]}
        assert {
            ("ConfigMap", volumes["fleet"]["configMap"]["name"]),
            ("PersistentVolumeClaim", volumes["data"]["persistentVolumeClaim"]["claimName"]),
        } <= made


def test_prometheus_reads_the_settings_of_the_guide():
    ((_, text),) = blocks_of(ALERTS, "yaml")
    settings = yaml.safe_load(text)
    assert settings["rule_files"] == ["rackwise.yml"]
    assert settings["scrape_configs"][0]["static_configs"] == [{"targets": ["localhost:9100"]}]
