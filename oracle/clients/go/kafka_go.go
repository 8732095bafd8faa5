package main

import (
	"github.com/segmentio/kafka-go"
)

// askKafkaGo hands AssignGroups the partitions topic by topic in the order of the document.
func askKafkaGo(asked document) (lists, error) {
	balancers := map[string]kafka.GroupBalancer{
		"range":      kafka.RangeGroupBalancer{},
		"roundrobin": kafka.RoundRobinGroupBalancer{},
	}
	balancer, known := balancers[strategy(asked, "kafka-go")]
	if !known {
		return nil, BadDocument("no strategy " + asked.Strategy)
	}
	members := make([]kafka.GroupMember, len(asked.Members))
	for i, m := range asked.Members {
		members[i] = kafka.GroupMember{ID: m.ID, Topics: m.Topics}
	}
	counts := subscribed(asked)
	var partitions []kafka.Partition
	for _, t := range asked.Topics {
		for partition := range int(counts[t.Name]) {
			partitions = append(partitions, kafka.Partition{Topic: t.Name, ID: partition})
		}
	}
	given := lists{}
	for id, topics := range balancer.AssignGroups(members, partitions) {
		given[id] = map[string][]int32{}
		for topic, partitions := range topics {
			for _, partition := range partitions {
				given[id][topic] = append(given[id][topic], int32(partition))
			}
		}
	}
	return given, nil
}
