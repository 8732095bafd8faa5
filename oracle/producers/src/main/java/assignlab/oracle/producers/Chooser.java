package assignlab.oracle.producers;

import assignlab.oracle.BadDocument;
import assignlab.oracle.ProducerHistory.Record;
import com.fasterxml.jackson.databind.JsonNode;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Cluster;

/** One original partitioner with its state, asked as its producer asks it. */
interface Chooser {
    int choose(ProducerRecord<byte[], byte[]> sent, Record record, Cluster cluster) throws Exception;

    /** The load statistics of a topic: {@code ["loads", topic, queues or null, partitions, length]}. */
    default void loads(String topic, JsonNode step) throws Exception {
        throw new BadDocument("this partitioner takes no loads");
    }

    /** Whether it draws from the thread's generator, so that the generator's state tells how often. */
    default boolean drawsFromThread() {
        return true;
    }
}
