package assignlab.oracle.reality;


import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.regex.Pattern;

/** One consumer: a thread that polls, and between polls does what it is told. */
final class Member extends Thread implements ConsumerRebalanceListener {
    private final String key;
    private final JsonNode start;
    private final Duration pollFor;
    private final ConcurrentLinkedQueue<JsonNode> toDo = new ConcurrentLinkedQueue<>();
    private KafkaConsumer<byte[], byte[]> consumer;
    private String lastId = "";
    private int lastGeneration = -1;
    private boolean open = true;

    Member(String key, JsonNode start) {
        super(key);
        setDaemon(true);
        this.key = key;
        this.start = start;
        this.pollFor = Duration.ofMillis(start.path("poll_ms").asLong(50));
    }

    void tellToDo(JsonNode command) {
        toDo.add(command);
    }

    @Override
    public void run() {
        try {
            Properties settings = new Properties();
            start.get("settings").properties()
                    .forEach(setting -> settings.put(setting.getKey(), setting.getValue().asText()));
            consumer = new KafkaConsumer<>(
                    settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
            // Connections, and who the coordinator is: what a member joins with is there from the start.
            consumer.committed(Set.of(new TopicPartition("none", 0)));
            Members.tell(event("ready"));
            while (toDo.isEmpty())
                sleep(5);
            toDo.remove();
            subscribe(start);
            Members.tell(event("started"));
            while (open) {
                for (JsonNode command; open && (command = toDo.poll()) != null; )
                    execute(command);
                if (open)
                    poll();
            }
        } catch (Throwable thrown) {
            Members.tell(event("fatal").put("error", thrown.getClass().getSimpleName()));
        }
    }

    private void poll() {
        try {
            consumer.poll(pollFor);
        } catch (RetriableException again) {
            Members.tell(event("error").put("error", again.getClass().getSimpleName()));
        }
        ConsumerGroupMetadata known = consumer.groupMetadata();
        if (known.generationId() != lastGeneration || !known.memberId().equals(lastId))
            Members.tell(event("generation"));
    }

    private void execute(JsonNode command) throws InterruptedException {
        String what = command.get("do").asText();
        Members.tell(event("does").put("what", what));
        switch (what) {
            case "close" -> {
                consumer.close(Duration.ofSeconds(10));
                open = false;
                Members.tell(Members.event("closed").put("key", key));
            }
            case "stall" -> sleep(command.get("ms").asLong());
            case "subscribe" -> subscribe(command);
            case "unsubscribe" -> consumer.unsubscribe();
            case "enforce" -> consumer.enforceRebalance();
            default -> throw new IllegalArgumentException(what);
        }
    }

    private void subscribe(JsonNode command) {
        if (command.hasNonNull("pattern")) {
            consumer.subscribe(Pattern.compile(command.get("pattern").asText()), this);
            return;
        }
        if (command.hasNonNull("broker_pattern")) {
            consumer.subscribe(new SubscriptionPattern(command.get("broker_pattern").asText()), this);
            return;
        }
        List<String> topics = new ArrayList<>();
        command.get("topics").forEach(topic -> topics.add(topic.asText()));
        consumer.subscribe(topics, this);
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        Members.tell(callback("assigned", partitions));
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        Members.tell(callback("revoked", partitions));
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        Members.tell(callback("lost", partitions));
    }

    private ObjectNode callback(String kind, Collection<TopicPartition> partitions) {
        ObjectNode event = event(kind);
        var list = event.putArray("partitions");
        partitions.stream().map(TopicPartition::toString).sorted().forEach(list::add);
        return event;
    }

    /** An event of this member, with its id and generation as the client knows them now. */
    private ObjectNode event(String kind) {
        ObjectNode event = Members.event(kind).put("key", key);
        if (consumer == null)
            return event;
        ConsumerGroupMetadata known = consumer.groupMetadata();
        lastId = known.memberId();
        lastGeneration = known.generationId();
        return event.put("id", lastId).put("generation", lastGeneration);
    }
}
