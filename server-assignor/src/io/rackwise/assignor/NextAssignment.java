package io.rackwise.assignor;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;

import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * The assignment of an epoch, made from the target now: what does not change keeps its objects.
 *
 * <p>Members are grouped by what they gain and lose, their events, in order of partitions. A member
 * without events keeps its assignment. Another one gets a new map, in which each topic without an
 * event keeps its set.
 *
 * <pre>
 * target now   m1: t {0 1}, u {0}       m2: -
 * holders      t-0 m1, t-1 m2, u-0 m1
 * events       m1: t-1 lost             m2: t-1 gained
 * next         m1: t {0}, u {0}         m2: t {1}       the set of u is the same object
 * </pre>
 *
 * <p>A member whose target now has a partition that does not count is made anew: all its
 * partitions are gains.
 */
final class NextAssignment {
    private final NumberedGroup group;
    /** [partitions], the member of each partition. */
    private final int[] holders;
    /** [members + 1], the first event of each member in {@code events}. */
    private final int[] firsts;
    /** The partitions that members gain or lose, by member, ascending. */
    private final int[] events;
    /** [partitions], the topic of each partition. */
    private final int[] topicOf;

    private NextAssignment(NumberedGroup group, int[] holders) {
        this.group = group;
        this.holders = holders;
        firsts = new int[group.ids.length + 1];
        for (int partition = 0; partition < holders.length; partition++) {
            if (isGain(partition)) {
                firsts[holders[partition] + 1]++;
            }
            if (isLoss(partition)) {
                firsts[group.ownerOf[partition] + 1]++;
            }
        }
        for (int member = 0; member < group.ids.length; member++) {
            firsts[member + 1] += firsts[member];
        }
        events = new int[firsts[group.ids.length]];
        topicOf = new int[holders.length];
        int[] ends = firsts.clone();
        for (int topic = 0; topic < group.topics.length; topic++) {
            for (int each = group.starts[topic]; each < group.starts[topic + 1]; each++) {
                topicOf[each] = topic;
                if (isGain(each)) {
                    events[ends[holders[each]]++] = each;
                }
                if (isLoss(each)) {
                    events[ends[group.ownerOf[each]]++] = each;
                }
            }
        }
    }

    /** The assignment with these holders, [partitions]. */
    static GroupAssignment of(NumberedGroup group, GroupSpec spec, int[] holders) {
        NextAssignment next = new NextAssignment(group, holders);
        Map<String, MemberAssignment> found = new HashMap<>(2 * group.ids.length);
        for (int member = 0; member < group.ids.length; member++) {
            String id = group.ids[member];
            MemberAssignment now = spec.memberAssignment(id);
            found.put(id, next.keeps(member) ? now : new Held(next.changed(member, now)));
        }
        return new GroupAssignment(found);
    }

    private boolean keeps(int member) {
        return firsts[member] == firsts[member + 1] && !group.isIrregular[member];
    }

    private boolean isGain(int partition) {
        int holder = holders[partition];
        return group.ownerOf[partition] != holder || group.isIrregular[holder];
    }

    private boolean isLoss(int partition) {
        int owner = group.ownerOf[partition];
        return owner != holders[partition]
                && owner != NumberedGroup.NOBODY
                && !group.isIrregular[owner];
    }

    /** The partitions of a member, from those that it has now and its events. */
    private Map<Uuid, Set<Integer>> changed(int member, MemberAssignment target) {
        Map<Uuid, Set<Integer>> now =
                group.isIrregular[member] ? Map.of() : target.partitions();
        int end = firsts[member + 1];
        int most = now.size() + end - firsts[member];
        Map<Uuid, Set<Integer>> next = new HashMap<>(most + most / 2);
        now.forEach(next::put);
        int first = firsts[member];
        while (first < end) {
            int topic = topicOf[events[first]];
            int last = first + 1;
            while (last < end && topicOf[events[last]] == topic) {
                last++;
            }
            Set<Integer> partitions = changed(member, now.get(group.topics[topic]), first, last);
            if (partitions.isEmpty()) {
                next.remove(group.topics[topic]);
            } else {
                next.put(group.topics[topic], partitions);
            }
            first = last;
        }
        return Collections.unmodifiableMap(next);
    }

    /** The partitions of one topic after some events; {@code now} is null where there is none. */
    private Set<Integer> changed(int member, Set<Integer> now, int first, int last) {
        int start = group.starts[topicOf[events[first]]];
        if (now == null && last == first + 1) {
            return Collections.singleton(events[first] - start);
        }
        Set<Integer> next = now == null ? new HashSet<>(2 * (last - first)) : new HashSet<>(now);
        for (int event : Arrays.copyOfRange(events, first, last)) {
            if (holders[event] == member) {
                next.add(event - start);
            } else {
                next.remove(event - start);
            }
        }
        return next;
    }

    private record Held(Map<Uuid, Set<Integer>> partitions) implements MemberAssignment {}
}
