package assignlab.oracle.kafka;

import assignlab.oracle.GroupDocument.Member;
import assignlab.oracle.GroupDocument.Pair;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.TopicPartition;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** kafka-clients 2.4 and later: ConsumerPartitionAssignor. */
final class NewerClient extends Client {
    private static final int NO_GENERATION = -1;
    private static final Comparator<TopicPartition> BY_TOPIC_AND_PARTITION =
            Comparator.comparing(TopicPartition::topic).thenComparing(TopicPartition::partition);

    /** Since 3.4 a subscription carries a generation and a rack. */
    private final boolean hasGenerationAndRack = Arrays.stream(Subscription.class.getConstructors())
            .anyMatch(constructor -> constructor.getParameterCount() == 5);

    @Override
    Object subscription(String strategy, Member member) {
        // An eager member has given up everything before it joins: its claim is the user data alone.
        List<TopicPartition> owned = strategy.equals(COOPERATIVE_STICKY) && member.owned() != null
                ? KafkaClients.partitions(member.owned()) : Collections.emptyList();
        int generation = member.subGeneration() == null ? NO_GENERATION : member.subGeneration();
        Subscription subscription = subscription(member, userData(strategy, member), owned, generation);
        subscription.setGroupInstanceId(Optional.ofNullable(member.instance()));
        return subscription;
    }

    private Subscription subscription(Member member, ByteBuffer userData, List<TopicPartition> owned,
                                      int generation) {
        return hasGenerationAndRack
                ? new Subscription(member.topics(), userData, owned, generation, Optional.ofNullable(member.rack()))
                : new Subscription(member.topics(), userData, owned);
    }

    @Override
    ByteBuffer userData(Object subscription) {
        return ((Subscription) subscription).userData();
    }

    @Override
    @SuppressWarnings({"unchecked", "rawtypes"})
    Map<String, List<TopicPartition>> assign(Object assignor, Cluster cluster, Map<String, Object> subscriptions) {
        Map<String, Assignment> assignments = ((ConsumerPartitionAssignor) assignor)
                .assign(cluster, new GroupSubscription((Map) subscriptions)).groupAssignment();
        Map<String, List<TopicPartition>> lists = new HashMap<>();
        assignments.forEach((member, assignment) -> lists.put(member, assignment.partitions()));
        return lists;
    }

    @Override
    List<Pair> nextClaim(String strategy, Member member, List<TopicPartition> assigned, int generation)
            throws Exception {
        ConsumerPartitionAssignor assignor = (ConsumerPartitionAssignor) assignor(strategy);
        Assignment received = ConsumerProtocol.deserializeAssignment(
                ConsumerProtocol.serializeAssignment(new Assignment(assigned)));
        assignor.onAssignment(received, new ConsumerGroupMetadata(
                "oracle", generation, member.id(), Optional.ofNullable(member.instance())));
        List<TopicPartition> owned = new ArrayList<>();
        if (strategy.equals(COOPERATIVE_STICKY)) {
            owned.addAll(received.partitions());
            owned.sort(BY_TOPIC_AND_PARTITION);
        }
        ByteBuffer userData = assignor.subscriptionUserData(new HashSet<>(member.topics()));
        Subscription read = ConsumerProtocol.deserializeSubscription(
                ConsumerProtocol.serializeSubscription(subscription(member, userData, owned, generation)));
        return strategy.equals(COOPERATIVE_STICKY)
                ? KafkaClients.pairs(read.ownedPartitions())
                : UserData.readClaim(read.userData());
    }
}
