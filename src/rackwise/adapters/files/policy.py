"""Policy files: TOML, format `rackwise.policy/1`, with line numbers in errors (see `toml_text`).

The text is kept, because a plan contains its policy.

What this does not do: know what the keys mean (see `core.policy`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.adapters.files.bounded_read import MAX_BYTES, read_bytes
from rackwise.adapters.files.toml_text import parse_toml, toml_place
from rackwise.core.audit import check_ignored
from rackwise.core.errors import InvalidPolicy
from rackwise.core.policy import check_policy, policy_of

if TYPE_CHECKING:
    from pathlib import Path

    from rackwise.core.model import Cluster
    from rackwise.core.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFile:
    """A policy with its text; `name`: the path of the file, as given."""

    policy: Policy
    text: str
    name: str

    def check(self, cluster: Cluster) -> None:
        """Raises `InvalidPolicy`, with the line, for a policy that does not fit the cluster."""
        check_policy(self.policy, cluster, where=self.where)

    def where(self, path: str) -> str:
        """The file and the line of a JSON path, `policy.toml:14`."""
        return toml_place(self.text, self.name, path)


def read_policy(path: str | Path, *, max_bytes: int = MAX_BYTES) -> PolicyFile:
    """The policy in a TOML file.

    Raises `InvalidConfig` if the path is no readable regular file within `max_bytes`,
    `InvalidPolicy` if the content is no policy; its `where` is `file:line`.
    """
    data = read_bytes(path, error=InvalidPolicy, max_bytes=max_bytes)
    return parse_policy(data, where=str(path))


def parse_policy(data: bytes, *, where: str) -> PolicyFile:
    """The policy in the content of a TOML file. Raises `InvalidPolicy`."""
    text, table = parse_toml(data, where=where, error=InvalidPolicy)
    policy = policy_of(table, where=lambda path: toml_place(text, where, path))
    check_ignored(policy, where=lambda path: toml_place(text, where, path))
    return PolicyFile(policy=policy, text=text, name=where)
