"""Each command that connects to brokers takes a settings file under Kafka's own name."""

from __future__ import annotations

from itertools import chain

from typer.core import TyperGroup
from typer.main import get_command

from rackwise.cli.app import COMMANDS, build_app

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
