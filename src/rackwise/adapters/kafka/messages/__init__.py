"""Messages of Kafka's protocol that kafka-python does not bring.

ConsumerGroupDescribe (KIP-848) and UnregisterBroker (KIP-631). The field tables stand in the JSON
files beside this one, in the notation of Kafka's own message definitions; kafka-python builds its
codecs from them.
"""

from __future__ import annotations

from kafka.protocol.api_message import ApiMessage


class ConsumerGroupDescribeRequest(ApiMessage, load_json=__name__):
    """Asks a coordinator for its groups of the consumer protocol."""


class ConsumerGroupDescribeResponse(ApiMessage, load_json=__name__):
    """Members of those groups with client, address, rack and current assignment."""


class UnregisterBrokerRequest(ApiMessage, load_json=__name__):
    """Asks the controller to forget a broker that is not there."""


class UnregisterBrokerResponse(ApiMessage, load_json=__name__):
    """Whether it did."""
