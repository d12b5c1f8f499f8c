"""The guides of racks and CI: their commands run, and their manifests are valid."""

from __future__ import annotations

import os
import subprocess
import sys

import kubernetes_validate
import pytest
import yaml

from shown_commands import ROOT, blocks_of, missing_lines, shown_commands

GUIDES = ROOT / "docs" / "guides"
CI, TABLES, CLIENTS = (GUIDES / f"{name}.md" for name in ("ci", "rack-tables", "client-rack"))
VERSIONS = ("1.32", "1.35")


@pytest.fixture
def folder(tmp_path):
    """A folder with the examples, and `rackwise` on the path."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    program = tmp_path / "bin" / "rackwise"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m rackwise.cli "$@"\n')
    program.chmod(0o755)
    return tmp_path


def ran(folder, line):
    """A line of a job: the finished process."""
    path = os.pathsep.join([str(folder / "bin"), os.environ["PATH"]])
    return subprocess.run(
        ["sh", "-c", line],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": path, "COLUMNS": "100"},
    )


@pytest.mark.parametrize(("page", "codes"), [(CI, [2, 0]), (TABLES, [0, 0, 0, 0])])
def test_what_is_shown_is_what_is_printed(folder, page, codes):
    seen = []
    for shown in shown_commands(page):
        if shown.words[0] == "get":  # kubectl
            continue
        done = subprocess.run(
            [sys.executable, "-m", "rackwise.cli", *shown.words],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "COLUMNS": "100"},
        )
        assert missing_lines(shown, done.stdout) == [], done.stderr
        seen.append(done.returncode)
    assert seen == codes


def lines_of_jobs():
    """The commands of the jobs in the guide, without those that need a cluster."""
    found = []
    for _, text in blocks_of(CI, "yaml"):
        for job in _jobs(yaml.safe_load(text)):
            steps = job.get("script") or [step.get("run") for step in job["steps"]]
            found += [line for line in steps if line and "--bootstrap-server" not in line]
    return found


def _jobs(document):
    return document["jobs"].values() if "jobs" in document else document.values()


@pytest.mark.parametrize("line", dict.fromkeys(lines_of_jobs()))
def test_the_commands_of_the_jobs_run(folder, line):
    """`--fail-on never` and a plan of few moves pass; the audit of this cluster fails the job."""
    (folder / "cluster.json.gz").symlink_to(ROOT / "examples" / "demo" / "snapshot.json.gz")
    done = ran(folder, line)
    is_passed = "never" in line or "plan" in line
    assert (done.returncode, done.stderr) == (0 if is_passed else 2, done.stderr)
    written = {"--format sarif": "audit.sarif", "--format junit": "audit.xml", "plan": "plan.json"}
    for option, name in written.items():
        assert (folder / name).exists() == (option in line)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_manifests_are_valid(version):
    kinds = []
    for _, text in blocks_of(CLIENTS, "yaml"):
        for document in yaml.safe_load_all(text):
            if "strimzi" not in document["apiVersion"]:  # a resource of an operator
                kubernetes_validate.validate(document, version, strict=True)
            kinds.append(document["kind"])
    access = ["ServiceAccount", "ClusterRole", "ClusterRoleBinding"]
    assert kinds == ["Deployment", "Pod", *access, "Pod", "Kafka", "KafkaConnect"]


def test_only_the_init_container_has_the_token_of_an_account_that_may_read_nodes():
    (text,) = (text for _, text in blocks_of(CLIENTS, "yaml") if "ServiceAccount" in text)
    account, role, binding, pod = yaml.safe_load_all(text)
    (subject,) = binding["subjects"]
    assert subject == {"kind": account["kind"]} | {
        key: account["metadata"][key] for key in ("name", "namespace")
    }
    assert (binding["roleRef"]["kind"], binding["roleRef"]["name"]) == (
        role["kind"],
        role["metadata"]["name"],
    )
    spec = pod["spec"]
    assert pod["metadata"]["namespace"] == account["metadata"]["namespace"]
    assert spec["serviceAccountName"] == account["metadata"]["name"]
    assert spec["automountServiceAccountToken"] is False
    (name,) = (each["name"] for each in spec["volumes"] if "projected" in each)
    mounted = {
        each["name"]: name in [mount["name"] for mount in each["volumeMounts"]]
        for each in [*spec["initContainers"], *spec["containers"]]
    }
    assert mounted == {"rack": True, "main": False}


def test_each_step_after_the_audit_runs_if_the_audit_fails():
    (text,) = (text for _, text in blocks_of(CI, "yaml") if "jobs" in text)
    steps = yaml.safe_load(text)["jobs"]["audit"]["steps"]
    names = [step.get("name") for step in steps]
    assert {step.get("if") for step in steps[names.index("Audit") + 1 :]} == {"always()"}


def test_the_python_of_the_guide_runs(monkeypatch):
    monkeypatch.setenv("KAFKA_CLIENT_RACK", "use1-az4")
    ((_, text),) = blocks_of(CLIENTS, "python")
    names = {}
    exec(compile(text, CLIENTS.name, "exec"), names)  # noqa: S102 (our own text)
    assert names["rack"] == "use1-az4"
