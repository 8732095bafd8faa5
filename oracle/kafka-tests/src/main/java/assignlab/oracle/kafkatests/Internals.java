package assignlab.oracle.kafkatests;

import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.internals.AbstractStickyAssignor;
import org.apache.kafka.clients.consumer.internals.AbstractStickyAssignor.MemberData;
import org.apache.kafka.common.TopicPartition;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.List;
import java.util.Map;

/** The members of Kafka's assignors that are not public. */
final class Internals {
    private static final Field TRANSFERRING = field(AbstractStickyAssignor.class, "partitionsTransferringOwnership");
    private static final Field MOVEMENTS = field(AbstractStickyAssignor.class, "partitionMovements");
    private static final Method MEMBER_DATA =
            method(AbstractStickyAssignor.class, "memberData", Subscription.class);
    private static final Method MOVE = method(MOVEMENTS.getType(), "movePartition",
            TopicPartition.class, String.class, String.class);

    /** A partition that a member had to give up although it could have kept it. */
    record Move(TopicPartition partition, String from, String to) {
    }

    private Internals() {
    }

    /** The claim as this kind of assignor reads it, from the user data or the subscription. */
    static MemberData memberData(AbstractStickyAssignor assignor, Subscription subscription)
            throws ReflectiveOperationException {
        return (MemberData) MEMBER_DATA.invoke(assignor, subscription);
    }

    static void setPartitionsTransferringOwnership(AbstractStickyAssignor assignor, Map<TopicPartition, String> owners)
            throws ReflectiveOperationException {
        TRANSFERRING.set(assignor, owners);
    }

    static void setMovements(AbstractStickyAssignor assignor, List<Move> moves) throws ReflectiveOperationException {
        Constructor<?> none = MOVEMENTS.getType().getDeclaredConstructor();
        none.setAccessible(true);
        Object movements = none.newInstance();
        for (Move move : moves)
            MOVE.invoke(movements, move.partition(), move.from(), move.to());
        MOVEMENTS.set(assignor, movements);
    }

    private static Field field(Class<?> type, String name) {
        try {
            Field field = type.getDeclaredField(name);
            field.setAccessible(true);
            return field;
        } catch (NoSuchFieldException missing) {
            throw new IllegalStateException(missing);
        }
    }

    private static Method method(Class<?> type, String name, Class<?>... parameters) {
        try {
            Method method = type.getDeclaredMethod(name, parameters);
            method.setAccessible(true);
            return method;
        } catch (NoSuchMethodException missing) {
            throw new IllegalStateException(missing);
        }
    }
}
