package assignlab.oracle.producers;

import assignlab.oracle.ProducerHistory.Record;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Cluster;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/** Release 0.8.2: an internal class that looks at the explicit partition itself. */
final class OldestPartitioner implements Chooser {
    private static final String NAME = "org.apache.kafka.clients.producer.internals.Partitioner";

    private final Object partitioner;
    private final Method partition;

    OldestPartitioner(long seed) throws ReflectiveOperationException {
        partitioner = Class.forName(NAME).getDeclaredConstructor().newInstance();
        partition = partitioner.getClass().getMethod("partition", ProducerRecord.class, Cluster.class);
        PluggedPartitioner.startCounter(partitioner, seed);
    }

    static boolean isOnClasspath() {
        try {
            Class.forName(NAME);
            return true;
        } catch (ClassNotFoundException since09) {
            return false;
        }
    }

    @Override
    public int choose(ProducerRecord<byte[], byte[]> sent, Record record, Cluster cluster)
            throws IllegalAccessException, InvocationTargetException {
        return (int) partition.invoke(partitioner, sent, cluster);
    }

    @Override
    public boolean drawsFromThread() {
        return false;
    }
}
