package assignlab.oracle.producers;

import assignlab.oracle.BadDocument;
import assignlab.oracle.Conversation;
import assignlab.oracle.ProducerHistory;
import assignlab.oracle.ProducerHistory.Record;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Cluster;

import java.util.ArrayList;
import java.util.List;

/**
 * The partitioners of the one kafka-clients release that is on the classpath. A line is a producer's
 * history ({@link ProducerHistory}), a run of a whole producer ({@code producer}, see {@link WholeProducer}),
 * a run of the record accumulator ({@code accumulator}, see {@link Accumulator}), or a request to hash
 * ({@code hash}, see {@link Hashes}).
 *
 * <p>The partitioner's classes are asked as the producer of the release asks them: with a new batch, and
 * where the class has {@code onNewBatch}, a second time. Draws come from ThreadLocalRandom, whose seed is
 * set before and read after.
 */
public final class Producers {
    private Producers() {
    }

    public static void main(String[] args) throws Exception {
        Conversation.hold(request -> {
            if (request.has("hash"))
                return Hashes.answer(request);
            if (request.has("producer"))
                return WholeProducer.answer(request);
            if (request.has("accumulator"))
                return Accumulator.answer(request);
            return answer(ProducerHistory.of(request));
        });
    }

    private static ObjectNode answer(ProducerHistory history) throws Exception {
        Draws.seed(history.seed());
        Chooser chooser = chooser(history);
        List<ProducerHistory.Topic> topics = history.topics();
        JsonNode racks = history.json().get("racks");
        Cluster cluster = Clusters.of(topics, racks);
        List<Integer> partitions = new ArrayList<>();
        for (JsonNode step : history.steps()) {
            switch (step.get(0).textValue()) {
                case "send" -> {
                    Record record = Record.of(step);
                    String topic = topics.get(record.topic()).name();
                    // The record itself refuses a negative partition, in the releases that do.
                    ProducerRecord<byte[], byte[]> sent =
                            new ProducerRecord<>(topic, record.explicit(), record.key(), new byte[0]);
                    partitions.add(chooser.choose(sent, record, cluster));
                }
                case "available" -> {
                    topics = ProducerHistory.withAvailable(topics, step);
                    cluster = Clusters.of(topics, racks);
                }
                case "loads" -> chooser.loads(topics.get(step.get(1).intValue()).name(), step);
                default -> throw new BadDocument("no step " + step.get(0));
            }
        }
        ObjectNode answer = ProducerHistory.answer(partitions);
        if (chooser.drawsFromThread())
            answer.put("random", Long.toUnsignedString(Draws.state()));
        return answer;
    }

    private static Chooser chooser(ProducerHistory history) throws Exception {
        return switch (history.partitionerWithoutVersion()) {
            case "default" -> OldestPartitioner.isOnClasspath()
                    ? new OldestPartitioner(history.seed())
                    : new PluggedPartitioner("org.apache.kafka.clients.producer.internals.DefaultPartitioner",
                            history.seed());
            case "uniform-sticky" ->
                    new PluggedPartitioner("org.apache.kafka.clients.producer.UniformStickyPartitioner", 0);
            case "round-robin" ->
                    new PluggedPartitioner("org.apache.kafka.clients.producer.RoundRobinPartitioner", 0);
            case "built-in", "built-in-racks" -> new BuiltIn(history.json());
            default -> throw new BadDocument("no partitioner " + history.partitioner());
        };
    }
}
