import java.util.Map;

/** What upstream of this line is asked. */
final class Operations {
    static final Map<String, Oracle.Operation> ALL = Map.of(
        "assign.cooperative", StickyAssignment::cooperative,
        "assign.range", GroupAssignment::range,
        "assign.roundrobin", GroupAssignment::roundrobin,
        "assign.sticky", StickyAssignment::sticky,
        "place.alternate", AdminPlacement::alternate,
        "place.kip36", AdminPlacement::place,
        "time.kip36", AdminPlacement::time);
}
