package assignlab.oracle.kafka08;

import assignlab.oracle.GroupDocument.Member;
import kafka.consumer.AssignmentContext;
import sun.misc.Unsafe;

import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The {@code AssignmentContext} of every consumer of one group. The constructor reads and parses all
 * registrations, about a millisecond each, and each consumer would do it again. Here it runs once
 * for each distinct list of topics; a further consumer with the same list gets a context of the same
 * class whose fields are shared, but for its id and its own threads, which the original computes.
 */
final class Contexts {
    private final String group;
    private final Release release;
    private final Map<List<String>, AssignmentContext> made = new HashMap<>();

    Contexts(String group, Release release) {
        this.group = group;
        this.release = release;
    }

    AssignmentContext of(Member member) throws ReflectiveOperationException {
        AssignmentContext like = made.get(member.topics());
        if (like == null) {
            AssignmentContext context = release.context(group, member.id());
            made.put(member.topics(), context);
            return context;
        }
        AssignmentContext context = (AssignmentContext) unsafe().allocateInstance(AssignmentContext.class);
        set(context, "consumerId", member.id());
        set(context, "myTopicThreadIds", release.topicThreadIds(group, member.id()));
        set(context, "partitionsForTopic", like.partitionsForTopic());
        set(context, "consumersForTopic", like.consumersForTopic());
        set(context, "consumers", like.consumers());
        return context;
    }

    private static void set(AssignmentContext context, String name, Object value)
            throws ReflectiveOperationException {
        Field field = AssignmentContext.class.getDeclaredField(name);
        field.setAccessible(true);
        field.set(context, value);
    }

    private static Unsafe unsafe() throws ReflectiveOperationException {
        Field field = Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        return (Unsafe) field.get(null);
    }
}
