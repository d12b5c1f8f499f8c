"""`rackwise scram-user`: makes the entry of a user for `rackwise serve --scram-users`."""

from __future__ import annotations

import secrets
import sys
from enum import StrEnum
from getpass import getpass
from typing import Annotated

import typer

from rackwise.cli.shell import Shell
from rackwise.core.errors import InvalidConfig
from rackwise.core.sasl.scram_credentials import (
    ITERATIONS,
    LEAST_ITERATIONS,
    MOST_ITERATIONS,
    SALT_BYTES,
    make_credential,
    write_credential,
)
from rackwise.core.secret import Secret

MOST_PASSWORD = 4096
"""Bytes of a password."""


class ScramMechanism(StrEnum):
    """The mechanisms of SCRAM."""

    SHA_256 = "SCRAM-SHA-256"
    SHA_512 = "SCRAM-SHA-512"


def scram_user(
    context: typer.Context,
    user: Annotated[str, typer.Argument(metavar="NAME", help="The name of the user.")],
    mechanism: Annotated[
        ScramMechanism, typer.Option(help="The mechanism that the client uses.")
    ] = ScramMechanism.SHA_512,
    iterations: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=LEAST_ITERATIONS,
            max=MOST_ITERATIONS,
            help="Rounds of hashing: more rounds make guessing a password slower, and each login.",
        ),
    ] = ITERATIONS,
) -> int:
    """Print the line of a user for the file of serve --scram-users.

    Asks for the password at the terminal, or reads one line from stdin. The line has salted keys
    and not the password. Keep it secret all the same: who has it can act as the service. Exit
    codes: 0 printed, 1 error.
    """
    shell: Shell = context.obj
    credential = make_credential(
        _password().reveal(),
        mechanism=mechanism.value,
        salt=secrets.token_bytes(SALT_BYTES),
        iterations=iterations,
    )
    line = write_credential(user, credential)
    if shell.is_json:
        from rackwise.cli.place.documents import ScramUserDocument

        shell.document(
            ScramUserDocument(
                user=user, mechanism=mechanism.value, iterations=iterations, line=line
            )
        )
        return 0
    shell.data(line)
    return 0


def _password() -> Secret:
    """The password, typed twice or piped. Raises `InvalidConfig`."""
    if sys.stdin.isatty():
        try:
            typed = getpass("Password: ")
            again = getpass("Again: ")
        except (EOFError, UnicodeDecodeError):
            raise InvalidConfig("invalid password: expected a line of UTF-8, got none") from None
        if typed != again:
            raise InvalidConfig("invalid password: expected the same text twice, got two texts")
        return Secret(typed)
    raw = sys.stdin.buffer.readline(MOST_PASSWORD + 1)
    if len(raw) > MOST_PASSWORD:
        raise InvalidConfig(
            f"invalid password: expected at most {MOST_PASSWORD} bytes, got more",
            wanted=MOST_PASSWORD,
        )
    try:
        return Secret(raw.decode("utf-8").rstrip("\r\n"))
    except UnicodeDecodeError:
        raise InvalidConfig("invalid password: expected UTF-8, got other bytes") from None
