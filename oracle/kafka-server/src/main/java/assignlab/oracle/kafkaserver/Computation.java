package assignlab.oracle.kafkaserver;

import org.apache.kafka.common.Uuid;

import java.util.Map;
import java.util.Set;

/** One target assignment, computed by one release's assignor. */
interface Computation {
    HeldTargets held();

    /** The assignor's own call on prepared input, once more. */
    Object assign() throws Throwable;

    /** What such a call gave. */
    Map<String, Map<Uuid, Set<Integer>>> targets(Object assigned);

    /** What the first call gave, whose exception is the answer if it threw. */
    Map<String, Map<Uuid, Set<Integer>>> first();

    /** What the members hold next, as the assignor will walk it. */
    Map<String, Map<Uuid, Set<Integer>>> next();
}
