import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.metadata.placement.ClusterDescriber;
import org.apache.kafka.metadata.placement.PartitionAssignment;
import org.apache.kafka.metadata.placement.PlacementSpec;
import org.apache.kafka.metadata.placement.StripedReplicaPlacer;
import org.apache.kafka.metadata.placement.UsableBroker;

/** KRaft's own placer. */
final class StripedPlacement {
    static JsonNode place(JsonNode in) {
        List<UsableBroker> brokers = new ArrayList<>();
        for (JsonNode broker : in.get("brokers")) {
            brokers.add(new UsableBroker(
                broker.get(0).asInt(),
                Optional.ofNullable(broker.get(1).textValue()),
                broker.get(2).asBoolean()));
        }
        PlacementSpec wanted = new PlacementSpec(
            0, in.get("partitions").asInt(), (short) in.get("replication").asInt());
        ArrayNode rows = Oracle.JSON.createArrayNode();
        for (PartitionAssignment row : new StripedReplicaPlacer(random(in.get("rng")))
            .place(wanted, cluster(brokers)).assignments()) {
            rows.add(Oracle.JSON.valueToTree(row.replicas()));
        }
        return Oracle.JSON.createObjectNode().set("rows", rows);
    }

    private static Random random(JsonNode rng) {
        long seed = rng.get("seed").asLong();
        return rng.get("kind").asText().equals("java") ? new Random(seed) : new MockRandom(seed);
    }

    private static ClusterDescriber cluster(List<UsableBroker> brokers) {
        return new ClusterDescriber() {
            @Override
            public Iterator<UsableBroker> usableBrokers() {
                return brokers.iterator();
            }

            @Override
            public Uuid defaultDir(int broker) {
                return Uuid.ZERO_UUID;
            }
        };
    }

    /** The generator of Kafka's own placement tests. */
    private static final class MockRandom extends Random {
        private long state;

        MockRandom(long state) {
            super(0);
            this.state = state;
        }

        @Override
        protected int next(int bits) {
            state = state * 2862933555777941757L + 3037000493L;
            return (int) (state >>> (64 - bits));
        }
    }
}
