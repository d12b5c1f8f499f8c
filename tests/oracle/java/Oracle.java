import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** Asks upstream Kafka one case a line: {"id","op","in"} in, {"id","out"} or {"id","error"} out. */
public final class Oracle {
    static final ObjectMapper JSON = new ObjectMapper();

    interface Operation {
        JsonNode ask(JsonNode in) throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        answers.println(JSON.createObjectNode().put("oracle", 1)
            .put("java", System.getProperty("java.version")));
        BufferedReader lines =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            answers.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
        }
    }

    private static ObjectNode answer(JsonNode question) {
        ObjectNode answer = JSON.createObjectNode();
        answer.set("id", question.get("id"));
        try {
            answer.set("out", Operations.ALL.get(question.get("op").asText()).ask(question.get("in")));
        } catch (Exception e) {
            Throwable cause =
                e instanceof java.lang.reflect.InvocationTargetException ? e.getCause() : e;
            answer.set("error", JSON.createObjectNode()
                .put("class", cause.getClass().getName())
                .put("message", cause.getMessage()));
        }
        return answer;
    }
}
