import java.util.Map;

/** What upstream of this line is asked. */
final class Operations {
    static final Map<String, Oracle.Operation> ALL = Map.of(
        "choice.key", StickyChoice::key,
        "choice.load", StickyChoice::load,
        "choice.ready", StickyChoice::ready,
        "choice.sticky", StickyChoice::sticky);
}
