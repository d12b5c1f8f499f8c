import com.fasterxml.jackson.databind.JsonNode;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.internals.AbstractStickyAssignor;

/** Kafka's sticky assignors; what members own is in the subscription for both. */
final class StickyAssignment {
    static JsonNode sticky(JsonNode in) {
        return GroupAssignment.assign(in, Sticky::new);
    }

    static JsonNode cooperative(JsonNode in) {
        return GroupAssignment.assign(in, CooperativeStickyAssignor::new);
    }

    static JsonNode time(JsonNode in) {
        return GroupAssignment.time(in, Sticky::new);
    }

    private static final class Sticky extends AbstractStickyAssignor {
        @Override
        public String name() {
            return "sticky";
        }

        @Override
        protected MemberData memberData(Subscription subscription) {
            return new MemberData(
                subscription.ownedPartitions(), subscription.generationId(), subscription.rackId());
        }
    }
}
