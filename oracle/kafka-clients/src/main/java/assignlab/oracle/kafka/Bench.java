package assignlab.oracle.kafka;

import assignlab.oracle.BadDocument;
import assignlab.oracle.Conversation;
import assignlab.oracle.GroupDocument;
import assignlab.oracle.GroupDocument.Member;
import assignlab.oracle.GroupDocument.Pair;
import assignlab.oracle.GroupDocument.Topic;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.TopicPartition;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Groups too large to cross as JSON, made from a few numbers on both sides.
 * Request: {@code {"strategy", "spec": {topics, partitions, members, shape, event}, "warmup", "repeat",
 * "budget_seconds"}}. Answer: {@code nanos} of each timed call, {@code sizes} of the members' lists in
 * order of the members, and {@code digest}: SHA-256 over, for each member, the length of its list and
 * then topic index and partition of each entry, all little-endian int32.
 */
final class Bench {
    private static final int NESTED_BUCKETS = 5;
    private static final int PREVIOUS_GENERATION = 1;

    private final Client client;

    Bench(Client client) {
        this.client = client;
    }

    ObjectNode answer(ObjectNode request) throws Throwable {
        String strategy = request.path("strategy").asText().replaceFirst("@.*", "");
        GroupDocument document = document(strategy, request.get("spec"));
        Cluster cluster = KafkaClients.cluster(document.topics());
        Map<String, Object> subscriptions = KafkaClients.subscriptions(client, strategy, document);
        long deadline = System.nanoTime() + (long) (1e9 * request.path("budget_seconds").asDouble(60));

        ArrayNode nanos = Conversation.JSON.createArrayNode();
        Map<String, List<TopicPartition>> assigned = null;
        int warmUp = request.path("warmup").asInt(0);
        int repeat = request.path("repeat").asInt(1);
        for (int call = 0; call < warmUp + repeat; call++) {
            Object assignor = client.assignor(strategy);
            rewind(subscriptions);
            long start = System.nanoTime();
            assigned = client.assign(assignor, cluster, subscriptions);
            long taken = System.nanoTime() - start;
            // Out of budget, a slow call still counts: better one cold figure than none.
            boolean spent = System.nanoTime() > deadline;
            if (call >= warmUp || spent)
                nanos.add(taken);
            if (spent)
                break;
        }
        return describe(document, assigned).set("nanos", nanos);
    }

    /** Reading consumes the buffers; without this a second call would see no previous assignment. */
    private void rewind(Map<String, Object> subscriptions) {
        for (Object subscription : subscriptions.values()) {
            ByteBuffer userData = client.userData(subscription);
            if (userData != null)
                userData.rewind();
        }
    }

    private GroupDocument document(String strategy, JsonNode spec) throws Throwable {
        int members = spec.path("members").asInt();
        boolean join = switch (spec.path("event").asText()) {
            case "FULL" -> false;
            case "JOIN" -> true;
            default -> throw new BadDocument("event is FULL or JOIN");
        };
        List<Topic> topics = new ArrayList<>();
        for (int i = 0; i < spec.path("topics").asInt(); i++)
            topics.add(new Topic("topic-" + i + "-events", spec.path("partitions").asInt(), null, null));
        List<Member> fresh = new ArrayList<>();
        for (int i = 0; i < members; i++) {
            String id = String.format("consumer-%d-%08x", i, i * 0x9E3779B1);
            fresh.add(new Member(id, null, null, subscription(spec, i, topics), null, null, null, null));
        }
        if (!join)
            return new GroupDocument(strategy, fresh, topics, null);
        List<Member> before = fresh.subList(0, members - 1);
        Map<String, List<TopicPartition>> previous = client.assign(client.assignor(strategy),
                KafkaClients.cluster(topics),
                KafkaClients.subscriptions(client, strategy, new GroupDocument(strategy, before, topics, null)));
        List<Member> after = new ArrayList<>();
        for (Member member : before) {
            List<Pair> owned = client.sendsClaims(strategy)
                    ? client.nextClaim(strategy, member, previous.get(member.id()), PREVIOUS_GENERATION) : null;
            after.add(new Member(member.id(), null, null, member.topics(), owned,
                    PREVIOUS_GENERATION, PREVIOUS_GENERATION, null));
        }
        after.add(fresh.get(members - 1));
        return new GroupDocument(strategy, after, topics, null);
    }

    /**
     * EQUAL: all topics. HET1: the last member takes the first topic only. NEST5: nested buckets.
     * DOWN5: the same from the largest bucket down.
     */
    private static List<String> subscription(JsonNode spec, int member, List<Topic> topics) throws BadDocument {
        int members = spec.path("members").asInt();
        int wanted = switch (spec.path("shape").asText()) {
            case "EQUAL" -> topics.size();
            case "HET1" -> member == members - 1 ? 1 : topics.size();
            case "NEST5" -> topics.size() * (member * NESTED_BUCKETS / members + 1) / NESTED_BUCKETS;
            case "DOWN5" -> topics.size() * (NESTED_BUCKETS - member * NESTED_BUCKETS / members) / NESTED_BUCKETS;
            default -> throw new BadDocument("shape is EQUAL, HET1, NEST5 or DOWN5");
        };
        return topics.subList(0, wanted).stream().map(Topic::name).sorted()
                .collect(Collectors.toCollection(ArrayList::new));
    }

    private static ObjectNode describe(GroupDocument document, Map<String, List<TopicPartition>> assigned)
            throws Exception {
        Map<String, Integer> index = new HashMap<>();
        for (Topic topic : document.topics())
            index.put(topic.name(), index.size());
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        ObjectNode answer = Conversation.JSON.createObjectNode();
        ArrayNode sizes = answer.putArray("sizes");
        for (Member member : document.members()) {
            List<TopicPartition> partitions = assigned.get(member.id());
            sizes.add(partitions.size());
            ByteBuffer bytes = ByteBuffer.allocate(4 + 8 * partitions.size()).order(ByteOrder.LITTLE_ENDIAN);
            bytes.putInt(partitions.size());
            for (TopicPartition partition : partitions)
                bytes.putInt(index.get(partition.topic())).putInt(partition.partition());
            digest.update(bytes.array());
        }
        return answer.put("digest", HexFormat.of().formatHex(digest.digest()));
    }
}
