package assignlab.oracle.kafkatests;

import net.bytebuddy.agent.builder.AgentBuilder;
import net.bytebuddy.description.type.TypeDescription;
import net.bytebuddy.implementation.MethodDelegation;
import net.bytebuddy.pool.TypePool;

import java.lang.instrument.Instrumentation;
import java.util.Map;

import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;

/** Replaces the body of the method in which each of Kafka's assignors makes its assignment. */
public final class Agent {
    private static final String CONSUMER = "org.apache.kafka.clients.consumer.";
    private static final Map<String, String> ASSIGNING = Map.of(
            CONSUMER + "RangeAssignor", "assignPartitions",
            CONSUMER + "RoundRobinAssignor", "assign",
            CONSUMER + "internals.AbstractStickyAssignor", "assignPartitions",
            CONSUMER + "CooperativeStickyAssignor", "assignPartitions");

    private Agent() {
    }

    public static void premain(String options, Instrumentation instrumentation) {
        // Described, not loaded: a class loaded in the middle of a transformation is not transformed.
        TypeDescription bridge = TypePool.Default.ofSystemLoader()
                .describe(Agent.class.getPackageName() + ".Bridge").resolve();
        AgentBuilder agent = new AgentBuilder.Default();
        for (Map.Entry<String, String> assigning : ASSIGNING.entrySet())
            agent = agent.type(named(assigning.getKey())).transform((builder, type, loader, module, domain) ->
                    builder.method(named(assigning.getValue()).and(takesArguments(Map.class, Map.class)))
                            .intercept(MethodDelegation.to(bridge)));
        agent.installOn(instrumentation);
    }
}
