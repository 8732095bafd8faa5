package assignlab.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/** What one producer does, as plain data: topics, a seed for its draws, and steps in order. */
public record ProducerHistory(String partitioner, long seed, List<Topic> topics, List<JsonNode> steps,
                              ObjectNode json) {

    /** @param available partitions with a leader, in the order of the metadata */
    public record Topic(String name, int partitions, List<Integer> available) {
    }

    /** @param key null where the record has none
     *  @param explicit the partition that the record names, or null
     *  @param newBatch no batch with room at the partition chosen first
     *  @param fullBefore all batches of that partition are full or sent, before the record
     *  @param fullAfter the same after it */
    public record Record(int topic, byte[] key, Integer explicit, boolean newBatch, boolean fullBefore,
                         boolean fullAfter, int size) {

        public static Record of(JsonNode step) {
            JsonNode key = step.get(2);
            JsonNode explicit = step.get(3);
            return new Record(step.get(1).intValue(),
                    key.isNull() ? null : HexFormat.of().parseHex(key.textValue()),
                    explicit.isNull() ? null : explicit.intValue(),
                    step.get(4).intValue() != 0, step.get(5).intValue() != 0, step.get(6).intValue() != 0,
                    step.get(7).intValue());
        }
    }

    public static ProducerHistory of(ObjectNode json) {
        List<Topic> topics = new ArrayList<>();
        for (JsonNode topic : json.path("topics")) {
            List<Integer> available = new ArrayList<>();
            topic.path("available").forEach(partition -> available.add(partition.intValue()));
            topics.add(new Topic(topic.path("name").textValue(), topic.path("partitions").intValue(), available));
        }
        List<JsonNode> steps = new ArrayList<>();
        json.path("steps").forEach(steps::add);
        return new ProducerHistory(json.path("partitioner").textValue(),
                Long.parseUnsignedLong(json.path("seed").asText("0")), topics, steps, json);
    }

    /** The partitioner's name without the version. */
    public String partitionerWithoutVersion() {
        int at = partitioner.indexOf('@');
        return at < 0 ? partitioner : partitioner.substring(0, at);
    }

    /** The topics after a step {@code ["available", topic, [...]]}. */
    public static List<Topic> withAvailable(List<Topic> topics, JsonNode step) {
        List<Topic> changed = new ArrayList<>(topics);
        Topic topic = topics.get(step.get(1).intValue());
        List<Integer> available = new ArrayList<>();
        step.get(2).forEach(partition -> available.add(partition.intValue()));
        changed.set(step.get(1).intValue(), new Topic(topic.name(), topic.partitions(), available));
        return changed;
    }

    public static ObjectNode answer(List<Integer> partitions) {
        ObjectNode answer = Conversation.JSON.createObjectNode();
        ArrayNode list = answer.putArray("partitions");
        partitions.forEach(list::add);
        return answer;
    }
}
