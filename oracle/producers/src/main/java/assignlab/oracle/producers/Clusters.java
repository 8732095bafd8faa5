package assignlab.oracle.producers;

import assignlab.oracle.ProducerHistory.Topic;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;

import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** Metadata: the available partitions first, in their order, then those without a leader. */
final class Clusters {
    private Clusters() {
    }

    static Cluster of(List<Topic> topics) throws ReflectiveOperationException {
        Node[] nodes = {new Node(0, "localhost", 1)};
        List<PartitionInfo> infos = new ArrayList<>();
        for (Topic topic : topics) {
            LinkedHashSet<Integer> order = new LinkedHashSet<>(topic.available());
            for (int partition = 0; partition < topic.partitions(); partition++)
                order.add(partition);
            for (int partition : order) {
                Node leader = topic.available().contains(partition) ? nodes[0] : null;
                infos.add(new PartitionInfo(topic.name(), partition, leader, nodes, nodes));
            }
        }
        return of(List.of(nodes), infos);
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
