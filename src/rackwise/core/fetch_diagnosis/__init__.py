"""Why clients read across racks: settings of brokers, clients and groups, judged without a change.

```
facts                                    rules
brokers: rack, selector, Fetch version   reading-broker-rack  -selector  -fetch-version  -rack-kinds
racks of clients                         reading-client-rack
groups: protocol, assignor, racks        reading-protocol  -assignor  -member-rack
replicas, best assignment                reading-coverage  -best
answers of leaders to a fetch            reading-probe
```

`diagnose_reading` judges them; `probe_questions` says which fetches are worth making, `group_best`
how local a group could read; `zone_kind` tells what a rack's text looks like.
"""

from __future__ import annotations

from rackwise.core.fetch_diagnosis.best import group_best
from rackwise.core.fetch_diagnosis.diagnose import diagnose_reading
from rackwise.core.fetch_diagnosis.facts import GroupBest, Probe, ProbeQuestion, ReadingFacts
from rackwise.core.fetch_diagnosis.findings import READING_RULES, ReadingFinding, ReadingFindings
from rackwise.core.fetch_diagnosis.probes import doubtful_questions, probe_questions
from rackwise.core.fetch_diagnosis.zones import ZoneKind, zone_kind

__all__ = [
    "READING_RULES",
    "GroupBest",
    "Probe",
    "ProbeQuestion",
    "ReadingFacts",
    "ReadingFinding",
    "ReadingFindings",
    "ZoneKind",
    "diagnose_reading",
    "doubtful_questions",
    "group_best",
    "probe_questions",
    "zone_kind",
]
