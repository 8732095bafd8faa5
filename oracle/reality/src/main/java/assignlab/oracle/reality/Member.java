package assignlab.oracle.reality;


import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.MemberToRemove;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.FencedInstanceIdException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Pattern;

/**
 * One consumer: a thread that polls, processes what it got, commits "before" or "after" that or in a
 * "transaction" with its outputs if told so, and between polls does what it is told; it stalls between two
 * records, too. What it processed is told; in a transaction, when that is committed.
 */
final class Member extends Thread implements ConsumerRebalanceListener {
    private static final long TELLS_NANOS = 10_000_000;
    private static final long RETRY_MS = 100;

    private final String key;
    private final JsonNode start;
    private final Admin admin;
    private final Duration pollFor;
    private final String commits;
    private final long processingNanos;
    private final ConcurrentLinkedQueue<JsonNode> toDo = new ConcurrentLinkedQueue<>();
    private final Map<TopicPartition, long[]> ranges = new LinkedHashMap<>();
    private KafkaConsumer<byte[], byte[]> consumer;
    private KafkaProducer<byte[], byte[]> producer;
    private String lastId = "";
    private int lastGeneration = -1;
    private boolean subscribed;
    private boolean open = true;

    Member(String key, JsonNode start, Admin admin) {
        super(key);
        setDaemon(true);
        this.key = key;
        this.start = start;
        this.admin = admin;
        this.pollFor = Duration.ofMillis(start.path("poll_ms").asLong(50));
        this.commits = start.path("commit").asText();
        this.processingNanos = (long) (start.path("processing_ms").asDouble() * 1_000_000);
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
            long made = System.currentTimeMillis();
            consumer = new KafkaConsumer<>(
                    settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
            // Connections, and who the coordinator is: what a member joins with is there from the start.
            consumer.committed(Set.of(new TopicPartition("none", 0)));
            if (commits.equals("transaction"))
                producer = transactional(settings);
            Members.tell(event("ready").put("made", made));
            while (toDo.isEmpty())
                sleep(5);
            toDo.remove();
            subscribe(start);
            Members.tell(event("started"));
            while (open) {
                for (JsonNode command; open && (command = toDo.poll()) != null; )
                    execute(command);
                if (open && subscribed)
                    poll();
                else if (open)
                    sleep(pollFor.toMillis());
            }
        } catch (Throwable thrown) {
            Members.tell(event("fatal").put("error", thrown.getClass().getSimpleName()));
        }
    }

    private void poll() throws Exception {
        ConsumerRecords<byte[], byte[]> records = ConsumerRecords.empty();
        try {
            records = consumer.poll(pollFor);
        } catch (RetriableException again) {
            Members.tell(event("error").put("error", again.getClass().getSimpleName()));
        }
        ConsumerGroupMetadata known = consumer.groupMetadata();
        if (known.generationId() != lastGeneration || !known.memberId().equals(lastId))
            Members.tell(event("generation"));
        if (records.isEmpty())
            return;
        if (commits.equals("before") && !commit()) {
            readAgain(records);
            return;
        }
        if (producer != null)
            producer.beginTransaction();
        process(records);
        if (commits.equals("after"))
            commit();
        if (producer != null && !commitTransaction(records))
            readAgain(records);
    }

    private KafkaProducer<byte[], byte[]> transactional(Properties consumers) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", consumers.get("bootstrap.servers"));
        settings.put("transactional.id", key);
        settings.put("linger.ms", "0");
        var made = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
        made.initTransactions();
        return made;
    }

    /** Whether outputs and offsets count; the exception is told if they do not. */
    private boolean commitTransaction(ConsumerRecords<byte[], byte[]> records) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        ranges.forEach((partition, range) -> offsets.put(partition, new OffsetAndMetadata(range[1])));
        try {
            producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
            producer.commitTransaction();
            tellRanges();
            return true;
        } catch (KafkaException refused) {
            ranges.clear();
            Members.tell(event("refused").put("error", refused.getClass().getSimpleName()));
            producer.abortTransaction();
            return false;
        }
    }

    /**
     * Whether a commit of all positions counts; the exception is told if it does not. That another process
     * has the instance id is the end of this one.
     */
    private boolean commit() {
        try {
            consumer.commitSync();
            return true;
        } catch (KafkaException refused) {
            Members.tell(event("refused").put("error", refused.getClass().getSimpleName()));
            if (refused instanceof FencedInstanceIdException)
                throw refused;
            return false;
        }
    }

    private void readAgain(ConsumerRecords<byte[], byte[]> records) throws InterruptedException {
        for (TopicPartition partition : records.partitions())
            if (consumer.assignment().contains(partition))
                consumer.seek(partition, records.records(partition).get(0).offset());
        sleep(RETRY_MS);
    }

    /** One record after the other; which ones is told as ranges of offsets, before a crash could hide much. */
    private void process(ConsumerRecords<byte[], byte[]> records) throws Exception {
        long due = System.nanoTime();
        long told = due;
        for (ConsumerRecord<byte[], byte[]> record : records) {
            for (JsonNode next; (next = toDo.peek()) != null && next.get("do").asText().equals("stall"); ) {
                long paused = System.nanoTime();
                if (producer == null)
                    tellRanges();
                execute(toDo.remove());
                due += System.nanoTime() - paused;
            }
            due += processingNanos;
            for (long left; (left = due - System.nanoTime()) > 0; )
                LockSupport.parkNanos(left);
            ranges.computeIfAbsent(new TopicPartition(record.topic(), record.partition()),
                    partition -> new long[] {record.offset(), 0})[1] = record.offset() + 1;
            if (producer != null) {
                producer.send(new ProducerRecord<>(start.get("outputs").asText(), new byte[0]));
            } else if (System.nanoTime() - told > TELLS_NANOS) {
                tellRanges();
                told = System.nanoTime();
            }
        }
        if (producer == null)
            tellRanges();
    }

    private void tellRanges() {
        if (ranges.isEmpty())
            return;
        ObjectNode event = Members.event("got").put("key", key);
        var list = event.putArray("ranges");
        ranges.forEach((partition, range) ->
                list.addArray().add(partition.toString()).add(range[0]).add(range[1]));
        ranges.clear();
        Members.tell(event);
    }

    private void execute(JsonNode command) throws Exception {
        String what = command.get("do").asText();
        Members.tell(event("does").put("what", what));
        switch (what) {
            case "close" -> {
                close(command.path("for_good").asBoolean());
                open = false;
                Members.tell(Members.event("closed").put("key", key));
            }
            case "stall" -> sleep(command.get("ms").asLong());
            case "subscribe" -> subscribe(command);
            case "unsubscribe" -> {
                consumer.unsubscribe();
                subscribed = false;
            }
            case "enforce" -> consumer.enforceRebalance();
            default -> throw new IllegalArgumentException(what);
        }
    }

    /** Static members stay in the group, but for good: clients since 4.1 leave it, others are removed. */
    private void close(boolean forGood) throws Exception {
        Duration within = Duration.ofSeconds(10);
        if (!forGood) {
            consumer.close(within);
            return;
        }
        try {
            consumer.close(CloseOptions.timeout(within)
                    .withGroupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP));
        } catch (NoClassDefFoundError earlier) {
            consumer.close(within);
            JsonNode settings = start.get("settings");
            if (settings.has("group.instance.id"))
                admin.removeMembersFromConsumerGroup(settings.get("group.id").asText(),
                        new RemoveMembersFromConsumerGroupOptions(Set.of(new MemberToRemove(
                                settings.get("group.instance.id").asText())))).all().get();
        }
    }

    private void subscribe(JsonNode command) {
        subscribed = true;
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
