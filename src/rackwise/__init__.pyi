from collections.abc import Callable

from rackwise.adapters.clients.rack import detect_rack as detect_rack
from rackwise.core.assignors import Member as Member
from rackwise.core.assignors import assign_optimal as assign_optimal
from rackwise.core.assignors import evaluate as evaluate
from rackwise.core.assignors import explain as explain
from rackwise.core.audit import Finding as Finding
from rackwise.core.audit import Findings as Findings
from rackwise.core.audit import audit as audit
from rackwise.core.blast import RackLoss as RackLoss
from rackwise.core.blast import blast_radius as blast_radius
from rackwise.core.errors import RackwiseError as RackwiseError
from rackwise.core.model import Broker as Broker
from rackwise.core.model import Cluster as Cluster
from rackwise.core.model import Partition as Partition
from rackwise.core.model import PartitionTable as PartitionTable
from rackwise.core.model import Topic as Topic
from rackwise.core.partitioner import PartitionerConfig as PartitionerConfig
from rackwise.core.partitioner import TopicPartitioner as TopicPartitioner
from rackwise.core.partitioner import split_by_balance as split_by_balance
from rackwise.core.placement import Kip36 as Kip36
from rackwise.core.placement import Levels as Levels
from rackwise.core.placement import Placement as Placement
from rackwise.core.placement import RackMode as RackMode
from rackwise.core.placement import add_partitions as add_partitions
from rackwise.core.placement import change_replication as change_replication
from rackwise.core.placement import place as place
from rackwise.core.planning.model import Add as Add
from rackwise.core.planning.model import Balance as Balance
from rackwise.core.planning.model import Drain as Drain
from rackwise.core.planning.model import Leaders as Leaders
from rackwise.core.planning.model import Plan as Plan
from rackwise.core.planning.model import Repair as Repair
from rackwise.core.planning.model import Replace as Replace
from rackwise.core.planning.model import SetReplication as SetReplication
from rackwise.core.planning.plan import plan as plan
from rackwise.core.planning.what_if import what_if as what_if
from rackwise.core.policy import Policy as Policy
from rackwise.core.racks import Rack as Rack
from rackwise.core.traffic import Price as Price

def lazy_names(package: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]: ...
