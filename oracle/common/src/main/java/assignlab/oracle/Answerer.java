package assignlab.oracle;

import com.fasterxml.jackson.databind.node.ObjectNode;

/** What one oracle does with one line: a group document or a request in, an answer out. */
@FunctionalInterface
public interface Answerer {
    /** Whatever the original throws may pass through: {@link Conversation} turns it into an answer. */
    ObjectNode answer(ObjectNode request) throws Throwable;
}
