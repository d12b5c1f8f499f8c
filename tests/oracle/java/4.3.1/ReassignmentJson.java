import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.tools.reassign.ReassignPartitionsCommand;

/** Kafka's own writer and reader of the reassignment file. */
final class ReassignmentJson {
    static JsonNode write(JsonNode in) throws Exception {
        Map<TopicPartition, List<Integer>> placement = new HashMap<>();
        for (JsonNode row : in.get("partitions")) {
            List<Integer> replicas = new ArrayList<>();
            row.get("replicas").forEach(broker -> replicas.add(broker.asInt()));
            placement.put(
                new TopicPartition(row.get("topic").asText(), row.get("partition").asInt()), replicas);
        }
        String json = ReassignPartitionsCommand.formatAsReassignmentJson(placement, Map.of());
        return Oracle.JSON.createObjectNode().put("json", json);
    }

    static JsonNode read(JsonNode in) throws Exception {
        Method parse = ReassignPartitionsCommand.class
            .getDeclaredMethod("parseExecuteAssignmentArgs", String.class);
        parse.setAccessible(true);
        Map.Entry<?, ?> read = (Map.Entry<?, ?>) parse.invoke(null, in.get("json").asText());
        Map<String, ObjectNode> rows = new TreeMap<>();
        ((Map<?, ?>) read.getKey()).forEach((key, replicas) -> {
            TopicPartition partition = (TopicPartition) key;
            ObjectNode row = Oracle.JSON.createObjectNode()
                .put("topic", partition.topic()).put("partition", partition.partition());
            row.set("replicas", Oracle.JSON.valueToTree(replicas));
            rows.put(String.format("%s %010d", partition.topic(), partition.partition()), row);
        });
        ArrayNode partitions = Oracle.JSON.createArrayNode();
        rows.values().forEach(partitions::add);
        ObjectNode out = Oracle.JSON.createObjectNode();
        out.set("partitions", partitions);
        return out;
    }
}
