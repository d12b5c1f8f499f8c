package io.rackwise.assignor;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Numbers the sets of racks that hold a replica, cut to the racks of members.
 *
 * <p>A broker gives a new set for each partition, and there are few different ones. So a set is
 * found by a walk: from the empty set, number 0, each of its racks leads to the next set. Equal sets
 * that are walked in another order have another number; they are equal to who compares their racks.
 *
 * <pre>
 * {a b}   0 -- a --> 1 -- b --> 2
 * {c a}   0 -- c --> 3 -- a --> 4
 * </pre>
 */
final class RackSets {
    private static final int NO_SET = -1;
    private static final int NO_MEMBER = -1;
    /** Up to so many racks of members, each is looked up in the racks of a partition. */
    private static final int FEW_RACKS = 4;

    /** Rack -> its number, or {@code NO_MEMBER} for racks without members. */
    private final Map<String, Integer> numbers = new HashMap<>();
    private final String[] texts;
    /** Racks as the broker's own texts: they are found by identity. */
    private String[] known = new String[8];
    private int[] numberOfKnown = new int[8];
    private int knownCount;
    /** [sets], the next set by rack, or {@code NO_SET}. */
    private final List<int[]> next = new ArrayList<>();
    /** [sets], whether a member in each rack crosses. */
    private final List<boolean[]> crosses = new ArrayList<>();

    /** {@code racks}: the texts of the members' racks; the empty text is no rack. */
    RackSets(String[] racks) {
        texts = racks;
        for (int rack = 0; rack < racks.length; rack++) {
            if (!racks[rack].isEmpty()) {
                numbers.put(racks[rack], rack);
            }
        }
        boolean[] everywhere = new boolean[racks.length];
        Arrays.fill(everywhere, true);
        add(everywhere);
    }

    /** Whether some member has a rack. */
    boolean hasRacks() {
        return !numbers.isEmpty();
    }

    int count() {
        return crosses.size();
    }

    /** Whether a member in each rack crosses, by the number of the set. */
    boolean[] crosses(int set) {
        return crosses.get(set);
    }

    int number(Set<String> racksOfPartition) {
        int set = 0;
        if (numbers.size() <= FEW_RACKS) {
            // A look-up costs less than an iterator, and equal sets are walked in one order.
            for (int number = 0; number < texts.length; number++) {
                if (!texts[number].isEmpty() && racksOfPartition.contains(texts[number])) {
                    int found = next.get(set)[number];
                    set = found == NO_SET ? extended(set, number) : found;
                }
            }
            return set;
        }
        for (String rack : racksOfPartition) {
            int number = numberOf(rack);
            if (number != NO_MEMBER) {
                int found = next.get(set)[number];
                set = found == NO_SET ? extended(set, number) : found;
            }
        }
        return set;
    }

    private int extended(int set, int rack) {
        boolean[] fewer = crosses.get(set).clone();
        fewer[rack] = false;
        next.get(set)[rack] = count();
        return add(fewer);
    }

    private int add(boolean[] crossing) {
        int[] nowhere = new int[texts.length];
        Arrays.fill(nowhere, NO_SET);
        next.add(nowhere);
        crosses.add(crossing);
        return count() - 1;
    }

    private int numberOf(String rack) {
        for (int each = 0; each < knownCount; each++) {
            if (known[each] == rack) {
                return numberOfKnown[each];
            }
        }
        int number = numbers.getOrDefault(rack, NO_MEMBER);
        if (knownCount < known.length) {
            known[knownCount] = rack;
            numberOfKnown[knownCount++] = number;
        }
        return number;
    }
}
