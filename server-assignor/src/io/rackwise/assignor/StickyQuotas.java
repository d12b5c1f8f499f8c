package io.rackwise.assignor;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;

/**
 * The sticky algorithm where all members subscribe to the same topics: quotas, racks, turns.
 *
 * <p>Loads are q or q + 1: q = partitions div members, and e = partitions mod members have q + 1.
 *
 * <ol>
 *   <li>Held. In hash order each member drops the partitions without a replica in its rack. Of the
 *       rest it keeps the first by (number, topic): all if they are fewer than q; q + 1 while fewer
 *       than e members have that many; else q. Members below q wait in {@code under}; members at q
 *       that may get one more wait in {@code exact}.
 *   <li>Racks. Partitions with the fewest members in their racks come first. Each goes to the next
 *       member of {@code under} in one of its racks, going around from the last one served; else to
 *       the first member of {@code exact} in one of its racks; else it waits.
 *   <li>Turns. The waiting partitions go around {@code under}, then down {@code exact}.
 * </ol>
 *
 * <pre>
 * t-0 a b   t-1 a   t-2 b   t-3 c   t-4 a        m1 rack a   m2 rack b       q = 2, e = 1
 *
 * held    m1 holds t-2: no replica in a                under m1 m2
 * racks   t-3 (0 members) waits; t-1, t-2, t-4 (1), t-0 (2)
 *         t-1 -> m1   t-2 -> m2   t-4 -> m1 (has q, to exact)   t-0 -> m2 (has q, to exact)
 * turns   t-3 -> m1, the first of exact
 * </pre>
 *
 * <p>Source: {@code AbstractStickyAssignor.ConstrainedAssignmentBuilder} of kafka-clients.
 */
final class StickyQuotas {
    private static final int NOBODY = NumberedGroup.NOBODY;

    private final NumberedGroup group;
    private final StickyRacks racks;
    private final int least;
    private final int extras;
    /** The number of members that have q + 1. */
    private int over;
    /** The members below q. */
    private final List<Integer> under = new ArrayList<>();
    /** The members at q that may get one more, in order of arrival. */
    private final List<Integer> exact = new ArrayList<>();
    private final int[] loads;
    private final int[] holders;

    StickyQuotas(NumberedGroup group, PartitionRacks found) {
        this.group = group;
        racks = new StickyRacks(group, found);
        least = group.partitions() / group.ids.length;
        extras = group.partitions() % group.ids.length;
        loads = new int[group.ids.length];
        holders = new int[group.partitions()];
        Arrays.fill(holders, NOBODY);
    }

    /** [partitions], the member that holds each partition. */
    int[] holders() {
        keepHeld();
        List<Integer> waiting = new ArrayList<>();
        for (int partition = 0; partition < holders.length; partition++) {
            if (holders[partition] == NOBODY) {
                waiting.add(partition);
            }
        }
        takeTurns(racks.matter ? matchRacks(waiting) : waiting);
        return holders;
    }

    private void keepHeld() {
        List<List<Integer>> held = heldByMember();
        Comparator<Integer> order = Comparator
                .<Integer>comparingInt(partition -> partition - group.starts[topicOf(partition)])
                .thenComparingInt(partition -> partition);
        for (int member : StickyRacks.walk(group)) {
            List<Integer> rest = held.get(member);
            rest.removeIf(partition -> racks.mismatches(member, partition));
            rest.sort(order);
            int kept = quota(member, rest.size());
            for (int partition : rest.subList(0, kept)) {
                holders[partition] = member;
            }
            loads[member] = kept;
        }
        Collections.sort(exact);
    }

    private List<List<Integer>> heldByMember() {
        List<List<Integer>> held = new ArrayList<>();
        for (int member = 0; member < loads.length; member++) {
            held.add(new ArrayList<>());
        }
        for (int partition = 0; partition < holders.length; partition++) {
            if (group.ownerOf[partition] != NOBODY) {
                held.get(group.ownerOf[partition]).add(partition);
            }
        }
        return held;
    }

    private int topicOf(int partition) {
        int place = Arrays.binarySearch(group.starts, partition);
        return place >= 0 ? place : -place - 2;
    }

    /** How many of its partitions a member keeps; adds it to {@code under} or {@code exact}. */
    private int quota(int member, int held) {
        if (held < least) {
            under.add(member);
            return held;
        }
        if (extras > 0 && held > least && over < extras) {
            countOver();
            return least + 1;
        }
        joinExact(member);
        return least;
    }

    private void joinExact(int member) {
        if (over < extras) {
            exact.add(member);
        }
    }

    private void countOver() {
        over++;
        if (over == extras) {
            exact.clear();
        }
    }

    private List<Integer> matchRacks(List<Integer> waiting) {
        int[] membersIn = new int[group.racks.length];
        for (int member = 0; member < loads.length; member++) {
            if (racks.of(member) != StickyRacks.NO_RACK) {
                membersIn[racks.of(member)]++;
            }
        }
        int[] weights = new int[holders.length];
        for (int partition : waiting) {
            for (int rack = 0; rack < membersIn.length; rack++) {
                weights[partition] += racks.has(partition, rack) ? membersIn[rack] : 0;
            }
        }
        waiting.sort(Comparator.comparingInt(partition -> weights[partition]));
        Collections.sort(under);
        int start = 0;
        List<Integer> unmatched = new ArrayList<>();
        for (int partition : waiting) {
            int found = nextUnder(partition, start);
            if (found != NOBODY) {
                start = found + 1;
                give(partition, found);
                if (loads[found] >= least) {
                    under.remove(Integer.valueOf(found));
                    joinExact(found);
                }
                continue;
            }
            int first = firstExact(partition);
            if (first == NOBODY) {
                unmatched.add(partition);
            } else {
                give(partition, first);
                countOver();
            }
        }
        return unmatched;
    }

    private boolean matches(int member, int partition) {
        int rack = racks.of(member);
        return rack != StickyRacks.NO_RACK && racks.has(partition, rack);
    }

    /** The next member of {@code under} in a rack of the partition, going around from a number. */
    private int nextUnder(int partition, int start) {
        int place = Collections.binarySearch(under, start);
        int first = place < 0 ? -place - 1 : place;
        for (int step = 0; step < under.size(); step++) {
            int at = first + step;
            int member = under.get(at < under.size() ? at : at - under.size());
            if (matches(member, partition)) {
                return member;
            }
        }
        return NOBODY;
    }

    /** Remove and return the first member of {@code exact} in a rack of the partition. */
    private int firstExact(int partition) {
        for (int member : exact) {
            if (matches(member, partition)) {
                exact.remove(Integer.valueOf(member));
                return member;
            }
        }
        return NOBODY;
    }

    private void takeTurns(List<Integer> waiting) {
        Collections.sort(under);
        ArrayDeque<Integer> turns = new ArrayDeque<>(under);
        ArrayDeque<Integer> after = new ArrayDeque<>(exact);
        for (int partition : waiting) {
            if (turns.isEmpty()) {
                give(partition, after.removeFirst());
                continue;
            }
            int member = turns.removeFirst();
            give(partition, member);
            (loads[member] < least ? turns : after).addLast(member);
        }
    }

    private void give(int partition, int member) {
        holders[partition] = member;
        loads[member]++;
    }
}
