package assignlab.oracle.kafkaserver;

import assignlab.oracle.Conversation;
import assignlab.oracle.GroupDocument;
import assignlab.oracle.GroupDocument.Member;
import assignlab.oracle.GroupDocument.Pair;
import assignlab.oracle.SpecBench;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The group coordinator's assignors of the newest release, on the coordinator's whole way: uniform and
 * range for consumer groups, simple for share groups.
 */
public final class KafkaServer {
    private KafkaServer() {
    }

    /** How a document's target is computed. */
    interface Assignment {
        Computation of(GroupDocument document) throws Exception;
    }

    public static void main(String[] args) throws Exception {
        hold(Target::new);
    }

    static void hold(Assignment assignment) throws Exception {
        Conversation.hold(request -> request.has("spec")
                ? bench(request, assignment) : answer(assignment.of(GroupDocument.of(request))));
    }

    private static ObjectNode answer(Computation computation) {
        ObjectNode answer = Conversation.JSON.createObjectNode();
        answer.set("assignment", GroupDocument.pairsByMember(
                computation.held().sorted(computation.first())));
        if (computation.held().document.json().hasNonNull("next_generation"))
            answer.set("next_owned", GroupDocument.pairsByMember(
                    computation.held().walked(computation.next())));
        return answer;
    }

    /** Event JOIN: all but the last member hold what the assignor gave them without it. */
    private static ObjectNode bench(ObjectNode request, Assignment assignment) throws Throwable {
        boolean join = request.path("spec").path("event").asText().equals("JOIN");
        return SpecBench.answer(request,
                document -> new Timed(assignment.of(join ? joined(document, assignment) : document)));
    }

    private static GroupDocument joined(GroupDocument document, Assignment assignment) throws Exception {
        List<Member> before = document.members().subList(0, document.members().size() - 1);
        Computation computation = assignment.of(
                new GroupDocument(document.strategy(), before, document.topics(), null));
        Map<String, List<Pair>> held = computation.held().walked(computation.next());
        List<Member> after = new ArrayList<>();
        for (Member member : document.members())
            after.add(new Member(member.id(), member.instance(), member.rack(), member.topics(),
                    held.get(member.id()), null, null, member.json()));
        return new GroupDocument(document.strategy(), after, document.topics(), null);
    }

    /** Only the assignor's own call is timed. */
    private record Timed(Computation computation) implements SpecBench.Ready {
        @Override
        public Object assign() throws Throwable {
            return computation.assign();
        }

        @Override
        public Map<String, List<Pair>> lists(Object assigned) {
            return computation.held().sorted(computation.targets(assigned));
        }
    }
}
