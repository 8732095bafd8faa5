package assignlab.oracle.kafkaserver;

import assignlab.oracle.BadDocument;
import assignlab.oracle.GroupDocument;
import assignlab.oracle.GroupDocument.Member;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.PartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.SimpleAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupTargetAssignmentMemberKey;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupTargetAssignmentMemberValue;
import org.apache.kafka.coordinator.group.generated.ShareGroupTargetAssignmentMemberKey;
import org.apache.kafka.coordinator.group.generated.ShareGroupTargetAssignmentMemberValue;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.SubscriptionCount;
import org.apache.kafka.coordinator.group.modern.TargetAssignmentBuilder;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember;
import org.apache.kafka.coordinator.group.modern.share.ShareGroupMember;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/** One group whose target assignment is computed as the coordinator does it. */
final class Target implements Computation {
    private static final String GROUP = "group";
    private static final int EPOCH = 1;

    /** The assignor, and what the builder hands to it. */
    private static final class Observed implements PartitionAssignor {
        private final PartitionAssignor original;
        private GroupSpec spec;
        private SubscribedTopicDescriber topics;

        Observed(PartitionAssignor original) {
            this.original = original;
        }

        @Override
        public String name() {
            return original.name();
        }

        @Override
        public GroupAssignment assign(GroupSpec spec, SubscribedTopicDescriber topics) {
            this.spec = spec;
            this.topics = topics;
            return original.assign(spec, topics);
        }
    }

    private final HeldTargets held;
    private final Map<String, Assignment> current = new HashMap<>();
    private final Observed assignor;
    private final TargetAssignmentBuilder.TargetAssignmentResult result;

    Target(GroupDocument document) throws BadDocument {
        this.held = new HeldTargets(document);
        this.assignor = new Observed(switch (document.strategyWithoutVersion()) {
            case "server-uniform" -> new UniformAssignor();
            case "server-range" -> new RangeAssignor();
            case "server-simple" -> new SimpleAssignor();
            default -> throw new BadDocument("no strategy " + document.strategy());
        });
        held.claims.forEach((member, claim) -> current.put(member, Assignment.fromRecord(record(claim))));
        this.result = document.strategyWithoutVersion().equals("server-simple") ? shareGroup() : consumerGroup();
    }

    /** The claim as the coordinator holds it: read from a record of the target assignment. */
    private static ConsumerGroupTargetAssignmentMemberValue record(Map<Uuid, LinkedHashSet<Integer>> claim) {
        ConsumerGroupTargetAssignmentMemberValue record = new ConsumerGroupTargetAssignmentMemberValue();
        claim.forEach((id, partitions) -> record.topicPartitions().add(
                new ConsumerGroupTargetAssignmentMemberValue.TopicPartition()
                        .setTopicId(id).setPartitions(new ArrayList<>(partitions))));
        return record;
    }

    private TargetAssignmentBuilder.TargetAssignmentResult consumerGroup() {
        // The builder puts the members into a HashMap in the order of this map.
        Map<String, ConsumerGroupMember> members = new LinkedHashMap<>();
        for (Member member : held.document.members())
            members.put(member.id(), new ConsumerGroupMember.Builder(member.id())
                    .setInstanceId(member.instance()).setRackId(member.rack())
                    .setSubscribedTopicNames(member.topics()).build());
        return prepared(new TargetAssignmentBuilder.ConsumerTargetAssignmentBuilder(GROUP, EPOCH, assignor))
                .withMembers(members).build();
    }

    private TargetAssignmentBuilder.TargetAssignmentResult shareGroup() {
        Map<String, ShareGroupMember> members = new LinkedHashMap<>();
        for (Member member : held.document.members())
            members.put(member.id(), new ShareGroupMember.Builder(member.id())
                    .setRackId(member.rack()).setSubscribedTopicNames(member.topics()).build());
        return prepared(new TargetAssignmentBuilder.ShareTargetAssignmentBuilder(GROUP, EPOCH, assignor))
                .withMembers(members).build();
    }

    private <B extends TargetAssignmentBuilder<?, B>> B prepared(B builder) {
        Map<String, SubscriptionCount> subscribers = new HashMap<>();
        for (Member member : held.document.members())
            for (String topic : member.topics())
                subscribers.compute(topic, SubscriptionCount::incNameCount);
        return builder.withTime(Time.SYSTEM)
                .withSubscriptionType(ConsumerGroup.subscriptionType(
                        Map.of(), subscribers, held.document.members().size()))
                .withTargetAssignment(current)
                .withInvertedTargetAssignment(held.owners)
                .withMetadataImage(held.topics);
    }

    @Override
    public HeldTargets held() {
        return held;
    }

    @Override
    public Object assign() {
        return assignor.original.assign(assignor.spec, assignor.topics).members();
    }

    @Override
    @SuppressWarnings("unchecked")
    public Map<String, Map<Uuid, Set<Integer>>> targets(Object assigned) {
        Map<String, Map<Uuid, Set<Integer>>> targets = new HashMap<>();
        ((Map<String, MemberAssignment>) assigned)
                .forEach((member, assignment) -> targets.put(member, assignment.partitions()));
        return targets;
    }

    @Override
    public Map<String, Map<Uuid, Set<Integer>>> first() {
        return targets(result.targetAssignment());
    }

    /** Who has no record keeps what it had. */
    @Override
    public Map<String, Map<Uuid, Set<Integer>>> next() {
        Map<String, Map<Uuid, Set<Integer>>> next = new HashMap<>();
        current.forEach((member, had) -> next.put(member, had.partitions()));
        for (CoordinatorRecord record : result.records()) {
            if (record.key() instanceof ConsumerGroupTargetAssignmentMemberKey key)
                next.put(key.memberId(), Assignment.fromRecord(
                        (ConsumerGroupTargetAssignmentMemberValue) record.value().message()).partitions());
            else if (record.key() instanceof ShareGroupTargetAssignmentMemberKey key)
                next.put(key.memberId(), Assignment.fromRecord(
                        (ShareGroupTargetAssignmentMemberValue) record.value().message()).partitions());
        }
        return next;
    }
}
