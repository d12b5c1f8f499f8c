"""Messages of Kafka's protocol that kafka-python does not have.

ConsumerGroupDescribe (KIP-848), ShareGroupDescribe (KIP-932), StreamsGroupDescribe (KIP-1071) and
UnregisterBroker (KIP-631). Their field tables are the JSON
files in this folder, in the notation of Kafka's own message definitions; kafka-python builds its
codecs from them.
"""

from __future__ import annotations

from kafka.protocol.api_message import ApiMessage


class ConsumerGroupDescribeRequest(ApiMessage, load_json=__name__):
    """Describes groups of the consumer protocol at their coordinator."""


class ConsumerGroupDescribeResponse(ApiMessage, load_json=__name__):
    """Members of those groups with client, address, rack and current assignment."""


class ShareGroupDescribeRequest(ApiMessage, load_json=__name__):
    """Describes share groups at their coordinator."""


class ShareGroupDescribeResponse(ApiMessage, load_json=__name__):
    """Members of those groups with client, address, rack and assigned partitions."""


class StreamsGroupDescribeRequest(ApiMessage, load_json=__name__):
    """Describes streams groups at their coordinator."""


class StreamsGroupDescribeResponse(ApiMessage, load_json=__name__):
    """Members of those groups with client, address, rack and tasks, and the topics of tasks."""


class UnregisterBrokerRequest(ApiMessage, load_json=__name__):
    """Removes a broker that is gone from the controller."""


class UnregisterBrokerResponse(ApiMessage, load_json=__name__):
    """The result of the removal."""
