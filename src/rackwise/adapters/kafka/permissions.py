"""Missing permissions, with the `kafka-acls` line that grants each of them.

A permission is (resource, operation) as `kafka-acls` names them.
"""

from __future__ import annotations

from rackwise.core.errors import MissingPermission

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
