package io.rackwise.assignor;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * The sticky algorithm where members subscribe to different topics: greedy, then balancing moves.
 *
 * <ol>
 *   <li>Held partitions stay with their members, except those without a replica in the member's
 *       rack. Any such drop is a revocation.
 *   <li>Partitions are taken by (number of subscribers, topic, number), members by (load, id). Each
 *       goes to the first subscriber in one of its racks; one that finds none goes to the first
 *       subscriber. A member without rack counts as being in all racks.
 *   <li>Topics with one subscriber are set aside, and so are members that hold all they can get and
 *       nothing else. The other members are in play.
 *   <li>Balance. First the new partitions, unless something was revoked; then all. Passes repeat
 *       until one moves nothing, and stop as soon as loads are balanced. A partition goes to the
 *       first subscriber if that one holds at least 2 fewer than its holder. {@link Movements} may
 *       choose another partition instead. Passes end where they repeat.
 *   <li>Step 4 is undone if the passes over all partitions moved something, some member held
 *       something after step 1, and the sum of load differences over pairs of members did not fall.
 * </ol>
 *
 * <pre>
 * m1 topics t      holds t-0 t-1 t-2 t-3       (load, id) after step 1: (0, m2) (4, m1)
 * m2 topics t, u
 *
 * step 2   u-0 -> m2                           u has one subscriber and comes first
 * step 3   u is set aside; m2 can get t too and stays in play
 * step 4   t-0 -> m2: loads 4 and 1 become 3 and 2, which is balanced
 * </pre>
 *
 * <p>Racks do not count in step 4, as in Kafka's algorithm. Source: {@code
 * AbstractStickyAssignor.GeneralAssignmentBuilder} of kafka-clients.
 */
final class StickyBalance {
    private static final int NOBODY = NumberedGroup.NOBODY;

    private final NumberedGroup group;
    private final StickyRacks racks;
    private final int[] topicOf;
    /** [members], the partitions that each member can get. */
    private final int[] most;
    /** Topics with two or more subscribers. */
    private final BitSet contested = new BitSet();
    /** Partitions by (number of subscribers, topic, number). */
    private final List<Integer> order = new ArrayList<>();
    private final int[] holders;
    private final int[] loads;
    /** [topics][members], the partitions of the topic that the member holds. */
    private final int[][] held;
    /** Load and member in one number, of the members in play. */
    private final TreeSet<Long> inPlay = new TreeSet<>();
    private final Movements movements = new Movements();

    StickyBalance(NumberedGroup group, PartitionRacks found) {
        this.group = group;
        racks = new StickyRacks(group, found);
        topicOf = new int[group.partitions()];
        most = new int[group.ids.length];
        holders = new int[group.partitions()];
        Arrays.fill(holders, NOBODY);
        loads = new int[group.ids.length];
        held = new int[group.topics.length][group.ids.length];
        int[] subscribers = new int[group.topics.length];
        List<Integer> topics = new ArrayList<>();
        for (int topic = 0; topic < subscribers.length; topic++) {
            topics.add(topic);
            int size = group.starts[topic + 1] - group.starts[topic];
            Arrays.fill(topicOf, group.starts[topic], group.starts[topic + 1], topic);
            for (int member = 0; member < most.length; member++) {
                if (subscribes(member, topic)) {
                    subscribers[topic]++;
                    most[member] += size;
                }
            }
            contested.set(topic, subscribers[topic] > 1);
        }
        topics.sort(Comparator.comparingInt(topic -> subscribers[topic]));
        for (int topic : topics) {
            for (int each = group.starts[topic]; each < group.starts[topic + 1]; each++) {
                order.add(each);
            }
        }
    }

    /** [partitions], the member that holds each partition. */
    int[] holders() {
        boolean isRevoking = keepHeld();
        boolean startsEmpty = Arrays.stream(loads).allMatch(load -> load == 0);
        List<Integer> fresh = new ArrayList<>(order);
        fresh.removeIf(partition -> holders[partition] != NOBODY);
        assign(fresh);
        setAside();
        int[] before = holders.clone();
        long score = score();
        if (!isRevoking) {
            run(fresh);
        }
        boolean hasMoved = run(order);
        return hasMoved && !startsEmpty && score() >= score ? before : holders;
    }

    private boolean subscribes(int member, int topic) {
        return group.lists[group.listOf[member]].get(topic);
    }

    private boolean keepHeld() {
        boolean isRevoking = false;
        for (int partition = 0; partition < holders.length; partition++) {
            int owner = group.ownerOf[partition];
            if (owner != NOBODY) {
                if (racks.mismatches(owner, partition)) {
                    isRevoking = true;
                } else {
                    hold(partition, owner);
                }
            }
        }
        for (int member = 0; member < loads.length; member++) {
            inPlay.add(key(member));
        }
        return isRevoking;
    }

    private long key(int member) {
        return (long) loads[member] << 32 | member;
    }

    private void hold(int partition, int member) {
        holders[partition] = member;
        loads[member]++;
        held[topicOf[partition]][member]++;
    }

    private void assign(List<Integer> fresh) {
        List<Integer> unmatched = new ArrayList<>();
        for (int partition : fresh) {
            int found = NOBODY;
            for (long each : inPlay) {
                int member = (int) each;
                if (subscribes(member, topicOf[partition])
                        && !racks.mismatches(member, partition)) {
                    found = member;
                    break;
                }
            }
            if (found == NOBODY) {
                unmatched.add(partition);
            } else {
                move(partition, found);
            }
        }
        for (int partition : unmatched) {
            move(partition, firstSubscriber(topicOf[partition]));
        }
    }

    private int firstSubscriber(int topic) {
        for (long each : inPlay) {
            if (subscribes((int) each, topic)) {
                return (int) each;
            }
        }
        throw new IllegalStateException("a topic that takes part has a subscriber");
    }

    private void setAside() {
        boolean[] isContending = new boolean[loads.length];
        contested.stream().forEach(topic -> {
            for (int member = 0; member < loads.length; member++) {
                isContending[member] |= held[topic][member] > 0;
            }
        });
        inPlay.removeIf(each -> loads[each.intValue()] >= most[each.intValue()]
                && !isContending[each.intValue()]);
    }

    private void move(int partition, int member) {
        int last = holders[partition];
        if (last != NOBODY) {
            inPlay.remove(key(last));
            held[topicOf[partition]][last]--;
            loads[last]--;
            inPlay.add(key(last));
        }
        inPlay.remove(key(member));
        hold(partition, member);
        inPlay.add(key(member));
    }

    /** Whether no partition can move to a member in play that holds at least 2 fewer. */
    private boolean isBalanced() {
        if (inPlay.isEmpty() || inPlay.first() >>> 32 >= (inPlay.last() >>> 32) - 1) {
            return true;
        }
        BitSet seen = new BitSet();
        for (long each : inPlay) {
            int member = (int) each;
            if (loads[member] == most[member]) {
                continue;
            }
            BitSet topics = (BitSet) group.lists[group.listOf[member]].clone();
            topics.andNot(seen);
            seen.or(topics);
            for (int topic = topics.nextSetBit(0); topic >= 0; topic = topics.nextSetBit(topic + 1)) {
                for (int holder = 0; holder < loads.length; holder++) {
                    if (held[topic][holder] > 0 && loads[holder] > loads[member] + 1) {
                        return false;
                    }
                }
            }
        }
        return true;
    }

    /** The differences of loads in play, summed over pairs of members. */
    private long score() {
        long score = 0;
        int place = 0;
        for (long each : inPlay) {
            score += (2L * place++ + 1 - inPlay.size()) * (each >>> 32);
        }
        return score;
    }

    /** Run passes until one moves nothing or repeats; returns whether any partition moved. */
    private boolean run(List<Integer> partitions) {
        List<Integer> numbers = new ArrayList<>(partitions);
        numbers.removeIf(partition -> !contested.get(topicOf[partition]));
        boolean hasMoved = false;
        Set<Object> seen = new HashSet<>();
        while (runPass(numbers)) {
            hasMoved = true;
            List<Integer> state = Arrays.stream(holders).boxed().toList();
            if (!seen.add(List.of(state, movements.state()))) {
                break;
            }
        }
        return hasMoved;
    }

    private boolean runPass(List<Integer> numbers) {
        boolean hasMoved = false;
        boolean isBalanced = isBalanced();
        for (int partition : numbers) {
            if (isBalanced) {
                break;
            }
            int target = firstSubscriber(topicOf[partition]);
            if (loads[target] <= loads[holders[partition]] - 2) {
                moveOrGoBack(partition, target);
                hasMoved = true;
                isBalanced = isBalanced();
            }
        }
        return hasMoved;
    }

    /** Move the partition, or the one that the movements choose in its place. */
    private void moveOrGoBack(int partition, int target) {
        int topic = topicOf[partition];
        int moving = movements.insteadOf(topic, partition, holders[partition], target);
        int number = moving - group.starts[topic];
        int hash = 31 * (31 + number) + group.topics[topic].toString().hashCode();
        movements.record(topic, moving, hash, holders[moving], target);
        move(moving, target);
    }
}
