package io.rackwise.assignor;

import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;

/**
 * The sticky assignment of Kafka's Java clients (KIP-54, KIP-881) for groups of the consumer
 * protocol.
 *
 * <p>Goals, in order: balance; partitions stay in their member's rack; new partitions go where a
 * replica is. It is greedy: it may move less than {@link RackOptimalAssignor}, and may leave more
 * partitions in another rack.
 *
 * <p>The algorithm. Members that all subscribe to the same topics get quotas ({@link
 * StickyQuotas}). Otherwise partitions move until loads are balanced ({@link StickyBalance}).
 * Racks count if some member shares one with a replica, and if not every partition is in all racks
 * of members.
 *
 * <pre>
 * members (rack, holds)            t-0 a   t-1 a   t-2 b   t-3 b
 * m1      a      t-0 t-1 t-2       m1 keeps t-0 t-1; t-2 has no replica in a
 * m2      b      -                 m2 gets t-2 t-3
 * </pre>
 *
 * <p>Ties. Topics are taken by the text of their id, members by their id. Where Kafka's algorithm
 * goes by the order of a hash map, it is a {@code java.util.HashMap} of member ids that were
 * inserted in their order. {@code assign_sticky_on_server} of the Python package makes the same
 * choices, and the same cases test both.
 *
 * <p>Limits. Those of Kafka's algorithm: no levels of racks, not the best locality.
 */
public final class RackStickyAssignor implements ConsumerGroupPartitionAssignor {
    @Override
    public String name() {
        return "rack-sticky";
    }

    @Override
    public GroupAssignment assign(GroupSpec spec, SubscribedTopicDescriber topics) {
        NumberedGroup group = NumberedGroup.of(spec, topics);
        PartitionRacks racks = group.isEven()
                ? PartitionRacks.checked(group, topics)
                : PartitionRacks.numbered(group, topics);
        if (racks.isLocal) {
            return NextAssignment.of(group, spec, group.ownerOf);
        }
        int[] holders = group.lists.length == 1
                ? new StickyQuotas(group, racks).holders()
                : new StickyBalance(group, racks).holders();
        return NextAssignment.of(group, spec, holders);
    }
}
