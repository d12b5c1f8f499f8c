"""The guides of alerts and Kubernetes say what the files say, and their commands run."""

import os
import re
import shlex
import subprocess
import sys
import tomllib

import pytest
import yaml

from command_lines import parsed
from rackwise.adapters.files.fleet_file import read_fleet_file
from shown_commands import ROOT, blocks_of

ALERTS = ROOT / "docs" / "guides" / "alerts.md"
KUBERNETES = ROOT / "docs" / "guides" / "kubernetes.md"
RULES = ROOT / "deploy" / "prometheus" / "alerts.yml"
SERVICE = ROOT / "deploy" / "systemd" / "rackwise-nightly.service"
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


def test_the_commands_that_write_metrics_write_them(tmp_path):
    ((_, block),) = blocks_of(ALERTS, "sh")
    audit, report = [shlex.split(line)[1:] for line in block.splitlines()]
    assert parsed(report)[0] == "report"
    (tmp_path / "textfile").mkdir()
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    done = subprocess.run(
        [sys.executable, "-m", "rackwise.cli", *audit],
        cwd=tmp_path,
        env=dict(os.environ),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert "rackwise_partitions_unsafe{" in (tmp_path / "textfile" / "shop.prom").read_text()


def test_the_fleet_of_the_guide_finds_the_login_of_the_service(tmp_path):
    ((_, text),) = blocks_of(ALERTS, "toml")
    (tmp_path / "rackwise.toml").write_text(text)
    environ = {"CREDENTIALS_DIRECTORY": "/run/credentials/x"}
    (prod,) = read_fleet_file(tmp_path / "rackwise.toml", environ=environ).clusters
    name = re.search(r"LoadCredential=([^:]+):", SERVICE.read_text())[1]
    assert prod.command_config == f"/run/credentials/x/{name}"


def test_the_overlay_replaces_what_the_base_has():
    ((_, text),) = blocks_of(KUBERNETES, "yaml")
    overlay = yaml.safe_load(text)
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


def test_prometheus_reads_the_settings_of_the_guide():
    ((_, text),) = blocks_of(ALERTS, "yaml")
    settings = yaml.safe_load(text)
    assert settings["rule_files"] == ["rackwise.yml"]
    assert settings["scrape_configs"][0]["static_configs"] == [{"targets": ["localhost:9100"]}]
