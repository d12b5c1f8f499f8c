"""The settings file of commands that connect: its option, its mode, its `bootstrap.servers`."""

from __future__ import annotations

from itertools import chain

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from rackwise.adapters.sandbox.ports import free_ports
from rackwise.cli.app import COMMANDS, build_app
from rackwise.cli.main import run

CANARY = "canary-7Dw"
PAIR = ["--command-config", "--client-config"]


def commands_of(command, name=""):
    if isinstance(command, TyperGroup):
        return chain.from_iterable(
            commands_of(each, f"{name} {verb}".strip()) for verb, each in command.commands.items()
        )
    return [(name, [each.opts for each in command.params])]


def test_each_command_with_brokers_takes_a_settings_file_by_kafka_s_name_and_the_alias():
    options = dict(commands_of(get_command(build_app(*COMMANDS))))
    connecting = {name for name, opts in options.items() if ["--bootstrap-server"] in opts}
    assert {"audit", "plan", "broker-id acquire", "serve", "spark-check"} <= connecting
    assert [name for name in sorted(connecting) if PAIR not in options[name]] == []


@pytest.fixture
def audited(tmp_path, capsys):
    """`rackwise audit` of a cluster that does not run: exit code, stdout and stderr."""

    def call(text, *words, mode=0o600):
        settings = tmp_path / "client.properties"
        settings.write_text(f"default.api.timeout.ms=200\n{text}")
        settings.chmod(mode)
        code = run(["audit", *words, "--command-config", str(settings)])
        told = capsys.readouterr()
        assert CANARY not in told.out + told.err
        return code, told.out, told.err

    return call


LOGIN = (
    "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
    f'sasl.jaas.config=Module required username="u" password="{CANARY}";\n'
)


def test_a_password_that_the_group_may_read_is_one_warning(audited, tmp_path):
    bootstrap = f"127.0.0.1:{free_ports(1)[0]}"
    code, out, err = audited(LOGIN, "--bootstrap-server", bootstrap, mode=0o440)
    warning, error, hint = err.splitlines()
    assert (code, out) == (1, "")
    assert warning.startswith(f"warning: {tmp_path}/client.properties holds sasl.jaas.config and ")
    assert "run chmod 600" in warning
    assert error.startswith(f"error: no broker answers at {bootstrap}")
    assert hint.startswith("hint: ")


def test_a_password_that_others_may_read_is_an_error_with_the_command_to_run(audited, tmp_path):
    code, out, err = audited(LOGIN, "--bootstrap-server", "127.0.0.1:1", mode=0o644)
    error, hint = err.splitlines()
    assert (code, out) == (1, "")
    assert error.startswith(f"error: invalid mode of {tmp_path}/client.properties, which holds ")
    assert hint.startswith(f"hint: run chmod 600 {tmp_path}/client.properties")


def test_brokers_of_the_file_are_never_used_in_silence(audited):
    port = free_ports(1)[0]
    text = f"bootstrap.servers=kafka-1:9092,127.0.0.1:{port}\n"
    other = f"127.0.0.1:{free_ports(1)[0]}"
    told = audited(text, "--bootstrap-server", other)[2].splitlines()
    assert told[0] == (
        f"warning: bootstrap.servers of the client settings names kafka-1:9092,127.0.0.1:{port}, "
        f"--bootstrap-server {other}: --bootstrap-server is used; check that both are the same "
        "cluster"
    )
    assert told[1].startswith(f"error: no broker answers at {other}")
    assert audited(text, "--bootstrap-server", f"127.0.0.1:{port}")[2].startswith("error: ")
    code, out, err = audited(text)
    assert (code, out) == (1, "")
    assert err.splitlines()[0] == (
        "error: expected --bootstrap-server with --command-config, got none"
    )
    assert "bootstrap.servers of the file is not used" in err.splitlines()[1]
