package io.rackwise.assignor;

import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;

/**
 * The optimal assignment for groups of the consumer protocol (KIP-848): balance first, then the
 * least crossing of racks, then the fewest moves.
 *
 * <p>Goals, in order. Each is as small as the goals before it allow, and this is proven, because
 * the assignment is a min-cost flow.
 *
 * <ol>
 *   <li>Balance: the sum of squared loads. Members with the same subscriptions get q or q + 1.
 *   <li>Crossings: partitions of a member in whose rack they have no replica. A member without a
 *       rack crosses with every partition.
 *   <li>Moves: partitions of the current target assignment that end with another member.
 * </ol>
 *
 * <p>The algorithm. Partitions with the same subscribers and the same local racks are one cost
 * class; those with the same owner too are one type. {@link AssignmentNetwork} is the network of
 * types, classes, racks and members; {@link FlowNetwork} finds the flow; {@link Distribution}
 * makes partitions of its counts.
 *
 * <pre>
 *              t-0  t-1  t-2  t-3
 * replicas in  a    a b  b    b a
 * target now   m1   m2   m1   m2      m1 in a, m2 in b
 * next         m1   m2   m2   m1      4 local, 2 moves
 * </pre>
 *
 * <p>An epoch that changes nothing moves nothing: an optimal target is the only one without moves,
 * so it is returned as it is. Where all members have the same subscriptions, {@link CrossingBound}
 * proves this without a flow.
 *
 * <p>Ties. A broker knows topics by id. So topics are taken by the text of their id, members by
 * their id, and racks by the first member that has them. {@code assign_on_server} of the Python
 * package makes the same choices, and the same cases test both.
 *
 * <p>Limits. Racks are texts that are equal or not; levels of a path do not count, because the
 * broker does not say which replica is the leader. Replicas out of sync count as replicas. A topic
 * need not spread over members. Source: KIP-848, KIP-881, KIP-1101.
 */
public final class RackOptimalAssignor implements ConsumerGroupPartitionAssignor {
    @Override
    public String name() {
        return "rack-optimal";
    }

    @Override
    public GroupAssignment assign(GroupSpec spec, SubscribedTopicDescriber topics) {
        NumberedGroup group = NumberedGroup.of(spec, topics);
        boolean isEven = group.isEven();
        PartitionRacks racks = isEven
                ? PartitionRacks.checked(group, topics)
                : PartitionRacks.numbered(group, topics);
        boolean isBest = isEven && (racks.isLocal || CrossingBound.isMet(group, racks));
        return NextAssignment.of(
                group, spec, isBest ? group.ownerOf : AssignmentNetwork.holders(group, racks));
    }
}
