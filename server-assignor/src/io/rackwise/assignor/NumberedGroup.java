package io.rackwise.assignor;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.assignor.MemberSubscription;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;

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
    /** [partitions], the member that holds the partition now, or {@code NOBODY}. */
    final int[] ownerOf;
    /** [members], the partitions of {@code ownerOf}, and those that another member claims too. */
    private final int[] loads;
    /** [members], whether some partition that the member holds now does not count. */
    final boolean[] isIrregular;
    /** Whether two members claim a partition. */
    private boolean isDisputed;

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
        ownerOf = new int[partitions()];
        loads = new int[ids.length];
        isIrregular = new boolean[ids.length];
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

    private void findOwners(GroupSpec spec, TopicIndex places) {
        Arrays.fill(ownerOf, NOBODY);
        HeldReader reader = new HeldReader(places);
        for (int member = 0; member < ids.length; member++) {
            reader.member = member;
            spec.memberAssignment(ids[member]).partitions().forEach(reader);
        }
        if (isDisputed) {
            Arrays.setAll(ownerOf, partition -> Math.max(ownerOf[partition], NOBODY));
        }
    }

    /** Writes the owner of what each member holds. */
    private final class HeldReader implements BiConsumer<Uuid, Set<Integer>> {
        private final TopicIndex places;
        /** An array to copy numbers into: an iterator costs more where there are several. */
        private Integer[] numbers = new Integer[16];
        private int member;

        private HeldReader(TopicIndex places) {
            this.places = places;
        }

        @Override
        public void accept(Uuid id, Set<Integer> partitions) {
            int topic = places.number(id);
            if (topic == TopicIndex.UNKNOWN || !lists[listOf[member]].get(topic)) {
                isIrregular[member] = true;
                return;
            }
            int count = partitions.size();
            if (count == 1) {
                claim(starts[topic] + partitions.iterator().next(), starts[topic + 1]);
                return;
            }
            if (count > numbers.length) {
                numbers = new Integer[2 * count];
            }
            numbers = partitions.toArray(numbers);
            for (int each = 0; each < count; each++) {
                claim(starts[topic] + numbers[each], starts[topic + 1]);
            }
        }

        private void claim(int partition, int end) {
            if (partition >= end) {
                isIrregular[member] = true;
            } else if (ownerOf[partition] == NOBODY) {
                ownerOf[partition] = member;
                loads[member]++;
            } else {
                isIrregular[member] = true;
                if (ownerOf[partition] != DISPUTED) {
                    isIrregular[ownerOf[partition]] = true;
                }
                ownerOf[partition] = DISPUTED;
                isDisputed = true;
            }
        }
    }

    /** Whether all members have the same subscriptions, loads are even, and all is owned. */
    boolean isEven() {
        if (lists.length != 1 || partitions() == 0 || isDisputed) {
            return false;
        }
        int least = partitions() / ids.length;
        int owned = 0;
        for (int load : loads) {
            owned += load;
            if (load != least && load != least + 1) {
                return false;
            }
        }
        return owned == partitions();
    }
}
