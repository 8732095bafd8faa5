package assignlab.oracle.producers;

import assignlab.oracle.ProducerHistory.Topic;
import com.fasterxml.jackson.databind.JsonNode;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;

import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/** Metadata: the available partitions first, in their order, then those without a leader. */
final class Clusters {
    private Clusters() {
    }

    static Cluster of(List<Topic> topics) throws ReflectiveOperationException {
        return of(topics, null);
    }

    /** @param racks of the leader of each partition, by topic; null: no racks at all */
    static Cluster of(List<Topic> topics, JsonNode racks) throws ReflectiveOperationException {
        Node withoutRack = new Node(0, "localhost", 1);
        Node[] nodes = racks == null ? new Node[] {withoutRack} // the oldest nodes know no racks
                : new Node[] {withoutRack, new Node(1, "localhost", 1, "a"), new Node(2, "localhost", 1, "b")};
        List<PartitionInfo> infos = new ArrayList<>();
        for (int i = 0; i < topics.size(); i++) {
            Topic topic = topics.get(i);
            LinkedHashSet<Integer> order = new LinkedHashSet<>(topic.available());
            for (int partition = 0; partition < topic.partitions(); partition++)
                order.add(partition);
            for (int partition : order) {
                Node broker = racks == null ? nodes[0] : inRack(nodes, racks.get(i).get(partition).textValue());
                Node leader = topic.available().contains(partition) ? broker : null;
                infos.add(new PartitionInfo(topic.name(), partition, leader, nodes, nodes));
            }
        }
        return of(List.of(nodes), infos);
    }

    private static Node inRack(Node[] nodes, String rack) {
        for (Node node : nodes)
            if (Objects.equals(node.rack(), rack))
                return node;
        throw new IllegalArgumentException("no broker in rack " + rack);
    }

    /** The constructor changed with the releases. */
    static Cluster of(List<Node> nodes, List<PartitionInfo> infos) throws ReflectiveOperationException {
        for (Constructor<?> constructor : Cluster.class.getConstructors()) {
            Class<?>[] parameters = constructor.getParameterTypes();
            if (parameters.length == 5 && parameters[0] == String.class && parameters[4] == Set.class)
                return (Cluster) constructor.newInstance("oracle", nodes, infos, Set.of(), Set.of());
        }
        for (Constructor<?> constructor : Cluster.class.getConstructors()) {
            Class<?>[] parameters = constructor.getParameterTypes();
            if (parameters.length == 3 && parameters[0] == Collection.class && parameters[2] == Set.class)
                return (Cluster) constructor.newInstance(nodes, infos, Collections.emptySet());
        }
        return (Cluster) Cluster.class.getConstructor(Collection.class, Collection.class)
                .newInstance(nodes, infos);
    }
}
