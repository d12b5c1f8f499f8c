"""Links resolve, the map lists every folder, and the commands and code of README run."""

import os
import re
import runpy
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from typer.main import get_command

from rackwise.cli.app import COMMANDS, build_app
from rackwise.core.fetch_diagnosis import READING_RULES
from rackwise.core.traffic import usd_nano
from shown_commands import README, ROOT, TOUR, blocks_of, shown_commands

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
GUIDE = ROOT / "docs" / "guides" / "serve.md"
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_resolve(page):
    targets = LINK.findall(page.read_text())
    assert [t for t in targets if not (page.parent / t).exists()] == []


def test_generated_pages_are_fresh():
    script = ROOT / "docs" / "reference" / "generate.py"
    made = runpy.run_path(str(script))["PAGES"]
    stale = [name for name, make in made.items() if (script.parent / name).read_text() != make()]
    assert stale == [], "run python docs/reference/generate.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_command_shown_exists_with_its_options(page):
    commands = get_command(build_app(*COMMANDS)).commands
    for text in [text for kind in ("console", "sh") for _, text in blocks_of(page, kind)]:
        for line in text.replace("\\\n", " ").splitlines():
            words = (
                shlex.split(line.removeprefix("$ "), comments=True) if "rackwise " in line else []
            )
            if not words or words[0] != "rackwise":
                continue
            if "--" in words:
                words = words[: words.index("--")]
            command = commands[words[1]]
            if hasattr(command, "commands"):
                command = command.commands[words[2]]
            options = {name for parameter in command.params for name in parameter.opts}
            options |= {"--json", "--quiet", "--debug", "--color", "--max-input"}
            assert {w.split("=")[0] for w in words if w.startswith("--")} <= options, line


def python_of(page):
    blocks = [text for _, text in blocks_of(page, "python")]
    assert blocks
    return blocks


@pytest.mark.parametrize("page", [TOUR, GUIDE], ids=lambda p: p.name)
def test_python_blocks_run_and_the_service_shown_answers_as_place_does(tmp_path, page):
    """The service listens on a free port."""
    service = next(each.words for each in shown_commands(page) if each.words[0] == "serve")
    names = {"__name__": "page"}
    with served(service) as server:
        for text in python_of(page):
            told = text.replace("127.0.0.1:19092", server)
            exec(compile(told, page.name, "exec"), names)  # noqa: S102 (our own text)
    same = ["place", *service[1:], "--partitions", "12", "--replication-factor", "3"]
    rows = printed(same, tmp_path).strip().split(",")
    assert [":".join(map(str, row)) for row in names["rows"].values()] == rows


def test_the_answer_repeated_in_the_guide_is_what_is_printed(tmp_path):
    commands = [each for each in shown_commands(GUIDE) if each.words[0] == "place" and each.lines]
    (_, words, lines), *_ = commands
    assert printed(words, tmp_path).splitlines() == lines


def test_python_blocks_of_the_placers_run_one_after_the_other():
    names = {"__name__": "placers"}
    for text in python_of(ROOT / "docs" / "reference" / "placers.md"):
        exec(compile(text, "placers.md", "exec"), names)  # noqa: S102 (our own text)


def test_the_values_in_the_consumers_guide_hold():
    *_, text = python_of(ROOT / "docs" / "guides" / "consumers.md")
    exec(compile(text, "consumers.md", "exec"), {"__name__": "consumers"})  # noqa: S102 (our own text)


def test_the_doctors_guide_explains_every_rule():
    guide = (ROOT / "docs" / "guides" / "doctor.md").read_text()
    assert re.findall(r"^\| `(reading-[a-z-]+)` \| [A-Z]", guide, re.MULTILINE) == [*READING_RULES]


def test_the_readme_fits_a_screen_and_a_half():
    assert len(README.read_text().splitlines()) < 120


def test_the_picture_in_the_readme_is_a_png_of_moderate_size():
    (name,) = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README.read_text())
    picture = (ROOT / name).read_bytes()
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    assert len(picture) < 300_000


def test_the_example_of_what_crossing_costs_is_what_the_core_makes_of_it():
    """300 MiB/s in 3 even racks, RF 3, 2 groups, 30 days at 0.02 USD per GiB."""
    mib, cent = 2**20, 10**7
    crossing = {"produce": 300 * 2 // 3, "replicate": 300 * 2, "fetch": 2 * 300 * 2 // 3}
    usd = {
        kind: usd_nano(rate * mib * 30 * 86_400, 2 * cent, 2**30) // 10**9
        for kind, rate in crossing.items()
    }
    terms = " + ".join(f"{each:,}" for each in usd.values())
    model = (ROOT / "docs" / "concepts" / "cost-model.md").read_text()
    assert f"{terms} = {sum(usd.values()):,} USD" in model
    tour = " ".join(TOUR.read_text().split())
    bill = f"two groups that are not rack-aware costs [{sum(usd.values()):,} USD in 30 days]"
    assert f"300 MiB/s of ingress with {bill}" in tour


def shown(*verbs: str) -> list[tuple[list[str], list[str]]]:
    """The tour's commands of these verbs, each with its output in the text."""
    commands = shown_commands(TOUR)
    return [(words, lines) for _, words, lines in commands if words[0] in verbs]


def printed(words: list[str], out: Path) -> str:
    words = [str(out) if word == "build/demo" else word for word in words]
    done = subprocess.run(
        [sys.executable, "-m", "rackwise.cli", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "100"},
    )
    return done.stdout.replace(str(out), "build/demo")


@contextmanager
def served(words: list[str]) -> Iterator[str]:
    """Start the service as the page shows; yields its address."""
    command = [sys.executable, "-m", "rackwise.cli", *words, "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            (port,) = re.findall(r'"port": ([0-9]+)', process.stdout.readline())
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()


@pytest.mark.parametrize("verb", ["audit", "consumer", "producer"])
def test_what_is_judged_and_shown_is_what_is_printed(tmp_path, verb):
    words, lines = shown(verb)[0]
    output = printed(words, tmp_path).splitlines()
    assert [line for line in lines if line not in output] == []


def test_the_rows_shown_are_what_is_printed(tmp_path):
    ((words, lines),) = shown("place")
    assert printed(words, tmp_path).splitlines() == lines


@pytest.mark.kafka
def test_the_topics_shown_are_made_as_is_printed(tmp_path, kraft_cluster, monkeypatch):
    from kafka_traffic import delete
    from rackwise.adapters.kafka import connect

    commands = shown("topic")
    assert [words[1] for words, _ in commands] == ["create", "alter", "ensure", "alter"]
    monkeypatch.setenv("RACKWISE_STATE", str(tmp_path / "state"))
    for words, lines in commands:
        told = [kraft_cluster.bootstrap if word == "kafka-1:9092" else word for word in words]
        assert printed(told, tmp_path).splitlines() == lines
    with closing(connect(kraft_cluster.bootstrap)) as admin:
        delete(admin, commands[0][0][2])


@pytest.mark.zookeeper
def test_the_start_shown_tells_what_is_told(lone_zookeeper, chroot, tmp_path):
    from rackwise.adapters.zookeeper import create_znodes, open_zookeeper
    from rackwise.core.identity.nodes.store import HOSTS, Create

    ((words, lines),) = shown("broker-id")
    url = lone_zookeeper.url + chroot
    create_znodes(url, None)
    with closing(open_zookeeper(url)) as store:
        store.commit([Create(f"{HOSTS}/kafka-7", b'{"version":0,"broker.id":7}')])
    file = tmp_path / "server.properties"
    connect = url.removeprefix("zookeeper://")
    file.write_text(f"log.dirs={tmp_path}/data\nzookeeper.connect={connect}\n")
    (tmp_path / "data").mkdir()
    stand_in = [sys.executable, str(ROOT / "tests" / "stand_in_broker.py")]
    told = {"server.properties": [str(file)], "bin/kafka-server-start.sh": stand_in}
    words = [each for word in words for each in told.get(word, [word])]
    started = subprocess.Popen(
        [sys.executable, "-m", "rackwise.cli", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "POD_NAME": "kafka-7"},
    )
    try:
        assert [started.stderr.readline().rstrip() for _ in lines] == lines
    finally:
        started.terminate()
        started.communicate()
    assert started.returncode == 128 + signal.SIGTERM
