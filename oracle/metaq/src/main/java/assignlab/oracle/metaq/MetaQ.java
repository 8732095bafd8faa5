package assignlab.oracle.metaq;

import assignlab.oracle.BadDocument;
import assignlab.oracle.Conversation;
import assignlab.oracle.GroupDocument;
import assignlab.oracle.GroupDocument.Member;
import assignlab.oracle.GroupDocument.Topic;
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
        Conversation.hold(request -> answer(GroupDocument.of(request)));
    }

    private static ObjectNode answer(GroupDocument document) throws BadDocument {
        LoadBalanceStrategy strategy = switch (document.strategy()) {
            case "metaq-default" -> new DefaultLoadBalanceStrategy();
            case "metaq-consistent-hash" -> new ConsisHashStrategy();
            default -> throw new BadDocument("no strategy " + document.strategy());
        };
        Map<String, List<String>> partitions = partitionsPerTopic(document);
        Map<String, List<String>> consumers = consumersPerTopic(document);
        ObjectNode answer = Conversation.JSON.createObjectNode();
        ObjectNode lists = answer.putObject("assignment");
        for (Member member : document.members()) {
            ArrayNode list = lists.putArray(member.id());
            for (String topic : member.topics().stream().sorted().toList())
                if (partitions.containsKey(topic))
                    for (String partition : strategy.getPartitions(
                            topic, member.id(), consumers.get(topic), partitions.get(topic)))
                        list.addArray().add(topic).add(partition);
        }
        return answer;
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
