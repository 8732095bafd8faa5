package assignlab.oracle.kafkaserver;

import assignlab.oracle.GroupDocument.Member;
import org.apache.kafka.common.Uuid;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The assignors of 3.7, whose interfaces later releases no longer have: called by reflection. */
final class Release37 implements EarlierRelease.Call {
    private final Object assignor;
    private final Method assign;
    private final Method members;
    private final Method partitions;
    private final Object spec;
    private final Object topics;

    Release37(String assignor, HeldTargets held, Map<String, Map<Uuid, Set<Integer>>> current)
            throws ReflectiveOperationException {
        this.assignor = type(assignor).getConstructor().newInstance();
        this.assign = type("PartitionAssignor").getMethod("assign", type("AssignmentSpec"), type("SubscribedTopicDescriber"));
        this.members = type("GroupAssignment").getMethod("members");
        this.partitions = type("MemberAssignment").getMethod("targetPartitions");
        Constructor<?> member = type("AssignmentMemberSpec")
                .getConstructor(Optional.class, Optional.class, Collection.class, Map.class);
        Map<String, Object> members = new HashMap<>();
        for (Member each : held.document.members()) {
            Set<Uuid> subscribed = new HashSet<>();
            for (String name : new HashSet<>(each.topics()))
                held.topics.topicMetadata(name).ifPresent(topic -> subscribed.add(topic.id()));
            members.put(each.id(), member.newInstance(Optional.ofNullable(each.instance()),
                    Optional.ofNullable(each.rack()), subscribed, current.get(each.id())));
        }
        this.spec = type("AssignmentSpec").getConstructor(Map.class).newInstance(members);
        Map<Uuid, Map<Integer, Set<String>>> racks = held.topics.rackSets();
        this.topics = Proxy.newProxyInstance(getClass().getClassLoader(),
                new Class<?>[] {type("SubscribedTopicDescriber")}, (proxy, method, arguments) ->
                        method.getName().equals("numPartitions")
                                ? held.topics.topicMetadata((Uuid) arguments[0]).map(known -> known.partitionCount()).orElse(-1)
                                : EarlierRelease.racks(racks, arguments));
    }

    static boolean onClassPath() {
        try {
            return type("AssignmentSpec") != null;
        } catch (ClassNotFoundException later) {
            return false;
        }
    }

    private static Class<?> type(String name) throws ClassNotFoundException {
        return Class.forName(EarlierRelease.named(name));
    }

    @Override
    public Object assign() throws Throwable {
        try {
            return assign.invoke(assignor, spec, topics);
        } catch (InvocationTargetException raised) {
            throw raised.getCause();
        }
    }

    @Override
    @SuppressWarnings("unchecked")
    public Map<String, Map<Uuid, Set<Integer>>> targets(Object assigned) {
        Map<String, Map<Uuid, Set<Integer>>> targets = new HashMap<>();
        try {
            for (Map.Entry<String, ?> entry : ((Map<String, ?>) members.invoke(assigned)).entrySet())
                targets.put(entry.getKey(), (Map<Uuid, Set<Integer>>) partitions.invoke(entry.getValue()));
        } catch (ReflectiveOperationException notAnAssignment) {
            throw new IllegalArgumentException(notAnAssignment);
        }
        return targets;
    }
}
