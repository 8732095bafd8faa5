package assignlab.oracle.kafka;

import assignlab.oracle.BadDocument;
import assignlab.oracle.GroupDocument.Member;
import assignlab.oracle.GroupDocument.Pair;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.TopicPartition;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;

/** The part of the consumer API that changed in 2.4: how subscriptions go in and claims come out. */
abstract class Client {
    static final String EAGER_STICKY = "sticky";
    static final String COOPERATIVE_STICKY = "cooperative-sticky";

    private static final Map<String, String> CLASSES = Map.of(
            "range", "RangeAssignor",
            "roundrobin", "RoundRobinAssignor",
            EAGER_STICKY, "StickyAssignor",
            COOPERATIVE_STICKY, "CooperativeStickyAssignor");

    /** A fresh assignor: it keeps state (maxGeneration among others) from call to call. */
    Object assignor(String strategy) throws Exception {
        String name = CLASSES.get(strategy);
        if (name == null)
            throw new BadDocument("no strategy " + strategy + " in kafka-clients");
        return Class.forName("org.apache.kafka.clients.consumer." + name).getDeclaredConstructor().newInstance();
    }

    boolean sendsClaims(String strategy) {
        return strategy.equals(EAGER_STICKY) || strategy.equals(COOPERATIVE_STICKY);
    }

    /** The user data that carries this member's claim or generation, or null where it sends none. */
    static ByteBuffer userData(String strategy, Member member) {
        if (strategy.equals(EAGER_STICKY) && member.owned() != null)
            return UserData.claim(member.owned(), member.generation());
        if (strategy.equals(COOPERATIVE_STICKY) && member.generation() != null)
            return UserData.generation(member.generation());
        return null;
    }

    /** The subscription object of this release, as the group leader reads it off the wire. */
    abstract Object subscription(String strategy, Member member);

    abstract ByteBuffer userData(Object subscription);

    abstract Map<String, List<TopicPartition>> assign(Object assignor, Cluster cluster,
                                                      Map<String, Object> subscriptions) throws Throwable;

    /** Assignment over the wire, onAssignment, user data, subscription over the wire. */
    abstract List<Pair> nextClaim(String strategy, Member member, List<TopicPartition> assigned,
                                  int generation) throws Throwable;
}
