"""A policy whose plans also leave the topics of some globs alone.

```
[[topics]] match = ["orders"] ..      +  "__*"     a last block: match = ["__*"], exclude = true
```

The exclusion is a part of the policy, so a plan that keeps its policy also says what it left alone.

Limits: this module does not check that a topic matches.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rackwise.core.policy.model import TopicBlock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.core.policy.model import Policy


def exclude_topics(policy: Policy, globs: Sequence[str]) -> Policy:
    """The policy with the topics that match one of the globs excluded, as given without repeats."""
    match = tuple(dict.fromkeys(globs))
    if not match:
        return policy
    return replace(policy, topics=(*policy.topics, TopicBlock(match=match, exclude=True)))
