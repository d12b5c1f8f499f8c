import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.SecurityProtocol;
import org.apache.kafka.common.requests.AbstractRequestResponse;
import org.apache.kafka.common.requests.MetadataRequest;
import org.apache.kafka.common.requests.MetadataResponse;
import org.apache.kafka.common.requests.PartitionState;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.UpdateMetadataRequest;
import org.apache.kafka.common.requests.UpdateMetadataResponse;

/** The bytes that Kafka's own requests and responses become. */
final class WireMessages {
    static JsonNode header(JsonNode in) {
        return bytes(new RequestHeader((short) in.get("api_key").asInt(),
            (short) in.get("api_version").asInt(), text(in.get("client_id")),
            in.get("correlation_id").asInt()));
    }

    static JsonNode metadataRequest(JsonNode in) {
        if (in.get("topics").isNull()) {
            return bytes(MetadataRequest.allTopics());
        }
        List<String> topics = new ArrayList<>();
        in.get("topics").forEach(topic -> topics.add(topic.asText()));
        return bytes(new MetadataRequest(topics));
    }

    static JsonNode metadataResponse(JsonNode in) {
        List<Node> brokers = new ArrayList<>();
        for (JsonNode broker : in.get("brokers")) {
            brokers.add(new Node(broker.get("id").asInt(), broker.get("host").asText(),
                broker.get("port").asInt(), text(broker.get("rack"))));
        }
        List<MetadataResponse.TopicMetadata> topics = new ArrayList<>();
        for (JsonNode topic : in.get("topics")) {
            List<MetadataResponse.PartitionMetadata> partitions = new ArrayList<>();
            for (JsonNode partition : topic.get("partitions")) {
                partitions.add(new MetadataResponse.PartitionMetadata(error(partition),
                    partition.get("partition").asInt(), node(partition.get("leader")),
                    nodes(partition.get("replicas")), nodes(partition.get("isr"))));
            }
            topics.add(new MetadataResponse.TopicMetadata(error(topic), topic.get("topic").asText(),
                topic.get("is_internal").asBoolean(), partitions));
        }
        int controller = in.get("controller_id").isNull()
            ? MetadataResponse.NO_CONTROLLER_ID : in.get("controller_id").asInt();
        return bytes(
            new MetadataResponse(brokers, controller, topics, in.get("version").asInt()));
    }

    static JsonNode updateMetadata(JsonNode in) {
        Map<TopicPartition, PartitionState> states = new LinkedHashMap<>();
        for (JsonNode state : in.get("states")) {
            states.put(
                new TopicPartition(state.get("topic").asText(), state.get("partition").asInt()),
                new PartitionState(state.get("controller_epoch").asInt(),
                    state.get("leader").asInt(), state.get("leader_epoch").asInt(),
                    integers(state.get("isr")), state.get("zk_version").asInt(),
                    new LinkedHashSet<>(integers(state.get("replicas")))));
        }
        Set<UpdateMetadataRequest.Broker> brokers = new LinkedHashSet<>();
        for (JsonNode broker : in.get("brokers")) {
            Map<SecurityProtocol, UpdateMetadataRequest.EndPoint> endpoints = new LinkedHashMap<>();
            for (JsonNode endpoint : broker.get("endpoints")) {
                endpoints.put(SecurityProtocol.forId((short) endpoint.get("protocol").asInt()),
                    new UpdateMetadataRequest.EndPoint(
                        endpoint.get("host").asText(), endpoint.get("port").asInt()));
            }
            brokers.add(new UpdateMetadataRequest.Broker(
                broker.get("id").asInt(), endpoints, text(broker.get("rack"))));
        }
        return bytes(new UpdateMetadataRequest(in.get("version").asInt(),
            in.get("controller_id").asInt(), in.get("controller_epoch").asInt(), states, brokers));
    }

    static JsonNode updateMetadataResponse(JsonNode in) {
        return bytes(new UpdateMetadataResponse((short) in.get("error_code").asInt()));
    }

    private static JsonNode bytes(AbstractRequestResponse message) {
        ByteBuffer buffer = ByteBuffer.allocate(message.sizeOf());
        message.writeTo(buffer);
        return Oracle.JSON.createObjectNode()
            .put("hex", HexFormat.of().formatHex(buffer.array(), 0, buffer.position()));
    }

    private static String text(JsonNode value) {
        return value.isNull() ? null : value.asText();
    }

    private static Errors error(JsonNode in) {
        return Errors.forCode((short) in.get("error_code").asInt());
    }

    private static Node node(JsonNode id) {
        return id.asInt() < 0 ? Node.noNode() : new Node(id.asInt(), "", 0);
    }

    private static List<Node> nodes(JsonNode ids) {
        List<Node> nodes = new ArrayList<>();
        ids.forEach(id -> nodes.add(node(id)));
        return nodes;
    }

    private static List<Integer> integers(JsonNode values) {
        List<Integer> integers = new ArrayList<>();
        values.forEach(value -> integers.add(value.asInt()));
        return integers;
    }
}
