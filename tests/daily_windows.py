"""Windows around the time of this machine, and a fleet file that gives one to a cluster."""

from __future__ import annotations

from datetime import datetime, timedelta

from rackwise.cli.source import utc_now


def hours(first, last):
    """The hours between these numbers of hours from the time of this machine, in UTC."""
    now = datetime.fromisoformat(utc_now())
    return "-".join(f"{now + timedelta(hours=each):%H:%M}" for each in (first, last))


def fleet_with_window(file, cluster, window, *lines):
    """Write a fleet file with this window and these lines; the options that name its cluster."""
    keys = [f'bootstrap = "{cluster.bootstrap}"', f'window = "{window}"', *lines]
    file.write_text("\n".join(["[clusters.prod]", *keys, ""]))
    return "--fleet", file, "--cluster", "prod"
