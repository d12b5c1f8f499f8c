"""Diagnoses why clients read across racks, from settings of brokers, clients and groups.

```
facts                                    rules
brokers: rack, selector, Fetch version   reading-fetch-version  -broker-rack  -rack-kinds  -selector
racks of clients                         reading-client-rack
answers of leaders to a fetch            reading-probe
groups: protocol, assignor, racks        reading-member-rack  -protocol  -assignor
                                         -static-member
replicas, best assignment                reading-coverage  -best
```

`diagnose_reading` checks the rules, `probe_questions` says which fetches to send, `group_best` says
how local a group could read, and `zone_kind` says what kind of name a rack is. Nothing is changed.
"""

from __future__ import annotations

# The order of the first four imports is the order in which findings are listed.
# isort: off
from rackwise.core.fetch_diagnosis import brokers  # noqa: F401 (the import registers the rules)
from rackwise.core.fetch_diagnosis import clients  # noqa: F401
from rackwise.core.fetch_diagnosis import probes  # noqa: F401
from rackwise.core.fetch_diagnosis import groups  # noqa: F401

# isort: on
from rackwise.core.fetch_diagnosis.best import group_best
from rackwise.core.fetch_diagnosis.diagnose import diagnose_reading
from rackwise.core.fetch_diagnosis.facts import GroupBest, Probe, ProbeQuestion, ReadingFacts
from rackwise.core.fetch_diagnosis.probes import doubtful_questions, probe_questions
from rackwise.core.fetch_diagnosis.view import READING_RULES
from rackwise.core.fetch_diagnosis.zones import ZoneKind, zone_kind

__all__ = [
    "READING_RULES",
    "GroupBest",
    "Probe",
    "ProbeQuestion",
    "ReadingFacts",
    "ZoneKind",
    "diagnose_reading",
    "doubtful_questions",
    "group_best",
    "probe_questions",
    "zone_kind",
]
