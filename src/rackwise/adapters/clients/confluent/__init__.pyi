from rackwise.adapters.clients.confluent.producer import RackAwareProducer as RackAwareProducer
