import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/** Kafka's assignors of consumer groups; each case has an assignor of its own. */
final class GroupAssignment {
    static JsonNode range(JsonNode in) {
        return assign(in, RangeAssignor::new);
    }

    static JsonNode roundrobin(JsonNode in) {
        return assign(in, RoundRobinAssignor::new);
    }

    static JsonNode assign(JsonNode in, Supplier<ConsumerPartitionAssignor> assignor) {
        Map<String, Assignment> given = assignor.get()
            .assign(cluster(in.get("topics")), group(in)).groupAssignment();
        ObjectNode partitions = Oracle.JSON.createObjectNode();
        new TreeMap<>(given).forEach((id, assignment) ->
            partitions.set(id, sorted(assignment.partitions())));
        return Oracle.JSON.createObjectNode().set("partitions", partitions);
    }

    /** How long each of some rounds takes, the group and the cluster being there already. */
    static JsonNode time(JsonNode in, Supplier<ConsumerPartitionAssignor> assignor) {
        Cluster cluster = cluster(in.get("topics"));
        GroupSubscription group = group(in);
        ArrayNode taken = Oracle.JSON.createArrayNode();
        for (int round = 0; round < in.get("rounds").asInt(); round++) {
            System.gc();
            long started = System.nanoTime();
            assignor.get().assign(cluster, group);
            taken.add(System.nanoTime() - started);
        }
        return Oracle.JSON.createObjectNode().set("ns", taken);
    }

    private static GroupSubscription group(JsonNode in) {
        Map<String, Subscription> members = new HashMap<>();
        for (JsonNode member : in.get("members")) {
            members.put(member.get("id").asText(), subscription(member));
        }
        return new GroupSubscription(members);
    }

    private static Subscription subscription(JsonNode member) {
        List<String> topics = new ArrayList<>();
        member.get("topics").forEach(topic -> topics.add(topic.asText()));
        List<TopicPartition> owned = new ArrayList<>();
        member.get("owned").forEach(tp ->
            owned.add(new TopicPartition(tp.get(0).asText(), tp.get(1).asInt())));
        Subscription subscription = new Subscription(
            topics, null, owned, member.get("generation").asInt(),
            Optional.ofNullable(member.get("rack").textValue()));
        subscription.setGroupInstanceId(
            Optional.ofNullable(member.get("instance").textValue()));
        return subscription;
    }

    private static Cluster cluster(JsonNode topics) {
        List<PartitionInfo> partitions = new ArrayList<>();
        List<Node> nodes = new ArrayList<>();
        topics.fields().forEachRemaining(topic -> {
            int number = 0;
            for (JsonNode racks : topic.getValue()) {
                List<Node> replicas = new ArrayList<>();
                for (JsonNode rack : racks) {
                    replicas.add(new Node(nodes.size(), "host", 1, rack.textValue()));
                    nodes.add(replicas.get(replicas.size() - 1));
                }
                Node[] all = replicas.toArray(new Node[0]);
                Node leader = replicas.isEmpty() ? Node.noNode() : replicas.get(0);
                partitions.add(new PartitionInfo(topic.getKey(), number, leader, all, all));
                number += 1;
            }
        });
        return new Cluster(
            "cluster", nodes, partitions, Collections.emptySet(), Collections.emptySet());
    }

    private static ArrayNode sorted(List<TopicPartition> partitions) {
        List<TopicPartition> order = new ArrayList<>(partitions);
        order.sort(Comparator.comparing(TopicPartition::topic)
            .thenComparingInt(TopicPartition::partition));
        ArrayNode found = Oracle.JSON.createArrayNode();
        order.forEach(tp -> found.addArray().add(tp.topic()).add(tp.partition()));
        return found;
    }
}
