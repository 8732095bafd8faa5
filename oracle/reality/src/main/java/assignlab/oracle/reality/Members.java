package assignlab.oracle.reality;

import assignlab.oracle.Conversation;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.utils.Utils;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Real consumers of one client release in one process, told what to do by JSON lines on standard
 * input; what happens to them is told by JSON lines on standard output, with the moment in ms.
 *
 * <pre>
 * {"do": "prepare", "key": "1/a", "settings": {...}, "topics": ["t"], "poll_ms": 50}    or "pattern",
 *                                                                     or "broker_pattern"
 * {"do": "start", "key": "1/a"}
 * {"do": "close" | "stall" | "subscribe" | "unsubscribe" | "enforce", "key": "1/a", ...}
 * {"do": "close", "key": "1/a", "for_good": true}      static members leave the group, too
 * {"do": "produce", "key": "1", "rates": {"t": 25}}      records a second and partition
 * {"do": "flow", "key": "1", "from": 1700000000000}
 * {"do": "stop", "key": "1"}
 * {"do": "create" | "grow" | "delete", "topic": "t", "partitions": 4}
 * {"do": "move", "key": "1"}      the group's coordinator: to another broker, or "order": [2, 3, 1]
 * {"do": "leader", "key": "1", "after": 2}      which broker that is; after another one, if told so
 * {"do": "committed", "key": "1"}      the group's offsets
 * </pre>
 *
 * The process ends with its standard input. To crash or freeze members, send it a signal.
 */
public final class Members {
    private static final PrintStream OUT =
            new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);

    private static final String OFFSETS = "__consumer_offsets";

    private final Map<String, Member> members = new HashMap<>();
    private final Map<String, Writer> writers = new HashMap<>();
    private final String bootstrap;
    private final Admin admin;

    private Members(String bootstrap) {
        this.bootstrap = bootstrap;
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        admin = Admin.create(settings);
    }

    public static void main(String[] arguments) throws IOException {
        System.setOut(System.err);
        Members all = new Members(arguments[0]);
        BufferedReader lines =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line;
        while ((line = lines.readLine()) != null) {
            JsonNode command = Conversation.JSON.readTree(line);
            try {
                all.execute(command);
            } catch (Exception failed) {
                Throwable cause = failed.getCause() == null ? failed : failed.getCause();
                tell(event("failed").put("what", command.path("do").asText())
                        .put("error", cause.getClass().getSimpleName() + ": " + cause.getMessage()));
            }
        }
        Runtime.getRuntime().halt(0);
    }

    private void execute(JsonNode command) throws Exception {
        String key = command.path("key").asText();
        switch (command.get("do").asText()) {
            case "prepare" -> {
                Member member = new Member(key, command, admin);
                members.put(key, member);
                member.start();
            }
            case "create" -> {
                NewTopic topic = new NewTopic(command.get("topic").asText(),
                        Optional.of(command.get("partitions").asInt()), Optional.empty());
                var made = admin.createTopics(List.of(topic));
                String id = made.topicId(topic.name()).get().toString();
                tell(event("created").put("topic", topic.name()).put("id", id)
                        .put("partitions", topic.numPartitions()));
            }
            case "grow" -> {
                String topic = command.get("topic").asText();
                int partitions = command.get("partitions").asInt();
                admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(partitions)))
                        .all().get();
                writers.values().forEach(writer -> writer.grown(topic, partitions));
                tell(event("grown").put("topic", topic).put("partitions", partitions));
            }
            case "delete" -> {
                String topic = command.get("topic").asText();
                admin.deleteTopics(List.of(topic)).all().get();
                tell(event("deleted").put("topic", topic));
            }
            case "move" -> moveCoordinator(key, command.path("order"));
            case "leader" -> {
                Node leader;
                do
                    leader = ownPartition(key).leader();
                while (leader == null || leader.id() == command.path("after").asInt());
                tell(event("leader").put("key", key).put("node", leader.id()));
            }
            case "committed" -> {
                var offsets = admin.listConsumerGroupOffsets(key).partitionsToOffsetAndMetadata().get();
                ObjectNode event = event("committed").put("key", key);
                ObjectNode by = event.putObject("offsets");
                offsets.forEach((partition, known) -> by.put(partition.toString(), known.offset()));
                tell(event);
            }
            case "produce" -> writers.put(key, new Writer(key, bootstrap, command.get("rates")));
            case "flow" -> writers.get(key).flow(command.get("from").asLong());
            case "stop" -> writers.remove(key).interrupt();
            default -> members.get(key).tellToDo(command);
        }
    }

    /** The partition of the offsets topic that is the group's: who leads it, coordinates the group. */
    private TopicPartitionInfo ownPartition(String group) throws Exception {
        List<TopicPartitionInfo> partitions =
                admin.describeTopics(List.of(OFFSETS)).allTopicNames().get().get(OFFSETS).partitions();
        return partitions.get(Utils.abs(group.hashCode()) % partitions.size());
    }

    /** Another replica leads it, or the first of an order; all brokers live. */
    private void moveCoordinator(String group, JsonNode order) throws Exception {
        TopicPartitionInfo own;
        do
            own = ownPartition(group);
        while (own.isr().size() < own.replicas().size());
        List<Integer> replicas = own.replicas().stream().map(Node::id).collect(Collectors.toList());
        Collections.rotate(replicas, -replicas.indexOf(own.leader().id()) - 1);
        if (order.isArray()) {
            replicas.clear();
            order.forEach(node -> replicas.add(node.asInt()));
        }
        TopicPartition led = new TopicPartition(OFFSETS, own.partition());
        admin.alterPartitionReassignments(Map.of(led,
                Optional.of(new NewPartitionReassignment(replicas)))).all().get();
        if (replicas.get(0) != own.leader().id())
            admin.electLeaders(ElectionType.PREFERRED, Set.of(led)).all().get();
        tell(event("moved").put("key", group));
    }

    static ObjectNode event(String kind) {
        return Conversation.JSON.createObjectNode()
                .put("at", System.currentTimeMillis()).put("kind", kind);
    }

    static synchronized void tell(ObjectNode event) {
        OUT.println(event);
        OUT.flush();
    }
}
