package assignlab.oracle.kafka08;

import kafka.common.TopicAndPartition;
import kafka.consumer.AssignmentContext;
import kafka.consumer.ConsumerThreadId;
import kafka.consumer.PartitionAssignor;
import scala.collection.Map;
import scala.collection.Set;

/** What releases of the Scala consumer call in ways of their own. */
interface Release {
    /** A consumer's view of its group. */
    AssignmentContext context(String group, String consumer);

    /** The threads that a consumer asks for, by topic. */
    Map<String, Set<ConsumerThreadId>> topicThreadIds(String group, String consumer);

    /** The part of the consumer whose context it is. */
    Map<TopicAndPartition, ConsumerThreadId> assign(PartitionAssignor assignor, AssignmentContext context);
}
