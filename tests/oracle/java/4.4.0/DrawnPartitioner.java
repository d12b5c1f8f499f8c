package org.apache.kafka.clients.producer.internals;

import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.utils.internals.LogContext;

/** Kafka's own partitioner with draws from a list; what its package keeps to itself is public. */
public final class DrawnPartitioner extends BuiltInPartitioner {
    private final int[] draws;
    private StickyPartitionInfo current;
    private int drawn;

    public DrawnPartitioner(String topic, int stickyBytes, boolean rackAware, String rack, int[] draws) {
        super(new LogContext(), topic, stickyBytes, rackAware, rack);
        this.draws = draws;
    }

    @Override
    int randomPartition() {
        return draws[drawn++];
    }

    public int drawn() {
        return drawn;
    }

    public int peek(Cluster cluster) {
        current = peekCurrentPartitionInfo(cluster);
        return current.partition();
    }

    /** Whether the window ended, which draws the next partition. */
    public boolean add(int bytes, boolean maySwitch, Cluster cluster) {
        updatePartitionInfo(current, bytes, cluster, maySwitch);
        boolean ended = isPartitionChanged(current);
        if (ended) {
            current = peekCurrentPartitionInfo(cluster);
        }
        return ended;
    }
}
