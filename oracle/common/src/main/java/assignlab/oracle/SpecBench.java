package assignlab.oracle;

import assignlab.oracle.GroupDocument.Member;
import assignlab.oracle.GroupDocument.Pair;
import assignlab.oracle.GroupDocument.Topic;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/**
 * Groups too large to cross as JSON, made from a few numbers on both sides, for originals that know
 * no claims. Request: {@code {"strategy", "spec": {topics, partitions, members, shape}, "warmup",
 * "repeat", "budget_seconds"}}; {@code spec} may name one {@code broker} for all partitions, one
 * {@code rack} for all members, and {@code options} of the strategy. Answer: {@code nanos} of each timed round, in which every member
 * computes its part; {@code sizes} and {@code digest} of the members' lists.
 */
public final class SpecBench {
    private static final int NESTED_BUCKETS = 5;

    /** One group, ready to be assigned. */
    public interface Ready {
        /** Every member's part, as the original gives it. */
        Object assign() throws Throwable;

        /** The same as partition numbers, by member. */
        Map<String, List<Pair>> lists(Object assigned);
    }

    @FunctionalInterface
    public interface Preparation {
        Ready of(GroupDocument document) throws Throwable;
    }

    private SpecBench() {
    }

    public static ObjectNode answer(ObjectNode request, Preparation preparation) throws Throwable {
        GroupDocument document = GroupDocument.of(document(request));
        Ready ready = preparation.of(document);
        long deadline = System.nanoTime() + (long) (1e9 * request.path("budget_seconds").asDouble(60));
        ObjectNode answer = Conversation.JSON.createObjectNode();
        ArrayNode nanos = answer.putArray("nanos");
        Object assigned = null;
        int warmUp = request.path("warmup").asInt(0);
        int repeat = request.path("repeat").asInt(1);
        for (int round = 0; round < warmUp + repeat; round++) {
            long start = System.nanoTime();
            assigned = ready.assign();
            long taken = System.nanoTime() - start;
            // Out of budget, a slow round still counts: better one cold figure than none.
            boolean spent = System.nanoTime() > deadline;
            if (round >= warmUp || spent)
                nanos.add(taken);
            if (spent)
                break;
        }
        describe(document, ready.lists(assigned), answer);
        return answer;
    }

    private static ObjectNode document(ObjectNode request) throws BadDocument {
        JsonNode spec = request.get("spec");
        int members = spec.path("members").asInt();
        ObjectNode document = Conversation.JSON.createObjectNode();
        document.put("strategy", request.path("strategy").asText());
        ArrayNode topics = document.putArray("topics");
        for (int i = 0; i < spec.path("topics").asInt(); i++) {
            ObjectNode topic = topics.addObject().put("name", "topic-" + i + "-events");
            int partitions = spec.path("partitions").asInt();
            if (spec.has("broker"))
                topic.putArray("brokers").addArray().add(spec.get("broker")).add(partitions);
            else
                topic.put("partitions", partitions);
        }
        ArrayNode entries = document.putArray("members");
        for (int i = 0; i < members; i++) {
            ObjectNode entry = entries.addObject()
                    .put("id", String.format("consumer-%d-%08x", i, i * 0x9E3779B1));
            if (spec.has("rack"))
                entry.set("rack", spec.get("rack"));
            ArrayNode subscribed = entry.putArray("topics");
            List<String> names = topics.findValuesAsText("name").subList(0, wanted(spec, i, topics.size()));
            names.stream().sorted().forEach(subscribed::add);
        }
        if (spec.has("options"))
            document.setAll((ObjectNode) spec.get("options"));
        return document;
    }

    /** EQUAL: all topics. HET1: the last member takes the first topic only. NEST5: nested buckets. */
    private static int wanted(JsonNode spec, int member, int topics) throws BadDocument {
        int members = spec.path("members").asInt();
        return switch (spec.path("shape").asText()) {
            case "EQUAL" -> topics;
            case "HET1" -> member == members - 1 ? 1 : topics;
            case "NEST5" -> topics * (member * NESTED_BUCKETS / members + 1) / NESTED_BUCKETS;
            default -> throw new BadDocument("shape is EQUAL, HET1 or NEST5");
        };
    }

    private static void describe(GroupDocument document, Map<String, List<Pair>> lists, ObjectNode answer)
            throws Exception {
        Map<String, Integer> index = new HashMap<>();
        for (Topic topic : document.topics())
            index.put(topic.name(), index.size());
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        ArrayNode sizes = answer.putArray("sizes");
        for (Member member : document.members()) {
            List<Pair> list = lists.get(member.id());
            sizes.add(list.size());
            ByteBuffer bytes = ByteBuffer.allocate(4 + 8 * list.size()).order(ByteOrder.LITTLE_ENDIAN);
            bytes.putInt(list.size());
            for (Pair pair : list)
                bytes.putInt(index.get(pair.topic())).putInt(pair.partition());
            digest.update(bytes.array());
        }
        answer.put("digest", HexFormat.of().formatHex(digest.digest()));
    }
}
