package assignlab.oracle.producers;

import assignlab.oracle.ProducerHistory.Record;
import org.apache.kafka.clients.producer.Partitioner;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Cluster;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;

/** A class that implements Partitioner, asked again at a new batch where it has onNewBatch. */
final class PluggedPartitioner implements Chooser {
    private final Partitioner partitioner;
    private final Method onNewBatch;
    private final boolean oneCounter;

    PluggedPartitioner(String className, long seed) throws ReflectiveOperationException {
        partitioner = (Partitioner) Class.forName(className).getDeclaredConstructor().newInstance();
        onNewBatch = Arrays.stream(partitioner.getClass().getMethods())
                .filter(method -> method.getName().equals("onNewBatch")).findFirst().orElse(null);
        oneCounter = startCounter(partitioner, seed);
    }

    @Override
    public int choose(ProducerRecord<byte[], byte[]> sent, Record record, Cluster cluster) throws Exception {
        int partition = ask(sent, record, cluster);
        if (!record.newBatch() || onNewBatch == null)
            return partition;
        onNewBatch.invoke(partitioner, sent.topic(), cluster, partition);
        return ask(sent, record, cluster);
    }

    private int ask(ProducerRecord<byte[], byte[]> sent, Record record, Cluster cluster)
            throws Exception {
        if (record.explicit() != null)
            return record.explicit();
        if (sent.key() == null && release().startsWith("0.10.2"))
            startTopicsCounter(sent.topic());
        return partitioner.partition(sent.topic(), sent.key(), sent.key(), sent.value(), sent.value(), cluster);
    }

    private static String release() throws IOException {
        Properties properties = new Properties();
        try (InputStream file = Partitioner.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            properties.load(file);
        }
        return properties.getProperty("version");
    }

    /** 0.10.2 starts a topic's counter at {@code new Random().nextInt()}; here at the thread's next draw. */
    @SuppressWarnings("unchecked")
    private void startTopicsCounter(String topic) throws ReflectiveOperationException {
        Field counters = partitioner.getClass().getDeclaredField("topicCounterMap");
        counters.setAccessible(true);
        ((Map<String, AtomicInteger>) counters.get(partitioner)).computeIfAbsent(topic,
                name -> new AtomicInteger(ThreadLocalRandom.current().nextInt()));
    }

    @Override
    public boolean drawsFromThread() {
        return !oneCounter;
    }

    /** Up to 0.10.1 one counter starts at {@code new Random().nextInt()}; here at the seed's first draw. */
    static boolean startCounter(Object partitioner, long seed) throws ReflectiveOperationException {
        for (Field field : partitioner.getClass().getDeclaredFields()) {
            if (field.getType() == AtomicInteger.class) {
                field.setAccessible(true);
                ((AtomicInteger) field.get(partitioner)).set(new Random(seed).nextInt());
                return true;
            }
        }
        return false;
    }
}
