// sarama's partitioners. JSON lines as the others; null where the same question got different answers.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"os"

	"github.com/IBM/sarama"
)

const calls = 40

var constructors = map[string]sarama.PartitionerConstructor{
	"sarama-hash":           sarama.NewHashPartitioner,
	"sarama-reference-hash": sarama.NewReferenceHashPartitioner,
	"sarama-crc":            sarama.NewConsistentCRCHashPartitioner,
	"sarama-murmur2":        sarama.NewMurmur2Partitioner,
	"sarama-round-robin":    sarama.NewRoundRobinPartitioner,
}

type history struct {
	Partitioner string
	Topics      []struct {
		Name       string
		Partitions int32
	}
	Steps [][]any
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var asked history
		check(json.Unmarshal(lines.Bytes(), &asked))
		if constructors[asked.Partitioner] == nil {
			check(answers.Encode(map[string]any{"error": "BadDocument: no partitioner " + asked.Partitioner}))
			continue
		}
		check(answers.Encode(map[string]any{"partitions": play(asked)}))
	}
	check(lines.Err())
}

func play(asked history) []*int32 {
	ofTopic := map[int]sarama.Partitioner{}
	chosen := []*int32{}
	for _, step := range asked.Steps {
		if step[0] != "send" {
			continue
		}
		topic := int(step[1].(float64))
		if ofTopic[topic] == nil {
			ofTopic[topic] = constructors[asked.Partitioner](asked.Topics[topic].Name)
		}
		message := &sarama.ProducerMessage{}
		if key, given := step[2].(string); given {
			bytes, err := hex.DecodeString(key)
			check(err)
			message.Key = sarama.ByteEncoder(bytes)
		}
		repeat := calls
		if asked.Partitioner == "sarama-round-robin" {
			repeat = 1
		}
		chosen = append(chosen, choose(ofTopic[topic], message, asked.Topics[topic].Partitions, repeat))
	}
	return chosen
}

func choose(partitioner sarama.Partitioner, message *sarama.ProducerMessage, count int32, repeat int) *int32 {
	first, err := partitioner.Partition(message, count)
	check(err)
	for i := 1; i < repeat; i++ {
		again, err := partitioner.Partition(message, count)
		check(err)
		if again != first {
			return nil
		}
	}
	return &first
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
