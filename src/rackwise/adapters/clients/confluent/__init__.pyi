from rackwise.adapters.clients.confluent.aio import RackAwareAIOProducer as RackAwareAIOProducer
from rackwise.adapters.clients.confluent.async_serializing import (
    RackAwareAsyncSerializingProducer as RackAwareAsyncSerializingProducer,
)
from rackwise.adapters.clients.confluent.producer import RackAwareProducer as RackAwareProducer
from rackwise.adapters.clients.confluent.producer import (
    RackAwareSerializingProducer as RackAwareSerializingProducer,
)
from rackwise.adapters.clients.rack import detect_rack as detect_rack
from rackwise.adapters.clients.rack_source import admin_racks as admin_racks
from rackwise.adapters.clients.rack_source import fixed_racks as fixed_racks
