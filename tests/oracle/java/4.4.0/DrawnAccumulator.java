package org.apache.kafka.clients.producer.internals;

import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.internals.LogContext;

/** Kafka's own accumulator whose partitioner draws from a list; nothing lingers. */
public final class DrawnAccumulator extends RecordAccumulator {
    private static final int MEMORY = 1 << 26;
    private static final int NEVER_MS = 1 << 30;

    private final int stickyBytes;
    private final int[] draws;
    private DrawnPartitioner partitioner;

    public DrawnAccumulator(
            int stickyBytes, int batchBytes, PartitionerConfig config, Time time, int[] draws) {
        super(new LogContext(), batchBytes, Compression.NONE, 0, 0, 0, NEVER_MS, config,
            new Metrics(), "producer", time, null,
            new BufferPool(MEMORY, batchBytes, new Metrics(), time, "producer"));
        this.stickyBytes = stickyBytes;
        this.draws = draws;
    }

    @Override
    BuiltInPartitioner createBuiltInPartitioner(
            LogContext log, String topic, int batchBytes, boolean rackAware, String rack) {
        partitioner = new DrawnPartitioner(topic, stickyBytes, rackAware, rack, draws);
        return partitioner;
    }

    public DrawnPartitioner partitioner() {
        return partitioner;
    }
}
