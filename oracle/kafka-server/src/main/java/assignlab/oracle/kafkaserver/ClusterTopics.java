package assignlab.oracle.kafkaserver;

import assignlab.oracle.BadDocument;
import assignlab.oracle.GroupDocument.Topic;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataDelta;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/** The topics of a document as the coordinator sees the cluster. */
final class ClusterTopics implements CoordinatorMetadataImage {
    /** @param racks per partition the racks of its replicas, or null */
    private record Known(String name, Uuid id, int partitionCount, List<List<String>> racks) implements TopicMetadata {
        @Override
        public List<String> partitionRacks(int partition) {
            return racks == null ? List.of() : racks.get(partition).stream().filter(Objects::nonNull).toList();
        }
    }

    private final Map<String, TopicMetadata> byName = new HashMap<>();
    private final Map<Uuid, TopicMetadata> byId = new HashMap<>();

    ClusterTopics(List<Topic> topics) throws BadDocument {
        for (Topic topic : topics) {
            String given = topic.json() == null ? null : topic.json().path("id").textValue();
            Uuid id = given == null ? idOf(topic.name()) : Uuid.fromString(given);
            Known known = new Known(topic.name(), id, topic.partitions(), topic.racks());
            byName.put(topic.name(), known);
            if (byId.put(id, known) != null)
                throw new BadDocument("two topics have the id " + id);
        }
    }

    /** What a claim names: a topic of the cluster by name or id, or one that is gone. */
    Uuid claimed(String nameOrId) {
        TopicMetadata known = byName.get(nameOrId);
        if (known != null)
            return known.id();
        return nameOrId.matches("[A-Za-z0-9_-]{22}") ? Uuid.fromString(nameOrId) : idOf(nameOrId);
    }

    /** The racks of every partition that has some, as ConsumerGroup of 3.7 puts them into sets. */
    Map<Uuid, Map<Integer, Set<String>>> rackSets() {
        Map<Uuid, Map<Integer, Set<String>>> sets = new HashMap<>();
        byId.forEach((id, topic) -> {
            Map<Integer, Set<String>> ofTopic = new HashMap<>();
            for (int partition = 0; partition < topic.partitionCount(); partition++) {
                Set<String> racks = new HashSet<>();
                racks.addAll(topic.partitionRacks(partition));
                if (!racks.isEmpty())
                    ofTopic.put(partition, racks);
            }
            sets.put(id, ofTopic);
        });
        return sets;
    }

    /** Names stand for topics in the answer; of a topic that is gone only the id is left. */
    String nameOf(Uuid id, Map<Uuid, String> claimedNames) {
        TopicMetadata known = byId.get(id);
        return known != null ? known.name() : claimedNames.getOrDefault(id, id.toString());
    }

    /** The id of a topic whose document has none: the first half of SHA-256 of its UTF-16 name. */
    static Uuid idOf(String name) {
        try {
            ByteBuffer hash = ByteBuffer.wrap(MessageDigest.getInstance("SHA-256")
                    .digest(name.getBytes(StandardCharsets.UTF_16BE)));
            return new Uuid(hash.getLong(), hash.getLong());
        } catch (NoSuchAlgorithmException everyJavaHasIt) {
            throw new IllegalStateException(everyJavaHasIt);
        }
    }

    @Override
    public Set<Uuid> topicIds() {
        return byId.keySet();
    }

    @Override
    public Set<String> topicNames() {
        return byName.keySet();
    }

    @Override
    public Optional<TopicMetadata> topicMetadata(String name) {
        return Optional.ofNullable(byName.get(name));
    }

    @Override
    public Optional<TopicMetadata> topicMetadata(Uuid id) {
        return Optional.ofNullable(byId.get(id));
    }

    @Override
    public CoordinatorMetadataDelta emptyDelta() {
        throw new UnsupportedOperationException("topics do not change within one assignment");
    }

    @Override
    public long version() {
        return 0;
    }

    @Override
    public boolean isEmpty() {
        return byName.isEmpty();
    }
}
