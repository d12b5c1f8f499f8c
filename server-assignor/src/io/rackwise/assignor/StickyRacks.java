package io.rackwise.assignor;

import java.util.HashMap;
import java.util.Map;

/** Racks as the sticky algorithms see them: without any where racks make no difference. */
final class StickyRacks {
    /** A member without rack. */
    static final int NO_RACK = -1;

    private final NumberedGroup group;
    private final PartitionRacks racks;
    final boolean matter;

    StickyRacks(NumberedGroup group, PartitionRacks racks) {
        this.group = group;
        this.racks = racks;
        matter = matter(group, racks);
    }

    /** Whether a member shares a rack with a replica, and partitions are in different racks. */
    private static boolean matter(NumberedGroup group, PartitionRacks racks) {
        boolean[] everywhere = new boolean[group.racks.length];
        boolean isShared = false;
        for (int set : racks.setOf) {
            for (int rack = 0; rack < everywhere.length; rack++) {
                everywhere[rack] |= !racks.sets.crosses(set)[rack];
                isShared |= everywhere[rack];
            }
        }
        for (int set : racks.setOf) {
            for (int rack = 0; isShared && rack < everywhere.length; rack++) {
                if (everywhere[rack] == racks.sets.crosses(set)[rack]) {
                    return true;
                }
            }
        }
        return false;
    }

    /** The rack of a member, or {@code NO_RACK}. */
    int of(int member) {
        int rack = group.rackOf[member];
        return !matter || group.racks[rack].isEmpty() ? NO_RACK : rack;
    }

    /** Whether a partition has a replica in a rack. */
    boolean has(int partition, int rack) {
        return matter && !racks.sets.crosses(racks.setOf[partition])[rack];
    }

    /** Whether the member has a rack that holds no replica of the partition. */
    boolean mismatches(int member, int partition) {
        int rack = of(member);
        return rack != NO_RACK && !has(partition, rack);
    }

    /** Members in the order in which a hash map of their ids is walked, copied once. */
    static int[] walk(NumberedGroup group) {
        Map<String, Integer> joined = new HashMap<>();
        for (int member = 0; member < group.ids.length; member++) {
            joined.put(group.ids[member], member);
        }
        Map<String, Integer> copied = new HashMap<>();
        joined.forEach(copied::put);
        return copied.values().stream().mapToInt(Integer::intValue).toArray();
    }
}
