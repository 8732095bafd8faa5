package assignlab.oracle;

import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.core.JsonFactory;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.BufferedOutputStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;

/** JSON lines: one request a line on standard input, one answer a line on standard output. */
public final class Conversation {
    public static final ObjectMapper JSON = JsonMapper.builder(JsonFactory.builder()
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxStringLength(Integer.MAX_VALUE).build())
            .build()).build();

    private Conversation() {
    }

    /** Answers until the input ends. Neither a bad line nor an original that throws ends it. */
    public static void hold(Answerer answerer) throws IOException {
        OutputStream answers = new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16);
        // An original that prints must not speak into the conversation.
        System.setOut(System.err);
        BufferedReader requests = new BufferedReader(
                new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 16);
        String line;
        while ((line = requests.readLine()) != null) {
            answers.write(JSON.writeValueAsBytes(answer(answerer, line)));
            answers.write('\n');
            answers.flush();
        }
    }

    private static ObjectNode answer(Answerer answerer, String line) {
        try {
            JsonNode request = JSON.readTree(line);
            if (request == null || !request.isObject())
                throw new BadDocument("a line holds one JSON object");
            return answerer.answer((ObjectNode) request);
        } catch (InvocationTargetException thrownInside) {
            return error(thrownInside.getCause());
        } catch (Throwable thrown) {
            return error(thrown);
        }
    }

    private static ObjectNode error(Throwable thrown) {
        return JSON.createObjectNode()
                .put("error", thrown.getClass().getSimpleName() + ": " + thrown.getMessage());
    }
}
