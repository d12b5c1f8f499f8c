package io.rackwise.assignor;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.BitSet;
import java.util.stream.IntStream;

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
 * <p>If loads are even and all is held, nothing is dropped and nobody waits: the target stays as it
 * is. This is seen at once.
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
    private final BitSet under = new BitSet();
    /** [racks], those of them in each rack. */
    private final BitSet[] underIn;
    /** The members at q that may get one more. */
    private final RackQueues exact;
    private final int[] loads;
    private final int[] holders;

    StickyQuotas(NumberedGroup group, PartitionRacks found) {
        this.group = group;
        racks = new StickyRacks(group, found);
        least = group.partitions() / group.ids.length;
        extras = group.partitions() % group.ids.length;
        loads = new int[group.ids.length];
        underIn = new BitSet[group.racks.length];
        Arrays.setAll(underIn, rack -> new BitSet());
        exact = new RackQueues(racks, underIn.length);
        holders = new int[group.partitions()];
        Arrays.fill(holders, NOBODY);
    }

    /** [partitions], the member that holds each partition. */
    int[] holders() {
        if (group.isEven() && racks.matchOwners()) {
            return group.ownerOf;
        }
        keepHeld();
        int[] waiting = IntStream.range(0, holders.length)
                .filter(partition -> holders[partition] == NOBODY)
                .toArray();
        takeTurns(racks.matter ? matchRacks(waiting) : waiting);
        return holders;
    }

    private void keepHeld() {
        int[] firsts = new int[loads.length + 1];
        long[] held = heldByMember(firsts);
        BitSet exactly = new BitSet();
        for (int member : StickyRacks.walk(group)) {
            int first = firsts[member];
            int size = firsts[member + 1] - first;
            int kept = quota(member, size, exactly);
            if (kept < size) {
                Arrays.sort(held, first, first + size);
            }
            for (int each = first; each < first + kept; each++) {
                holders[(int) held[each]] = member;
            }
            loads[member] = kept;
        }
        exactly.stream().forEach(this::joinExact);
    }

    /**
     * Number and partition in one, of what each member may keep; writes where each member's begin,
     * [members + 1].
     */
    private long[] heldByMember(int[] firsts) {
        boolean[] mayKeep = new boolean[holders.length];
        for (int partition = 0; partition < holders.length; partition++) {
            int owner = group.ownerOf[partition];
            mayKeep[partition] = owner != NOBODY && !racks.mismatches(owner, partition);
            if (mayKeep[partition]) {
                firsts[owner + 1]++;
            }
        }
        for (int member = 0; member < loads.length; member++) {
            firsts[member + 1] += firsts[member];
        }
        int[] next = firsts.clone();
        long[] held = new long[firsts[loads.length]];
        for (int topic = 0; topic < group.topics.length; topic++) {
            int start = group.starts[topic];
            for (int partition = start; partition < group.starts[topic + 1]; partition++) {
                if (mayKeep[partition]) {
                    long number = partition - start;
                    held[next[group.ownerOf[partition]]++] = number << 32 | partition;
                }
            }
        }
        return held;
    }

    /** How many of its partitions a member keeps; adds it to {@code under} or {@code exactly}. */
    private int quota(int member, int held, BitSet exactly) {
        if (held < least) {
            under.set(member);
            if (racks.of(member) != StickyRacks.NO_RACK) {
                underIn[racks.of(member)].set(member);
            }
            return held;
        }
        if (extras > 0 && held > least && over < extras) {
            countOver();
            return least + 1;
        }
        exactly.set(member);
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

    /** Returns the partitions for which no member in their racks has room. */
    private int[] matchRacks(int[] waiting) {
        int[] weights = racks.membersInSets();
        long[] order = Arrays.stream(waiting)
                .mapToLong(each -> (long) weights[racks.setOf(each)] << 32 | each)
                .sorted()
                .toArray();
        int start = 0;
        int[] unmatched = new int[order.length];
        int count = 0;
        for (long each : order) {
            int partition = (int) each;
            int found = nextUnder(partition, start);
            if (found != NOBODY) {
                start = found + 1;
                give(partition, found);
                if (loads[found] >= least) {
                    under.clear(found);
                    underIn[racks.of(found)].clear(found);
                    joinExact(found);
                }
                continue;
            }
            int first = exact.pollIn(partition);
            if (first == NOBODY) {
                unmatched[count++] = partition;
            } else {
                give(partition, first);
                countOver();
            }
        }
        return Arrays.copyOf(unmatched, count);
    }

    /** The next member of {@code under} in a rack of the partition, going around from a number. */
    private int nextUnder(int partition, int start) {
        int found = firstUnder(partition, start);
        return found == NOBODY && start > 0 ? firstUnder(partition, 0) : found;
    }

    private int firstUnder(int partition, int start) {
        int first = NOBODY;
        for (int rack = 0; rack < underIn.length; rack++) {
            int member = underIn[rack].nextSetBit(start);
            if (member >= 0 && (first == NOBODY || member < first) && racks.has(partition, rack)) {
                first = member;
            }
        }
        return first;
    }

    private void takeTurns(int[] waiting) {
        ArrayDeque<Integer> turns = new ArrayDeque<>();
        under.stream().forEach(turns::add);
        ArrayDeque<Integer> after = new ArrayDeque<>();
        Arrays.stream(exact.rest()).forEach(after::add);
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
