package io.rackwise.assignor;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;

import java.util.Set;

/**
 * The racks of all partitions of a group, as the broker tells them.
 *
 * <p>To ask the broker is most of the time of an epoch. So it is asked once for each partition, in
 * order, and not at all where no member has a rack. The sets of racks are numbered only if some
 * partition has no replica in the rack of its owner: until then one look into each set will do.
 *
 * <p>Nothing is kept for the next epoch. The broker makes a new describer for each epoch, and two
 * of them are equal only while the broker has read no metadata in between. The controllers write
 * some every 500 ms, and a group has an epoch every 1,000 ms at most.
 */
final class PartitionRacks {
    /** [partitions], the number of each partition's set in {@code sets}; null if {@code isLocal}. */
    final int[] setOf;
    final RackSets sets;
    /** Whether every partition has a replica in the rack of its owner; false if not checked. */
    final boolean isLocal;

    private PartitionRacks(int[] setOf, RackSets sets) {
        this.setOf = setOf;
        this.sets = sets;
        isLocal = setOf == null;
    }

    /** Number the racks of all partitions. */
    static PartitionRacks numbered(NumberedGroup group, SubscribedTopicDescriber describer) {
        RackSets sets = new RackSets(group.racks);
        int[] setOf = new int[group.partitions()];
        if (sets.hasRacks()) {
            for (int topic = 0; topic < group.topics.length; topic++) {
                number(group, describer, sets, setOf, topic, group.starts[topic]);
            }
        }
        return new PartitionRacks(setOf, sets);
    }

    /**
     * Number the racks of all partitions, unless each one has a replica in its owner's rack. Every
     * partition must have an owner.
     */
    static PartitionRacks checked(NumberedGroup group, SubscribedTopicDescriber describer) {
        RackSets sets = new RackSets(group.racks);
        if (!sets.hasRacks()) {
            return numbered(group, describer);
        }
        @SuppressWarnings("unchecked")
        Set<String>[] asked = (Set<String>[]) new Set<?>[group.partitions()];
        for (int topic = 0; topic < group.topics.length; topic++) {
            Uuid id = group.topics[topic];
            for (int partition = group.starts[topic];
                    partition < group.starts[topic + 1];
                    partition++) {
                Set<String> racks =
                        describer.racksForPartition(id, partition - group.starts[topic]);
                asked[partition] = racks;
                String rack = group.racks[group.rackOf[group.ownerOf[partition]]];
                if (rack.isEmpty() || !racks.contains(rack)) {
                    return numbered(group, describer, sets, asked, topic, partition + 1);
                }
            }
        }
        return new PartitionRacks(null, sets);
    }

    /** Number the racks that were asked for, then ask for those from a partition on. */
    private static PartitionRacks numbered(
            NumberedGroup group,
            SubscribedTopicDescriber describer,
            RackSets sets,
            Set<String>[] asked,
            int topic,
            int rest) {
        int[] setOf = new int[asked.length];
        for (int partition = 0; partition < rest; partition++) {
            setOf[partition] = sets.number(asked[partition]);
        }
        number(group, describer, sets, setOf, topic, rest);
        for (int later = topic + 1; later < group.topics.length; later++) {
            number(group, describer, sets, setOf, later, group.starts[later]);
        }
        return new PartitionRacks(setOf, sets);
    }

    /** Ask for the racks of a topic's partitions from one on, and number them. */
    private static void number(
            NumberedGroup group,
            SubscribedTopicDescriber describer,
            RackSets sets,
            int[] setOf,
            int topic,
            int from) {
        Uuid id = group.topics[topic];
        for (int partition = from; partition < group.starts[topic + 1]; partition++) {
            setOf[partition] = sets.number(
                    describer.racksForPartition(id, partition - group.starts[topic]));
        }
    }
}
