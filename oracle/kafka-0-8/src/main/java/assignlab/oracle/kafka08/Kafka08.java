package assignlab.oracle.kafka08;

import assignlab.oracle.BadDocument;
import assignlab.oracle.Conversation;
import assignlab.oracle.GroupDocument;
import assignlab.oracle.GroupDocument.Member;
import assignlab.oracle.GroupDocument.Pair;
import assignlab.oracle.GroupDocument.Topic;
import assignlab.oracle.SpecBench;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import kafka.common.TopicAndPartition;
import kafka.consumer.AssignmentContext;
import kafka.consumer.ConsumerThreadId;
import kafka.consumer.PartitionAssignor;
import kafka.consumer.RangeAssignor;
import kafka.consumer.RoundRobinAssignor;
import kafka.utils.ZKStringSerializer$;
import org.I0Itec.zkclient.ZkClient;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * The partition assignors of the Scala consumer. Every consumer reads the group from ZooKeeper and
 * computes its own part; the answer puts the parts side by side, also where two consumers claim one
 * partition. What 0.8.2 calls otherwise than later releases stands in its {@link Release}.
 */
public final class Kafka08 {
    private static final String GROUP = "group";

    private static final int CONNECT_MILLIS = 10_000;

    private final InMemoryZooKeeper zooKeeper = new InMemoryZooKeeper();
    private final ZkClient client = new ZkClient(zooKeeper, CONNECT_MILLIS, ZKStringSerializer$.MODULE$);
    private final Release release;

    private ObjectNode asked;
    private Group group;

    private Kafka08(Function<ZkClient, Release> releases) {
        release = releases.apply(client);
    }

    public static void main(String[] args) throws Exception {
        hold(Release082::new);
    }

    /** Answers until nobody asks any more. */
    static void hold(Function<ZkClient, Release> releases) throws Exception {
        Logger.getRootLogger().setLevel(Level.OFF);
        Kafka08 kafka = new Kafka08(releases);
        Conversation.hold(request -> request.has("spec")
                ? SpecBench.answer(request, document -> kafka.new Group(document))
                : kafka.answer(GroupDocument.of(request)));
        kafka.client.close();
    }

    private ObjectNode answer(GroupDocument document) throws Exception {
        // Who asks again wants the assignors to run again, not the parser.
        if (!document.json().equals(asked)) {
            asked = null;
            group = new Group(document);
            asked = document.json();
        }
        ObjectNode answer = Conversation.JSON.createObjectNode();
        ObjectNode parts = answer.putObject("assignment");
        group.assign().forEach((member, part) -> write(part, parts.putArray(member)));
        if (base(document.strategy()).equals("scala-roundrobin") && hasEqualHashes(document))
            answer.put("hash_ties", true);
        return answer;
    }

    /** One group as each of its consumers has read it. */
    private final class Group implements SpecBench.Ready {
        private final PartitionAssignor assignor;
        private final Map<String, AssignmentContext> contextOfMember = new LinkedHashMap<>();

        Group(GroupDocument document) throws Exception {
            assignor = assignor(document.strategy());
            register(document);
            Contexts contexts = new Contexts(GROUP, release);
            for (Member member : document.members())
                contextOfMember.put(member.id(), contexts.of(member));
        }

        @Override
        public Map<String, scala.collection.Map<TopicAndPartition, ConsumerThreadId>> assign() {
            Map<String, scala.collection.Map<TopicAndPartition, ConsumerThreadId>> parts = new LinkedHashMap<>();
            contextOfMember.forEach((member, context) -> parts.put(member, release.assign(assignor, context)));
            return parts;
        }

        @Override
        @SuppressWarnings("unchecked")
        public Map<String, List<Pair>> lists(Object assigned) {
            Map<String, List<Pair>> lists = new LinkedHashMap<>();
            ((Map<String, scala.collection.Map<TopicAndPartition, ConsumerThreadId>>) assigned)
                    .forEach((member, part) -> {
                        ArrayNode written = Conversation.JSON.createArrayNode();
                        write(part, written);
                        List<Pair> list = new ArrayList<>();
                        written.forEach(entry ->
                                list.add(new Pair(entry.get(0).textValue(), entry.get(1).intValue())));
                        lists.put(member, list);
                    });
            return lists;
        }
    }

    private static PartitionAssignor assignor(String strategy) throws BadDocument {
        return switch (base(strategy)) {
            case "scala-range" -> new RangeAssignor();
            case "scala-roundrobin" -> new RoundRobinAssignor();
            default -> throw new BadDocument("no strategy " + strategy);
        };
    }

    /** A strategy's name without a release: which one it is, the class path says. */
    private static String base(String strategy) {
        return strategy.split("@")[0];
    }

    /** Sorted by topic and partition: the original gives a map. */
    private static void write(scala.collection.Map<TopicAndPartition, ConsumerThreadId> part, ArrayNode list) {
        Map<String, Map<Integer, String>> sorted = new TreeMap<>();
        Iterator<scala.Tuple2<TopicAndPartition, ConsumerThreadId>> entries =
                scala.collection.JavaConversions.asJavaIterator(part.iterator());
        while (entries.hasNext()) {
            scala.Tuple2<TopicAndPartition, ConsumerThreadId> entry = entries.next();
            sorted.computeIfAbsent(entry._1().topic(), topic -> new TreeMap<>())
                    .put(entry._1().partition(), entry._2().toString());
        }
        sorted.forEach((topic, threads) -> threads.forEach((partition, thread) ->
                list.addArray().add(topic).add(partition).add(thread)));
    }

    /** What consumers and brokers of that time write into ZooKeeper, as far as it is read: parsing is slow. */
    private void register(GroupDocument document) {
        zooKeeper.clear();
        for (Topic topic : document.topics()) {
            ObjectNode replicas = Conversation.JSON.createObjectNode();
            for (int partition = 0; partition < topic.partitions(); partition++)
                replicas.putArray(Integer.toString(partition));
            ObjectNode registration = Conversation.JSON.createObjectNode();
            zooKeeper.add("/brokers/topics/" + topic.name(), bytes(registration.set("partitions", replicas)));
        }
        for (Member member : document.members()) {
            ObjectNode streams = Conversation.JSON.createObjectNode();
            for (int i = 0; i < member.topics().size(); i++)
                streams.put(member.topics().get(i), streams(member, i));
            ObjectNode registration = Conversation.JSON.createObjectNode();
            registration.set("subscription", streams);
            registration.put("pattern", "static");
            zooKeeper.add("/consumers/" + GROUP + "/ids/" + member.id(), bytes(registration));
        }
    }

    /** {@code streams}: one number, or one per subscribed topic; 1 where it is absent. */
    private static int streams(Member member, int topic) {
        JsonNode streams = member.json().path("streams");
        return (streams.isArray() ? streams.get(topic) : streams).asInt(1);
    }

    private static byte[] bytes(JsonNode registration) {
        return registration.toString().getBytes(StandardCharsets.UTF_8);
    }

    /** Whether two partitions of subscribed topics have one hash code, so that their order is left open. */
    private static boolean hasEqualHashes(GroupDocument document) {
        Set<String> subscribed = new HashSet<>();
        for (Member member : document.members())
            subscribed.addAll(member.topics());
        Set<Integer> hashes = new HashSet<>();
        for (Topic topic : document.topics())
            for (int partition = 0; partition < topic.partitions(); partition++)
                if (subscribed.contains(topic.name())
                        && !hashes.add(new TopicAndPartition(topic.name(), partition).toString().hashCode()))
                    return true;
        return false;
    }
}
