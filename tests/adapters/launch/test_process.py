"""The broker's process on real processes: signals, statuses, descriptors, who outlives whom."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from process_states import is_alive
from rackwise.adapters.launch.broker.process import Child, check_command
from rackwise.core.errors import InvalidConfig

PYTHON = sys.executable
PATIENCE_S = 60.0


def until(condition):
    """Ask again and again; the test fails where it never comes true."""
    deadline = time.monotonic() + PATIENCE_S
    pause = threading.Event()
    while not (value := condition()):
        assert time.monotonic() < deadline, "this never came true"
        pause.wait(0.02)
    return value


def python(text):
    return [PYTHON, "-I", "-S", "-c", textwrap.dedent(text)]


def child(command, **environment):
    return Child(command, broker_id=7, environment={**os.environ, **environment})


WRITES = """
    import os, signal, sys
    heard = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    def hear(number, frame):
        os.write(heard, b"%d\\n" % number)
        if number == signal.SIGTERM:
            os._exit(33)
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(each, hear)
    os.write(heard, b"ready\\n")
    while True:
        signal.pause()
"""


def lines(path):
    return path.read_text().split() if path.exists() else []


@pytest.mark.parametrize("status", [0, 1, 3, 75, 255])
def test_the_status_is_the_childs(status):
    with child(python(f"raise SystemExit({status})")) as running:
        assert running.wait() == status


def test_a_childs_death_by_a_signal_is_128_and_its_number():
    with child(python("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")) as running:
        assert running.wait() == 137


def test_it_has_no_status_while_it_runs_and_is_stopped_at_the_end():
    with child(["sleep", "1000"]) as running:
        assert running.status() is None
        assert is_alive(running.pid)
    assert running.status() == 143


def test_it_is_killed_where_it_ignores_sigterm(tmp_path):
    ready = tmp_path / "ready"
    text = f"""
        import signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        open({str(ready)!r}, "w").close()
        while True: signal.pause()
    """
    with child(python(text)) as running:
        until(ready.exists)
        assert running.stop(timeout_s=0.1) == 137


def test_the_id_is_in_its_environment_and_where_an_argument_names_it(tmp_path):
    out = tmp_path / "out"
    text = f"""
        import os, sys
        told = os.environ["RACKWISE_BROKER_ID"], os.environ["KEPT"], "NOTIFY_SOCKET" in os.environ
        open({str(out)!r}, "w").write(repr((*told, sys.argv[1])))
    """
    command = [*python(text), "node.id={broker.id}"]
    with child(command, KEPT="yes", NOTIFY_SOCKET="/nowhere") as running:
        assert running.wait() == 0
    assert out.read_text() == repr(("7", "yes", False, "node.id=7"))


def test_no_shell_reads_its_arguments(tmp_path):
    out = tmp_path / "out"
    text = f"import sys; open({str(out)!r}, 'w').write(sys.argv[1])"
    with child([*python(text), "$(id); * | `x`"]) as running:
        assert running.wait() == 0
    assert out.read_text() == "$(id); * | `x`"


def test_it_has_a_process_group_of_its_own():
    with child(["sleep", "1000"]) as running:
        assert os.getpgid(running.pid) == running.pid != os.getpgid(0)


def test_it_inherits_no_descriptor_so_that_no_lock_outlives_us(tmp_path):
    held = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    os.set_inheritable(held, True)  # noqa: FBT003 (the call has no names)
    fcntl.flock(held, fcntl.LOCK_EX)
    with child(["sleep", "1000"]):
        os.close(held)
        other = os.open(tmp_path / "lock", os.O_RDWR)
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(other)


@pytest.mark.parametrize("name", ["SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2"])
def test_a_signal_to_us_is_the_childs(tmp_path, name):
    heard, number = tmp_path / "heard", getattr(signal, name)
    with child([*python(WRITES), str(heard)]) as running:
        until(lambda: lines(heard))
        os.kill(os.getpid(), number)
        until(lambda: len(lines(heard)) == 2)
        assert lines(heard) == ["ready", str(int(number))]
        assert running.status() is None
        os.kill(os.getpid(), signal.SIGTERM)
        assert running.wait() == 33


def test_a_signal_while_we_wait_for_its_end_is_the_childs(tmp_path):
    heard = tmp_path / "heard"
    with child([*python(WRITES), str(heard)]) as running:
        sender = threading.Thread(
            target=lambda: (until(lambda: lines(heard)), os.kill(os.getpid(), signal.SIGTERM))
        )
        sender.start()
        assert running.wait() == 33
        sender.join()


def test_a_script_between_us_and_the_broker_does_not_swallow_a_signal(tmp_path):
    heard = tmp_path / "heard"
    inner = tmp_path / "broker.py"
    inner.write_text(textwrap.dedent(WRITES))
    with child(["sh", "-c", f"{PYTHON} {inner} {heard}; exit $?"]) as running:
        until(lambda: lines(heard))
        os.kill(os.getpid(), signal.SIGUSR1)
        until(lambda: len(lines(heard)) > 1)
        assert lines(heard) == ["ready", str(int(signal.SIGUSR1))]
        os.killpg(running.pid, signal.SIGTERM)  # the shell may have died of the signal before


def test_signals_are_ours_again_afterwards():
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    with child(["true"]) as running:
        assert signal.getsignal(signal.SIGTERM) != before[0]
        running.wait()
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before


@pytest.mark.parametrize("command", [[], ["no-such-command-anywhere"], ["/"]])
def test_a_command_that_cannot_be_run_is_told_before_anything_starts(command):
    with pytest.raises(InvalidConfig):
        check_command(command, os.environ)
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(InvalidConfig):
        child(command).start()
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_script_without_an_interpreter_ends_as_in_a_shell(tmp_path):
    script = tmp_path / "script"
    script.write_text("echo\n")
    script.chmod(0o755)
    with child([str(script)]) as running:
        assert running.wait() == 126


def test_a_child_is_left_by_an_error_of_ours_stopped():
    running = child(["sleep", "1000"])
    with pytest.raises(KeyError), running:
        raise KeyError
    assert running.status() == 143


SUPERVISES = """
import os, signal, sys, threading
from rackwise.adapters.launch.broker.process import Child
with Child(sys.argv[1:], broker_id=7, environment=os.environ) as running:
    if BLOCKED:
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    print(running.pid, flush=True)
    raise SystemExit(running.wait())
"""


@pytest.fixture
def supervisor():
    started = []

    def start(*command, is_blocked=False):
        started.append(
            subprocess.Popen(
                [PYTHON, "-c", f"BLOCKED = {is_blocked}{SUPERVISES}", *command],
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            )
        )
        pids.append(int(started[-1].stdout.readline()))
        return started[-1], pids[-1]

    pids = []
    yield start
    for each, pid in zip(started, pids, strict=True):
        each.kill()
        each.wait()
        each.stdout.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ties a process to its parent")
def test_a_broker_whose_supervisor_is_killed_ends_in_order(tmp_path, supervisor):
    heard = tmp_path / "heard"
    process, pid = supervisor(*python(WRITES), str(heard))
    until(lambda: lines(heard))
    process.kill()
    until(lambda: not is_alive(pid))
    assert lines(heard) == ["ready", str(int(signal.SIGTERM))]


def test_a_supervisor_ends_with_the_childs_status_after_sigterm(tmp_path, supervisor):
    heard = tmp_path / "heard"
    process, _ = supervisor(*python(WRITES), str(heard))
    until(lambda: lines(heard))
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE_S) == 33


def test_a_signal_that_another_thread_gets_is_passed_on(tmp_path, supervisor):
    heard = tmp_path / "heard"
    process, _ = supervisor(*python(WRITES), str(heard), is_blocked=True)
    until(lambda: lines(heard))
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE_S) == 33


def test_a_paused_supervisor_passes_its_signals_on_later(tmp_path, supervisor):
    heard = tmp_path / "heard"
    process, _ = supervisor(*python(WRITES), str(heard))
    until(lambda: lines(heard))
    process.send_signal(signal.SIGSTOP)
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGCONT)
    assert process.wait(PATIENCE_S) == 33
