package assignlab.oracle.kafka;

import assignlab.oracle.GroupDocument.Member;
import assignlab.oracle.GroupDocument.Pair;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.TopicPartition;

import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** kafka-clients before 2.4: the internal PartitionAssignor, gone from later releases, hence reflection. */
final class OlderClient extends Client {
    private static final String INTERNALS = "org.apache.kafka.clients.consumer.internals.";

    private final Class<?> subscriptionClass = Class.forName(INTERNALS + "PartitionAssignor$Subscription");
    private final Class<?> assignmentClass = Class.forName(INTERNALS + "PartitionAssignor$Assignment");
    private final Constructor<?> subscriptionWithoutData = subscriptionClass.getConstructor(List.class);
    private final Constructor<?> subscriptionWithData =
            subscriptionClass.getConstructor(List.class, ByteBuffer.class);
    private final Constructor<?> newAssignment = assignmentClass.getConstructor(List.class);
    private final Method userDataOf = subscriptionClass.getMethod("userData");
    private final Method partitionsOf = assignmentClass.getMethod("partitions");

    private final Class<?> assignorClass = Class.forName(INTERNALS + "PartitionAssignor");
    private final Method assign = assignorClass.getMethod("assign", Cluster.class, Map.class);
    private final Method subscription = assignorClass.getMethod("subscription", Set.class);
    /** Since 2.3 the callback also brings the generation. */
    private final Method onAssignment = Arrays.stream(assignorClass.getMethods())
            .filter(method -> method.getName().equals("onAssignment"))
            .max((one, other) -> one.getParameterCount() - other.getParameterCount()).orElseThrow();

    private final Class<?> protocol = Class.forName(INTERNALS + "ConsumerProtocol");
    private final Method writeSubscription = protocol.getMethod("serializeSubscription", subscriptionClass);
    private final Method readSubscription = protocol.getMethod("deserializeSubscription", ByteBuffer.class);
    private final Method writeAssignment = protocol.getMethod("serializeAssignment", assignmentClass);
    private final Method readAssignment = protocol.getMethod("deserializeAssignment", ByteBuffer.class);

    OlderClient() throws ReflectiveOperationException {
    }

    static boolean isOnClasspath() {
        try {
            Class.forName("org.apache.kafka.clients.consumer.ConsumerPartitionAssignor");
            return false;
        } catch (ClassNotFoundException before24) {
            return true;
        }
    }

    @Override
    Object subscription(String strategy, Member member) {
        ByteBuffer userData = userData(strategy, member);
        try {
            return userData == null ? subscriptionWithoutData.newInstance(member.topics())
                    : subscriptionWithData.newInstance(member.topics(), userData);
        } catch (ReflectiveOperationException unlikeThisRelease) {
            throw new IllegalStateException(unlikeThisRelease);
        }
    }

    @Override
    ByteBuffer userData(Object subscription) {
        try {
            return (ByteBuffer) userDataOf.invoke(subscription);
        } catch (ReflectiveOperationException unlikeThisRelease) {
            throw new IllegalStateException(unlikeThisRelease);
        }
    }

    @Override
    Map<String, List<TopicPartition>> assign(Object assignor, Cluster cluster, Map<String, Object> subscriptions)
            throws ReflectiveOperationException {
        Map<?, ?> assignments = (Map<?, ?>) assign.invoke(assignor, cluster, subscriptions);
        Map<String, List<TopicPartition>> lists = new HashMap<>();
        for (Map.Entry<?, ?> entry : assignments.entrySet())
            lists.put((String) entry.getKey(), partitions(entry.getValue()));
        return lists;
    }

    @SuppressWarnings("unchecked")
    private List<TopicPartition> partitions(Object assignment) throws ReflectiveOperationException {
        return (List<TopicPartition>) partitionsOf.invoke(assignment);
    }

    @Override
    List<Pair> nextClaim(String strategy, Member member, List<TopicPartition> assigned, int generation)
            throws Exception {
        Object assignor = assignor(strategy);
        Object received = readAssignment.invoke(null,
                writeAssignment.invoke(null, newAssignment.newInstance(assigned)));
        if (onAssignment.getParameterCount() == 1)
            onAssignment.invoke(assignor, received);
        else
            onAssignment.invoke(assignor, received, generation);
        Object sent = subscription.invoke(assignor, new HashSet<>(member.topics()));
        Object read = readSubscription.invoke(null, writeSubscription.invoke(null, sent));
        return UserData.readClaim(userData(read));
    }
}
