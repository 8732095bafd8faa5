package assignlab.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** One group document as plain data; fields of a single system are read from {@code json}. */
public record GroupDocument(String strategy, List<Member> members, List<Topic> topics, ObjectNode json) {

    public record Pair(String topic, int partition) {
    }

    /** @param owned the claim, or null where none was sent
     *  @param generation generation of the claim, or null
     *  @param subGeneration {@code Subscription.generationId()}, or null */
    public record Member(String id, String instance, String rack, List<String> topics, List<Pair> owned,
                         Integer generation, Integer subGeneration, JsonNode json) {
    }

    /** @param racks per partition the racks of its replicas (null: a broker without rack), or null */
    public record Topic(String name, int partitions, List<List<String>> racks, JsonNode json) {
    }

    public static GroupDocument of(ObjectNode json) throws BadDocument {
        List<Member> members = new ArrayList<>();
        for (JsonNode member : array(json, "members"))
            members.add(member(member));
        List<Topic> topics = new ArrayList<>();
        for (JsonNode topic : array(json, "topics"))
            topics.add(topic(topic));
        return new GroupDocument(text(json, "strategy"), members, topics, json);
    }

    /** The strategy's name without the version: {@code sticky@2.0} is {@code sticky}. */
    public String strategyWithoutVersion() {
        int at = strategy.indexOf('@');
        return at < 0 ? strategy : strategy.substring(0, at);
    }

    private static Member member(JsonNode json) throws BadDocument {
        List<String> topics = new ArrayList<>();
        for (JsonNode topic : array(json, "topics"))
            topics.add(topic.textValue());
        String id = text(json, "id");
        if (id == null)
            throw new BadDocument("a member has no id");
        return new Member(id, text(json, "instance"), text(json, "rack"), topics, pairs(json, "owned"),
                integer(json, "generation"), integer(json, "sub_generation"), json);
    }

    private static Topic topic(JsonNode json) throws BadDocument {
        String name = text(json, "name");
        if (name == null)
            throw new BadDocument("a topic has no name");
        Integer partitions = integer(json, "partitions");
        List<List<String>> racks = null;
        if (json.hasNonNull("racks")) {
            racks = new ArrayList<>();
            for (JsonNode replicas : array(json, "racks")) {
                List<String> ofPartition = new ArrayList<>();
                for (JsonNode rack : replicas)
                    ofPartition.add(rack.textValue());
                racks.add(ofPartition);
            }
            if (partitions == null || racks.size() != partitions)
                throw new BadDocument("topic " + name + " has racks for " + racks.size() + " partitions");
        }
        return new Topic(name, partitions == null ? 0 : partitions, racks, json);
    }

    private static List<Pair> pairs(JsonNode json, String field) throws BadDocument {
        if (!json.hasNonNull(field))
            return null;
        List<Pair> pairs = new ArrayList<>();
        for (JsonNode pair : array(json, field))
            pairs.add(new Pair(pair.path(0).textValue(), pair.path(1).intValue()));
        return pairs;
    }

    private static Iterable<JsonNode> array(JsonNode json, String field) throws BadDocument {
        JsonNode value = json.get(field);
        if (value == null || value.isNull())
            return List.of();
        if (!value.isArray())
            throw new BadDocument(field + " is not an array");
        return value;
    }

    private static String text(JsonNode json, String field) {
        return json.path(field).textValue();
    }

    private static Integer integer(JsonNode json, String field) {
        JsonNode value = json.get(field);
        return value == null || value.isNull() ? null : value.intValue();
    }

    /** {@code {member id: [[topic, partition], ...]}} in the order of the map. */
    public static ObjectNode pairsByMember(Map<String, List<Pair>> lists) {
        ObjectNode json = Conversation.JSON.createObjectNode();
        lists.forEach((member, pairs) -> {
            ArrayNode list = json.putArray(member);
            for (Pair pair : pairs)
                list.addArray().add(pair.topic()).add(pair.partition());
        });
        return json;
    }
}
