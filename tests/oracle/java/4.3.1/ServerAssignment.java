import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rackwise.assignor.RackOptimalAssignor;
import io.rackwise.assignor.RackStickyAssignor;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.MemberSubscription;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;

/** Assignors of the group coordinator (KIP-848); topics are named by the text of their ids. */
final class ServerAssignment {
    static JsonNode optimal(JsonNode in) {
        return assign(in, new RackOptimalAssignor());
    }

    static JsonNode sticky(JsonNode in) {
        return assign(in, new RackStickyAssignor());
    }

    private static JsonNode assign(JsonNode in, ConsumerGroupPartitionAssignor assignor) {
        GroupAssignment given = assignor.assign(new Group(in), new Topics(in));
        ObjectNode partitions = Oracle.JSON.createObjectNode();
        new TreeMap<>(given.members()).forEach((id, member) -> {
            ArrayNode found = partitions.putArray(id);
            Map<String, Set<Integer>> byText = new TreeMap<>();
            member.partitions().forEach((topic, each) -> byText.put(topic.toString(), each));
            byText.forEach((topic, each) -> each.stream().sorted().forEach(
                number -> found.addArray().add(topic).add(number)));
        });
        return Oracle.JSON.createObjectNode().set("partitions", partitions);
    }

    private record Held(Map<Uuid, Set<Integer>> partitions) implements MemberAssignment {}

    private record Member(
        Optional<String> rackId, Optional<String> instanceId, Set<Uuid> subscribedTopicIds)
        implements MemberSubscription {}

    static final class Group implements GroupSpec {
        private final Map<String, Member> members = new HashMap<>();
        private final Map<String, Held> held = new HashMap<>();
        private final Map<Uuid, Set<Integer>> assigned = new HashMap<>();
        private final SubscriptionType type;

        Group(JsonNode in) {
            for (JsonNode member : in.get("members")) {
                Set<Uuid> topics = new HashSet<>();
                member.get("topics").forEach(topic -> topics.add(Uuid.fromString(topic.asText())));
                members.put(member.get("id").asText(), new Member(
                    Optional.ofNullable(member.get("rack").textValue()), Optional.empty(), topics));
                Map<Uuid, Set<Integer>> owned = new HashMap<>();
                for (JsonNode tp : member.get("owned")) {
                    Uuid topic = Uuid.fromString(tp.get(0).asText());
                    owned.computeIfAbsent(topic, each -> new HashSet<>()).add(tp.get(1).asInt());
                    assigned.computeIfAbsent(topic, each -> new HashSet<>()).add(tp.get(1).asInt());
                }
                held.put(member.get("id").asText(), new Held(Collections.unmodifiableMap(owned)));
            }
            Set<Set<Uuid>> lists = new HashSet<>();
            members.values().forEach(member -> lists.add(member.subscribedTopicIds()));
            boolean isSame = lists.size() <= 1;
            type = isSame ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
        }

        @Override
        public Collection<String> memberIds() {
            return members.keySet();
        }

        @Override
        public SubscriptionType subscriptionType() {
            return type;
        }

        @Override
        public boolean isPartitionAssigned(Uuid topic, int partition) {
            return assigned.getOrDefault(topic, Set.of()).contains(partition);
        }

        @Override
        public boolean isPartitionAssignable(Uuid topic, int partition) {
            return true;
        }

        @Override
        public MemberSubscription memberSubscription(String id) {
            return members.get(id);
        }

        @Override
        public MemberAssignment memberAssignment(String id) {
            return held.get(id);
        }
    }

    private static final class Topics implements SubscribedTopicDescriber {
        private final Map<Uuid, List<Set<String>>> racks = new HashMap<>();

        Topics(JsonNode in) {
            in.get("topics").fields().forEachRemaining(topic -> {
                List<Set<String>> found = new ArrayList<>();
                for (JsonNode replicas : topic.getValue()) {
                    Set<String> each = new HashSet<>();
                    for (JsonNode rack : replicas) {
                        if (!rack.isNull()) {
                            each.add(rack.textValue());
                        }
                    }
                    found.add(each);
                }
                racks.put(Uuid.fromString(topic.getKey()), found);
            });
        }

        @Override
        public int numPartitions(Uuid topic) {
            return racks.containsKey(topic) ? racks.get(topic).size() : -1;
        }

        @Override
        public Set<String> racksForPartition(Uuid topic, int partition) {
            return racks.get(topic).get(partition);
        }
    }
}
