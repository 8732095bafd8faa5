package assignlab.oracle.producers;

import assignlab.oracle.BadDocument;
import assignlab.oracle.Conversation;
import assignlab.oracle.ProducerHistory;
import assignlab.oracle.ProducerHistory.Record;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArraySerializer;

import java.lang.reflect.Field;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * A whole KafkaProducer that never reaches a broker: it is given metadata, and its send() chooses a
 * partition and appends to its buffer, from which nothing is taken. {@code producer} holds its settings.
 * Only the steps "send" are known; each sends a value of the record's size. Answered is the partition of
 * each record, or the class of the exception that its future holds or send() throws.
 */
final class WholeProducer {
    private WholeProducer() {
    }

    static ObjectNode answer(ObjectNode request) throws Exception {
        ProducerHistory history = ProducerHistory.of(request);
        ObjectNode answer = Conversation.JSON.createObjectNode();
        ArrayNode partitions = answer.putArray("partitions");
        KafkaProducer<byte[], byte[]> producer = producer(request);
        try {
            knowing(producer, Clusters.of(history.topics()));
            Draws.seed(history.seed());
            for (JsonNode step : history.steps()) {
                if (!step.get(0).textValue().equals("send"))
                    throw new BadDocument("no step " + step.get(0));
                send(producer, history, Record.of(step), partitions);
            }
            return answer.put("random", Long.toUnsignedString(Draws.state()));
        } finally {
            close(producer);
        }
    }

    static KafkaProducer<byte[], byte[]> producer(ObjectNode request) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", "localhost:1");
        settings.put("max.block.ms", "100");
        request.path("producer").fields().forEachRemaining(
                setting -> settings.put(setting.getKey(), setting.getValue().asText()));
        return new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
    }

    /** At once; how that is said has changed. */
    static void close(KafkaProducer<?, ?> producer) throws ReflectiveOperationException {
        try {
            KafkaProducer.class.getMethod("close", Duration.class).invoke(producer, Duration.ZERO);
        } catch (NoSuchMethodException older) {
            KafkaProducer.class.getMethod("close", long.class, TimeUnit.class)
                    .invoke(producer, 0L, TimeUnit.MILLISECONDS);
        }
    }

    private static void send(KafkaProducer<byte[], byte[]> producer, ProducerHistory history, Record record,
                             ArrayNode partitions) throws Exception {
        Future<?> future;
        try {
            future = producer.send(new ProducerRecord<>(history.topics().get(record.topic()).name(),
                    record.explicit(), 0L, record.key(), new byte[record.size()]));
        } catch (RuntimeException refused) {
            partitions.add(refused.getClass().getSimpleName());
            return;
        }
        if (future.isDone()) {
            try {
                future.get();
            } catch (ExecutionException failed) {
                partitions.add(failed.getCause().getClass().getSimpleName());
            }
            return;
        }
        partitions.add(((TopicPartition) value(value(future, "result"), "topicPartition")).partition());
    }

    /** Puts a cluster where the producer's metadata keep theirs. */
    static void knowing(KafkaProducer<?, ?> producer, Cluster cluster) throws ReflectiveOperationException {
        Object metadata = value(producer, "metadata");
        for (Class<?> type = metadata.getClass(); type != null; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                String name = field.getType().getSimpleName();
                if (name.equals("Cluster")) {
                    put(metadata, field, cluster);
                    return;
                }
                if (name.equals("MetadataCache") || name.equals("MetadataSnapshot")) {
                    field.setAccessible(true);
                    Object kept = field.get(metadata);
                    for (Field inner : kept.getClass().getDeclaredFields()) {
                        if (inner.getType() == Cluster.class) {
                            put(kept, inner, cluster);
                            return;
                        }
                    }
                }
            }
        }
        throw new IllegalStateException("this release keeps its metadata elsewhere");
    }

    private static void put(Object owner, Field field, Object value) throws IllegalAccessException {
        field.setAccessible(true);
        field.set(owner, value);
    }

    static Object value(Object owner, String name) throws ReflectiveOperationException {
        Field field = owner.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(owner);
    }
}
