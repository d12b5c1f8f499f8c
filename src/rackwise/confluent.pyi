from rackwise.adapters.clients.confluent import *  # noqa: F403 (the list is there)
