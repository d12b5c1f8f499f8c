package io.rackwise.assignor;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Members in order of arrival, of which the first one in a rack of a partition is found at once.
 *
 * <p>Each rack has a queue, and members without a rack have one. The first member in some racks is
 * the one that arrived first among the heads of their queues.
 *
 * <pre>
 * arrived    0 m4 (a)   1 m1 (b)   2 m3 (a)        rack a: 0 m4, 2 m3     rack b: 1 m1
 * in a or b  m4, then m1, then m3
 * </pre>
 */
final class RackQueues {
    private final StickyRacks racks;
    /** [racks + 1], arrival and member in one number; the last queue is that of no rack. */
    private final List<ArrayDeque<Long>> queues = new ArrayList<>();
    private long arrivals;

    RackQueues(StickyRacks racks, int rackCount) {
        this.racks = racks;
        for (int rack = 0; rack <= rackCount; rack++) {
            queues.add(new ArrayDeque<>());
        }
    }

    void add(int member) {
        int rack = racks.of(member);
        int place = rack == StickyRacks.NO_RACK ? queues.size() - 1 : rack;
        queues.get(place).addLast(arrivals++ << 32 | member);
    }

    /** Remove and return the first member in one of the partition's racks, or {@code NOBODY}. */
    int pollIn(int partition) {
        ArrayDeque<Long> found = null;
        for (int rack = 0; rack < queues.size() - 1; rack++) {
            ArrayDeque<Long> queue = queues.get(rack);
            if (!queue.isEmpty()
                    && (found == null || queue.peekFirst() < found.peekFirst())
                    && racks.has(partition, rack)) {
                found = queue;
            }
        }
        return found == null ? NumberedGroup.NOBODY : (int) (long) found.pollFirst();
    }

    void clear() {
        queues.forEach(ArrayDeque::clear);
    }

    /** The members that are left, in order of arrival. */
    int[] rest() {
        long[] left = queues.stream().flatMap(ArrayDeque::stream).mapToLong(each -> each).toArray();
        Arrays.sort(left);
        return Arrays.stream(left).mapToInt(each -> (int) each).toArray();
    }
}
