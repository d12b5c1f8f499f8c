package io.rackwise.assignor;

import java.util.Arrays;

/**
 * Distributes units over targets: the counts of a flow become units with names.
 *
 * <pre>
 * units of key 0: t-0 t-1 t-2 t-3 t-4       targets take: m1 3, m2 1, m3 1
 *
 * in turn                    m1 m1 m1 m2 m3
 * around, skipping the full  m1 m2 m3 m1 m1
 * evenly                     m1 m2 m3 m1 m1      m1 2, m2 4: m1 m2 m2 m1 m2 m2
 * </pre>
 *
 * <p>Evenly: the i-th of the n units of a target has position i / n.
 */
final class Distribution {
    /** The number of distinct positions in the way {@code evenly}. */
    private static final int STEPS = 1 << 15;

    private Distribution() {}

    /** How many units of each key each target takes. */
    static final class Takes {
        private int[] keys;
        private int[] targets;
        private int[] counts;
        private int size;

        Takes(int expected) {
            keys = new int[Math.max(expected, 8)];
            targets = new int[keys.length];
        }

        void add(int key, int target) {
            if (size == keys.length) {
                keys = Arrays.copyOf(keys, 2 * size);
                targets = Arrays.copyOf(targets, 2 * size);
            }
            keys[size] = key;
            targets[size++] = target;
        }

        int size() {
            return size;
        }

        /** Read the counts from a network's arcs; returns the number of the next arc. */
        int count(FlowNetwork network, int firstArc) {
            counts = new int[size];
            Arrays.setAll(counts, each -> network.units(firstArc + each));
            return firstArc + size;
        }
    }

    /** The target of each unit, or {@code NOBODY} for the last units; a key has one target. */
    static int[] inTurn(int[] keys, Takes takes) {
        int bound = 1 + Arrays.stream(keys).max().orElse(-1);
        int[] targets = new int[bound];
        int[] left = new int[bound];
        for (int each = 0; each < takes.size; each++) {
            targets[takes.keys[each]] = takes.targets[each];
            left[takes.keys[each]] = takes.counts[each];
        }
        int[] found = new int[keys.length];
        Arrays.setAll(
                found, unit -> left[keys[unit]]-- > 0 ? targets[keys[unit]] : NumberedGroup.NOBODY);
        return found;
    }

    /** The target of each unit; the targets of a key take all of its units. */
    static int[] evenly(int[] keys, Takes takes, int keyCount) {
        return distribute(keys, takes, keyCount, true);
    }

    /** The target of each unit; the targets of a key take all of its units. */
    static int[] around(int[] keys, Takes takes, int keyCount) {
        return distribute(keys, takes, keyCount, false);
    }

    /** The target of each key, or null where a key has several. */
    private static int[] onlyTargets(Takes takes, int keyCount) {
        int[] only = new int[keyCount];
        boolean[] isKnown = new boolean[keyCount];
        for (int each = 0; each < takes.size; each++) {
            int key = takes.keys[each];
            if (isKnown[key]) {
                return null;
            }
            isKnown[key] = true;
            only[key] = takes.targets[each];
        }
        return only;
    }

    private static int[] distribute(int[] keys, Takes takes, int keyCount, boolean isEven) {
        int[] only = onlyTargets(takes, keyCount);
        if (only != null) {
            int[] found = new int[keys.length];
            Arrays.setAll(found, unit -> only[keys[unit]]);
            return found;
        }
        int total = keys.length;
        // [units taken], the target of each unit that is taken, and its position
        int[] targets = new int[total];
        int[] positions = new int[total];
        int[] keyOf = new int[total];
        int[] identity = new int[total];
        int unit = 0;
        int last = 0;
        for (int each = 0; each < takes.size; each++) {
            for (int turn = 0; turn < takes.counts[each]; turn++) {
                targets[unit] = takes.targets[each];
                positions[unit] =
                        isEven ? (int) ((long) turn * STEPS / takes.counts[each]) : turn;
                last = Math.max(last, positions[unit]);
                keyOf[unit] = takes.keys[each];
                identity[unit] = unit;
                unit++;
            }
        }
        int[] order = stableOrder(identity, positions, last + 1);
        order = stableOrder(order, keyOf, keyCount);
        int[] firsts = new int[keyCount + 1];
        for (int key : keys) {
            firsts[key + 1]++;
        }
        for (int key = 0; key < keyCount; key++) {
            firsts[key + 1] += firsts[key];
        }
        int[] found = new int[total];
        for (int each = 0; each < total; each++) {
            found[each] = targets[order[firsts[keys[each]]++]];
        }
        return found;
    }

    /** The elements of {@code order}, stably sorted by their keys, which are in 0..bound - 1. */
    private static int[] stableOrder(int[] order, int[] keys, int bound) {
        int[] ends = new int[bound + 1];
        for (int each : order) {
            ends[keys[each] + 1]++;
        }
        for (int key = 0; key < bound; key++) {
            ends[key + 1] += ends[key];
        }
        int[] sorted = new int[order.length];
        for (int each : order) {
            sorted[ends[keys[each]]++] = each;
        }
        return sorted;
    }
}
