package assignlab.oracle.kafkaserver;

import assignlab.oracle.Conversation;
import assignlab.oracle.GroupDocument;
import assignlab.oracle.GroupDocument.Member;
import assignlab.oracle.GroupDocument.Pair;
import assignlab.oracle.SpecBench;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.modern.TargetAssignmentBuilder.TargetAssignmentResult;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The group coordinator's assignors: uniform and range for consumer groups, simple for share groups. */
public final class KafkaServer {
    private KafkaServer() {
    }

    public static void main(String[] args) throws Exception {
        Conversation.hold(request -> request.has("spec") ? bench(request) : answer(GroupDocument.of(request)));
    }

    private static ObjectNode answer(GroupDocument document) throws Exception {
        Target target = new Target(document);
        TargetAssignmentResult result = target.build();
        ObjectNode answer = Conversation.JSON.createObjectNode();
        answer.set("assignment", GroupDocument.pairsByMember(target.sorted(result.targetAssignment())));
        if (document.json().hasNonNull("next_generation"))
            answer.set("next_owned", GroupDocument.pairsByMember(target.next(result.records())));
        return answer;
    }

    /** Event JOIN: all but the last member hold what the assignor gave them without it. */
    private static ObjectNode bench(ObjectNode request) throws Throwable {
        boolean join = request.path("spec").path("event").asText().equals("JOIN");
        return SpecBench.answer(request, document -> new Timed(new Target(join ? joined(document) : document)));
    }

    private static GroupDocument joined(GroupDocument document) throws Exception {
        List<Member> before = document.members().subList(0, document.members().size() - 1);
        Target target = new Target(new GroupDocument(document.strategy(), before, document.topics(), null));
        Map<String, List<Pair>> held = target.next(target.build().records());
        List<Member> after = new ArrayList<>();
        for (Member member : document.members())
            after.add(new Member(member.id(), member.instance(), member.rack(), member.topics(),
                    held.get(member.id()), null, null, member.json()));
        return new GroupDocument(document.strategy(), after, document.topics(), null);
    }

    /** Only the assignor's own call is timed. */
    private record Timed(Target target) implements SpecBench.Ready {
        Timed {
            target.build();
        }

        @Override
        public Object assign() {
            return target.assignAgain();
        }

        @Override
        @SuppressWarnings("unchecked")
        public Map<String, List<Pair>> lists(Object assigned) {
            return target.sorted((Map<String, MemberAssignment>) assigned);
        }
    }
}
