package assignlab.oracle.kafkaserver;

import assignlab.oracle.BadDocument;
import assignlab.oracle.GroupDocument;
import assignlab.oracle.GroupDocument.Member;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.MemberSubscription;
import org.apache.kafka.coordinator.group.api.assignor.PartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;

import java.util.AbstractSet;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The assignors of an earlier release (3.7 on), called with what its TargetAssignmentBuilder would hand to
 * them: a HashMap of members, topic ids resolved from a HashSet of names, and claims as they are read
 * from records. From 3.8 on the interfaces are those of the newest release; see {@link Release37}.
 */
public final class EarlierRelease implements Computation {
    /** An assignor with its input. */
    interface Call {
        Object assign() throws Throwable;

        Map<String, Map<Uuid, Set<Integer>>> targets(Object assigned);
    }

    private final HeldTargets held;
    private final Map<String, Map<Uuid, Set<Integer>>> current = new HashMap<>();
    private final Call call;
    private final Map<String, Map<Uuid, Set<Integer>>> first;

    public static void main(String[] args) throws Exception {
        KafkaServer.hold(EarlierRelease::new);
    }

    EarlierRelease(GroupDocument document) throws Exception {
        this.held = new HeldTargets(document);
        for (Member member : document.members())
            current.put(member.id(), Collections.unmodifiableMap(read(held.claims.getOrDefault(member.id(), Map.of()))));
        String assignor = assignorOf(document);
        this.call = Release37.onClassPath() ? new Release37(assignor, held, current) : new WithGroupSpec(assignor);
        try {
            this.first = call.targets(call.assign());
        } catch (Exception | Error raised) {
            throw raised;
        } catch (Throwable raised) {
            throw new IllegalStateException(raised);
        }
    }

    static String named(String assignorClass) {
        return "org.apache.kafka.coordinator.group.assignor." + assignorClass;
    }

    private static String assignorOf(GroupDocument document) throws BadDocument {
        return switch (document.strategyWithoutVersion()) {
            case "server-uniform" -> "UniformAssignor";
            case "server-range" -> "RangeAssignor";
            case "server-simple" -> "SimpleAssignor";
            default -> throw new BadDocument("no strategy " + document.strategy());
        };
    }

    /** As Assignment.fromRecord of every release: maps and sets of default make. */
    private static Map<Uuid, Set<Integer>> read(Map<Uuid, ? extends Collection<Integer>> target) {
        return target.entrySet().stream().collect(
                Collectors.toMap(Map.Entry::getKey, entry -> new HashSet<>(new ArrayList<>(entry.getValue()))));
    }

    /** {@code racksForPartition(topic, partition)}: an empty set where nothing is known. */
    static Set<String> racks(Map<Uuid, Map<Integer, Set<String>>> racks, Object... partition) {
        return racks.getOrDefault((Uuid) partition[0], Map.of())
                .getOrDefault((Integer) partition[1], Collections.emptySet());
    }

    @Override
    public HeldTargets held() {
        return held;
    }

    @Override
    public Object assign() throws Throwable {
        return call.assign();
    }

    @Override
    public Map<String, Map<Uuid, Set<Integer>>> targets(Object assigned) {
        return call.targets(assigned);
    }

    @Override
    public Map<String, Map<Uuid, Set<Integer>>> first() {
        return first;
    }

    /** Whose target is the same gets no record and keeps what it had. */
    @Override
    public Map<String, Map<Uuid, Set<Integer>>> next() {
        Map<String, Map<Uuid, Set<Integer>>> next = new HashMap<>();
        current.forEach((member, had) -> {
            Map<Uuid, Set<Integer>> target = first.getOrDefault(member, Map.of());
            next.put(member, target.equals(had) ? had : read(target));
        });
        return next;
    }

    /** What a member subscribes to and holds. */
    private record Subscribed(Member member, TopicIds ids) implements MemberSubscription {
        @Override
        public Optional<String> rackId() {
            return Optional.ofNullable(member.rack());
        }

        @Override
        public Optional<String> instanceId() {
            return Optional.ofNullable(member.instance());
        }

        @Override
        public Set<Uuid> subscribedTopicIds() {
            return ids;
        }
    }

    /** The ids of the topics that exist, walked as the set of names is. */
    private static final class TopicIds extends AbstractSet<Uuid> {
        private final List<Uuid> walked = new ArrayList<>();
        private final Set<Uuid> ids = new HashSet<>();
        private final Set<String> names;

        TopicIds(List<String> named, ClusterTopics topics) {
            names = new HashSet<>(named);
            for (String name : names)
                topics.topicMetadata(name).ifPresent(topic -> walked.add(topic.id()));
            ids.addAll(walked);
        }

        @Override
        public Iterator<Uuid> iterator() {
            return walked.iterator();
        }

        @Override
        public boolean contains(Object id) {
            return ids.contains(id);
        }

        /** As the original's: names that no topic has are counted. */
        @Override
        public int size() {
            return names.size();
        }
    }

    /** From 3.8 on. */
    private final class WithGroupSpec implements Call, GroupSpec, SubscribedTopicDescriber {
        private final PartitionAssignor assignor;
        private final Map<String, Subscribed> members = new HashMap<>();
        private final Map<String, MemberAssignment> assignments = new HashMap<>();
        private final SubscriptionType type;
        private final Map<Uuid, Map<Integer, Set<String>>> racks = held.topics.rackSets();

        WithGroupSpec(String assignor) throws ReflectiveOperationException {
            this.assignor = (PartitionAssignor) Class.forName(named(assignor)).getConstructor().newInstance();
            Map<String, Integer> subscribers = new HashMap<>();
            for (Member member : held.document.members()) {
                members.put(member.id(), new Subscribed(member, new TopicIds(member.topics(), held.topics)));
                assignments.put(member.id(), () -> current.get(member.id()));
                for (String topic : member.topics())
                    subscribers.merge(topic, 1, Integer::sum);
            }
            this.type = subscribers.values().stream().allMatch(count -> count == members.size())
                    ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
        }

        @Override
        public Object assign() {
            return assignor.assign(this, this);
        }

        @Override
        public Map<String, Map<Uuid, Set<Integer>>> targets(Object assigned) {
            Map<String, Map<Uuid, Set<Integer>>> targets = new HashMap<>();
            ((GroupAssignment) assigned).members()
                    .forEach((member, assignment) -> targets.put(member, assignment.partitions()));
            return targets;
        }

        @Override
        public Collection<String> memberIds() {
            return members.keySet();
        }

        @Override
        public SubscriptionType subscriptionType() {
            return type;
        }

        @Override
        public boolean isPartitionAssigned(Uuid topic, int partition) {
            return held.owners.getOrDefault(topic, Map.of()).containsKey(partition);
        }

        @Override
        public boolean isPartitionAssignable(Uuid topic, int partition) {
            return true;
        }

        @Override
        public MemberSubscription memberSubscription(String member) {
            return members.get(member);
        }

        @Override
        public MemberAssignment memberAssignment(String member) {
            return assignments.get(member);
        }

        @Override
        public int numPartitions(Uuid topic) {
            return held.topics.topicMetadata(topic).map(known -> known.partitionCount()).orElse(-1);
        }

        @Override
        public Set<String> racksForPartition(Uuid topic, int partition) {
            return EarlierRelease.racks(racks, topic, partition);
        }
    }
}
