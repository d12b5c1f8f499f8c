import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.MetadataSnapshot;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.clients.producer.internals.DrawnAccumulator;
import org.apache.kafka.clients.producer.internals.DrawnPartitioner;
import org.apache.kafka.clients.producer.internals.RecordAccumulator;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.requests.MetadataResponse.PartitionMetadata;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Utils;

/** Kafka's partitioner of producers, each case with one of its own. */
final class StickyChoice {
    private static final String TOPIC = "t";
    private static final int UNKNOWN_PARTITION = -1;

    /** Steps on a partitioner: what each told, null where it tells nothing. */
    static JsonNode sticky(JsonNode in) {
        DrawnPartitioner partitioner = partitioner(in);
        ArrayNode told = Oracle.JSON.createArrayNode();
        Cluster cluster = null;
        for (JsonNode step : in.get("steps")) {
            switch (step.get("op").asText()) {
                case "leaders" -> {
                    cluster = cluster(step);
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

    /** The tables of one load. */
    static JsonNode load(JsonNode in) throws ReflectiveOperationException {
        DrawnPartitioner partitioner = partitioner(in);
        load(partitioner, in.get("load"));
        return tables(partitioner);
    }

    static JsonNode key(JsonNode in) {
        byte[] key = Base64.getDecoder().decode(in.get("key_base64").asText());
        return Oracle.JSON.createObjectNode()
            .put("murmur2", Utils.murmur2(key))
            .put("partition", BuiltInPartitioner.partitionForKey(key, in.get("count").asInt()));
    }

    /**
     * The tables that an accumulator makes of its queues, then the partitions of some windows.
     * First go unkeyed records, a window each, and are sent; then queues are filled as asked.
     */
    static JsonNode ready(JsonNode in) throws Exception {
        long timeoutMs = in.get("timeout_ms").asLong();
        RecordAccumulator.PartitionerConfig config = new RecordAccumulator.PartitionerConfig(
            true, timeoutMs, in.get("rack_aware").asBoolean(), text(in.get("rack")));
        DrawnAccumulator accumulator =
            new DrawnAccumulator(1, 1, config, new StoppedTime(), ints(in.get("draws")));
        MetadataSnapshot metadata = metadata(in);
        for (int record = 0; record < in.get("unkeyed").asInt(); record++) {
            append(accumulator, UNKNOWN_PARTITION, metadata.cluster());
        }
        for (int partition = 0; partition < in.get("leaders").size(); partition++) {
            Deque<?> queue = accumulator.getDeque(new TopicPartition(TOPIC, partition));
            if (queue != null) {
                queue.clear();
            }
        }
        for (JsonNode entry : in.get("entries")) {
            fill(accumulator, entry.get("partition").asInt(), entry.get("queue").asInt(), metadata);
        }
        for (JsonNode node : in.get("late")) {
            accumulator.updateNodeLatencyStats(node.asInt(), 0, true);
            accumulator.updateNodeLatencyStats(node.asInt(), timeoutMs + 1, false);
        }
        accumulator.ready(metadata, 0);
        ObjectNode out = tables(accumulator.partitioner());
        ArrayNode picks = out.putArray("picks");
        for (int window = 0; window < in.get("windows").asInt(); window++) {
            picks.add(accumulator.partitioner().peek(metadata.cluster()));
            accumulator.partitioner().add(1, true, metadata.cluster());
        }
        return out;
    }

    private static void fill(
            RecordAccumulator accumulator, int partition, int queue, MetadataSnapshot metadata)
            throws InterruptedException {
        TopicPartition to = new TopicPartition(TOPIC, partition);
        append(accumulator, partition, metadata.cluster());
        accumulator.getDeque(to).clear();
        while (accumulator.getDeque(to).size() < queue) {
            append(accumulator, partition, metadata.cluster());
        }
    }

    private static void append(RecordAccumulator accumulator, int partition, Cluster cluster)
            throws InterruptedException {
        accumulator.append(
            TOPIC, partition, 0, null, new byte[1], null, null, Long.MAX_VALUE, 0, cluster);
    }

    private static DrawnPartitioner partitioner(JsonNode in) {
        return new DrawnPartitioner(TOPIC, in.get("sticky_bytes").asInt(),
            in.get("rack_aware").asBoolean(), text(in.get("rack")), ints(in.get("draws")));
    }

    private static void load(BuiltInPartitioner partitioner, JsonNode load) {
        if (load.isNull()) {
            partitioner.updatePartitionLoadStats(null, null, null, 0);
            return;
        }
        JsonNode racks = load.get("leader_racks");
        String[] texts = new String[racks.size()];
        for (int i = 0; i < texts.length; i++) {
            texts[i] = text(racks.get(i));
        }
        partitioner.updatePartitionLoadStats(ints(load.get("queue_sizes")),
            ints(load.get("partition_ids")), texts, load.get("length").asInt());
    }

    private static ObjectNode tables(BuiltInPartitioner partitioner)
            throws ReflectiveOperationException {
        Object holder = field(partitioner, BuiltInPartitioner.class, "partitionLoadStatsHolder");
        ObjectNode out = Oracle.JSON.createObjectNode();
        out.set("total", holder == null ? null : table(field(holder, holder.getClass(), "total")));
        out.set("in_rack",
            holder == null ? null : table(field(holder, holder.getClass(), "inThisRack")));
        return out;
    }

    private static JsonNode table(Object stats) throws ReflectiveOperationException {
        if (stats == null) {
            return null;
        }
        int length = (int) field(stats, stats.getClass(), "length");
        int[] sums = (int[]) field(stats, stats.getClass(), "cumulativeFrequencyTable");
        int[] partitions = (int[]) field(stats, stats.getClass(), "partitionIds");
        ObjectNode out = Oracle.JSON.createObjectNode();
        ArrayNode toldSums = out.putArray("sums");
        ArrayNode toldPartitions = out.putArray("partitions");
        for (int i = 0; i < length; i++) {
            toldSums.add(sums[i]);
            toldPartitions.add(partitions[i]);
        }
        return out;
    }

    private static Object field(Object of, Class<?> in, String name)
            throws ReflectiveOperationException {
        Field field = in.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(of);
    }

    private static Map<Integer, Node> nodes(JsonNode in) {
        Map<Integer, Node> nodes = new HashMap<>();
        for (JsonNode leader : in.get("leaders")) {
            if (!leader.isNull()) {
                JsonNode rack = in.get("racks").get(leader.asText());
                nodes.put(leader.asInt(), new Node(leader.asInt(), "h", 1, text(rack)));
            }
        }
        return nodes;
    }

    private static Cluster cluster(JsonNode in) {
        Map<Integer, Node> nodes = nodes(in);
        List<PartitionInfo> partitions = new ArrayList<>();
        for (JsonNode leader : in.get("leaders")) {
            partitions.add(new PartitionInfo(TOPIC, partitions.size(),
                leader.isNull() ? null : nodes.get(leader.asInt()), new Node[0], new Node[0]));
        }
        return new Cluster("c", nodes.values(), partitions, Set.of(), Set.of());
    }

    private static MetadataSnapshot metadata(JsonNode in) {
        List<PartitionMetadata> partitions = new ArrayList<>();
        for (JsonNode leader : in.get("leaders")) {
            partitions.add(new PartitionMetadata(Errors.NONE,
                new TopicPartition(TOPIC, partitions.size()),
                leader.isNull() ? Optional.empty() : Optional.of(leader.asInt()),
                Optional.of(RecordBatch.NO_PARTITION_LEADER_EPOCH), List.of(), List.of(),
                List.of()));
        }
        return new MetadataSnapshot("c", nodes(in), partitions, Set.of(), Set.of(), Set.of(), null,
            Map.of(), cluster(in));
    }

    private static int[] ints(JsonNode numbers) {
        int[] found = new int[numbers.size()];
        for (int i = 0; i < found.length; i++) {
            found[i] = numbers.get(i).asInt();
        }
        return found;
    }

    private static String text(JsonNode node) {
        return node == null || node.isNull() ? null : node.asText();
    }

    /** The clock does not move. */
    private static final class StoppedTime implements Time {
        @Override
        public long milliseconds() {
            return 0;
        }

        @Override
        public long nanoseconds() {
            return 0;
        }

        @Override
        public void sleep(long ms) {
        }
    }
}
