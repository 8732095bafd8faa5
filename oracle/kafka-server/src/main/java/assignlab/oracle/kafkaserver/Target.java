package assignlab.oracle.kafkaserver;

import assignlab.oracle.BadDocument;
import assignlab.oracle.GroupDocument;
import assignlab.oracle.GroupDocument.Member;
import assignlab.oracle.GroupDocument.Pair;
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
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** One group whose target assignment is computed as the coordinator does it. */
final class Target {
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

    private final GroupDocument document;
    private final ClusterTopics topics;
    private final Map<Uuid, String> claimedNames = new HashMap<>();
    private final Map<String, Assignment> current = new HashMap<>();
    private final Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
    private final Observed assignor;
    private final boolean share;

    Target(GroupDocument document) throws BadDocument {
        this.document = document;
        this.topics = new ClusterTopics(document.topics());
        this.assignor = new Observed(switch (document.strategyWithoutVersion()) {
            case "server-uniform" -> new UniformAssignor();
            case "server-range" -> new RangeAssignor();
            case "server-simple" -> new SimpleAssignor();
            default -> throw new BadDocument("no strategy " + document.strategy());
        });
        this.share = document.strategyWithoutVersion().equals("server-simple");
        for (Member member : document.members())
            if (member.owned() != null)
                take(member);
    }

    /** The claim as the coordinator holds it: read from a record of the target assignment. */
    private void take(Member member) {
        Map<Uuid, LinkedHashSet<Integer>> claim = new LinkedHashMap<>();
        for (Pair pair : member.owned()) {
            Uuid id = topics.claimed(pair.topic());
            claimedNames.putIfAbsent(id, pair.topic());
            claim.computeIfAbsent(id, topic -> new LinkedHashSet<>()).add(pair.partition());
            owners.computeIfAbsent(id, topic -> new HashMap<>()).put(pair.partition(), member.id());
        }
        ConsumerGroupTargetAssignmentMemberValue record = new ConsumerGroupTargetAssignmentMemberValue();
        claim.forEach((id, partitions) -> record.topicPartitions().add(
                new ConsumerGroupTargetAssignmentMemberValue.TopicPartition()
                        .setTopicId(id).setPartitions(new ArrayList<>(partitions))));
        current.put(member.id(), Assignment.fromRecord(record));
    }

    TargetAssignmentBuilder.TargetAssignmentResult build() {
        return share ? shareGroup() : consumerGroup();
    }

    private TargetAssignmentBuilder.TargetAssignmentResult consumerGroup() {
        // The builder puts the members into a HashMap in the order of this map.
        Map<String, ConsumerGroupMember> members = new LinkedHashMap<>();
        for (Member member : document.members())
            members.put(member.id(), new ConsumerGroupMember.Builder(member.id())
                    .setInstanceId(member.instance()).setRackId(member.rack())
                    .setSubscribedTopicNames(member.topics()).build());
        return prepared(new TargetAssignmentBuilder.ConsumerTargetAssignmentBuilder(GROUP, EPOCH, assignor))
                .withMembers(members).build();
    }

    private TargetAssignmentBuilder.TargetAssignmentResult shareGroup() {
        Map<String, ShareGroupMember> members = new LinkedHashMap<>();
        for (Member member : document.members())
            members.put(member.id(), new ShareGroupMember.Builder(member.id())
                    .setRackId(member.rack()).setSubscribedTopicNames(member.topics()).build());
        return prepared(new TargetAssignmentBuilder.ShareTargetAssignmentBuilder(GROUP, EPOCH, assignor))
                .withMembers(members).build();
    }

    private <B extends TargetAssignmentBuilder<?, B>> B prepared(B builder) {
        Map<String, SubscriptionCount> subscribers = new HashMap<>();
        for (Member member : document.members())
            for (String topic : member.topics())
                subscribers.compute(topic, SubscriptionCount::incNameCount);
        return builder.withTime(Time.SYSTEM)
                .withSubscriptionType(ConsumerGroup.subscriptionType(
                        Map.of(), subscribers, document.members().size()))
                .withTargetAssignment(current)
                .withInvertedTargetAssignment(owners)
                .withMetadataImage(topics);
    }

    /** The assignor alone, once more, on what the builder handed to it. */
    Map<String, MemberAssignment> assignAgain() {
        return assignor.original.assign(assignor.spec, assignor.topics).members();
    }

    /** Sets have no order: by topic name, then partition; a member without entry has nothing. */
    Map<String, List<Pair>> sorted(Map<String, MemberAssignment> assigned) {
        Map<String, List<Pair>> lists = new LinkedHashMap<>();
        for (Member member : document.members()) {
            MemberAssignment assignment = assigned.get(member.id());
            List<Pair> list = assignment == null ? new ArrayList<>() : pairs(assignment.partitions());
            list.sort(Comparator.comparing(Pair::topic).thenComparing(Pair::partition));
            lists.put(member.id(), list);
        }
        return lists;
    }

    /** What the members hold next, as the assignor will read it: who has no record keeps what it had. */
    Map<String, List<Pair>> next(List<CoordinatorRecord> records) {
        Map<String, Assignment> written = new HashMap<>();
        for (CoordinatorRecord record : records) {
            if (record.key() instanceof ConsumerGroupTargetAssignmentMemberKey key)
                written.put(key.memberId(), Assignment.fromRecord(
                        (ConsumerGroupTargetAssignmentMemberValue) record.value().message()));
            else if (record.key() instanceof ShareGroupTargetAssignmentMemberKey key)
                written.put(key.memberId(), Assignment.fromRecord(
                        (ShareGroupTargetAssignmentMemberValue) record.value().message()));
        }
        Map<String, List<Pair>> lists = new LinkedHashMap<>();
        for (Member member : document.members()) {
            Assignment had = current.getOrDefault(member.id(), Assignment.EMPTY);
            lists.put(member.id(), pairs(written.getOrDefault(member.id(), had).partitions()));
        }
        return lists;
    }

    private List<Pair> pairs(Map<Uuid, Set<Integer>> partitions) {
        List<Pair> pairs = new ArrayList<>();
        partitions.forEach((id, ofTopic) -> {
            String name = topics.nameOf(id, claimedNames);
            ofTopic.forEach(partition -> pairs.add(new Pair(name, partition)));
        });
        return pairs;
    }
}
