package assignlab.oracle.kafka;

import assignlab.oracle.Conversation;
import assignlab.oracle.GroupDocument;
import assignlab.oracle.GroupDocument.Member;
import assignlab.oracle.GroupDocument.Pair;
import assignlab.oracle.GroupDocument.Topic;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The partition assignors of the one kafka-clients release that is on the classpath.
 * A line is a group document, or a request with a {@code spec} (see {@link Bench}).
 */
public final class KafkaClients {
    private final Client client;
    private final Bench bench;

    private KafkaClients(Client client) {
        this.client = client;
        this.bench = new Bench(client);
    }

    public static void main(String[] args) throws Exception {
        KafkaClients clients = new KafkaClients(
                OlderClient.isOnClasspath() ? new OlderClient() : new NewerClient());
        Conversation.hold(request -> request.has("spec")
                ? clients.bench.answer(request)
                : clients.answer(GroupDocument.of(request)));
    }

    private ObjectNode answer(GroupDocument document) throws Throwable {
        String strategy = document.strategyWithoutVersion();
        Map<String, List<TopicPartition>> assigned = client.assign(
                client.assignor(strategy), cluster(document.topics()), subscriptions(client, strategy, document));
        ObjectNode answer = Conversation.JSON.createObjectNode();
        answer.set("assignment", GroupDocument.pairsByMember(inOrderOfMembers(document, assigned)));
        if (document.json().hasNonNull("next_generation") && client.sendsClaims(strategy))
            answer.set("next_owned", GroupDocument.pairsByMember(
                    nextClaims(document, assigned, document.json().get("next_generation").intValue())));
        return answer;
    }

    /** Default capacity, filled by put in the document's order, as the group leader does it. */
    static Map<String, Object> subscriptions(Client client, String strategy, GroupDocument document) {
        Map<String, Object> subscriptions = new HashMap<>();
        for (Member member : document.members())
            subscriptions.put(member.id(), client.subscription(strategy, member));
        return subscriptions;
    }

    static Cluster cluster(List<Topic> topics) {
        Map<String, Node> nodeByRack = new HashMap<>();
        List<PartitionInfo> infos = new ArrayList<>();
        for (Topic topic : topics) {
            for (int partition = 0; partition < topic.partitions(); partition++) {
                Node[] replicas = replicas(topic, partition, nodeByRack);
                infos.add(new PartitionInfo(topic.name(), partition, null, replicas, replicas));
            }
        }
        try {
            return new Cluster("oracle", Collections.emptyList(), infos,
                    Collections.emptySet(), Collections.emptySet());
        } catch (NoSuchMethodError earlier) {
            return clusterWithoutId(infos);
        }
    }

    /** Until 0.10.0 a cluster had no id. */
    private static Cluster clusterWithoutId(List<PartitionInfo> infos) {
        try {
            return Cluster.class.getConstructor(Collection.class, Collection.class, Set.class)
                    .newInstance(Collections.emptyList(), infos, Collections.emptySet());
        } catch (ReflectiveOperationException unknown) {
            throw new IllegalStateException(unknown);
        }
    }

    /** One broker for each rack, one without rack for null. */
    private static Node[] replicas(Topic topic, int partition, Map<String, Node> nodeByRack) {
        if (topic.racks() == null)
            return new Node[0];
        return topic.racks().get(partition).stream()
                .map(rack -> nodeByRack.computeIfAbsent(rack == null ? "" : "rack " + rack,
                        key -> node(nodeByRack.size(), rack)))
                .toArray(Node[]::new);
    }

    /** Until 0.9 a node had no rack. */
    private static Node node(int id, String rack) {
        try {
            return new Node(id, "localhost", 9092, rack);
        } catch (NoSuchMethodError earlier) {
            return new Node(id, "localhost", 9092);
        }
    }

    private static Map<String, List<Pair>> inOrderOfMembers(GroupDocument document,
                                                            Map<String, List<TopicPartition>> assigned) {
        Map<String, List<Pair>> lists = new LinkedHashMap<>();
        for (Member member : document.members())
            lists.put(member.id(), pairs(assigned.get(member.id())));
        return lists;
    }

    /** What each member claims in the next rebalance, had it received this assignment. */
    private Map<String, List<Pair>> nextClaims(GroupDocument document,
                                               Map<String, List<TopicPartition>> assigned,
                                               int generation) throws Throwable {
        Map<String, List<Pair>> claims = new LinkedHashMap<>();
        for (Member member : document.members())
            claims.put(member.id(), client.nextClaim(document.strategyWithoutVersion(), member,
                    assigned.get(member.id()), generation));
        return claims;
    }

    static List<Pair> pairs(List<TopicPartition> partitions) {
        List<Pair> pairs = new ArrayList<>(partitions.size());
        for (TopicPartition partition : partitions)
            pairs.add(new Pair(partition.topic(), partition.partition()));
        return pairs;
    }

    static List<TopicPartition> partitions(List<Pair> pairs) {
        List<TopicPartition> partitions = new ArrayList<>(pairs.size());
        for (Pair pair : pairs)
            partitions.add(new TopicPartition(pair.topic(), pair.partition()));
        return partitions;
    }
}
