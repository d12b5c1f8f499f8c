import java.util.Map;

/** What upstream of this line is asked. */
final class Operations {
    static final Map<String, Oracle.Operation> ALL = Map.of(
        "wire.header", WireMessages::header,
        "wire.metadata_request", WireMessages::metadataRequest,
        "wire.metadata_response", WireMessages::metadataResponse,
        "wire.update_metadata", WireMessages::updateMetadata,
        "wire.update_metadata_response", WireMessages::updateMetadataResponse);
}
