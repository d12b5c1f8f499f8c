import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.kafka.admin.AdminDraws;
import org.apache.kafka.admin.AdminUtils;
import org.apache.kafka.admin.BrokerMetadata;

/** The rule of KIP-36 as shipped. */
final class AdminPlacement {
    static JsonNode alternate(JsonNode in) {
        Map<Integer, String> racks = new HashMap<>();
        for (JsonNode broker : in.get("brokers")) {
            racks.put(broker.get(0).asInt(), broker.get(1).asText());
        }
        return Oracle.JSON.createObjectNode()
            .set("ids", Oracle.JSON.valueToTree(AdminUtils.getRackAlternatedBrokerList(racks)));
    }

    static JsonNode place(JsonNode in) {
        if (in.hasNonNull("seed")) {
            AdminDraws.seed(in.get("seed").asLong());
        }
        ArrayNode rows = Oracle.JSON.createArrayNode();
        new TreeMap<>(assign(in)).values().forEach(row -> rows.add(Oracle.JSON.valueToTree(row)));
        return Oracle.JSON.createObjectNode().set("rows", rows);
    }

    /** Nanoseconds of each round of the same request. */
    static JsonNode time(JsonNode in) {
        ArrayNode taken = Oracle.JSON.createArrayNode();
        for (int round = 0; round < in.get("rounds").asInt(); round++) {
            System.gc();
            long started = System.nanoTime();
            assign(in);
            taken.add(System.nanoTime() - started);
        }
        return Oracle.JSON.createObjectNode().set("ns", taken);
    }

    private static Map<Integer, List<Integer>> assign(JsonNode in) {
        List<BrokerMetadata> brokers = new ArrayList<>();
        for (JsonNode broker : in.get("brokers")) {
            brokers.add(new BrokerMetadata(
                broker.get(0).asInt(), Optional.ofNullable(broker.get(1).textValue())));
        }
        int start = in.hasNonNull("start") ? in.get("start").asInt() : -1;
        return AdminUtils.assignReplicasToBrokers(
            brokers, in.get("partitions").asInt(), in.get("replication").asInt(),
            start, in.get("first_partition").asInt());
    }
}
