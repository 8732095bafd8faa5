package assignlab.oracle.producers08;

import assignlab.oracle.BadDocument;
import assignlab.oracle.Conversation;
import assignlab.oracle.ProducerHistory;
import assignlab.oracle.ProducerHistory.Record;
import assignlab.oracle.ProducerHistory.Topic;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import kafka.producer.PartitionAndLeader;
import kafka.producer.ProducerConfig;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import scala.Option;
import scala.collection.JavaConversions;
import scala.collection.Seq;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.Random;

/**
 * The Scala producer of Kafka 0.8: DefaultEventHandler.getPartition with its DefaultPartitioner. Keys are
 * strings. Scala's generator is replaced by a java.util.Random with the history's seed. A step
 * {@code ["refresh"]} empties the cache of partitions for records without a key, as a refresh does.
 */
public final class Producers08 {
    private Producers08() {
    }

    public static void main(String[] args) throws Exception {
        Logger.getRootLogger().setLevel(Level.OFF);
        Conversation.hold(request -> answer(ProducerHistory.of(request)));
    }

    private static ObjectNode answer(ProducerHistory history) throws Exception {
        if (!history.partitionerWithoutVersion().equals("scala-default"))
            throw new BadDocument("no partitioner " + history.partitioner());
        seed(history.seed());
        Object handler = handler();
        Method getPartition = Arrays.stream(handler.getClass().getDeclaredMethods())
                .filter(method -> method.getName().endsWith("getPartition") && method.getParameterCount() == 3)
                .findFirst().orElseThrow();
        getPartition.setAccessible(true);
        List<Topic> topics = history.topics();
        List<Integer> partitions = new ArrayList<>();
        for (JsonNode step : history.steps()) {
            switch (step.get(0).textValue()) {
                case "send" -> {
                    Record record = Record.of(step);
                    Topic topic = topics.get(record.topic());
                    Object key = record.key() == null ? null : new String(record.key(), StandardCharsets.UTF_8);
                    partitions.add((int) getPartition.invoke(handler, topic.name(), key, leaders(topic)));
                }
                case "available" -> topics = ProducerHistory.withAvailable(topics, step);
                case "refresh" -> {
                    Object cache = value(handler, "sendPartitionPerTopicCache");
                    cache.getClass().getMethod("clear").invoke(cache);
                }
                default -> throw new BadDocument("no step " + step.get(0));
            }
        }
        return ProducerHistory.answer(partitions);
    }

    private static Seq<PartitionAndLeader> leaders(Topic topic) {
        List<PartitionAndLeader> leaders = new ArrayList<>();
        for (int partition = 0; partition < topic.partitions(); partition++)
            leaders.add(new PartitionAndLeader(topic.name(), partition,
                    Option.apply(topic.available().contains(partition) ? (Object) 0 : null)));
        return JavaConversions.asScalaBuffer(leaders);
    }

    private static Object handler() throws Exception {
        Properties settings = new Properties();
        settings.put("metadata.broker.list", "localhost:1");
        ProducerConfig config = new ProducerConfig(settings);
        Class<?> type = Class.forName("kafka.producer.async.DefaultEventHandler");
        Constructor<?> constructor = type.getConstructors()[0];
        Constructor<?> partitioner = Class.forName("kafka.producer.DefaultPartitioner").getConstructors()[0];
        return constructor.newInstance(config, partitioner.newInstance((Object) null), null, null,
                new kafka.producer.ProducerPool(config), new scala.collection.mutable.HashMap<>());
    }

    private static void seed(long seed) throws ReflectiveOperationException {
        Field self = scala.util.Random.class.getDeclaredField("self");
        self.setAccessible(true);
        self.set(scala.util.Random$.MODULE$, new Random(seed));
    }

    private static Object value(Object owner, String name) throws ReflectiveOperationException {
        Field field = Arrays.stream(owner.getClass().getDeclaredFields())
                .filter(declared -> declared.getName().endsWith(name)).findFirst().orElseThrow();
        field.setAccessible(true);
        return field.get(owner);
    }
}
