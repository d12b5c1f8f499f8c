package io.rackwise.assignor;

import java.util.Arrays;

/**
 * The network of a group: from types and racks to members, and from the flow to holders.
 *
 * <pre>
 * type -- cost of the owner's rack, no move --> member -- least --> sink
 *  |                                             ^   |               ^
 *  +-- move --> cost class -- cost --> gate --> pool +-- 1 --> block +
 *                                                                 more
 * </pre>
 *
 * <p>A gate is an audience in one rack, a pool is a list of topics in one rack. Types without owner
 * are left out: their units start at the cost class. The loads of {@link EvenLoads} are in the
 * capacities, crossings and moves are in the costs.
 *
 * <p>From counts to partitions. Of each type, the first partitions stay with the owner. The rest
 * of each class is distributed evenly over its gates, that of a gate evenly over its pools, that of
 * a pool around its members.
 */
final class AssignmentNetwork {
    private final NumberedGroup group;
    private final UnitClasses classes;
    private final EvenLoads loads;
    /** [audiences * racks], the number of each gate, or -1. */
    private final int[] gates;
    /** [lists * racks], the number of each pool, or -1. */
    private final int[] pools;
    private final int gateCount;
    private final int poolCount;

    private AssignmentNetwork(NumberedGroup group, UnitClasses classes) {
        this.group = group;
        this.classes = classes;
        int lists = group.lists.length;
        int racks = group.racks.length;
        int[] units = new int[classes.audiences.length];
        for (int each = 0; each < classes.sizes.length; each++) {
            units[classes.audienceOf[each]] += classes.sizes[each];
        }
        int[] sizes = new int[lists];
        for (int list : group.listOf) {
            sizes[list]++;
        }
        loads = new EvenLoads(classes.audiences, units, sizes);
        pools = new int[lists * racks];
        for (int member = 0; member < group.ids.length; member++) {
            if (takesPart(member)) {
                pools[pool(member)] = 1;
            }
        }
        gates = new int[classes.audiences.length * racks];
        for (int pool = 0; pool < pools.length; pool++) {
            for (int audience = 0; audience < classes.audiences.length; audience++) {
                if (pools[pool] == 1 && classes.audiences[audience][pool / racks]) {
                    gates[audience * racks + pool % racks] = 1;
                }
            }
        }
        gateCount = number(gates);
        poolCount = number(pools);
    }

    /** [partitions], the member that holds each partition in the best assignment. */
    static int[] holders(NumberedGroup group, PartitionRacks racks) {
        return group.partitions() == 0
                ? new int[0]
                : new AssignmentNetwork(group, UnitClasses.of(group, racks)).solve();
    }

    /** Number the places that are 1, from 0 on; other places become -1. Returns their count. */
    private static int number(int[] places) {
        int count = 0;
        for (int place = 0; place < places.length; place++) {
            places[place] = places[place] == 1 ? count++ : -1;
        }
        return count;
    }

    private boolean takesPart(int member) {
        return loads.blockOf[group.listOf[member]] != EvenLoads.NO_BLOCK;
    }

    /** The place of a member's pool in {@code pools}. */
    private int pool(int member) {
        return group.listOf[member] * group.racks.length + group.rackOf[member];
    }

    private int[] solve() {
        int racks = group.racks.length;
        int types = classes.classOfType.length;
        int classCount = classes.sizes.length;
        int firstGate = types + classCount;
        int firstPool = firstGate + gateCount;
        int firstMember = firstPool + poolCount;
        int firstBlock = firstMember + group.ids.length;
        int sink = firstBlock + loads.least.length;
        FlowNetwork network = new FlowNetwork(sink + 1, 2 * types + 4 * group.ids.length);
        int[] supplies = new int[sink + 1];
        Distribution.Takes stays = new Distribution.Takes(types);
        for (int type = 0; type < types; type++) {
            int owner = classes.ownerOfType[type];
            int each = classes.classOfType[type];
            if (owner == NumberedGroup.NOBODY) {
                supplies[types + each] = classes.sizesOfTypes[type];
            } else {
                supplies[type] = classes.sizesOfTypes[type];
                long cost = cost(each, group.rackOf[owner]);
                network.add(type, firstMember + owner, supplies[type], cost);
                stays.add(type, owner);
            }
        }
        for (int type = 0; type < types; type++) {
            if (supplies[type] > 0) {
                network.add(type, types + classes.classOfType[type], supplies[type], 1);
            }
        }
        Distribution.Takes entries = new Distribution.Takes(classCount);
        for (int each = 0; each < classCount; each++) {
            for (int rack = 0; rack < racks; rack++) {
                int gate = gates[classes.audienceOf[each] * racks + rack];
                if (gate >= 0) {
                    int head = firstGate + gate;
                    network.add(types + each, head, classes.sizes[each], cost(each, rack));
                    entries.add(each, gate);
                }
            }
        }
        Distribution.Takes passages = addPassages(network, firstGate, firstPool);
        Distribution.Takes places = addMembers(network, firstPool, firstMember);
        addLoads(network, firstMember, firstBlock, sink);
        network.solve(supplies, sink);
        int arc = stays.count(network, 0);
        arc = entries.count(network, arc + stays.size());
        arc = passages.count(network, arc);
        places.count(network, arc);
        int[] holders = Distribution.inTurn(classes.typeOf, stays);
        int[] rest = rest(holders);
        int[] keys = new int[rest.length];
        Arrays.setAll(keys, each -> classes.classOf[rest[each]]);
        keys = Distribution.evenly(keys, entries, classCount);
        keys = Distribution.evenly(keys, passages, gateCount);
        keys = Distribution.around(keys, places, poolCount);
        for (int each = 0; each < rest.length; each++) {
            holders[rest[each]] = keys[each];
        }
        return holders;
    }

    private long cost(int costClass, int rack) {
        return classes.crosses[costClass][rack] ? classes.crossing : 0;
    }

    /** Arcs from gates to pools. */
    private Distribution.Takes addPassages(FlowNetwork network, int firstGate, int firstPool) {
        int racks = group.racks.length;
        Distribution.Takes passages = new Distribution.Takes(poolCount);
        for (int place = 0; place < pools.length; place++) {
            for (int audience = 0; audience < classes.audiences.length; audience++) {
                if (pools[place] >= 0 && classes.audiences[audience][place / racks]) {
                    int gate = gates[audience * racks + place % racks];
                    int capacity = classes.classOf.length;
                    network.add(firstGate + gate, firstPool + pools[place], capacity, 0);
                    passages.add(gate, pools[place]);
                }
            }
        }
        return passages;
    }

    /** Arcs from pools to members. */
    private Distribution.Takes addMembers(FlowNetwork network, int firstPool, int firstMember) {
        Distribution.Takes places = new Distribution.Takes(group.ids.length);
        for (int member = 0; member < group.ids.length; member++) {
            if (takesPart(member)) {
                int capacity = loads.least[loads.blockOf[group.listOf[member]]] + 1;
                int pool = pools[pool(member)];
                network.add(firstPool + pool, firstMember + member, capacity, 0);
                places.add(pool, member);
            }
        }
        return places;
    }

    /** Arcs from members to the sink and to their blocks, and from blocks to the sink. */
    private void addLoads(FlowNetwork network, int firstMember, int firstBlock, int sink) {
        for (int member = 0; member < group.ids.length; member++) {
            if (takesPart(member)) {
                int capacity = loads.least[loads.blockOf[group.listOf[member]]];
                network.add(firstMember + member, sink, capacity, 0);
            }
        }
        for (int member = 0; member < group.ids.length; member++) {
            int block = loads.blockOf[group.listOf[member]];
            if (takesPart(member) && loads.more[block] > 0) {
                network.add(firstMember + member, firstBlock + block, 1, 0);
            }
        }
        for (int block = 0; block < loads.more.length; block++) {
            if (loads.more[block] > 0) {
                network.add(firstBlock + block, sink, loads.more[block], 0);
            }
        }
    }

    /** The partitions that have no holder so far. */
    private static int[] rest(int[] holders) {
        int count = 0;
        int[] found = new int[holders.length];
        for (int partition = 0; partition < holders.length; partition++) {
            if (holders[partition] == NumberedGroup.NOBODY) {
                found[count++] = partition;
            }
        }
        return Arrays.copyOf(found, count);
    }
}
