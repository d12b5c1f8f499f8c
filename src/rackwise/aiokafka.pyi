from rackwise.adapters.clients.aiokafka import *  # noqa: F403 (the list is there)
