"""The permissions of each command in one table: for hints, preflights and the reference page.

A permission is (resource, operation) as `kafka-acls` names them. Outside `snapshot` a read without
permission is no failure: its result is noted as not visible.
"""

from __future__ import annotations

from types import MappingProxyType

from rackwise.core.errors import MissingPermission

NEEDED = MappingProxyType(
    {
        "snapshot": (("cluster", "Describe"), ("topic", "Describe")),
        "snapshot of configs": (("topic", "DescribeConfigs"), ("cluster", "DescribeConfigs")),
        "snapshot of groups": (("group", "Describe"),),
        "doctor": (
            ("cluster", "Describe"),
            ("cluster", "DescribeConfigs"),
            ("topic", "Describe"),
            ("group", "Describe"),
        ),
        "doctor --probe": (("topic", "Read"),),
        "topic create": (("topic", "Create"), ("topic", "Describe")),
        "topic alter": (("topic", "Alter"), ("topic", "Describe")),
        "apply": (("cluster", "Describe"), ("topic", "Describe"), ("cluster", "Alter")),
        "apply --throttle": (
            ("cluster", "DescribeConfigs"),
            ("topic", "DescribeConfigs"),
            ("cluster", "AlterConfigs"),
            ("topic", "AlterConfigs"),
        ),
        "consumer": (("cluster", "Describe"), ("topic", "Describe"), ("group", "Describe")),
    }
)
"""Command -> the permissions that it needs."""

_SCOPES = {"cluster": "--cluster", "topic": "--topic '*'", "group": "--group '*'"}
_RESOURCE_OF_ERROR = {
    "ClusterAuthorizationFailedError": "cluster",
    "TopicAuthorizationFailedError": "topic",
    "GroupAuthorizationFailedError": "group",
}


def acl_line(resource: str, operation: str) -> str:
    """The `kafka-acls` line that grants one permission.

    >>> acl_line("cluster", "Describe")
    'kafka-acls --add --allow-principal User:NAME --operation Describe --cluster'
    """
    scope = _SCOPES[resource]
    return f"kafka-acls --add --allow-principal User:NAME --operation {operation} {scope}"


def missing_permission(error: str, *, doing: str, operation: str = "Describe") -> MissingPermission:
    """The error for an authorization error, given by its name in kafka-python."""
    resource = _RESOURCE_OF_ERROR.get(error, "cluster")
    return MissingPermission(
        f"missing permission: {resource.capitalize()}:{operation} is needed to {doing}",
        wanted=f"{resource.capitalize()}:{operation}",
        had=error,
        hint=acl_line(resource, operation),
    )
