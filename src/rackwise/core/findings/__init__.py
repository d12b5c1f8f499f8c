"""Rules and findings: what a check can find, and what it found.

```
finding        one finding; a rule and its severity
rule_table     the rules of one check, and the decorator that adds a rule
finding_list   the findings of a small check
columns        the findings of an audit, which may be a million
```

Five checks share this package: the audit of a cluster (`core.rules`), the diagnosis of fetches
(`core.fetch_diagnosis`), a producer's options (`core.partitioner`), KIP-36's rolling upgrade
(`core.wire.upgrade`) and the racks of a Spark job (`pipeline.spark_racks`). Each check has one
`RuleTable`. A decorator at the function that checks a rule adds the rule to the table:

```
@RULES.rule("reading-selector", Severity.ERROR, "a broker has no RackAwareReplicaSelector")
def selector(view): ...
```

Order of a table: errors and warnings in the order in which they were added, then infos. Findings
are listed in this order, so that a cause comes before its effects.
"""

from rackwise.core.findings.columns import FindingBatch, Findings
from rackwise.core.findings.finding import NONE, Finding, Rule, Severity, Threshold
from rackwise.core.findings.finding_list import NOT_ASKED_FOR, FindingList, Unchecked
from rackwise.core.findings.rule_table import RuleTable

__all__ = [
    "NONE",
    "NOT_ASKED_FOR",
    "Finding",
    "FindingBatch",
    "FindingList",
    "Findings",
    "Rule",
    "RuleTable",
    "Severity",
    "Threshold",
    "Unchecked",
]
