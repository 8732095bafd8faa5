package assignlab.oracle.kafkatests;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import org.apache.kafka.common.TopicPartition;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The conversation with the process that answers: one group document a line, one assignment a line. */
final class Answers implements AutoCloseable {
    private static final JsonFactory JSON = JsonFactory.builder().build()
            .disable(JsonGenerator.Feature.AUTO_CLOSE_TARGET)
            .disable(JsonParser.Feature.AUTO_CLOSE_SOURCE);
    private static final int BUFFER = 1 << 20;

    private final Process process;
    private final OutputStream questions;
    private JsonParser replies;

    Answers(List<String> command) throws IOException {
        process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        questions = new BufferedOutputStream(process.getOutputStream(), BUFFER);
    }

    /** The answer of {@code strategy}; an error in it is thrown, as the original would throw. */
    Map<String, List<TopicPartition>> ask(String strategy, Question question) throws IOException {
        // Complete before it is sent: what a failing test hands over may break the writing of it.
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        try (JsonGenerator json = JSON.createGenerator(line)) {
            question.write(json, strategy);
        }
        line.write('\n');
        line.writeTo(questions);
        questions.flush();
        if (replies == null) // not before: a parser reads the first bytes when it is made
            replies = JSON.createParser(new BufferedInputStream(process.getInputStream(), BUFFER));
        Map<String, List<TopicPartition>> assignment = null;
        String error = null;
        expect(replies.nextToken(), JsonToken.START_OBJECT);
        while (replies.nextToken() == JsonToken.FIELD_NAME) {
            String field = replies.currentName();
            replies.nextToken();
            if (field.equals("error"))
                error = replies.getText();
            else if (field.equals("assignment"))
                assignment = readLists();
            else
                replies.skipChildren();
        }
        if (error != null)
            throw new IllegalStateException("assignlab answers: " + error);
        return assignment;
    }

    private Map<String, List<TopicPartition>> readLists() throws IOException {
        Map<String, List<TopicPartition>> lists = new HashMap<>();
        while (replies.nextToken() == JsonToken.FIELD_NAME) {
            List<TopicPartition> list = new ArrayList<>();
            lists.put(replies.currentName(), list);
            expect(replies.nextToken(), JsonToken.START_ARRAY);
            while (replies.nextToken() == JsonToken.START_ARRAY) {
                String topic = replies.nextTextValue();
                list.add(new TopicPartition(topic.intern(), replies.nextIntValue(-1)));
                expect(replies.nextToken(), JsonToken.END_ARRAY);
            }
        }
        return lists;
    }

    private static void expect(JsonToken found, JsonToken wanted) throws IOException {
        if (found != wanted)
            throw new IOException("expected " + wanted + ", got " + found);
    }

    @Override
    public void close() throws Exception {
        questions.close();
        process.waitFor();
    }
}
