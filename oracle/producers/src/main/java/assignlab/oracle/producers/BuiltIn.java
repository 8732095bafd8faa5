package assignlab.oracle.producers;

import assignlab.oracle.ProducerHistory.Record;
import com.fasterxml.jackson.databind.JsonNode;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Cluster;

import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * BuiltInPartitioner, one for each topic, called in the order in which RecordAccumulator.append calls it. With
 * {@code racks} (of each partition's leader, by topic) it prefers those in the rack "a".
 */
final class BuiltIn implements Chooser {
    private static final Class<?> PARTITIONER = type("BuiltInPartitioner");
    private static final Class<?> INFO = type("BuiltInPartitioner$StickyPartitionInfo");

    private static final String OWN_RACK = "a";

    private final int batchSize;
    private final JsonNode racks;
    private final Map<String, Object> partitioners = new HashMap<>();
    private final Method peek = method(PARTITIONER, "peekCurrentPartitionInfo", Cluster.class);
    private final Method update = method(PARTITIONER, "updatePartitionInfo", INFO, int.class, Cluster.class,
            boolean.class);
    private final Method changed = method(PARTITIONER, "isPartitionChanged", INFO);
    private final Method partition = method(INFO, "partition");
    private final Method forKey = method(PARTITIONER, "partitionForKey", byte[].class, int.class);
    private final Method loads = Arrays.stream(PARTITIONER.getMethods())
            .filter(method -> method.getName().equals("updatePartitionLoadStats")).findFirst().orElseThrow();

    BuiltIn(JsonNode history) {
        batchSize = history.path("batch_size").intValue();
        racks = history.get("racks");
    }

    @Override
    public int choose(ProducerRecord<byte[], byte[]> sent, Record record, Cluster cluster) throws Exception {
        if (record.explicit() != null)
            return record.explicit();
        if (record.key() != null)
            return (int) forKey.invoke(null, record.key(), cluster.partitionsForTopic(sent.topic()).size());
        Object partitioner = partitioner(sent.topic());
        Object info = peek.invoke(partitioner, cluster);
        if (record.fullBefore()) {
            update.invoke(partitioner, info, 0, cluster, true);
            if ((boolean) changed.invoke(partitioner, info))
                info = peek.invoke(partitioner, cluster);
        }
        update.invoke(partitioner, info, record.size(), cluster, record.fullAfter());
        return (int) partition.invoke(info);
    }

    @Override
    public void loads(String topic, JsonNode step) throws Exception {
        int[] queues = integers(step.get(2));
        int[] ids = integers(step.get(3));
        int length = step.get(4).intValue();
        Object partitioner = partitioner(topic);
        if (loads.getParameterCount() == 3)
            loads.invoke(partitioner, queues, ids, length);
        else // since the partitioner may know racks
            loads.invoke(partitioner, queues, ids, ids == null ? null : racks(step.get(1).intValue(), ids), length);
    }

    private String[] racks(int topic, int[] partitions) {
        String[] ofPartitions = new String[partitions.length];
        if (racks != null)
            Arrays.setAll(ofPartitions, i -> racks.get(topic).get(partitions[i]).textValue());
        return ofPartitions;
    }

    private Object partitioner(String topic) throws ReflectiveOperationException {
        if (!partitioners.containsKey(topic))
            partitioners.put(topic, newPartitioner(topic));
        return partitioners.get(topic);
    }

    private Object newPartitioner(String topic) throws ReflectiveOperationException {
        Constructor<?> constructor = PARTITIONER.getConstructors()[0];
        Object logContext = constructor.getParameterTypes()[0].getConstructor().newInstance();
        return constructor.getParameterCount() == 3
                ? constructor.newInstance(logContext, topic, batchSize)
                : constructor.newInstance(logContext, topic, batchSize, racks != null, OWN_RACK);
    }

    private static int[] integers(JsonNode list) {
        if (list == null || list.isNull())
            return null;
        int[] numbers = new int[list.size()];
        for (int i = 0; i < numbers.length; i++)
            numbers[i] = list.get(i).intValue();
        return numbers;
    }

    private static Class<?> type(String name) {
        try {
            return Class.forName("org.apache.kafka.clients.producer.internals." + name);
        } catch (ClassNotFoundException before33) {
            throw new IllegalStateException(before33);
        }
    }

    private static Method method(Class<?> type, String name, Class<?>... parameters) {
        try {
            Method method = type.getDeclaredMethod(name, parameters);
            method.setAccessible(true);
            return method;
        } catch (NoSuchMethodException unlikeThisRelease) {
            throw new IllegalStateException(unlikeThisRelease);
        }
    }
}
