import java.util.Map;

/** What upstream of this line is asked. */
final class Operations {
    static final Map<String, Oracle.Operation> ALL = Map.ofEntries(
        Map.entry("assign.cooperative", StickyAssignment::cooperative),
        Map.entry("assign.range", GroupAssignment::range),
        Map.entry("assign.roundrobin", GroupAssignment::roundrobin),
        Map.entry("assign.sticky", StickyAssignment::sticky),
        Map.entry("choice.sticky", PlainChoice::sticky),
        Map.entry("coordinator.range", CoordinatorAssignment::range),
        Map.entry("coordinator.uniform", CoordinatorAssignment::uniform),
        Map.entry("place.striped", StripedPlacement::place),
        Map.entry("reassignment.read", ReassignmentJson::read),
        Map.entry("reassignment.write", ReassignmentJson::write),
        Map.entry("server.optimal", ServerAssignment::optimal),
        Map.entry("server.sticky", ServerAssignment::sticky),
        Map.entry("time.server", ServerTime::time),
        Map.entry("time.sticky", StickyAssignment::time));
}
