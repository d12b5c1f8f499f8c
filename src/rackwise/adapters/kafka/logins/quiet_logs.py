"""Loggers of other packages that write secrets at DEBUG, kept at INFO."""

from __future__ import annotations

import logging


def quiet_logs(*packages: str) -> None:
    """Keep the loggers of these packages, and those below them, from DEBUG.

    Call it after the import of a package: loggers that exist then may have a level of their own.
    """
    for package in packages:
        top = logging.getLogger(package)
        if top.level < logging.INFO:
            top.setLevel(logging.INFO)
        if not top.handlers:
            top.addHandler(logging.NullHandler())
        for name in [*logging.root.manager.loggerDict]:
            if name == package or name.startswith(f"{package}."):
                logging.getLogger(name).addFilter(_above_debug)


def _above_debug(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.INFO
