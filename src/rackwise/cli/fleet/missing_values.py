"""The options that a cluster of a fleet file gives to a command, where the user did not.

An option that is given wins. With a file to read, such as `--snapshot`, a cluster gives no brokers,
but its policy and prices, and to an audit its name. With other brokers, it gives neither its login,
which those brokers would get, nor its name. Its throttle is that of commands that begin a run,
`apply` and `topic alter --replication-factor`: those that continue a run keep the throttle of the
run. Its window is that of these and `resume`: `rollback` repairs, and does not wait.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.fleet_file import FleetCluster

_FILES = ("snapshot", "reassignment")
"""Options that name a file to read instead of brokers."""


def missing_values(
    verb: str, values: Mapping[str, Any], cluster: FleetCluster
) -> dict[str, object]:
    """Parameter -> value of the cluster, for the parameters of a command that are not given."""
    found: dict[str, object] = {"policy": _path(cluster.policy)}
    has_brokers = values.get("bootstrap_server") is not None
    if not has_brokers and not any(values.get(each) is not None for each in _FILES):
        found["bootstrap_server"] = cluster.bootstrap_server
        found["command_config"] = _path(cluster.command_config)
    if values.get("placer") is None:
        found["provider"] = cluster.provider
        if cluster.provider or values.get("provider"):
            found["prices"] = _path(cluster.prices)
    is_new_run = verb == "apply" or (
        verb == "topic alter" and values.get("replication_factor") is not None
    )
    if is_new_run:
        found["throttle"] = cluster.throttle
    if (is_new_run or verb == "resume") and cluster.window is not None:
        found["window"] = str(cluster.window)
    if verb in {"snapshot", "audit"} and not has_brokers:
        found["name"] = cluster.name
    return {
        key: value
        for key, value in found.items()
        if value is not None and key in values and values[key] is None
    }


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)
