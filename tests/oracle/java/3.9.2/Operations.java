import static java.util.Map.entry;

import java.util.Map;

/** What upstream of this line is asked. */
final class Operations {
    static final Map<String, Oracle.Operation> ALL = Map.ofEntries(
        entry("assign.cooperative", StickyAssignment::cooperative),
        entry("assign.range", GroupAssignment::range),
        entry("assign.roundrobin", GroupAssignment::roundrobin),
        entry("assign.sticky", StickyAssignment::sticky),
        entry("config.read", BrokerIdentity::config),
        entry("meta.read", BrokerIdentity::read),
        entry("meta.write", BrokerIdentity::write),
        entry("place.alternate", AdminPlacement::alternate),
        entry("place.kip36", AdminPlacement::place),
        entry("properties.read", BrokerIdentity::properties),
        entry("registration.read", BrokerIdentity::registration),
        entry("time.kip36", AdminPlacement::time));
}
