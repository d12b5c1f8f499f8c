import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rackwise.assignor.RackOptimalAssignor;
import io.rackwise.assignor.RackStickyAssignor;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.coordinator.common.runtime.KRaftCoordinatorMetadataImage;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.SubscribedTopicDescriberImpl;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataProvenance;

/**
 * Processor time of ours and of Kafka's uniform, in turns, on the metadata that a broker has.
 *
 * <p>Each assignor has a group of its own; "assignor" names ours. "asking" is the time to ask for the racks of all
 * partitions and to do nothing with them, which uniform does not do.
 */
final class ServerTime {
    private static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();

    private int seen;

    static JsonNode time(JsonNode in) {
        return new ServerTime().timed(in);
    }

    private JsonNode timed(JsonNode in) {
        JsonNode topics = in.get("ours").get("topics");
        SubscribedTopicDescriber describer = describer(topics);
        ServerAssignment.Group ours = new ServerAssignment.Group(in.get("ours"));
        ServerAssignment.Group uniform = new ServerAssignment.Group(in.get("uniform"));
        ConsumerGroupPartitionAssignor assignor = in.get("assignor").asText().equals("rack-sticky")
            ? new RackStickyAssignor() : new RackOptimalAssignor();
        List<Uuid> ids = new ArrayList<>();
        topics.fieldNames().forEachRemaining(id -> ids.add(Uuid.fromString(id)));
        ObjectNode taken = Oracle.JSON.createObjectNode();
        List.of("ours", "uniform", "asking").forEach(taken::putArray);
        for (int round = 0; round < in.get("rounds").asInt(); round++) {
            taken.withArray("ours").add(
                time(() -> assignor.assign(ours, describer)));
            taken.withArray("uniform").add(
                time(() -> new UniformAssignor().assign(uniform, describer)));
            taken.withArray("asking").add(time(() -> ask(ids, describer)));
        }
        return taken.put("seen", seen);
    }

    private static long time(Runnable work) {
        long started = CLOCK.getCurrentThreadCpuTime();
        work.run();
        return CLOCK.getCurrentThreadCpuTime() - started;
    }

    private void ask(List<Uuid> ids, SubscribedTopicDescriber describer) {
        for (Uuid id : ids) {
            for (int partition = 0; partition < describer.numPartitions(id); partition++) {
                seen += describer.racksForPartition(id, partition).size();
            }
        }
    }

    /** The broker's own describer, of a cluster with one broker in each rack. */
    private static SubscribedTopicDescriber describer(JsonNode topics) {
        MetadataDelta delta = new MetadataDelta.Builder().build();
        List<String> racks = new ArrayList<>();
        for (Iterator<Map.Entry<String, JsonNode>> each = topics.fields(); each.hasNext(); ) {
            Map.Entry<String, JsonNode> topic = each.next();
            Uuid id = Uuid.fromString(topic.getKey());
            delta.replay(new TopicRecord().setName(topic.getKey()).setTopicId(id));
            int number = 0;
            for (JsonNode replicas : topic.getValue()) {
                List<Integer> brokers = new ArrayList<>();
                for (JsonNode rack : replicas) {
                    if (!racks.contains(rack.textValue())) {
                        delta.replay(new RegisterBrokerRecord()
                            .setBrokerId(racks.size()).setRack(rack.textValue()));
                        racks.add(rack.textValue());
                    }
                    brokers.add(racks.indexOf(rack.textValue()));
                }
                delta.replay(new PartitionRecord().setTopicId(id).setPartitionId(number++)
                    .setReplicas(brokers).setIsr(brokers).setLeader(brokers.get(0)));
            }
        }
        return new SubscribedTopicDescriberImpl(
            new KRaftCoordinatorMetadataImage(delta.apply(MetadataProvenance.EMPTY)));
    }
}
