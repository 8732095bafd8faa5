package assignlab.oracle.reality;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

import java.util.List;
import java.util.Properties;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Writes records evenly: every partition of a topic gets the same number a second, the first of them when
 * the time of one is over.
 */
final class Writer extends Thread {
    private record Topic(String name, int partitions, double rate) {
    }

    private final KafkaProducer<byte[], byte[]> producer;
    private final List<Topic> topics = new CopyOnWriteArrayList<>();
    private long from;

    Writer(String key, String bootstrap, JsonNode rates) {
        super(key);
        setDaemon(true);
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("acks", "all");
        settings.put("linger.ms", "0");
        producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
        rates.properties().forEach(rate -> topics.add(new Topic(rate.getKey(),
                producer.partitionsFor(rate.getKey()).size(), rate.getValue().asDouble())));
        Members.tell(Members.event("produces").put("key", key));
    }

    /** A topic has so many partitions from now on; new ones get records, too. */
    void grown(String name, int partitions) {
        topics.replaceAll(topic ->
                topic.name.equals(name) ? new Topic(name, partitions, topic.rate) : topic);
    }

    void flow(long first) {
        from = first;
        start();
    }

    @Override
    public void run() {
        long[] sent = new long[topics.size()];
        try {
            while (true) {
                long passed = System.currentTimeMillis() - from;
                for (int i = 0; i < sent.length; i++)
                    for (Topic topic = topics.get(i); sent[i] < topic.rate * passed / 1000; sent[i]++)
                        for (int p = 0; p < topic.partitions; p++)
                            producer.send(new ProducerRecord<>(topic.name, p, null, new byte[0]));
                sleep(2);
            }
        } catch (InterruptedException over) {
            producer.close();
        }
    }
}
