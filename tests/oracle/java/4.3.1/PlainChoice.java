import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.producer.internals.DrawnPartitioner;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;

/** Kafka's partitioner of producers before it knew of racks. */
final class PlainChoice {
    private static final String TOPIC = "t";

    /** Steps on a partitioner: what each told, null where it tells nothing. */
    static JsonNode sticky(JsonNode in) {
        DrawnPartitioner partitioner = new DrawnPartitioner(
            TOPIC, in.get("sticky_bytes").asInt(), ints(in.get("draws")));
        ArrayNode told = Oracle.JSON.createArrayNode();
        Cluster cluster = null;
        for (JsonNode step : in.get("steps")) {
            switch (step.get("op").asText()) {
                case "leaders" -> {
                    cluster = cluster(step.get("leaders"));
                    told.addNull();
                }
                case "load" -> {
                    load(partitioner, step.get("load"));
                    told.addNull();
                }
                case "peek" -> told.add(partitioner.peek(cluster));
                case "add" -> told.add(partitioner.add(
                    step.get("bytes").asInt(), step.get("may_switch").asBoolean(), cluster));
                default -> throw new IllegalArgumentException(step.toString());
            }
        }
        return Oracle.JSON.createObjectNode().put("draws", partitioner.drawn()).set("told", told);
    }

    private static void load(DrawnPartitioner partitioner, JsonNode load) {
        if (load.isNull()) {
            partitioner.updatePartitionLoadStats(null, null, 0);
        } else {
            partitioner.updatePartitionLoadStats(ints(load.get("queue_sizes")),
                ints(load.get("partition_ids")), load.get("length").asInt());
        }
    }

    private static Cluster cluster(JsonNode leaders) {
        Map<Integer, Node> nodes = new HashMap<>();
        List<PartitionInfo> partitions = new ArrayList<>();
        for (JsonNode leader : leaders) {
            Node node = leader.isNull() ? null
                : nodes.computeIfAbsent(leader.asInt(), id -> new Node(id, "h", 1));
            partitions.add(
                new PartitionInfo(TOPIC, partitions.size(), node, new Node[0], new Node[0]));
        }
        return new Cluster("c", nodes.values(), partitions, Set.of(), Set.of());
    }

    private static int[] ints(JsonNode numbers) {
        int[] found = new int[numbers.size()];
        for (int i = 0; i < found.length; i++) {
            found[i] = numbers.get(i).asInt();
        }
        return found;
    }
}
