package main

import (
	"github.com/IBM/sarama"
)

// askSarama calls Plan with the topics that exist; sarama's client does not balance at all while a
// subscribed topic is missing. Strategies are made anew for every call.
func askSarama(asked document) (lists, error) {
	strategies := map[string]func() sarama.BalanceStrategy{
		"range":              sarama.NewBalanceStrategyRange,
		"roundrobin":         sarama.NewBalanceStrategyRoundRobin,
		"sticky":             sarama.NewBalanceStrategySticky,
		"cooperative-sticky": sarama.NewBalanceStrategyCooperativeSticky,
	}
	name := strategy(asked, "sarama")
	made, known := strategies[name]
	if !known {
		return nil, BadDocument("no strategy " + asked.Strategy)
	}
	balancer := made()
	members := map[string]sarama.ConsumerGroupMemberMetadata{}
	for _, m := range asked.Members {
		sent := sarama.ConsumerGroupMemberMetadata{Version: 2, GenerationID: -1, Topics: m.Topics}
		names, partitions := owned(m)
		switch name {
		case "sticky":
			if m.Owned != nil {
				generation := int32(-1)
				if m.Generation != nil {
					generation = *m.Generation
				}
				data, err := balancer.AssignmentData(m.ID, partitions, generation)
				if err != nil {
					return nil, err
				}
				sent.UserData = data
			}
		case "cooperative-sticky":
			if m.SubGeneration != nil {
				sent.GenerationID = *m.SubGeneration
			}
			for _, topic := range names {
				sent.OwnedPartitions = append(sent.OwnedPartitions,
					&sarama.OwnedPartition{Topic: topic, Partitions: partitions[topic]})
			}
		}
		members[m.ID] = sent
	}
	topics := map[string][]int32{}
	for topic, count := range subscribed(asked) {
		topics[topic] = make([]int32, count)
		for partition := range topics[topic] {
			topics[topic][partition] = int32(partition)
		}
	}
	plan, err := balancer.Plan(members, topics)
	return lists(plan), err
}
