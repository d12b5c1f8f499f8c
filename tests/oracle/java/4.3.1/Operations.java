import java.util.Map;

/** What upstream of this line is asked. */
final class Operations {
    static final Map<String, Oracle.Operation> ALL = Map.of(
        "assign.cooperative", StickyAssignment::cooperative,
        "assign.range", GroupAssignment::range,
        "assign.roundrobin", GroupAssignment::roundrobin,
        "assign.sticky", StickyAssignment::sticky,
        "choice.sticky", PlainChoice::sticky,
        "place.striped", StripedPlacement::place,
        "reassignment.write", ReassignmentJson::write,
        "reassignment.read", ReassignmentJson::read,
        "time.sticky", StickyAssignment::time);
}
