package io.rackwise.assignor;

/**
 * The fewest partitions that cross if loads are even and all members have the same subscriptions.
 *
 * <p>The members in a set of racks get a number of partitions at most. Partitions whose replicas
 * are in no other rack of members cross if they are more. The largest excess over all sets of racks
 * is the least number of crossings, because it is the least cut of the flow that brings partitions
 * to members in their racks (Ford and Fulkerson; for single units, Hall's theorem).
 *
 * <pre>
 * members       m1 in a, m2 in a, m3 in b       9 partitions, so 3 for each
 * partitions    2 in a, 5 in b, 2 in a b
 *
 * set of racks            none   a    b    a b
 * partitions inside       0      2    5    9
 * most that members get   0      6    3    9
 * excess                  0     -4    2    0       2 partitions cross at least
 * </pre>
 */
final class CrossingBound {
    /** With more racks of members, the sets of racks are too many. */
    private static final int MOST_RACKS = 10;

    private CrossingBound() {}

    /**
     * Whether the owners of an even group have the fewest crossings. False if the racks of members
     * are many, so that it is not computed.
     */
    static boolean isMet(NumberedGroup group, PartitionRacks racks) {
        int[] bitOf = new int[group.racks.length];
        int bits = 0;
        for (int rack = 0; rack < bitOf.length; rack++) {
            bitOf[rack] = group.racks[rack].isEmpty() ? 0 : 1 << bits++;
            if (bits > MOST_RACKS) {
                return false;
            }
        }
        int[] sizes = new int[racks.sets.count()];
        int crossings = 0;
        for (int partition = 0; partition < racks.setOf.length; partition++) {
            int set = racks.setOf[partition];
            sizes[set]++;
            int rack = group.rackOf[group.ownerOf[partition]];
            crossings += racks.sets.crosses(set)[rack] ? 1 : 0;
        }
        int[] inside = new int[1 << bits];
        for (int set = 0; set < sizes.length; set++) {
            int mask = 0;
            for (int rack = 0; rack < bitOf.length; rack++) {
                mask |= racks.sets.crosses(set)[rack] ? 0 : bitOf[rack];
            }
            inside[mask] += sizes[set];
        }
        int[] members = new int[1 << bits];
        for (int rack : group.rackOf) {
            members[bitOf[rack]]++;
        }
        members[0] = 0;
        addSubsets(inside, bits);
        addSubsets(members, bits);
        return crossings == leastCrossings(group, inside, members);
    }

    /** The largest excess; both are [sets of racks as bits]. */
    private static int leastCrossings(NumberedGroup group, int[] inside, int[] members) {
        int least = group.partitions() / group.ids.length;
        int more = group.partitions() % group.ids.length;
        int most = 0;
        for (int racks = 0; racks < inside.length; racks++) {
            long room = (long) members[racks] * least + Math.min(members[racks], more);
            most = (int) Math.max(most, inside[racks] - room);
        }
        return most;
    }

    /** Add to each set of bits the counts of its proper subsets. */
    private static void addSubsets(int[] counts, int bits) {
        for (int bit = 1; bit < 1 << bits; bit <<= 1) {
            for (int set = 0; set < counts.length; set++) {
                counts[set] += (set & bit) == 0 ? 0 : counts[set ^ bit];
            }
        }
    }
}
