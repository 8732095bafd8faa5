package assignlab.oracle.kafkatests;

import assignlab.oracle.Conversation;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.PostDiscoveryFilter;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

import java.util.Arrays;
import java.util.List;

/**
 * Runs test classes of Kafka while another process makes their assignments; prints each case as a
 * line of JSON.
 *
 * <p>Arguments: names of test classes; {@code --without METHOD} for each test method to leave out;
 * {@code --} and the command of the process.
 */
public final class Judge {
    private Judge() {
    }

    public static void main(String[] arguments) throws Exception {
        List<String> all = Arrays.asList(arguments);
        int end = all.indexOf("--");
        LauncherDiscoveryRequestBuilder request = LauncherDiscoveryRequestBuilder.request();
        for (int i = 0; i < end; i++) {
            if (all.get(i).equals("--without"))
                request.filters(without(all.get(++i)));
            else
                request.selectors(DiscoverySelectors.selectClass(all.get(i)));
        }
        try (Answers answers = new Answers(all.subList(end + 1, all.size()))) {
            Bridge.answers = answers;
            run(request.build());
        }
    }

    private static PostDiscoveryFilter without(String method) {
        return test -> FilterResult.includedIf(test.getSource()
                .filter(source -> source instanceof MethodSource of && of.getMethodName().equals(method)).isEmpty());
    }

    private static void run(LauncherDiscoveryRequest request) {
        LauncherFactory.create().execute(request, new TestExecutionListener() {
            @Override
            public void executionStarted(TestIdentifier test) {
                Bridge.calls = 0;
            }

            @Override
            public void executionFinished(TestIdentifier test, TestExecutionResult result) {
                boolean failed = result.getStatus() != TestExecutionResult.Status.SUCCESSFUL;
                if (test.isTest() || failed)
                    print(test, result, Bridge.calls);
            }
        });
    }

    private static void print(TestIdentifier test, TestExecutionResult result, int calls) {
        ObjectNode json = Conversation.JSON.createObjectNode();
        test.getSource().ifPresent(source -> {
            if (source instanceof MethodSource method) {
                json.put("class", method.getClassName());
                json.put("method", method.getMethodName());
            }
        });
        json.put("case", test.getUniqueId());
        json.put("name", test.getDisplayName());
        json.put("calls", calls);
        json.put("failed", result.getStatus() != TestExecutionResult.Status.SUCCESSFUL);
        result.getThrowable().ifPresent(thrown -> json.put("message", thrown.toString()));
        System.out.println(json);
    }
}
