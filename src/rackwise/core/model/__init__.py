"""The values that all rooms share: brokers, topics, partitions, a cluster at one moment.

All are frozen. Ids are integers >= 0, sizes are in bytes, and None means not known, never zero.
Replica lists have the preferred leader first, as in Kafka.

A cluster may have a million partitions. They are stored in a `PartitionTable`: numpy columns in
canonical order (topic as UTF-8 bytes, then partition number). Algorithms read the columns;
iteration yields `Partition` values.

```
parts            brokers, topics, groups, configs, notes
partition_table  partitions as columns; one partition as a value
ragged           rows of different lengths in two arrays
cluster          all of these at one moment
```
"""

from rackwise.core.model.cluster import Cluster, FairLoads, mapped_brokers
from rackwise.core.model.partition_table import (
    UNKNOWN,
    Number,
    Offsets,
    Partition,
    PartitionId,
    PartitionTable,
)
from rackwise.core.model.parts import (
    AnswerTimes,
    Broker,
    Configs,
    Group,
    GroupMember,
    LogDir,
    LogTail,
    Note,
    Topic,
)
from rackwise.core.model.ragged import Ragged

__all__ = [
    "UNKNOWN",
    "AnswerTimes",
    "Broker",
    "Cluster",
    "Configs",
    "FairLoads",
    "Group",
    "GroupMember",
    "LogDir",
    "LogTail",
    "Note",
    "Number",
    "Offsets",
    "Partition",
    "PartitionId",
    "PartitionTable",
    "Ragged",
    "Topic",
    "mapped_brokers",
]
