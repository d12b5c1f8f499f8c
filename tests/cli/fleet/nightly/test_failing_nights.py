"""Nights without a server: what fails, what the webhook gets, what is left on the disk."""

import signal
import subprocess
import sys

import pytest

from kafka_traffic import until
from nights import FIRST, SECOND, THIRD, Fleet, StepHere, ended
from rackwise.adapters.nightly_steps import StepProcess
from rackwise.cli.fleet.nightly import drive
from rackwise.cli.main import run
from webhooks import free_port, webhook

DOWN = {"bootstrap": "127.0.0.1:1", "command_config": "missing.properties"}


@pytest.fixture
def hook():
    with webhook() as made:
        yield made


@pytest.fixture
def fleet(tmp_path, hook):
    """Two clusters whose client properties do not exist, so that their snapshots fail at once."""
    return Fleet(tmp_path, {"a": DOWN, "b": DOWN | {"bootstrap": "127.0.0.1:2"}}, url=hook.url)


@pytest.fixture
def nights(fleet, monkeypatch):
    """The same fleet, whose steps start no process."""
    monkeypatch.setattr(drive, "StepProcess", StepHere)
    return fleet


def test_each_cluster_that_fails_is_told_once_and_the_state_says_why(fleet, hook):
    result = fleet.called(FIRST)
    assert result.code == 3, result
    assert result.err.count("warning: first-look of ") == 2
    assert fleet.exits() == {("first-look", "a"): 1, ("first-look", "b"): 1, ("notify",): 0}
    assert "missing.properties" in fleet.runs()["first-look", "a"]["reason"]
    assert sorted(hook.kinds()) == [("cluster-failed", "a"), ("cluster-failed", "b")]
    assert len(hook.documents) == 1
    assert 'rackwise_nightly_steps_failed{cluster="a"} 1\n' in metrics(fleet)
    assert "rackwise_nightly_last_success_timestamp_seconds" not in metrics(fleet)

    again = fleet.called(SECOND)
    assert again.code == 3
    assert fleet.state()["night"]["day"] == "2026-11-27"
    assert len(hook.documents) == 1


@pytest.mark.parametrize("answer", [500, "down"])
def test_notices_that_nobody_took_are_sent_by_the_next_run(nights, hook, answer):
    if answer == "down":
        nights.url = f"http://127.0.0.1:{free_port()}/canary"
    else:
        hook.answer = answer
    result = nights.called(FIRST)
    assert result.code == 3
    assert "2 unsent" in result.out
    assert nights.exits()["notify",] == 1
    assert "rackwise_nightly_notices_unsent 2\n" in metrics(nights)
    assert "canary" not in result.out + result.err

    nights.url, hook.answer = hook.url, 200
    assert "2 notices sent" in nights.called(SECOND).out
    assert {row["day"] for row in hook.documents[0]["notices"]} == {"2026-11-26"}
    assert nights.state()["outbox"] == []
    assert "rackwise_nightly_notices_unsent 0\n" in metrics(nights)


def test_a_run_without_a_webhook_keeps_the_notices_that_wait_and_adds_none(nights, hook):
    hook.answer = 500
    nights.called(FIRST)
    nights.url = None
    third = DOWN | {"bootstrap": "127.0.0.1:3"}
    nights.write({"a": DOWN, "b": DOWN | {"bootstrap": "127.0.0.1:2"}, "c": third})
    nights.called(SECOND)
    waiting = [(row["cluster"], row["day"]) for row in nights.state()["outbox"]]
    assert waiting == [("a", "2026-11-26"), ("b", "2026-11-26")]
    nights.url, hook.answer = hook.url, 200
    nights.called(THIRD)
    assert sorted(hook.kinds()[-2:]) == [("cluster-failed", "a"), ("cluster-failed", "b")]
    assert nights.state()["outbox"] == []


def test_a_fleet_without_a_value_is_the_file_of_the_working_folder(nights, monkeypatch, capsys):
    monkeypatch.chdir(nights.file.parent)
    assert run(["nightly", "--fleet", "--out", "data"]) == 3
    assert "night of " in capsys.readouterr().out


def test_the_url_of_the_webhook_is_in_no_file_and_in_no_output(fleet, hook):
    hook.answer = 500
    out = fleet.called(FIRST, "--debug")
    assert fleet.url.endswith("canary-81c0")
    assert b"canary" not in b"".join(fleet.texts().values()) + repr(out).encode()


def test_the_steps_do_not_have_the_variable_of_the_webhook(fleet, monkeypatch):
    given = []

    class Recorded(StepProcess):
        def __init__(self, *words, environ, **others):
            given.append(environ)
            super().__init__(*words, environ=environ, **others)

    monkeypatch.setattr(drive, "StepProcess", Recorded)
    monkeypatch.setenv("RACKWISE_HOOK", fleet.url)
    monkeypatch.setenv("RACKWISE_OTHER", "kept")
    words = ["--fleet", str(fleet.file), "--out", str(fleet.data)]
    assert run(["nightly", *words, "--notify", "${env:RACKWISE_HOOK}"]) == 3
    assert len(given) == 2
    assert all("RACKWISE_HOOK" not in each for each in given)
    assert all(each["RACKWISE_OTHER"] == "kept" for each in given)


def test_a_step_that_cannot_be_started_fails_alone(fleet, monkeypatch, capsys):
    class Scarce(StepProcess):
        def __init__(self, words, **others):
            super().__init__([*words, "x" * 2**20] if "a" in words else words, **others)

    monkeypatch.setattr(drive, "StepProcess", Scarce)
    assert run(["nightly", "--fleet", str(fleet.file), "--out", str(fleet.data)]) == 3
    assert fleet.exits() == {("first-look", "a"): 126, ("first-look", "b"): 1, ("notify",): 0}
    assert "first-look of a failed: the system started no process" in capsys.readouterr().err


def test_json_has_the_command_of_each_step(nights):
    result = nights.called(FIRST, "--json")
    assert result.out.count("\n") == 1
    assert (
        f"rackwise --json snapshot --fleet {nights.file} --cluster a --resolve --out " in result.out
    )


def test_a_second_run_at_the_same_time_is_rejected_and_a_killed_one_is_no_obstacle(fleet):
    held = paused(fleet)
    try:
        second = fleet.called(FIRST)
        assert second.code == 4, second
        assert f"process {held.pid}, which has been running since 2026-11-26T02:0" in second.err
        assert second.out == ""
    finally:
        held.send_signal(signal.SIGKILL)
        ended(held)
    assert fleet.called(FIRST).code == 3


def paused(fleet):
    """A run that has the lock and does not go on."""
    process = fleet.started(FIRST)
    lock = fleet.data / "lock"
    until(lambda: lock.exists() and lock.read_text(), "the lock of the night")
    process.send_signal(signal.SIGSTOP)
    return process


def test_a_folder_whose_lock_cannot_be_written_is_an_error_of_out(fleet):
    (fleet.data / "lock").mkdir(parents=True)
    result = fleet.called(FIRST)
    assert result.code == 1
    assert "invalid --out: expected a folder with a lock file" in result.err
    assert str(fleet.data) in result.err
    assert "RACKWISE_STATE" not in result.err
    assert "journal" not in result.err


def test_a_full_disk_is_one_line_and_the_files_of_earlier_nights_stay(nights):
    """A limit of the size of files stands for the full disk."""
    assert nights.called(FIRST).code == 3
    before, lock = nights.texts(), nights.data / "lock"
    script = (
        "import resource, signal, sys\n"
        "from rackwise.cli.main import run\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (400, resource.RLIM_INFINITY))\n"
        "sys.exit(run(sys.argv[1:]))\n"
    )
    words = ["nightly", "--fleet", str(nights.file), "--out", str(nights.data), "--at", SECOND]
    done = subprocess.run(
        [sys.executable, "-c", script, *words], check=False, capture_output=True, text=True
    )
    assert done.returncode == 3, done.stderr
    (line, hint) = done.stderr.splitlines()
    assert line == f"error: {nights.data}/nightly.json cannot be written: File too large"
    assert hint.startswith("hint: ")
    assert {**nights.texts(), lock: b""} == {**before, lock: b""}
    assert nights.called(THIRD).code == 3
    assert nights.state()["night"]["day"] == "2026-11-28"


def test_a_cluster_that_leaves_the_fleet_is_forgotten(nights):
    nights.called(FIRST)
    nights.write({"b": DOWN})
    nights.called(SECOND)
    assert list(nights.state()["clusters"]) == ["b"]


def test_old_files_are_removed_and_those_that_a_night_needs_stay(nights):
    kinds = ("snapshots", "audits", "plans")
    for kind in kinds:
        folder = nights.data / kind / "a"
        folder.mkdir(parents=True)
        for day in range(15, 26):
            number = "-1" if kind == "snapshots" else ""
            suffix = ".json.gz" if kind == "snapshots" else ".json"
            (folder / f"2026-11-{day}{number}{suffix}").write_text("{}")
        (folder / ".x.json.5f.unfinished").write_text("{")
        (folder / "notes.txt").write_text("mine")
    for name in (".nightly.json.5f.unfinished", "metrics/.nightly.prom.5f.unfinished"):
        (nights.data / name).parent.mkdir(exist_ok=True)
        (nights.data / name).write_text("{")
    nights.words += ["--keep-days", "3"]
    assert nights.called(FIRST).code == 3
    assert list(nights.data.rglob(".*.unfinished")) == []
    for kind in kinds:
        *days, own = sorted(path.name for path in (nights.data / kind / "a").iterdir())
        assert [name[8:10] for name in days] == ["24", "25"]
        assert own == "notes.txt"


def test_a_start_on_the_same_day_removes_what_a_killed_run_was_writing(nights):
    assert nights.called(FIRST).code == 3
    for name in (".nightly.json.5f.unfinished", "metrics/.nightly.prom.5f.unfinished"):
        (nights.data / name).write_text("{")
    assert nights.called(FIRST).code == 3
    assert list(nights.data.rglob(".*.unfinished")) == []


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["--at", "yesterday"], "invalid --at: expected a time such as"),
        (["--at", "2026-11-26T02:00:00"], "invalid --at: expected a time such as"),
        (["--measure", "10ms"], "invalid --measure: expected at least 1s, got 10ms"),
        (["--step-limit", "0s"], "invalid --step-limit: expected at least 1s, got 0s"),
        (["--notify", "https://hooks.example/canary"], "invalid --notify: expected ${env:NAME}"),
        (["--fleet", "/nowhere.toml"], "/nowhere.toml"),
        (["--fleet", "/dev/null"], "/dev/null"),
    ],
)
def test_options_that_cannot_be_are_rejected_before_anything_is_written(
    words, wanted, tmp_path, capsys
):
    (tmp_path / "rackwise.toml").write_text('[clusters.a]\nbootstrap = "127.0.0.1:1"\n')
    given = ["nightly", "--fleet", str(tmp_path / "rackwise.toml"), "--out", str(tmp_path / "d")]
    assert run([*given, *words]) == 1
    captured = capsys.readouterr()
    assert wanted in captured.err
    assert "canary" not in captured.err + captured.out
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize(
    ("package", "wanted", "extra"),
    [
        ("pyspark", "pyspark is required to analyze, but it is not installed", "spark"),
        ("kafka", "kafka is required to talk to brokers, but it is not installed", "kafka"),
    ],
)
def test_a_missing_package_is_told_before_anything_is_written(
    fleet, monkeypatch, capsys, package, wanted, extra
):
    monkeypatch.setitem(sys.modules, package, None)
    assert run(["nightly", "--fleet", str(fleet.file), "--out", str(fleet.data)]) == 1
    told = capsys.readouterr().err
    assert told == f'error: {wanted}\nhint: pip install "rackwise[{extra}]"\n'
    assert not fleet.data.exists()


def test_a_folder_without_a_fleet_file_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["nightly", "--out", "d"]) == 1
    assert "expected a fleet file, got none" in capsys.readouterr().err


def test_a_state_that_was_edited_is_rejected_and_stays(fleet):
    fleet.data.mkdir()
    state = fleet.data / "nightly.json"
    state.write_text('{"format": "rackwise.nightly/1", "night": 1}')
    result = fleet.called(FIRST)
    assert result.code == 1
    assert "nightly.json" in result.err
    assert state.read_text() == '{"format": "rackwise.nightly/1", "night": 1}'


def metrics(fleet):
    return (fleet.data / "metrics" / "nightly.prom").read_text()
