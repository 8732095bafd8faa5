package assignlab.oracle.rocketmq;

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
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMachineRoomNearby;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragelyByCircle;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueByConfig;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueByMachineRoom;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueConsistentHash;
import org.apache.rocketmq.common.message.MessageQueue;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * RocketMQ's strategies, called as {@code RebalanceImpl.rebalanceByTopic} calls them: for each topic
 * that a client subscribes to, with all queues of the topic and all clients of the group, sorted.
 */
public final class RocketMQ {
    private static final String GROUP = "group";

    private RocketMQ() {
    }

    public static void main(String[] args) throws Exception {
        Conversation.hold(request -> request.has("spec")
                ? SpecBench.answer(request, Group::new)
                : answer(new Group(GroupDocument.of(request))));
    }

    private static ObjectNode answer(Group group) {
        ObjectNode answer = Conversation.JSON.createObjectNode();
        ObjectNode lists = answer.putObject("assignment");
        group.assign().forEach((member, queues) -> {
            ArrayNode list = lists.putArray(member);
            queues.forEach(part -> part.forEach(queue ->
                    list.addArray().add(queue.getTopic()).add(queue.getBrokerName()).add(queue.getQueueId())));
        });
        return answer;
    }

    /** One group: sorted queues of each topic and sorted clients, as the strategies are given them. */
    private static final class Group implements SpecBench.Ready {
        private final Map<String, AllocateMessageQueueStrategy> strategies = new LinkedHashMap<>();
        private final Map<String, List<String>> topicsOfMember = new LinkedHashMap<>();
        private final Map<String, List<MessageQueue>> queues;
        private final List<String> clients = new ArrayList<>();

        Group(GroupDocument document) throws BadDocument {
            queues = queuesPerTopic(document);
            for (Member member : document.members()) {
                clients.add(member.id());
                strategies.put(member.id(), strategy(document.strategy(), document, member.id()));
                topicsOfMember.put(member.id(),
                        member.topics().stream().filter(queues::containsKey).sorted().toList());
            }
            Collections.sort(clients);
        }

        @Override
        public Map<String, List<Collection<MessageQueue>>> assign() {
            Map<String, List<Collection<MessageQueue>>> assigned = new LinkedHashMap<>();
            topicsOfMember.forEach((member, topics) -> {
                List<Collection<MessageQueue>> parts = new ArrayList<>(topics.size());
                for (String topic : topics)
                    parts.add(allocated(strategies.get(member), member, queues.get(topic), clients));
                assigned.put(member, parts);
            });
            return assigned;
        }

        @Override
        @SuppressWarnings("unchecked")
        public Map<String, List<Pair>> lists(Object assigned) {
            Map<String, List<Pair>> lists = new LinkedHashMap<>();
            ((Map<String, List<Collection<MessageQueue>>>) assigned).forEach((member, parts) -> {
                List<Pair> list = new ArrayList<>();
                parts.forEach(part -> part.forEach(queue ->
                        list.add(new Pair(queue.getTopic(), queue.getQueueId()))));
                lists.put(member, list);
            });
            return lists;
        }
    }

    /** A configured list is given whole for every topic; the client keeps what the topic has, once. */
    private static Collection<MessageQueue> allocated(AllocateMessageQueueStrategy strategy, String client,
                                                      List<MessageQueue> queues, List<String> clients) {
        List<MessageQueue> given = strategy.allocate(GROUP, client, queues, clients);
        if (!(strategy instanceof AllocateMessageQueueByConfig))
            return given;
        LinkedHashSet<MessageQueue> kept = given == null ? new LinkedHashSet<>() : new LinkedHashSet<>(given);
        kept.retainAll(new HashSet<>(queues));
        return kept;
    }

    private static AllocateMessageQueueStrategy strategy(String name, GroupDocument document, String client)
            throws BadDocument {
        ObjectNode json = document.json();
        return switch (name) {
            case "rocketmq-avg" -> new AllocateMessageQueueAveragely();
            case "rocketmq-avg-by-circle" -> new AllocateMessageQueueAveragelyByCircle();
            case "rocketmq-consistent-hash" -> new AllocateMessageQueueConsistentHash(json.path("vnodes").asInt(10));
            case "rocketmq-machine-room" -> machineRoom(json.get("idcs"));
            case "rocketmq-machine-room-nearby" -> new AllocateMachineRoomNearby(
                    strategy(json.path("inner").asText("rocketmq-avg"), document, client), new Rooms(document));
            case "rocketmq-config" -> config(json.path("config").path(client));
            default -> throw new BadDocument("no strategy " + name);
        };
    }

    private static AllocateMessageQueueByMachineRoom machineRoom(JsonNode idcs) {
        AllocateMessageQueueByMachineRoom strategy = new AllocateMessageQueueByMachineRoom();
        if (idcs != null) {
            Set<String> rooms = new HashSet<>();
            idcs.forEach(room -> rooms.add(room.textValue()));
            strategy.setConsumeridcs(rooms);
        }
        return strategy;
    }

    private static AllocateMessageQueueByConfig config(JsonNode entries) {
        AllocateMessageQueueByConfig strategy = new AllocateMessageQueueByConfig();
        if (entries.isArray()) {
            List<MessageQueue> queues = new ArrayList<>();
            for (JsonNode entry : entries)
                queues.add(new MessageQueue(
                        entry.get(0).textValue(), entry.get(1).textValue(), entry.get(2).intValue()));
            strategy.setMessageQueueList(queues);
        }
        return strategy;
    }

    private static Map<String, List<MessageQueue>> queuesPerTopic(GroupDocument document) {
        Map<String, List<MessageQueue>> queues = new TreeMap<>();
        for (Topic topic : document.topics()) {
            List<MessageQueue> ofTopic = new ArrayList<>();
            if (topic.json().hasNonNull("brokers"))
                for (JsonNode broker : topic.json().get("brokers"))
                    addQueues(ofTopic, topic.name(), broker.get(0).textValue(), broker.get(1).intValue());
            else
                addQueues(ofTopic, topic.name(), "broker-a", topic.partitions());
            Collections.sort(ofTopic);
            queues.put(topic.name(), ofTopic);
        }
        return queues;
    }

    private static void addQueues(List<MessageQueue> queues, String topic, String broker, int count) {
        for (int id = 0; id < count; id++)
            queues.add(new MessageQueue(topic, broker, id));
    }

    /** A broker's room is its name up to the {@code @}, a client's room is its rack. */
    private static final class Rooms implements AllocateMachineRoomNearby.MachineRoomResolver {
        private final Map<String, String> roomOfClient = new HashMap<>();

        Rooms(GroupDocument document) {
            for (Member member : document.members())
                roomOfClient.put(member.id(), member.rack());
        }

        @Override
        public String brokerDeployIn(MessageQueue queue) {
            return queue.getBrokerName().replaceFirst("(?s)@.*", "");
        }

        @Override
        public String consumerDeployIn(String client) {
            return roomOfClient.get(client);
        }
    }
}
