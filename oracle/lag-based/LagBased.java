package com.github.grantneale.kafka;

import assignlab.oracle.Conversation;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.github.grantneale.kafka.LagBasedPartitionAssignor.TopicPartitionLag;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * LagBasedPartitionAssignor as an oracle: a topic's weights are the lags of its partitions. Its
 * method assign is visible in its package alone, and gets hash maps from its caller.
 */
public final class LagBased {
    private LagBased() {
    }

    public static void main(String[] args) throws Exception {
        Conversation.hold(LagBased::answer);
    }

    private static ObjectNode answer(ObjectNode document) {
        Map<String, List<TopicPartitionLag>> lags = new HashMap<>();
        for (JsonNode topic : document.get("topics")) {
            String name = topic.get("name").asText();
            List<TopicPartitionLag> ofTopic = new ArrayList<>();
            for (JsonNode weight : topic.get("weights"))
                ofTopic.add(new TopicPartitionLag(name, ofTopic.size(), weight.asLong()));
            if (!ofTopic.isEmpty())
                lags.put(name, ofTopic);
        }
        Map<String, List<String>> subscriptions = new HashMap<>();
        for (JsonNode member : document.get("members")) {
            List<String> topics = new ArrayList<>();
            member.get("topics").forEach(topic -> topics.add(topic.asText()));
            subscriptions.put(member.get("id").asText(), topics);
        }
        ObjectNode answer = Conversation.JSON.createObjectNode();
        ObjectNode lists = answer.putObject("assignment");
        LagBasedPartitionAssignor.assign(lags, subscriptions).forEach((member, partitions) -> {
            ArrayNode list = lists.putArray(member);
            partitions.forEach(one -> list.addArray().add(one.topic()).add(one.partition()));
        });
        return answer;
    }
}
