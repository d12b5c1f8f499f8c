"""Plug-ins for Kafka's Python clients: they connect client callbacks to the algorithms of core.

```
kafka_python.group   assignors for kafka-python's KafkaConsumer
aiokafka.group       assignors for aiokafka's AIOKafkaConsumer
serving              what both do for their one consumer, and what assignors decide
group                what both share: from what members said to the answer, without any client
private              all that is touched inside a client
rack                 the rack that this process is in

kafka_python.producer   KIP-1123 for kafka-python's KafkaProducer
aiokafka.producer       the same for AIOKafkaProducer
confluent.producer      the same for confluent-kafka's Producer and SerializingProducer
confluent.aio           the same for its AIOProducer; async_serializing: AsyncSerializingProducer
steering, topics        what the three share: one topic's choice, all topics of a producer
producer_options        the options of a producer of kafka-python or aiokafka, and ours among them
rack_source             which broker is in which rack, for clients that do not tell
```

confluent-kafka (librdkafka) has KIP-881 built in and accepts no external assignor: set its
`client.rack`. The producer plug-ins use only public names of a client. A plug-in imports its own
client and no other, and only where it is used. Users import from `rackwise.kafka_python`,
`rackwise.aiokafka` and `rackwise.confluent`.
"""

from __future__ import annotations

from rackwise.adapters.clients.rack import detect_rack, inkless_client_id

__all__ = ["detect_rack", "inkless_client_id"]
