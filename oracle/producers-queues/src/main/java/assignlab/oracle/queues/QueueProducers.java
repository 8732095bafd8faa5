package assignlab.oracle.queues;

import assignlab.oracle.BadDocument;
import assignlab.oracle.Conversation;
import assignlab.oracle.ProducerHistory;
import assignlab.oracle.ProducerHistory.Record;
import assignlab.oracle.ProducerHistory.Topic;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.taobao.metamorphosis.client.producer.PartitionSelector;
import com.taobao.metamorphosis.client.producer.RandomPartitionSelector;
import com.taobao.metamorphosis.client.producer.RoundRobinPartitionSelector;
import com.taobao.metamorphosis.cluster.Partition;
import org.apache.rocketmq.client.producer.MessageQueueSelector;
import org.apache.rocketmq.client.producer.selector.SelectMessageQueueByHash;
import org.apache.rocketmq.client.producer.selector.SelectMessageQueueByRandom;
import org.apache.rocketmq.common.message.MessageQueue;

import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** RocketMQ's and MetaQ's selectors. Their generators are replaced by one with the history's seed. */
public final class QueueProducers {
    private QueueProducers() {
    }

    private interface Chooser {
        int choose(Topic topic, String key) throws Exception;
    }

    public static void main(String[] args) throws Exception {
        Conversation.hold(request -> answer(ProducerHistory.of(request)));
    }

    private static ObjectNode answer(ProducerHistory history) throws Exception {
        Chooser chooser = switch (history.partitioner()) {
            case "rocketmq-hash" -> rocketMq(new SelectMessageQueueByHash());
            case "rocketmq-random" -> rocketMq(seeded(new SelectMessageQueueByRandom(), "random", history.seed()));
            case "metaq-round-robin" -> metaQ(new RoundRobinPartitionSelector());
            case "metaq-random" -> metaQ(seeded(new RandomPartitionSelector(), "rand", history.seed()));
            default -> throw new BadDocument("no partitioner " + history.partitioner());
        };
        List<Integer> partitions = new ArrayList<>();
        for (JsonNode step : history.steps()) {
            if (!step.get(0).textValue().equals("send"))
                throw new BadDocument("no step " + step.get(0));
            Record record = Record.of(step);
            String key = record.key() == null ? null : new String(record.key(), StandardCharsets.UTF_8);
            partitions.add(chooser.choose(history.topics().get(record.topic()), key));
        }
        return ProducerHistory.answer(partitions);
    }

    private static Chooser rocketMq(MessageQueueSelector selector) {
        return (topic, key) -> {
            List<MessageQueue> queues = new ArrayList<>();
            for (int queue = 0; queue < topic.partitions(); queue++)
                queues.add(new MessageQueue(topic.name(), "broker", queue));
            return selector.select(queues, null, key).getQueueId();
        };
    }

    private static Chooser metaQ(PartitionSelector selector) {
        return (topic, key) -> {
            List<Partition> partitions = new ArrayList<>();
            for (int partition = 0; partition < topic.partitions(); partition++)
                partitions.add(new Partition(0, partition));
            return selector.getPartition(topic.name(), partitions, null).getPartition();
        };
    }

    private static <T> T seeded(T selector, String name, long seed) throws ReflectiveOperationException {
        Field field = selector.getClass().getDeclaredField(name);
        field.setAccessible(true);
        field.set(selector, new Random(seed));
        return selector;
    }
}
