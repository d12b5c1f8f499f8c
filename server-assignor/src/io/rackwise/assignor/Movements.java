package io.rackwise.assignor;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Net moves between members during balancing, so that equal partitions are not swapped.
 *
 * <p>A partition that moves again is recorded from its first holder to its present one, and is
 * removed from the records once it is back. Before a partition goes from a to b, the records are
 * searched for a partition of the same topic that went from b to a. That one goes back instead.
 *
 * <pre>
 * t-0 moved m1 -> m2         records of t: m1 -> m2: t-0
 * t-3 is to move m2 -> m1    t-0 goes back instead; no record is left
 * </pre>
 *
 * <p>Among several, the first in the order of a {@code java.util.HashSet} of topic-partitions that
 * never shrinks. Source: {@code AbstractStickyAssignor.PartitionMovements} of kafka-clients.
 */
final class Movements {
    private record Pair(int from, int to) {}

    private record Route(int topic, int from, int to) {}

    /** Partition -> its first holder and its present one, only where the two differ. */
    private final Map<Integer, Pair> pairs = new HashMap<>();
    /** Partitions by topic and pair of members, without empty sets. */
    private final Map<Route, HashOrder> byRoute = new HashMap<>();

    /** The partition to move in place of this one, from its holder to the target. */
    int insteadOf(int topic, int partition, int holder, int target) {
        Pair pair = pairs.get(partition);
        HashOrder reverse =
                byRoute.get(new Route(topic, target, pair == null ? holder : pair.from()));
        return reverse == null ? partition : reverse.first();
    }

    /** Record that the partition went from its holder to the target. */
    void record(int topic, int partition, int hash, int holder, int target) {
        Pair pair = pairs.remove(partition);
        int source = holder;
        if (pair != null) {
            source = pair.from();
            Route route = new Route(topic, source, pair.to());
            byRoute.get(route).spread.remove(partition);
            if (byRoute.get(route).spread.isEmpty()) {
                byRoute.remove(route);
            }
        }
        if (source != target) {
            pairs.put(partition, new Pair(source, target));
            byRoute.computeIfAbsent(new Route(topic, source, target), each -> new HashOrder())
                    .add(partition, hash);
        }
    }

    /** Everything that later results depend on, to detect repetition. */
    Object state() {
        Map<Route, List<Object>> state = new HashMap<>();
        byRoute.forEach((route, moved) ->
                state.put(route, List.of(moved.size, List.copyOf(moved.spread.keySet()))));
        return state;
    }

    /** The part of a hash set that decides which element comes first. */
    private static final class HashOrder {
        private static final int TREES_FROM = 64;
        private static final int MOST_IN_BUCKET = 8;

        /** Partition -> its hash as a hash map spreads it, in order of insertion. */
        private final Map<Integer, Integer> spread = new LinkedHashMap<>();
        private int size = 16;

        void add(int partition, int hash) {
            int spreadHash = hash ^ hash >>> 16;
            spread.put(partition, spreadHash);
            int mask = size - 1;
            if (size < TREES_FROM) {
                int held = 0;
                for (int other : spread.values()) {
                    held += (other & mask) == (spreadHash & mask) ? 1 : 0;
                }
                if (held > MOST_IN_BUCKET) {
                    size *= 2;
                }
            }
            if (4 * spread.size() > 3 * size) {
                size *= 2;
            }
        }

        int first() {
            int found = -1;
            int bucket = size;
            for (Map.Entry<Integer, Integer> each : spread.entrySet()) {
                if ((each.getValue() & size - 1) < bucket) {
                    bucket = each.getValue() & size - 1;
                    found = each.getKey();
                }
            }
            return found;
        }
    }
}
