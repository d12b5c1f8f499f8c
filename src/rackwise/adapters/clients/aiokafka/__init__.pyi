from rackwise.adapters.clients.aiokafka.group import RackAssignor as RackAssignor
from rackwise.adapters.clients.aiokafka.group import RackOptimal as RackOptimal
from rackwise.adapters.clients.aiokafka.group import RackRange as RackRange
from rackwise.adapters.clients.aiokafka.group import RackRoundRobin as RackRoundRobin
from rackwise.adapters.clients.aiokafka.group import RackSticky as RackSticky
from rackwise.adapters.clients.aiokafka.group import attach as attach
from rackwise.adapters.clients.aiokafka.producer import RackAwareAIOProducer as RackAwareAIOProducer
