package io.rackwise.assignor;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.MemberSubscription;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A group by numbers: members by id, topics by the text of their id, partitions by topic and
 * number. Racks, and lists of topics, are numbered by the first member that has them.
 *
 * <p>A topic takes part if a member subscribes to it and it has partitions. A partition of the
 * target assignment counts while its member subscribes to the topic.
 */
final class NumberedGroup {
    /** The owner of a partition that no member holds. */
    static final int NOBODY = -1;
    /** The owner while two members claim a partition. */
    private static final int DISPUTED = -2;

    /** [members], ids. */
    final String[] ids;
    /** [members], the rack of each member. */
    final int[] rackOf;
    /** [racks], the text of each rack; empty: no rack. */
    final String[] racks;
    /** [members], the list of topics of each member. */
    final int[] listOf;
    /** [lists], the topics of each list. */
    final BitSet[] lists;
    /** [topics], topic ids. */
    final Uuid[] topics;
    /** [topics + 1], the number of each topic's partition 0, then the number of partitions. */
    final int[] starts;
    /** [partitions], the number of each partition's set in {@code rackSets}. */
    final int[] setOf;
    final RackSets rackSets;
    /** [partitions], the member that holds the partition now, or {@code NOBODY}. */
    final int[] ownerOf;
    /** [members], the partitions that each member holds now, of any topic. */
    private final int[] heldNow;

    private NumberedGroup(GroupSpec spec, SubscribedTopicDescriber describer) {
        ids = spec.memberIds().toArray(new String[0]);
        Arrays.sort(ids);
        rackOf = new int[ids.length];
        racks = numberRacks(spec);
        listOf = new int[ids.length];
        List<Set<Uuid>> subscribed = numberSubscriptions(spec);
        topics = topicsWithPartitions(subscribed, describer);
        TopicIndex places = new TopicIndex(topics);
        starts = new int[topics.length + 1];
        for (int topic = 0; topic < topics.length; topic++) {
            starts[topic + 1] = starts[topic] + describer.numPartitions(topics[topic]);
        }
        lists = numberLists(subscribed, places);
        setOf = new int[partitions()];
        rackSets = new RackSets(racks);
        numberRackSets(describer);
        ownerOf = new int[partitions()];
        heldNow = new int[ids.length];
        findOwners(spec, places);
    }

    static NumberedGroup of(GroupSpec spec, SubscribedTopicDescriber describer) {
        return new NumberedGroup(spec, describer);
    }

    int partitions() {
        return starts[topics.length];
    }

    private String[] numberRacks(GroupSpec spec) {
        Map<String, Integer> numbers = new HashMap<>();
        List<String> found = new ArrayList<>();
        for (int member = 0; member < ids.length; member++) {
            String rack = spec.memberSubscription(ids[member]).rackId().orElse("");
            Integer number = numbers.putIfAbsent(rack, found.size());
            if (number == null) {
                number = found.size();
                found.add(rack);
            }
            rackOf[member] = number;
        }
        return found.toArray(new String[0]);
    }

    /** The distinct sets of subscribed topics; writes the number of each member's set. */
    private List<Set<Uuid>> numberSubscriptions(GroupSpec spec) {
        List<Set<Uuid>> found = new ArrayList<>();
        if (spec.subscriptionType() == SubscriptionType.HOMOGENEOUS && ids.length > 0) {
            found.add(new HashSet<>(spec.memberSubscription(ids[0]).subscribedTopicIds()));
            return found;
        }
        Map<Set<Uuid>, Integer> numbers = new HashMap<>();
        for (int member = 0; member < ids.length; member++) {
            MemberSubscription subscription = spec.memberSubscription(ids[member]);
            Set<Uuid> subscribed = new HashSet<>(subscription.subscribedTopicIds());
            Integer number = numbers.putIfAbsent(subscribed, found.size());
            if (number == null) {
                number = found.size();
                found.add(subscribed);
            }
            listOf[member] = number;
        }
        return found;
    }

    private static Uuid[] topicsWithPartitions(
            List<Set<Uuid>> subscribed, SubscribedTopicDescriber describer) {
        Set<Uuid> all = new HashSet<>();
        subscribed.forEach(all::addAll);
        all.removeIf(topic -> describer.numPartitions(topic) <= 0);
        Uuid[] found = all.toArray(new Uuid[0]);
        Map<Uuid, String> texts = new HashMap<>();
        for (Uuid topic : found) {
            texts.put(topic, topic.toString());
        }
        Arrays.sort(found, Comparator.comparing(texts::get));
        return found;
    }

    /** The distinct lists of topics that take part; renumbers the lists of the members. */
    private BitSet[] numberLists(List<Set<Uuid>> subscribed, TopicIndex places) {
        Map<BitSet, Integer> numbers = new HashMap<>();
        List<BitSet> found = new ArrayList<>();
        int[] renumbered = new int[subscribed.size()];
        for (int set = 0; set < renumbered.length; set++) {
            BitSet list = new BitSet(topics.length);
            for (Uuid topic : subscribed.get(set)) {
                int place = places.number(topic);
                if (place != TopicIndex.UNKNOWN) {
                    list.set(place);
                }
            }
            Integer number = numbers.putIfAbsent(list, found.size());
            if (number == null) {
                number = found.size();
                found.add(list);
            }
            renumbered[set] = number;
        }
        for (int member = 0; member < ids.length; member++) {
            listOf[member] = renumbered[listOf[member]];
        }
        return found.toArray(new BitSet[0]);
    }

    private void numberRackSets(SubscribedTopicDescriber describer) {
        for (int topic = 0; topic < topics.length; topic++) {
            for (int partition = starts[topic]; partition < starts[topic + 1]; partition++) {
                int number = partition - starts[topic];
                setOf[partition] =
                        rackSets.number(describer.racksForPartition(topics[topic], number));
            }
        }
    }

    private void findOwners(GroupSpec spec, TopicIndex places) {
        Arrays.fill(ownerOf, NOBODY);
        boolean isDisputed = false;
        for (int member = 0; member < ids.length; member++) {
            BitSet list = lists[listOf[member]];
            int count = 0;
            for (Map.Entry<Uuid, Set<Integer>> held
                    : spec.memberAssignment(ids[member]).partitions().entrySet()) {
                count += held.getValue().size();
                int topic = places.number(held.getKey());
                if (topic == TopicIndex.UNKNOWN || !list.get(topic)) {
                    continue;
                }
                int start = starts[topic];
                int end = starts[topic + 1];
                for (int partition : held.getValue()) {
                    if (start + partition < end) {
                        boolean isFree = ownerOf[start + partition] == NOBODY;
                        ownerOf[start + partition] = isFree ? member : DISPUTED;
                        isDisputed |= !isFree;
                    }
                }
            }
            heldNow[member] = count;
        }
        if (isDisputed) {
            Arrays.setAll(ownerOf, partition -> Math.max(ownerOf[partition], NOBODY));
        }
    }

    /**
     * Whether nothing crosses and nothing must move: all members have the same subscriptions and
     * even loads, and every partition has a replica in the rack of its owner. This is the common
     * case, and no other assignment has these three.
     */
    boolean isBest() {
        if (lists.length != 1 || partitions() == 0) {
            return false;
        }
        int[] loads = new int[ids.length];
        for (int partition = 0; partition < ownerOf.length; partition++) {
            int owner = ownerOf[partition];
            if (owner == NOBODY || rackSets.crosses(setOf[partition])[rackOf[owner]]) {
                return false;
            }
            loads[owner]++;
        }
        int least = partitions() / ids.length;
        return Arrays.stream(loads).allMatch(load -> load == least || load == least + 1);
    }

    /** The assignment with these holders; what does not change keeps its object. */
    GroupAssignment assignment(GroupSpec spec, int[] holders) {
        int[] held = new int[ids.length];
        boolean[] isChanged = new boolean[ids.length];
        for (int partition = 0; partition < holders.length; partition++) {
            int holder = holders[partition];
            held[holder]++;
            isChanged[holder] |= ownerOf[partition] != holder;
        }
        Map<String, MemberAssignment> found = new HashMap<>(2 * ids.length);
        boolean hasChange = false;
        List<Map<Uuid, Set<Integer>>> rebuilt = new ArrayList<>(ids.length);
        for (int member = 0; member < ids.length; member++) {
            MemberAssignment now = spec.memberAssignment(ids[member]);
            isChanged[member] |= held[member] != heldNow[member];
            hasChange |= isChanged[member];
            Map<Uuid, Set<Integer>> partitions =
                    isChanged[member] ? new HashMap<>() : now.partitions();
            rebuilt.add(partitions);
            found.put(ids[member], new Held(Collections.unmodifiableMap(partitions)));
        }
        for (int topic = 0; hasChange && topic < topics.length; topic++) {
            for (int partition = starts[topic]; partition < starts[topic + 1]; partition++) {
                if (isChanged[holders[partition]]) {
                    rebuilt.get(holders[partition])
                            .computeIfAbsent(topics[topic], each -> new HashSet<>())
                            .add(partition - starts[topic]);
                }
            }
        }
        return new GroupAssignment(found);
    }

    private record Held(Map<Uuid, Set<Integer>> partitions) implements MemberAssignment {}
}
