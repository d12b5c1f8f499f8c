import java.util.Map;

/** What upstream of this line is asked. */
final class Operations {
    static final Map<String, Oracle.Operation> ALL = Map.of(
        "place.alternate", AdminPlacement::alternate,
        "place.kip36", AdminPlacement::place,
        "time.kip36", AdminPlacement::time);
}
