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
    /** [members], the rack of each member, or {@code NO_RACK}. */
    private final int[] rackOf;

    StickyRacks(NumberedGroup group, PartitionRacks racks) {
        this.group = group;
        this.racks = racks;
        matter = matter(group, racks);
        rackOf = new int[group.ids.length];
        for (int member = 0; member < rackOf.length; member++) {
            int rack = group.rackOf[member];
            rackOf[member] = matter && !group.racks[rack].isEmpty() ? rack : NO_RACK;
        }
    }

    /** Whether a member shares a rack with a replica, and partitions are in different racks. */
    private static boolean matter(NumberedGroup group, PartitionRacks racks) {
        boolean[] isPresent = new boolean[racks.sets.count()];
        for (int set : racks.setOf) {
            isPresent[set] = true;
        }
        boolean[] everywhere = new boolean[group.racks.length];
        boolean isShared = false;
        for (int set = 0; set < isPresent.length; set++) {
            for (int rack = 0; isPresent[set] && rack < everywhere.length; rack++) {
                everywhere[rack] |= !racks.sets.crosses(set)[rack];
                isShared |= everywhere[rack];
            }
        }
        for (int set = 0; set < isPresent.length; set++) {
            for (int rack = 0; isShared && isPresent[set] && rack < everywhere.length; rack++) {
                if (everywhere[rack] == racks.sets.crosses(set)[rack]) {
                    return true;
                }
            }
        }
        return false;
    }

    /** The rack of a member, or {@code NO_RACK}. */
    int of(int member) {
        return rackOf[member];
    }

    /** Whether a partition has a replica in a rack. */
    boolean has(int partition, int rack) {
        return matter && !racks.sets.crosses(racks.setOf[partition])[rack];
    }

    /** The set of racks of a partition. */
    int setOf(int partition) {
        return racks.setOf[partition];
    }

    /** [sets], the members in racks of each set. */
    int[] membersInSets() {
        int[] membersIn = new int[group.racks.length];
        for (int rack : rackOf) {
            if (rack != NO_RACK) {
                membersIn[rack]++;
            }
        }
        int[] counts = new int[racks.sets.count()];
        for (int set = 0; set < counts.length; set++) {
            for (int rack = 0; rack < membersIn.length; rack++) {
                counts[set] += racks.sets.crosses(set)[rack] ? 0 : membersIn[rack];
            }
        }
        return counts;
    }

    /** Whether the member has a rack that holds no replica of the partition. */
    boolean mismatches(int member, int partition) {
        int rack = rackOf[member];
        return rack != NO_RACK && !has(partition, rack);
    }

    /** Whether no owner has a rack that holds no replica. Every partition must have an owner. */
    boolean matchOwners() {
        for (int partition = 0; matter && partition < group.ownerOf.length; partition++) {
            if (mismatches(group.ownerOf[partition], partition)) {
                return false;
            }
        }
        return true;
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
