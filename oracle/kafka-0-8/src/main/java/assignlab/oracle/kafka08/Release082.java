package assignlab.oracle.kafka08;

import kafka.common.TopicAndPartition;
import kafka.consumer.AssignmentContext;
import kafka.consumer.ConsumerThreadId;
import kafka.consumer.PartitionAssignor;
import kafka.consumer.TopicCount$;
import org.I0Itec.zkclient.ZkClient;
import scala.collection.Map;
import scala.collection.Set;

/** Kafka 0.8.2: an assignor answers for one consumer alone. */
record Release082(ZkClient zooKeeper) implements Release {
    @Override
    public AssignmentContext context(String group, String consumer) {
        return new AssignmentContext(group, consumer, true, zooKeeper);
    }

    @Override
    @SuppressWarnings("unchecked")
    public Map<String, Set<ConsumerThreadId>> topicThreadIds(String group, String consumer) {
        return (Map<String, Set<ConsumerThreadId>>) (Map<?, ?>) TopicCount$.MODULE$
                .constructTopicCount(group, consumer, zooKeeper, true).getConsumerThreadIdsPerTopic();
    }

    @Override
    public Map<TopicAndPartition, ConsumerThreadId> assign(PartitionAssignor assignor, AssignmentContext context) {
        return assignor.assign(context);
    }
}
