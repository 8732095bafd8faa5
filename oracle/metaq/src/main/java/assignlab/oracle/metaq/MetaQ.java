package assignlab.oracle.metaq;

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
import com.taobao.metamorphosis.client.consumer.ConsisHashStrategy;
import com.taobao.metamorphosis.client.consumer.DefaultLoadBalanceStrategy;
import com.taobao.metamorphosis.client.consumer.LoadBalanceStrategy;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** MetaQ's strategies: each consumer is told its partitions of each topic that it subscribes to. */
public final class MetaQ {
    private MetaQ() {
    }

    public static void main(String[] args) throws Exception {
        Logger.getRootLogger().setLevel(Level.OFF);
        Conversation.hold(request -> request.has("spec")
                ? SpecBench.answer(request, Group::new)
                : answer(new Group(GroupDocument.of(request))));
    }

    private static ObjectNode answer(Group group) {
        ObjectNode answer = Conversation.JSON.createObjectNode();
        ObjectNode lists = answer.putObject("assignment");
        group.assign().forEach((member, ofTopics) -> {
            ArrayNode list = lists.putArray(member);
            ofTopics.forEach((topic, partitions) ->
                    partitions.forEach(partition -> list.addArray().add(topic).add(partition)));
        });
        return answer;
    }

    /** One group: sorted consumers and partitions of each topic, as the strategies are given them. */
    private static final class Group implements SpecBench.Ready {
        private final LoadBalanceStrategy strategy;
        private final Map<String, List<String>> topicsOfMember = new LinkedHashMap<>();
        private final Map<String, List<String>> partitions;
        private final Map<String, List<String>> consumers;

        Group(GroupDocument document) throws BadDocument {
            strategy = switch (document.strategy()) {
                case "metaq-default" -> new DefaultLoadBalanceStrategy();
                case "metaq-consistent-hash" -> new ConsisHashStrategy();
                default -> throw new BadDocument("no strategy " + document.strategy());
            };
            partitions = partitionsPerTopic(document);
            consumers = consumersPerTopic(document);
            for (Member member : document.members())
                topicsOfMember.put(member.id(),
                        member.topics().stream().filter(partitions::containsKey).sorted().toList());
        }

        @Override
        public Map<String, Map<String, List<String>>> assign() {
            Map<String, Map<String, List<String>>> assigned = new LinkedHashMap<>();
            topicsOfMember.forEach((member, topics) -> {
                Map<String, List<String>> ofTopics = new LinkedHashMap<>();
                for (String topic : topics)
                    ofTopics.put(topic, strategy.getPartitions(
                            topic, member, consumers.get(topic), partitions.get(topic)));
                assigned.put(member, ofTopics);
            });
            return assigned;
        }

        @Override
        @SuppressWarnings("unchecked")
        public Map<String, List<Pair>> lists(Object assigned) {
            Map<String, List<Pair>> lists = new LinkedHashMap<>();
            ((Map<String, Map<String, List<String>>>) assigned).forEach((member, ofTopics) -> {
                List<Pair> list = new ArrayList<>();
                ofTopics.forEach((topic, strings) -> strings.forEach(partition -> list.add(new Pair(
                        topic, Integer.parseInt(partition.substring(partition.lastIndexOf('-') + 1))))));
                lists.put(member, list);
            });
            return lists;
        }
    }

    /** As {@code MetaZookeeper.getPartitionStringsForSubTopics}: a topic without partitions is absent. */
    private static Map<String, List<String>> partitionsPerTopic(GroupDocument document) {
        Map<String, List<String>> partitions = new TreeMap<>();
        for (Topic topic : document.topics()) {
            LinkedHashSet<String> strings = new LinkedHashSet<>();
            if (topic.json().hasNonNull("brokers"))
                for (JsonNode broker : topic.json().get("brokers"))
                    addPartitions(strings, broker.get(0).textValue(), broker.get(1).intValue());
            else
                addPartitions(strings, "0", topic.partitions());
            List<String> sorted = new ArrayList<>(strings);
            Collections.sort(sorted);
            if (!sorted.isEmpty())
                partitions.put(topic.name(), sorted);
        }
        return partitions;
    }

    private static void addPartitions(LinkedHashSet<String> strings, String broker, int count) {
        for (int partition = 0; partition < count; partition++)
            strings.add(broker + "-" + partition);
    }

    /** As {@code ConsumerZooKeeper.getConsumersPerTopic}. */
    private static Map<String, List<String>> consumersPerTopic(GroupDocument document) {
        Map<String, List<String>> consumers = new TreeMap<>();
        for (Member member : document.members())
            for (String topic : member.topics())
                consumers.computeIfAbsent(topic, name -> new ArrayList<>()).add(member.id());
        consumers.values().forEach(Collections::sort);
        return consumers;
    }
}
