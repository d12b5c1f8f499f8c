"""Both images are built, and run as their user with a read-only root filesystem."""

import shutil

import pytest

import image_builder
from image_builder import Builder
from shown_commands import ROOT

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(
        image_builder.missing() is not None, reason=f"no image: {image_builder.missing()}"
    ),
]

DEMO = ROOT / "examples" / "demo"


@pytest.fixture(scope="module")
def builder(tmp_path_factory):
    made = Builder(tmp_path_factory.mktemp("images"))
    made.make_base()
    yield made
    shutil.rmtree(made.folder, ignore_errors=True)


def with_demo(container):
    for name in ("earlier.json.gz", "snapshot.json.gz", "subnets.csv", "flows"):
        source, place = DEMO / name, container.data / name
        shutil.copytree(source, place) if source.is_dir() else shutil.copy(source, place)
    return container


def test_the_tool_audits_plans_and_proves_as_a_user_who_can_write_to_data_alone(builder):
    tool = with_demo(builder.start(builder.build("tool")))
    assert tool.run("--version").stdout == "rackwise 0.1.0\n"
    assert "Usage: rackwise" in tool.run(*tool.config["Cmd"]).stdout
    audited = tool.run("audit", "--snapshot", "snapshot.json.gz", "--metrics", "audit.prom")
    assert audited.returncode == 2, audited.stderr
    planned = tool.run("plan", "repair", "--snapshot", "snapshot.json.gz", "--out", "plan.json")
    assert planned.returncode == 2, planned.stderr
    proof = tool.run("proof", "plan.json", "--snapshot", "snapshot.json.gz")
    assert "proved: no fair and legal plan" in proof.stdout, proof.stderr
    refused = tool.run("snapshot", "--bootstrap-server", "127.0.0.1:1", "--out", "x.json")
    assert "no broker answers" in refused.stderr
    assert tool.run("id", "-u", entrypoint=False).stdout == "65532\n"
    written = tool.run("touch", "/opt/rackwise/x", entrypoint=False)
    assert "Read-only file system" in written.stderr
    assert {each.name for each in tool.data.iterdir()} > {"audit.prom", "plan.json"}


def test_spark_prices_traffic_with_and_without_its_java(builder):
    spark = with_demo(builder.start(builder.build("spark")))
    assert spark.run("--version").stdout == "rackwise 0.1.0\n"
    words = (
        *("analyze", "earlier.json.gz", "snapshot.json.gz", "--flows", "flows"),
        *("--subnets", "subnets.csv", "--provider", "aws", "--extrapolate"),
    )
    for engine in ("local", "spark"):
        done = spark.run(*words, "--engine", engine, "--out", engine)
        assert done.returncode == 0, done.stderr
        assert (spark.data / engine / "report.html").is_file()
    assert spark.run("java", "-version", entrypoint=False).returncode != 0
