package assignlab.oracle.kafkatests;

import net.bytebuddy.implementation.bind.annotation.Argument;
import net.bytebuddy.implementation.bind.annotation.This;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.AbstractPartitionAssignor;
import org.apache.kafka.clients.consumer.internals.AbstractStickyAssignor;
import org.apache.kafka.common.TopicPartition;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What an assignor's method does instead of its own work: it asks the process under test. */
public final class Bridge {
    static Answers answers;
    /** How many assignments were made. */
    static int calls;

    private Bridge() {
    }

    public static Map<String, List<TopicPartition>> assign(@This AbstractPartitionAssignor assignor,
                                                           @Argument(0) Map<String, ?> partitionsPerTopic,
                                                           @Argument(1) Map<String, Subscription> subscriptions)
            throws Exception {
        Question question = Question.of(assignor, partitionsPerTopic, subscriptions);
        Map<String, List<TopicPartition>> assignment = answers.ask(assignor.name(), question);
        calls++;
        if (assignor instanceof AbstractStickyAssignor sticky)
            remember(sticky, question, assignment);
        return assignment;
    }

    /**
     * Puts into the object what the original would have left there and the tests look at: which
     * partitions wait for their old owner to give them up, and which moved from whom to whom.
     */
    private static void remember(AbstractStickyAssignor assignor, Question question,
                                 Map<String, List<TopicPartition>> assignment) throws Exception {
        Map<TopicPartition, String> transferring = null;
        if (question.allSubscriptionsEqual())
            transferring = question.everyClaimIsKept(assignment) ? new HashMap<>()
                    : transferring(assignor, question, assignment);
        Internals.setPartitionsTransferringOwnership(assignor, transferring);
        Internals.setMovements(assignor, question.moves(assignment));
    }

    /** What sticky gives and cooperative-sticky holds back, from the same claims, and for whom. */
    private static Map<TopicPartition, String> transferring(AbstractStickyAssignor assignor, Question question,
                                                            Map<String, List<TopicPartition>> assignment)
            throws Exception {
        boolean cooperative = assignor instanceof CooperativeStickyAssignor;
        String otherName = cooperative ? StickyAssignor.STICKY_ASSIGNOR_NAME
                : CooperativeStickyAssignor.COOPERATIVE_STICKY_ASSIGNOR_NAME;
        Map<String, List<TopicPartition>> other = answers.ask(otherName, question);
        Map<String, List<TopicPartition>> complete = cooperative ? other : assignment;
        Set<TopicPartition> given = new HashSet<>();
        (cooperative ? assignment : other).values().forEach(given::addAll);
        Map<TopicPartition, String> transferring = new HashMap<>();
        complete.forEach((member, partitions) -> {
            for (TopicPartition partition : partitions)
                if (!given.contains(partition))
                    transferring.put(partition, member);
        });
        return transferring;
    }
}
