package io.rackwise.assignor;

import java.util.Arrays;

/**
 * The cheapest flow from several sources to one sink: exact, in integers, and always the same one.
 *
 * <p>Goals, in order: the least cost; a choice among equal flows that any implementation of these
 * rules makes.
 *
 * <p>The algorithm is the primal-dual one. Each node has a price, 0 at first. An arc that has room
 * is tight if its cost equals the difference of prices. Two steps alternate until no unit is left
 * at a source:
 *
 * <ol>
 *   <li>Units flow along tight arcs. The level of a node is the number of tight arcs to the sink.
 *       Sources in order of their numbers send what they have, each node to a node one level
 *       lower along its first such arc in the order of the arcs; an arc that leads nowhere is not
 *       tried again. Levels are computed anew until no source reaches the sink.
 *   <li>Prices change. The distance of a node is the least sum of reduced costs to the sink. Nodes
 *       nearer than the nearest source become cheaper by the difference, so that a path from this
 *       source becomes tight.
 * </ol>
 *
 * <pre>
 * source s has 3     s -> a  room 2, cost 0     a -> t  room 9, cost 0
 *                    s -> b  room 9, cost 1     b -> t  room 9, cost 0
 *
 * prices 0           2 units go s a t           1 unit is left, no tight path
 * t, b, a: -1        1 unit goes s b t
 * </pre>
 *
 * <p>Levels, distances and orders are unique, so the flow does not depend on how they are
 * computed. Costs must be at least 0 where there is room. Source: Ford and Fulkerson, "Flows in
 * Networks" (1962), on the primal-dual method; Dinic (1970) on levels.
 */
final class FlowNetwork {
    private static final int UNREACHED = -1;

    private final int nodes;
    private int arcs;
    /** [2 * arcs], the node where an edge ends; edge 2a is arc a, edge 2a + 1 is its reverse. */
    private int[] to;
    private int[] room;
    private long[] costs;
    /** [nodes + 1], the first place of each node's edges in {@code edges}. */
    private int[] firsts;
    private int[] edges;
    private final long[] prices;
    private final int[] levels;
    private final int[] next;

    FlowNetwork(int nodes, int expectedArcs) {
        this.nodes = nodes;
        to = new int[2 * expectedArcs];
        room = new int[2 * expectedArcs];
        costs = new long[expectedArcs];
        prices = new long[nodes];
        levels = new int[nodes];
        next = new int[nodes];
    }

    /** Add an arc; returns its number. */
    int add(int tail, int head, int capacity, long cost) {
        if (arcs == costs.length) {
            int larger = 2 * arcs + 8;
            to = Arrays.copyOf(to, 2 * larger);
            room = Arrays.copyOf(room, 2 * larger);
            costs = Arrays.copyOf(costs, larger);
        }
        to[2 * arcs] = head;
        to[2 * arcs + 1] = tail;
        room[2 * arcs] = capacity;
        costs[arcs] = cost;
        return arcs++;
    }

    /** The units on an arc, after {@code solve}. */
    int units(int arc) {
        return room[2 * arc + 1];
    }

    /** Bring all supplies, [nodes], to the sink. Throws if the arcs cannot carry them. */
    void solve(int[] supplies, int sink) {
        order();
        int[] left = supplies.clone();
        int[] sources = new int[nodes];
        int active = 0;
        for (int node = 0; node < nodes; node++) {
            if (left[node] > 0) {
                sources[active++] = node;
            }
        }
        while (true) {
            while (active > 0 && findLevels(sources, active, sink)) {
                int kept = 0;
                for (int each = 0; each < active; each++) {
                    int source = sources[each];
                    send(source, left, sink);
                    if (left[source] > 0) {
                        sources[kept++] = source;
                    }
                }
                active = kept;
            }
            if (active == 0) {
                return;
            }
            changePrices(left, sink);
        }
    }

    /** The edges of each node, in the order of their arcs. */
    private void order() {
        firsts = new int[nodes + 1];
        for (int edge = 0; edge < 2 * arcs; edge++) {
            firsts[to[edge ^ 1] + 1]++;
        }
        for (int node = 0; node < nodes; node++) {
            firsts[node + 1] += firsts[node];
        }
        edges = new int[2 * arcs];
        int[] ends = firsts.clone();
        for (int edge = 0; edge < 2 * arcs; edge++) {
            edges[ends[to[edge ^ 1]]++] = edge;
        }
    }

    private long reduced(int edge) {
        long cost = (edge & 1) == 0 ? costs[edge >> 1] : -costs[edge >> 1];
        return cost + prices[to[edge]] - prices[to[edge ^ 1]];
    }

    /** Write the level of each node; returns whether a source reaches the sink. */
    private boolean findLevels(int[] sources, int active, int sink) {
        Arrays.fill(levels, UNREACHED);
        int[] queue = new int[nodes];
        int end = 0;
        levels[sink] = 0;
        queue[end++] = sink;
        for (int at = 0; at < end; at++) {
            int node = queue[at];
            for (int place = firsts[node]; place < firsts[node + 1]; place++) {
                int edge = edges[place];
                int other = to[edge];
                if (levels[other] == UNREACHED && room[edge ^ 1] > 0 && reduced(edge ^ 1) == 0) {
                    levels[other] = levels[node] + 1;
                    queue[end++] = other;
                }
            }
        }
        System.arraycopy(firsts, 0, next, 0, nodes);
        for (int each = 0; each < active; each++) {
            if (levels[sources[each]] != UNREACHED) {
                return true;
            }
        }
        return false;
    }

    /** Send what is left at a source down the levels. */
    private void send(int source, int[] left, int sink) {
        if (levels[source] == UNREACHED) {
            return;
        }
        int[] path = new int[levels[source]];
        while (left[source] > 0) {
            int depth = 0;
            int node = source;
            while (node != sink) {
                int edge = nextEdge(node);
                if (edge >= 0) {
                    path[depth++] = edge;
                    node = to[edge];
                } else if (depth == 0) {
                    return;
                } else {
                    levels[node] = UNREACHED;
                    node = to[path[--depth] ^ 1];
                }
            }
            int amount = left[source];
            for (int each = 0; each < depth; each++) {
                amount = Math.min(amount, room[path[each]]);
            }
            for (int each = 0; each < depth; each++) {
                room[path[each]] -= amount;
                room[path[each] ^ 1] += amount;
            }
            left[source] -= amount;
        }
    }

    /** The first tight edge to the next lower level, or -1. */
    private int nextEdge(int node) {
        while (next[node] < firsts[node + 1]) {
            int edge = edges[next[node]];
            if (room[edge] > 0 && levels[to[edge]] == levels[node] - 1 && reduced(edge) == 0) {
                return edge;
            }
            next[node]++;
        }
        return -1;
    }

    /** Make a path from the nearest source tight. */
    private void changePrices(int[] left, int sink) {
        long[] distances = new long[nodes];
        Arrays.fill(distances, Long.MAX_VALUE);
        boolean[] isSettled = new boolean[nodes];
        int[] settled = new int[nodes];
        int count = 0;
        NodeHeap heap = new NodeHeap(distances);
        // Most nodes are as far as the node that they were found from; these need no heap.
        int[] level = new int[2 * arcs + 1];
        int waiting = 0;
        distances[sink] = 0;
        level[waiting++] = sink;
        while (waiting > 0 || !heap.isEmpty()) {
            int node = waiting > 0 ? level[--waiting] : heap.removeFirst();
            if (isSettled[node]) {
                continue;
            }
            isSettled[node] = true;
            if (left[node] > 0) {
                for (int each = 0; each < count; each++) {
                    prices[settled[each]] += distances[settled[each]] - distances[node];
                }
                return;
            }
            settled[count++] = node;
            for (int place = firsts[node]; place < firsts[node + 1]; place++) {
                int edge = edges[place] ^ 1;
                int other = to[edge ^ 1];
                if (room[edge] > 0 && !isSettled[other]) {
                    long distance = distances[node] + reduced(edge);
                    if (distance < distances[other]) {
                        distances[other] = distance;
                        if (distance == distances[node]) {
                            level[waiting++] = other;
                        } else {
                            heap.add(other);
                        }
                    }
                }
            }
        }
        throw new IllegalStateException("the arcs cannot carry all units to the sink");
    }

    /** Nodes by distance when added; a node whose distance falls is added again. */
    private static final class NodeHeap {
        private final long[] distances;
        private long[] keys = new long[64];
        private int[] members = new int[64];
        private int size;

        NodeHeap(long[] distances) {
            this.distances = distances;
        }

        boolean isEmpty() {
            return size == 0;
        }

        void add(int node) {
            if (size == keys.length) {
                keys = Arrays.copyOf(keys, 2 * size);
                members = Arrays.copyOf(members, 2 * size);
            }
            long key = distances[node];
            int at = size++;
            while (at > 0 && keys[(at - 1) / 2] > key) {
                keys[at] = keys[(at - 1) / 2];
                members[at] = members[(at - 1) / 2];
                at = (at - 1) / 2;
            }
            keys[at] = key;
            members[at] = node;
        }

        int removeFirst() {
            int first = members[0];
            long key = keys[--size];
            int node = members[size];
            int at = 0;
            while (2 * at + 1 < size) {
                int child = 2 * at + 1;
                if (child + 1 < size && keys[child + 1] < keys[child]) {
                    child++;
                }
                if (keys[child] >= key) {
                    break;
                }
                keys[at] = keys[child];
                members[at] = members[child];
                at = child;
            }
            keys[at] = key;
            members[at] = node;
            return first;
        }
    }
}
