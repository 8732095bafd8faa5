package assignlab.oracle.kafka08;

import kafka.common.TopicAndPartition;
import kafka.consumer.AssignmentContext;
import kafka.consumer.ConsumerThreadId;
import kafka.consumer.PartitionAssignor;
import kafka.consumer.TopicCount$;
import kafka.utils.ZkUtils;
import org.I0Itec.zkclient.ZkClient;
import scala.collection.Map;
import scala.collection.Set;

/** The Scala consumer of Kafka 0.9 to 1.1: an assignor answers for the group, of which each takes its part. */
public final class Kafka011 {
    private Kafka011() {
    }

    public static void main(String[] args) throws Exception {
        Kafka08.hold(client -> new Later(new ZkUtils(client, null, false)));
    }

    private record Later(ZkUtils zooKeeper) implements Release {
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
        @SuppressWarnings("unchecked")
        public Map<TopicAndPartition, ConsumerThreadId> assign(PartitionAssignor assignor, AssignmentContext context) {
            return (Map<TopicAndPartition, ConsumerThreadId>) (Map<?, ?>)
                    assignor.assign(context).get(context.consumerId());
        }
    }
}
