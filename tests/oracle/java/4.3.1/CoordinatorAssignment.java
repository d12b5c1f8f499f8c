import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;
import org.apache.kafka.timeline.SnapshotRegistry;
import org.apache.kafka.timeline.TimelineHashMap;

/** The group coordinator's assignors, given a group as the coordinator gives it. */
final class CoordinatorAssignment {
    static JsonNode range(JsonNode in) {
        return assign(in, new RangeAssignor());
    }

    static JsonNode uniform(JsonNode in) {
        return assign(in, new UniformAssignor());
    }

    private static JsonNode assign(JsonNode in, ConsumerGroupPartitionAssignor assignor) {
        Map<String, Uuid> ids = new HashMap<>();
        in.get("ids").fields().forEachRemaining(topic ->
            ids.put(topic.getKey(), Uuid.fromString(topic.getValue().asText())));
        Map<Uuid, String> names = new HashMap<>();
        Map<Uuid, Integer> sizes = new HashMap<>();
        in.get("topics").fields().forEachRemaining(topic -> {
            // A topic without partitions does not exist.
            if (topic.getValue().size() > 0) {
                names.put(ids.get(topic.getKey()), topic.getKey());
                sizes.put(ids.get(topic.getKey()), topic.getValue().size());
            }
        });
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        Set<Set<String>> lists = new HashSet<>();
        TimelineHashMap<String, MemberSubscriptionAndAssignmentImpl> joined =
            new TimelineHashMap<>(new SnapshotRegistry(new LogContext()), 0);
        TreeMap<String, JsonNode> order = new TreeMap<>();
        in.get("members").forEach(member -> order.put(member.get("id").asText(), member));
        order.forEach((id, member) -> {
            Set<String> listed = new TreeSet<>();
            member.get("topics").forEach(topic -> listed.add(topic.asText()));
            lists.add(listed);
            Set<Uuid> read = new LinkedHashSet<>();
            listed.stream().map(ids::get).filter(sizes::containsKey).forEach(read::add);
            joined.put(id, new MemberSubscriptionAndAssignmentImpl(
                Optional.ofNullable(member.get("rack").textValue()),
                Optional.ofNullable(member.get("instance").textValue()),
                read, new Assignment(owned(id, member, ids, owners))));
        });
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new HashMap<>();
        joined.forEach(members::put);
        SubscriptionType type = lists.size() == 1
            ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
        Map<String, MemberAssignment> given = assignor.assign(
            new GroupSpecImpl(members, type, owners), new Sizes(sizes)).members();
        ObjectNode partitions = Oracle.JSON.createObjectNode();
        order.keySet().forEach(id -> partitions.set(
            id, sorted(given.containsKey(id) ? given.get(id).partitions() : Map.of(), names)));
        return Oracle.JSON.createObjectNode().set("partitions", partitions);
    }

    private static Map<Uuid, Set<Integer>> owned(
        String id, JsonNode member, Map<String, Uuid> ids, Map<Uuid, Map<Integer, String>> owners
    ) {
        Map<String, List<Integer>> lists = new TreeMap<>();
        for (JsonNode tp : member.get("owned")) {
            lists.computeIfAbsent(tp.get(0).asText(), topic -> new ArrayList<>())
                .add(tp.get(1).asInt());
            owners.computeIfAbsent(ids.get(tp.get(0).asText()), topic -> new HashMap<>())
                .put(tp.get(1).asInt(), id);
        }
        Map<Uuid, Set<Integer>> found = new HashMap<>();
        lists.forEach((topic, numbers) -> {
            Collections.sort(numbers);
            found.put(ids.get(topic), new HashSet<>(numbers));
        });
        return found;
    }

    private static ArrayNode sorted(Map<Uuid, Set<Integer>> partitions, Map<Uuid, String> names) {
        Map<String, Set<Integer>> order = new TreeMap<>();
        partitions.forEach((id, numbers) -> order.put(names.get(id), new TreeSet<>(numbers)));
        ArrayNode found = Oracle.JSON.createArrayNode();
        order.forEach((topic, numbers) -> numbers.forEach(number ->
            found.addArray().add(topic).add(number)));
        return found;
    }

    private static final class Sizes implements SubscribedTopicDescriber {
        private final Map<Uuid, Integer> sizes;

        private Sizes(Map<Uuid, Integer> sizes) {
            this.sizes = sizes;
        }

        @Override
        public int numPartitions(Uuid topic) {
            return sizes.getOrDefault(topic, -1);
        }

        @Override
        public Set<String> racksForPartition(Uuid topic, int partition) {
            return Set.of();
        }
    }
}
