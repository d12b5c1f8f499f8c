package io.rackwise.assignor;

import java.util.Arrays;

/**
 * How many partitions each member gets: loads with the least sum of squares.
 *
 * <p>Members with the same subscriptions share evenly. With differing subscriptions some members
 * must have more; members then form blocks. Within a block, loads differ by at most one, and the
 * sum of the block is fixed. The loads with the least sum of squares are exactly those with the
 * sums of the blocks and {@code least} or {@code least + 1} for each member of a block.
 *
 * <pre>
 * topic   partitions   subscribers      loads      block
 * t       8            m1               m1 8       0   level 8
 * u       2            m1 m2 m3         m2 2       1   level 2 or 1
 * v       1            m2 m3            m3 1
 * </pre>
 *
 * <p>The algorithm. A flow from audiences to lists to the sink has the least sum of squares where
 * the k-th unit of a member costs 2k + 1. Costs are modelled in a window around the expected
 * loads, which moves and grows until the loads are inside. Blocks: start with the members that
 * have most, add every member that could take from a member of the block, repeat with the rest.
 *
 * <p>Source: Frank and Murota, "Decreasing minimization on M-convex sets" (2019).
 */
final class EvenLoads {
    /** The block of a list whose members can get no partition. */
    static final int NO_BLOCK = -1;
    /** The first distance from the expected load that is modelled on both sides. */
    private static final int FIRST_WINDOW = 8;

    /** [lists], the block of each list, or {@code NO_BLOCK}. */
    final int[] blockOf;
    /** [blocks], the load of each member of the block. */
    final int[] least;
    /** [blocks], the number of members that get one partition more. */
    final int[] more;

    private final boolean[][] audiences;
    private final int[] units;
    private final int[] sizes;
    private int blocks;
    private final int[] totals;

    /** {@code units}: [audiences], above 0. {@code sizes}: [lists], the members of each list. */
    EvenLoads(boolean[][] audiences, int[] units, int[] sizes) {
        this.audiences = audiences;
        this.units = units;
        this.sizes = sizes;
        blockOf = new int[sizes.length];
        Arrays.fill(blockOf, NO_BLOCK);
        totals = new int[sizes.length];
        boolean[] takesPart = new boolean[sizes.length];
        for (boolean[] audience : audiences) {
            for (int list = 0; list < sizes.length; list++) {
                takesPart[list] |= audience[list];
            }
        }
        if (Arrays.stream(audiences).allMatch(each -> Arrays.equals(each, takesPart))) {
            blocks = units.length > 0 ? 1 : 0;
            for (int list = 0; list < sizes.length; list++) {
                blockOf[list] = takesPart[list] ? 0 : NO_BLOCK;
            }
            totals[0] = Arrays.stream(units).sum();
        } else {
            markBlocks(minimizeSquares(), takesPart);
        }
        least = new int[blocks];
        more = new int[blocks];
        int[] members = new int[blocks];
        for (int list = 0; list < sizes.length; list++) {
            if (blockOf[list] != NO_BLOCK) {
                members[blockOf[list]] += sizes[list];
            }
        }
        for (int block = 0; block < blocks; block++) {
            least[block] = totals[block] / members[block];
            more[block] = totals[block] % members[block];
        }
    }

    /** The units of each audience that go to each list, [audiences][lists]. */
    private int[][] minimizeSquares() {
        double[] shares = new double[sizes.length];
        for (int audience = 0; audience < units.length; audience++) {
            int readers = 0;
            for (int list = 0; list < sizes.length; list++) {
                readers += audiences[audience][list] ? sizes[list] : 0;
            }
            for (int list = 0; list < sizes.length; list++) {
                shares[list] += audiences[audience][list] ? (double) units[audience] / readers : 0;
            }
        }
        int[] expected = new int[sizes.length];
        Arrays.setAll(expected, list -> (int) shares[list]);
        for (int window = FIRST_WINDOW; ; window *= 2) {
            int[][] flows = solveWindow(expected, window);
            int[] sums = sums(flows);
            boolean isInside = true;
            for (int list = 0; list < sizes.length; list++) {
                long low = Math.max(expected[list] - window, 0);
                long high = (long) expected[list] + window;
                isInside &= low * sizes[list] <= sums[list] && sums[list] <= high * sizes[list];
            }
            if (isInside) {
                return flows;
            }
            Arrays.setAll(expected, list -> sums[list] / sizes[list]);
        }
    }

    /** The same, where loads outside the window cost as much as its ends. */
    private int[][] solveWindow(int[] expected, int window) {
        int lists = sizes.length;
        int sink = units.length + lists;
        int total = Arrays.stream(units).sum();
        FlowNetwork network = new FlowNetwork(sink + 1, units.length * lists + lists * window);
        int[] supplies = new int[sink + 1];
        for (int audience = 0; audience < units.length; audience++) {
            supplies[audience] = units[audience];
            for (int list = 0; list < lists; list++) {
                if (audiences[audience][list]) {
                    network.add(audience, units.length + list, units[audience], 0);
                }
            }
        }
        for (int list = 0; list < lists; list++) {
            int low = Math.max(expected[list] - window, 0);
            int high = expected[list] + window;
            if (low > 0) {
                network.add(units.length + list, sink, low * sizes[list], 2L * low - 1);
            }
            for (int level = low; level <= high; level++) {
                int capacity = level == high ? total : sizes[list];
                network.add(units.length + list, sink, capacity, 2L * level + 1);
            }
        }
        network.solve(supplies, sink);
        int[][] flows = new int[units.length][lists];
        int arc = 0;
        for (int audience = 0; audience < units.length; audience++) {
            for (int list = 0; list < lists; list++) {
                if (audiences[audience][list]) {
                    flows[audience][list] = network.units(arc++);
                }
            }
        }
        return flows;
    }

    private int[] sums(int[][] flows) {
        int[] sums = new int[sizes.length];
        for (int[] flow : flows) {
            for (int list = 0; list < sizes.length; list++) {
                sums[list] += flow[list];
            }
        }
        return sums;
    }

    private void markBlocks(int[][] flows, boolean[] takesPart) {
        int[] sums = sums(flows);
        boolean[] rest = takesPart.clone();
        while (true) {
            int most = -1;
            for (int list = 0; list < sizes.length; list++) {
                most = rest[list] ? Math.max(most, greatest(sums, list)) : most;
            }
            if (most < 0) {
                return;
            }
            boolean[] block = new boolean[sizes.length];
            for (int list = 0; list < sizes.length; list++) {
                block[list] = rest[list] && greatest(sums, list) == most;
            }
            while (grow(block, rest, flows)) {
                // `grow` does the work
            }
            for (int list = 0; list < sizes.length; list++) {
                if (block[list]) {
                    blockOf[list] = blocks;
                    totals[blocks] += sums[list];
                    rest[list] = false;
                }
            }
            blocks++;
        }
    }

    /** Add all lists that could take a unit from the block; returns whether there were any. */
    private boolean grow(boolean[] block, boolean[] rest, int[][] flows) {
        boolean hasGrown = false;
        for (int audience = 0; audience < flows.length; audience++) {
            boolean isUsed = false;
            for (int list = 0; list < block.length; list++) {
                isUsed |= block[list] && flows[audience][list] > 0;
            }
            for (int list = 0; isUsed && list < block.length; list++) {
                if (rest[list] && !block[list] && audiences[audience][list]) {
                    block[list] = true;
                    hasGrown = true;
                }
            }
        }
        return hasGrown;
    }

    /** The greatest load of a member of the list. */
    private int greatest(int[] sums, int list) {
        return (sums[list] + sizes[list] - 1) / sizes[list];
    }
}
