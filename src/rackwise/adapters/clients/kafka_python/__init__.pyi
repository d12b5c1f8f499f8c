from rackwise.adapters.clients.kafka_python.group import RackAssignor as RackAssignor
from rackwise.adapters.clients.kafka_python.group import (
    RackCooperativeSticky as RackCooperativeSticky,
)
from rackwise.adapters.clients.kafka_python.group import RackOptimal as RackOptimal
from rackwise.adapters.clients.kafka_python.group import RackRange as RackRange
from rackwise.adapters.clients.kafka_python.group import RackRoundRobin as RackRoundRobin
from rackwise.adapters.clients.kafka_python.group import RackSticky as RackSticky
from rackwise.adapters.clients.kafka_python.group import attach as attach
from rackwise.adapters.clients.kafka_python.group import rack_consumer as rack_consumer
from rackwise.adapters.clients.kafka_python.producer import (
    RackAwarePartitioner as RackAwarePartitioner,
)
from rackwise.adapters.clients.kafka_python.producer import RackAwareProducer as RackAwareProducer
from rackwise.adapters.clients.rack import detect_rack as detect_rack
