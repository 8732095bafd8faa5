package assignlab.oracle.producers;

import assignlab.oracle.BadDocument;
import assignlab.oracle.Conversation;
import assignlab.oracle.ProducerHistory.Topic;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;

/**
 * The RecordAccumulator of a KafkaProducer whose sender has been ended, driven step by step: one topic,
 * partition p led by node p. Steps: {@code ["append", bytes of the value]} (a record without a key),
 * {@code ["ready"]}, {@code ["drain", node]} (one batch), {@code ["latency", node, now, can drain]}.
 * Answered is the partition of each append, and the state of the draws.
 */
final class Accumulator {
    private static final int UNKNOWN_PARTITION = -1;

    private final Object accumulator;
    private final Object snapshot;
    private final Cluster cluster;
    private final Method append;
    private final Method ready;
    private final Method drain;
    private final Method latency;
    private int appended;

    private Accumulator(KafkaProducer<?, ?> producer, Cluster cluster) throws ReflectiveOperationException {
        this.cluster = cluster;
        WholeProducer.knowing(producer, cluster);
        accumulator = WholeProducer.value(producer, "accumulator");
        append = method("append");
        ready = method("ready");
        drain = method("drain");
        latency = method("updateNodeLatencyStats");
        Object metadata = WholeProducer.value(producer, "metadata");
        snapshot = ready.getParameterTypes()[0] == Cluster.class ? cluster
                : metadata.getClass().getMethod("fetchMetadataSnapshot").invoke(metadata);
    }

    static ObjectNode answer(ObjectNode request) throws Exception {
        KafkaProducer<byte[], byte[]> producer = WholeProducer.producer(
                request.deepCopy().set("producer", request.get("accumulator")));
        try {
            endSender(producer);
            int partitions = request.get("partitions").intValue();
            Accumulator accumulator = new Accumulator(producer, cluster(partitions));
            Draws.seed(Long.parseUnsignedLong(request.get("seed").asText()));
            ObjectNode answer = Conversation.JSON.createObjectNode();
            ArrayNode chosen = answer.putArray("partitions");
            for (JsonNode step : request.get("steps"))
                accumulator.take(step, chosen);
            return answer.put("random", Long.toUnsignedString(Draws.state()));
        } finally {
            WholeProducer.close(producer);
        }
    }

    private void take(JsonNode step, ArrayNode chosen) throws Exception {
        switch (step.get(0).textValue()) {
            case "append" -> {
                append(new byte[step.get(1).intValue()]);
                chosen.add(appended);
            }
            case "ready" -> ready.invoke(accumulator, snapshot, 0L);
            case "drain" -> drain.invoke(accumulator, snapshot,
                    Set.of(cluster.nodeById(step.get(1).intValue())), Integer.MAX_VALUE, 0L);
            case "latency" -> latency.invoke(accumulator, step.get(1).intValue(),
                    step.get(2).longValue(), step.get(3).intValue() != 0);
            default -> throw new BadDocument("no step " + step.get(0));
        }
    }

    private void append(byte[] value) throws ReflectiveOperationException {
        Class<?>[] types = append.getParameterTypes();
        Object callbacks = Proxy.newProxyInstance(types[6].getClassLoader(), new Class<?>[] {types[6]},
                (proxy, method, arguments) -> {
                    if (method.getName().equals("setPartition"))
                        appended = (int) arguments[0];
                    return null;
                });
        List<Object> arguments = new ArrayList<>(Arrays.asList("topic", UNKNOWN_PARTITION, 0L, null, value,
                Array.newInstance(types[5].getComponentType(), 0), callbacks, 1000L));
        if (types[8] == boolean.class)
            arguments.add(false); // abortOnNewBatch, for partitioners that want to know of new batches
        arguments.add(0L);
        arguments.add(cluster);
        append.invoke(accumulator, arguments.toArray());
    }

    private static Cluster cluster(int partitions) throws ReflectiveOperationException {
        List<Node> nodes = new ArrayList<>();
        List<PartitionInfo> infos = new ArrayList<>();
        for (int partition = 0; partition < partitions; partition++) {
            Node node = new Node(partition, "localhost", 1);
            nodes.add(node);
            infos.add(new PartitionInfo("topic", partition, node, new Node[] {node}, new Node[] {node}));
        }
        return Clusters.of(nodes, infos);
    }

    /** Ends the thread that would take batches, without closing the accumulator. */
    private static void endSender(KafkaProducer<?, ?> producer) throws Exception {
        Object sender = WholeProducer.value(producer, "sender");
        Field running = sender.getClass().getDeclaredField("running");
        running.setAccessible(true);
        running.set(sender, false);
        sender.getClass().getMethod("wakeup").invoke(sender);
        ((Thread) WholeProducer.value(producer, "ioThread")).join();
    }

    private Method method(String name) {
        Method found = Arrays.stream(accumulator.getClass().getDeclaredMethods())
                .filter(method -> method.getName().equals(name))
                .max((one, other) -> one.getParameterCount() - other.getParameterCount()).orElseThrow();
        found.setAccessible(true);
        return found;
    }
}
