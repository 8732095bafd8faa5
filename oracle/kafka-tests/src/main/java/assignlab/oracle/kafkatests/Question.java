package assignlab.oracle.kafkatests;

import assignlab.oracle.kafkatests.Internals.Move;
import com.fasterxml.jackson.core.JsonGenerator;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.internals.AbstractPartitionAssignor;
import org.apache.kafka.clients.consumer.internals.AbstractStickyAssignor;
import org.apache.kafka.clients.consumer.internals.AbstractStickyAssignor.MemberData;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The arguments of one call as a group document: nothing is added, and nothing left out but racks that
 * play no part. The object's own switch {@code preferRackAwareLogic} has no place in it; the tests that set
 * it expect what they expect without.
 *
 * @param claims what the sticky assignors read from each member, in the order of the members
 * @param racks  per topic, per partition the racks of its replicas; empty where no partition or no member has one
 */
record Question(Map<String, Integer> partitions, Map<String, List<List<String>>> racks,
                Map<String, Subscription> subscriptions, Map<String, MemberData> claims) {
    static Question of(AbstractPartitionAssignor assignor, Map<String, ?> partitionsPerTopic,
                       Map<String, Subscription> subscriptions) throws ReflectiveOperationException {
        Map<String, Integer> partitions = new LinkedHashMap<>();
        Map<String, List<List<String>>> racks = new HashMap<>();
        for (Map.Entry<String, ?> topic : partitionsPerTopic.entrySet()) {
            if (topic.getValue() instanceof List<?> infos) {
                partitions.put(topic.getKey(), infos.size());
                racks.put(topic.getKey(), racks(infos));
            } else {
                partitions.put(topic.getKey(), (Integer) topic.getValue());
            }
        }
        // Without racks on both sides they play no part; a million partitions' racks take seconds to cross.
        if (subscriptions.values().stream().noneMatch(subscription -> subscription.rackId().isPresent())
                || racks.values().stream().flatMap(List::stream).flatMap(List::stream).allMatch(rack -> rack == null))
            racks.clear();
        Map<String, MemberData> claims = new HashMap<>();
        if (assignor instanceof AbstractStickyAssignor sticky)
            for (Map.Entry<String, Subscription> member : subscriptions.entrySet())
                claims.put(member.getKey(), Internals.memberData(sticky, member.getValue()));
        return new Question(partitions, racks, subscriptions, claims);
    }

    private static List<List<String>> racks(List<?> infos) {
        List<List<String>> racks = new ArrayList<>();
        for (Object info : infos)
            racks.add(Arrays.stream(((PartitionInfo) info).replicas()).map(Node::rack).toList());
        return racks;
    }

    /** Whether every claimed partition went to the member that claims it, and nobody else does. */
    boolean everyClaimIsKept(Map<String, List<TopicPartition>> assignment) {
        Map<TopicPartition, Set<String>> claimants = claimants();
        for (Map.Entry<String, List<TopicPartition>> member : assignment.entrySet())
            for (TopicPartition partition : member.getValue())
                claimants.remove(partition, Set.of(member.getKey()));
        return claimants.isEmpty();
    }

    private Map<TopicPartition, Set<String>> claimants() {
        Map<TopicPartition, Set<String>> claimants = new HashMap<>();
        claims.forEach((member, claim) -> {
            for (TopicPartition partition : claim.partitions)
                claimants.merge(partition, Set.of(member), Question::union);
        });
        return claimants;
    }

    private static Set<String> union(Set<String> some, Set<String> others) {
        Set<String> all = new HashSet<>(some);
        all.addAll(others);
        return all;
    }

    /** As the assignor decides it: compared with the first member that subscribes to anything. */
    boolean allSubscriptionsEqual() {
        Set<String> first = new HashSet<>();
        for (Subscription subscription : subscriptions.values()) {
            if (first.isEmpty())
                first.addAll(subscription.topics());
            else if (subscription.topics().size() != first.size() || !first.containsAll(subscription.topics()))
                return false;
        }
        return true;
    }

    /** Partitions that one member alone claimed, still subscribes to, and did not get again. */
    List<Move> moves(Map<String, List<TopicPartition>> assignment) {
        Map<TopicPartition, Set<String>> claimants = claimants();
        List<Move> moves = new ArrayList<>();
        assignment.forEach((member, given) -> {
            for (TopicPartition partition : given) {
                Set<String> before = claimants.getOrDefault(partition, Set.of());
                if (before.size() != 1 || before.contains(member))
                    continue;
                String from = before.iterator().next();
                if (subscriptions.get(from).topics().contains(partition.topic()))
                    moves.add(new Move(partition, from, member));
            }
        });
        return moves;
    }

    /** Writes the group document; the members in the order in which the assignor's map has them. */
    void write(JsonGenerator json, String strategy) throws IOException {
        json.writeStartObject();
        json.writeStringField("strategy", strategy);
        json.writeArrayFieldStart("members");
        for (Map.Entry<String, Subscription> member : subscriptions.entrySet())
            writeMember(json, member.getKey(), member.getValue());
        json.writeEndArray();
        json.writeArrayFieldStart("topics");
        for (Map.Entry<String, Integer> topic : partitions.entrySet())
            writeTopic(json, topic.getKey(), topic.getValue());
        json.writeEndArray();
        json.writeEndObject();
    }

    private void writeMember(JsonGenerator json, String id, Subscription subscription) throws IOException {
        json.writeStartObject();
        json.writeStringField("id", id);
        json.writeArrayFieldStart("topics");
        for (String topic : subscription.topics())
            json.writeString(topic);
        json.writeEndArray();
        if (subscription.groupInstanceId().isPresent())
            json.writeStringField("instance", subscription.groupInstanceId().get());
        if (subscription.rackId().isPresent())
            json.writeStringField("rack", subscription.rackId().get());
        if (claims.containsKey(id)) {
            json.writeArrayFieldStart("owned");
            for (TopicPartition partition : claims.get(id).partitions) {
                json.writeStartArray();
                json.writeString(partition.topic());
                json.writeNumber(partition.partition());
                json.writeEndArray();
            }
            json.writeEndArray();
            if (claims.get(id).generation.isPresent())
                json.writeNumberField("generation", claims.get(id).generation.get());
        }
        if (subscription.generationId().isPresent())
            json.writeNumberField("sub_generation", subscription.generationId().get());
        json.writeEndObject();
    }

    private void writeTopic(JsonGenerator json, String name, int count) throws IOException {
        json.writeStartObject();
        json.writeStringField("name", name);
        json.writeNumberField("partitions", count);
        if (racks.containsKey(name)) {
            json.writeArrayFieldStart("racks");
            for (List<String> replicas : racks.get(name)) {
                json.writeStartArray();
                for (String rack : replicas)
                    json.writeString(rack);
                json.writeEndArray();
            }
            json.writeEndArray();
        }
        json.writeEndObject();
    }
}
