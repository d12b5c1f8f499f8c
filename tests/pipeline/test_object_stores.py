"""Flows and tables on an object store: the result is that of local files, and nothing is left.

The store is a real S3 server. Where the server in front of it fails, requests really fail.
"""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time

import pyarrow.parquet
import pytest

from rackwise.adapters.sandbox.ports import HOST, free_ports
from rackwise.core.errors import InvalidFlows, OutputNotShared, QuarantineExceeded
from rackwise.core.fleet import FleetOptions, FlowFormat
from rackwise.pipeline.runtime.session import settings
from s3_servers import KEY, SECRET, S3Server, in_front_of, s3_environment, s3_jars
from spark_connect import ConnectServer
from truths import write_fleet

pytestmark = [
    *(pytest.mark.spark, pytest.mark.classic, pytest.mark.long),
    pytest.mark.timeout(2000),
]

LEVELS = ("--levels", "region,zone")
FORMATS = {"vpc": FlowFormat.VPC, "vpc-text": FlowFormat.VPC_TEXT}
LAKE = "lake"
NO_PLANS = ("--no-plans", "--master", "local[2]")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with S3Server(tmp_path_factory.mktemp("s3")) as made:
        yield made


@pytest.fixture(scope="module")
def homes(tmp_path_factory, server):
    """A fleet per format, its flows also in the bucket; texts are gzip files and plain ones."""
    found = {}
    for name, flow_format in FORMATS.items():
        home = tmp_path_factory.mktemp(name)
        options = FleetOptions(
            seed=26, brokers=6, topics=20, flows=3_000, bad_rows=0.01, flow_format=flow_format
        )
        write_fleet(options, home)
        for path in (home / "flows").glob("*0.log.gz"):
            path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
            path.unlink()
        files = sorted((home / "flows").iterdir())
        server.put(LAKE, {f"{name}/{path.name}": path.read_bytes() for path in files})
        found[name] = home
    assert {path.suffix for path in (found["vpc-text"] / "flows").iterdir()} == {".gz", ".log"}
    return found


def command(home, out, flows, *options):
    return [
        *(sys.executable, "-m", "rackwise.cli", "analyze", str(home / "cluster-0-0.json.gz")),
        *("--flows", str(flows), "--subnets", str(home / "subnets.csv"), "--out", str(out)),
        *(*LEVELS, "--max-quarantine", "0.5", *map(str, options)),
    ]


def ran(environment, *words):
    """Exit code, output and seconds of a command; law: no output has the credentials."""
    start = time.monotonic()
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        env=os.environ | environment,
    )
    assert SECRET not in done.stdout + done.stderr, "law broken: a secret is shown"
    assert KEY not in done.stdout + done.stderr, "law broken: a key is shown"
    return done.returncode, done.stderr, time.monotonic() - start


def analyzed(environment, home, out, flows, *options):
    code, err, _ = ran(environment, *command(home, out, flows, *options))
    assert code == 0, err
    return out


@pytest.fixture(scope="module")
def local(homes):
    """The result of the local files, by format."""
    return {
        name: analyzed({}, home, home / "local", home / "flows", *NO_PLANS)
        for name, home in homes.items()
    }


def results(out, prefix):
    """Path -> content of the published files; names of flow files without their folder."""
    home = (out / "current").resolve()
    files = [path for path in home.rglob("*") if path.is_file()]
    kept = [path for path in files if path.name not in {"manifest.json", "report.html"}]
    assert any(path.name == "summary.json" for path in kept)
    return {
        str(path.relative_to(home)): path.read_text().replace(prefix, "FLOWS/") for path in kept
    }


def rows(table, prefix="FLOWS/"):
    """The rows; names of flow files without their folder."""
    return sorted(repr(row).replace(prefix, "FLOWS/") for row in table.to_pylist())


def on_s3(out):
    return ("--tables", f"s3a://{LAKE}/{out}", "--conf", f"spark.jars={s3_jars()}")


@pytest.mark.parametrize("name", FORMATS)
def test_flows_on_a_store_give_the_result_of_local_files(name, homes, local, server):
    """No jar of the store is needed: tasks list, and open what they read."""
    home, uri = homes[name], f"s3://{LAKE}/{name}/"
    out = analyzed(server.environment, home, home / "s3", uri, *NO_PLANS)
    assert results(out, uri) == results(local[name], f"file:{home}/flows/")
    tables = {
        str(path.relative_to(out / "tables" / "runs")): rows(pyarrow.parquet.read_table(path))
        for path in (out / "tables" / "runs").glob("*/gold/*")
    }
    assert tables.keys()
    assert all(
        rows(pyarrow.parquet.read_table(local[name] / "tables" / "runs" / where)) == found
        for where, found in tables.items()
    )


def test_tables_on_a_store_are_those_of_a_folder(homes, local, server):
    home, uri = homes["vpc"], f"s3a://{LAKE}/vpc/*.parquet"
    out = home / "tables-on-s3"
    analyzed(server.environment, home, out, uri, *NO_PLANS, *on_s3("tables"))
    wanted = results(local["vpc"], f"file:{home}/flows/")
    assert results(out, f"s3a://{LAKE}/vpc/") == wanted
    (run,) = {key.split("/")[2] for key in server.keys(LAKE, "tables/runs")}
    keys = server.keys(LAKE, "tables")
    assert keys == [key for key in keys if key.startswith(f"tables/runs/{run}/")]
    assert not [key for key in keys if "/_" in key and not key.endswith("/_SUCCESS")]
    for path in (local["vpc"] / "tables" / "runs").glob("*/*/*"):
        name = "/".join(path.parts[-2:])
        there = pyarrow.parquet.read_table(
            f"{LAKE}/tables/runs/{run}/{name}", filesystem=server.store
        )
        wanted = rows(pyarrow.parquet.read_table(path), f"file:{home}/flows/")
        assert rows(there, f"s3a://{LAKE}/vpc/") == wanted, f"law broken: {name}"
    assert not (out / "unpublished").exists()


def test_a_killed_run_publishes_nothing_and_the_next_one_removes_its_tables(
    homes, server, tmp_path
):
    home, out = homes["vpc"], tmp_path / "out"
    uri, tables = f"s3a://{LAKE}/vpc/", on_s3("killed")
    analyzed(server.environment, home, out, uri, *NO_PLANS, *tables, "--to", "2026-11-20")
    before = results(out, uri)
    kept = server.keys(LAKE, "killed")
    words = command(home, out, uri, *NO_PLANS, *tables)
    with subprocess.Popen(
        words, env=os.environ | server.environment, stderr=subprocess.DEVNULL
    ) as run:
        while not [key for key in server.keys(LAKE, "killed") if "/silver/_sum/" in key]:
            assert run.poll() is None, "the run ended before it was killed"
            time.sleep(0.05)
        run.kill()
    assert run.returncode == -signal.SIGKILL
    assert set(server.keys(LAKE, "killed")) > set(kept)
    assert results(out, uri) == before
    assert len([*(out / "unpublished").iterdir()]) == 1
    analyzed(server.environment, home, out, uri, *NO_PLANS, *tables)
    keys = server.keys(LAKE, "killed")
    assert set(kept) < set(keys)
    assert not [key for key in keys if "/_" in key and not key.endswith("/_SUCCESS")]
    runs = {key.split("/")[2] for key in keys} - {key.split("/")[2] for key in kept}
    assert len(runs) == 1, "law broken: only published runs are left"
    assert "-" not in runs.pop(), "law broken: the folder of the killed run was free again"
    assert not (out / "unpublished").exists()


def test_a_run_that_fails_removes_its_tables(homes, server, tmp_path):
    home = homes["vpc"]
    words = command(home, tmp_path / "out", f"s3a://{LAKE}/vpc/", *NO_PLANS, *on_s3("failed"))
    words[words.index("--max-quarantine") + 1] = "0"
    code, err, _ = ran(server.environment, *words)
    assert code == QuarantineExceeded.exit_code
    assert "malformed" in one_line(err)
    assert server.keys(LAKE, "failed") == []
    assert not [*(tmp_path / "out").iterdir()]


def one_line(err):
    """The line of the error; law: there is one, and no page of Java or of our Python.

    A worker of PySpark that is stopped while it answers may print a broken pipe of its own.
    """
    errors = [line for line in err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, err
    assert "spark: ERROR Utils" not in err, err
    frames = [line for line in err.splitlines() if line.lstrip().startswith('File "')]
    assert all("pyspark/daemon.py" in line for line in frames), err
    assert "\tat " not in err, err
    return errors[0]


def rejected(environment, home, out, flows, *options, within_s=150):
    """The error of a run that publishes nothing."""
    code, err, seconds = ran(environment, *command(home, out, flows, *NO_PLANS, *options))
    assert code in {InvalidFlows.exit_code, OutputNotShared.exit_code}, err
    assert seconds < within_s
    assert not (out / "current").exists()
    return one_line(err)


class TestBadStores:
    def test_a_bucket_that_does_not_exist(self, homes, server, tmp_path):
        error = rejected(server.environment, homes["vpc"], tmp_path / "o", "s3://nowhere/flows/")
        assert "there is no bucket nowhere" in error

    def test_an_endpoint_that_does_not_answer(self, homes, tmp_path):
        nobody = f"http://{HOST}:{free_ports(1)[0]}"
        error = rejected(s3_environment(nobody), homes["vpc"], tmp_path / "o", "s3://lake/vpc/")
        assert "NETWORK_CONNECTION" in error

    def test_tables_where_the_endpoint_does_not_answer(self, homes, tmp_path):
        home, nobody = homes["vpc"], f"http://{HOST}:{free_ports(1)[0]}"
        error = rejected(
            s3_environment(nobody), home, tmp_path / "o", home / "flows", *on_s3("tables")
        )
        assert "a folder for tables that Spark can write" in error

    def test_tables_without_the_jar_name_it(self, homes, server, tmp_path):
        home = homes["vpc"]
        code, err, _ = ran(
            server.environment,
            *command(home, tmp_path / "o", home / "flows", *NO_PLANS, "--tables", "s3a://lake/t"),
        )
        assert code == OutputNotShared.exit_code
        assert "S3AFileSystem not found" in one_line(err)
        assert "hint: add --conf spark.jars.packages=org.apache.hadoop:hadoop-aws:3.5.0" in err

    @pytest.mark.parametrize("change", ["deleted", "replaced"])
    def test_an_object_that_changes_while_the_run_reads(self, change, homes, server, tmp_path):
        home, bucket = homes["vpc-text"], f"changing-{change}"
        files = {path.name: path.read_bytes() for path in (home / "flows").iterdir()}
        name = min(files)
        server.put(bucket, files)
        time.sleep(1.1)  # the time of an object has whole seconds
        is_done = []

        def changes(method, path):
            """The first bytes of the object are read: it changes at the second request."""
            if method == "GET" and path.startswith(f"/{bucket}/{name}"):
                is_done.append(path)
                if len(is_done) == 2 and change == "deleted":
                    server.store.delete_file(f"{bucket}/{name}")
                elif len(is_done) == 2:
                    server.put(bucket, {name: files[name]})

        with in_front_of(server, changes) as url:
            error = rejected(s3_environment(url), home, tmp_path / "o", f"s3://{bucket}/")
        assert len(is_done) >= 2
        assert name in error
        gone = ("NO_SUCH_KEY", "RESOURCE_NOT_FOUND")
        assert any(sign in error for sign in ("ChangedFile", *gone))

    def test_a_password_in_a_uri_is_not_shown(self, homes, server, tmp_path):
        uri = f"s3a://someone:{SECRET}@{LAKE}/vpc/"
        error = rejected(server.environment, homes["vpc"], tmp_path / "o", uri)
        assert "expected a URI without a user name and password" in error


def test_a_driver_on_connect_needs_no_credentials(
    homes, local, server, tmp_path, java_home, monkeypatch
):
    """The server of Connect has them. Its tasks list, read and remove; the driver has none."""
    home, uri = homes["vpc"], f"s3a://{LAKE}/vpc/"
    with monkeypatch.context() as patched:
        for name, value in server.environment.items():
            patched.setenv(name, value)
        conf = {
            **settings("local[2]", "small", {}),
            "spark.jars": s3_jars(),
            "spark.driver.extraJavaOptions": "",
        }
        there = ConnectServer(java_home=java_home, folder=tmp_path, conf=conf)
        there.__enter__()
    try:
        tables = ("--tables", f"s3a://{LAKE}/connect")
        words = ("--no-plans", "--remote", there.remote, *tables)
        out = analyzed({}, home, tmp_path / "out", uri, *words)
    finally:
        there.__exit__()
    assert results(out, uri) == results(local["vpc"], f"file:{home}/flows/")
    keys = server.keys(LAKE, "connect")
    assert keys
    assert not [key for key in keys if "/_" in key and not key.endswith("/_SUCCESS")]
