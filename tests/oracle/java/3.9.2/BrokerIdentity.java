import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Properties;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import kafka.cluster.EndPoint;
import kafka.server.KafkaConfig;
import kafka.zk.BrokerIdZNode;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.metadata.properties.MetaProperties;
import org.apache.kafka.metadata.properties.MetaPropertiesEnsemble;
import org.apache.kafka.metadata.properties.MetaPropertiesEnsemble.VerificationFlag;
import org.apache.kafka.metadata.properties.MetaPropertiesVersion;
import scala.collection.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** What upstream reads before it knows which broker it is. */
final class BrokerIdentity {
    static JsonNode properties(JsonNode in) throws Exception {
        Properties properties = new Properties();
        properties.load(new ByteArrayInputStream(in.get("base64").binaryValue()));
        return pairs(properties);
    }

    static JsonNode write(JsonNode in) {
        MetaProperties.Builder builder = new MetaProperties.Builder()
            .setVersion(MetaPropertiesVersion.fromNumber(in.get("version").asInt()))
            .setClusterId(Optional.ofNullable(in.get("cluster_id").textValue()));
        if (!in.get("node_id").isNull()) {
            builder.setNodeId(in.get("node_id").asInt());
        }
        if (!in.get("directory_id").isNull()) {
            builder.setDirectoryId(Uuid.fromString(in.get("directory_id").asText()));
        }
        return pairs(builder.build().toProperties());
    }

    /** Dirs are loaded and verified as a broker does it: in ZooKeeper mode version 0 is required. */
    static JsonNode read(JsonNode in) throws Exception {
        Path root = Files.createTempDirectory("log-dirs");
        try {
            List<String> dirs = new ArrayList<>();
            for (Map.Entry<String, JsonNode> dir : in.get("dirs").properties()) {
                Path path = Files.createDirectory(root.resolve(dir.getKey()));
                if (!dir.getValue().isNull()) {
                    Files.write(path.resolve("meta.properties"), dir.getValue().binaryValue());
                }
                dirs.add(path.toString());
            }
            MetaPropertiesEnsemble ensemble =
                new MetaPropertiesEnsemble.Loader().addLogDirs(dirs).load();
            return verified(in, ensemble, root + "/");
        } finally {
            try (Stream<Path> all = Files.walk(root)) {
                all.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
            }
        }
    }

    private static ObjectNode verified(JsonNode in, MetaPropertiesEnsemble ensemble, String root) {
        ObjectNode out = Oracle.JSON.createObjectNode();
        out.set("empty", names(ensemble.emptyLogDirs(), root));
        out.set("error", names(ensemble.errorLogDirs(), root));
        ObjectNode read = out.putObject("read");
        new TreeMap<>(ensemble.logDirProps()).forEach((path, meta) -> {
            ObjectNode fields = read.putObject(path.replace(root, ""));
            fields.put("version", (int) meta.version().number());
            fields.put("node_id", meta.nodeId().isPresent() ? meta.nodeId().getAsInt() : null);
            fields.put("cluster_id", meta.clusterId().orElse(null));
            fields.put("directory_id", meta.directoryId().map(Uuid::toString).orElse(null));
        });
        JsonNode node = in.get("node_id");
        EnumSet<VerificationFlag> flags = in.get("require_v0").asBoolean()
            ? EnumSet.of(VerificationFlag.REQUIRE_V0) : EnumSet.noneOf(VerificationFlag.class);
        try {
            ensemble.verify(
                Optional.ofNullable(in.get("cluster_id").textValue()),
                node.isNull() ? OptionalInt.empty() : OptionalInt.of(node.asInt()),
                flags);
            out.putNull("refused");
        } catch (RuntimeException e) {
            out.put("refused", e.getMessage().replace(root, ""));
        }
        return out;
    }

    static JsonNode config(JsonNode in) {
        Properties properties = new Properties();
        in.get("settings").properties()
            .forEach(pair -> properties.put(pair.getKey(), pair.getValue().asText()));
        KafkaConfig config = KafkaConfig.fromProps(properties, false);
        ObjectNode out = Oracle.JSON.createObjectNode();
        out.put("node_id", config.nodeId());
        out.put("generation", config.brokerIdGenerationEnable());
        out.put("migrating", config.migrationEnabled());
        out.put("kraft", !config.processRoles().isEmpty());
        out.set("log_dirs", Oracle.JSON.valueToTree(CollectionConverters.asJava(config.logDirs())));
        out.put("metadata_log_dir", config.metadataLogDir());
        out.set("endpoints", endpoints(config.effectiveAdvertisedBrokerListeners()));
        return out;
    }

    static JsonNode registration(JsonNode in) {
        byte[] bytes = in.get("json").asText().getBytes(StandardCharsets.UTF_8);
        ObjectNode out = Oracle.JSON.createObjectNode();
        out.set("endpoints", endpoints(BrokerIdZNode.decode(7, bytes).broker().endPoints()));
        return out;
    }

    private static JsonNode endpoints(Seq<EndPoint> points) {
        List<List<Object>> told = new ArrayList<>();
        for (EndPoint point : CollectionConverters.asJava(points)) {
            told.add(java.util.Arrays.asList(point.host(), point.port()));
        }
        return Oracle.JSON.valueToTree(told);
    }

    private static JsonNode names(java.util.Set<String> paths, String root) {
        TreeSet<String> names = new TreeSet<>();
        paths.forEach(path -> names.add(path.replace(root, "")));
        return Oracle.JSON.valueToTree(names);
    }

    private static ObjectNode pairs(Properties properties) {
        ObjectNode out = Oracle.JSON.createObjectNode();
        out.set("pairs", Oracle.JSON.valueToTree(new TreeMap<>(properties)));
        return out;
    }
}
