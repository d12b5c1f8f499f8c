"""Messages in kafka-python's codec, from schemas in Kafka's own notation.

StreamsGroupHeartbeat (KIP-1071) is what a member of a streams group sends.

CreateReplicaAssignment is of KIP-879:

```
Question   the request, as the text of KIP-879 has it
Text       the response, as the text has it
Answer     the response with our tagged fields
```

They are data, not messages: kafka-python would put the class of a response into a register of the
whole process, under a key that is another message's.
"""

from __future__ import annotations

from kafka.protocol.api_data import ApiData
from kafka.protocol.api_message import ApiMessage


class CreateReplicaAssignmentQuestion(ApiData, load_json=__name__):
    """The request."""


class CreateReplicaAssignmentText(ApiData, load_json=__name__):
    """The response without errors."""


class CreateReplicaAssignmentAnswer(ApiData, load_json=__name__):
    """The response with errors."""


class StreamsGroupHeartbeatRequest(ApiMessage, load_json=__name__):
    """Joins a streams group, keeps its member alive, or leaves it."""


class StreamsGroupHeartbeatResponse(ApiMessage, load_json=__name__):
    """The epoch and the tasks of the member."""


class ConsumerGroupHeartbeatRequest(ApiMessage, load_json=__name__):
    """Joins a group of the consumer protocol, keeps its member alive, or leaves it."""


class ConsumerGroupHeartbeatResponse(ApiMessage, load_json=__name__):
    """The epoch and the partitions of the member."""


class ShareGroupHeartbeatRequest(ApiMessage, load_json=__name__):
    """Joins a share group, keeps its member alive, or leaves it."""


class ShareGroupHeartbeatResponse(ApiMessage, load_json=__name__):
    """The epoch and the partitions of the member."""
