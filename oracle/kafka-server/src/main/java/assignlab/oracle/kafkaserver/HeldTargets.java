package assignlab.oracle.kafkaserver;

import assignlab.oracle.BadDocument;
import assignlab.oracle.GroupDocument;
import assignlab.oracle.GroupDocument.Member;
import assignlab.oracle.GroupDocument.Pair;
import org.apache.kafka.common.Uuid;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What the members of a document hold, and targets in the names of the document. */
final class HeldTargets {
    final GroupDocument document;
    final ClusterTopics topics;
    /** Member by member the claim as a record has it: topics in the order of their first mention. */
    final Map<String, Map<Uuid, LinkedHashSet<Integer>>> claims = new HashMap<>();
    final Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
    private final Map<Uuid, String> claimedNames = new HashMap<>();

    HeldTargets(GroupDocument document) throws BadDocument {
        this.document = document;
        this.topics = new ClusterTopics(document.topics());
        for (Member member : document.members())
            if (member.owned() != null)
                claims.put(member.id(), claim(member));
    }

    private Map<Uuid, LinkedHashSet<Integer>> claim(Member member) {
        Map<Uuid, LinkedHashSet<Integer>> claim = new LinkedHashMap<>();
        for (Pair pair : member.owned()) {
            Uuid id = topics.claimed(pair.topic());
            claimedNames.putIfAbsent(id, pair.topic());
            claim.computeIfAbsent(id, topic -> new LinkedHashSet<>()).add(pair.partition());
            owners.computeIfAbsent(id, topic -> new HashMap<>()).put(pair.partition(), member.id());
        }
        return claim;
    }

    /** Every member's target as it is walked; a member without entry has nothing. */
    Map<String, List<Pair>> walked(Map<String, Map<Uuid, Set<Integer>>> targets) {
        Map<String, List<Pair>> lists = new LinkedHashMap<>();
        for (Member member : document.members())
            lists.put(member.id(), pairs(targets.getOrDefault(member.id(), Map.of())));
        return lists;
    }

    /** Sets have no order: by topic name, then partition. */
    Map<String, List<Pair>> sorted(Map<String, Map<Uuid, Set<Integer>>> targets) {
        Map<String, List<Pair>> lists = walked(targets);
        for (List<Pair> list : lists.values())
            list.sort(Comparator.comparing(Pair::topic).thenComparing(Pair::partition));
        return lists;
    }

    private List<Pair> pairs(Map<Uuid, Set<Integer>> partitions) {
        List<Pair> pairs = new ArrayList<>();
        partitions.forEach((id, ofTopic) -> {
            String name = topics.nameOf(id, claimedNames);
            ofTopic.forEach(partition -> pairs.add(new Pair(name, partition)));
        });
        return pairs;
    }
}
