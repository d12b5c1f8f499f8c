from rackwise.adapters.clients.kafka_python import *  # noqa: F403 (the list is there)
