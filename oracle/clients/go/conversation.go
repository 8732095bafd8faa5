// The assignors of three Go clients as oracles: one group document a line in, one answer a line out.
//
// A Go map has no order, and sarama's sticky strategy walks maps, so that asking twice may give two
// answers. Where a client hands members a map of topics, topics are listed sorted by name.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"
)

type document struct {
	Strategy       string   `json:"strategy"`
	Members        []member `json:"members"`
	Topics         []topic  `json:"topics"`
	NextGeneration *int32   `json:"next_generation"`
}

type member struct {
	ID            string   `json:"id"`
	Instance      *string  `json:"instance"`
	Rack          *string  `json:"rack"`
	Topics        []string `json:"topics"`
	Owned         *[]pair  `json:"owned"`
	Generation    *int32   `json:"generation"`
	SubGeneration *int32   `json:"sub_generation"`
}

type topic struct {
	Name       string `json:"name"`
	Partitions int32  `json:"partitions"`
}

// pair is [topic, partition] in JSON.
type pair struct {
	Topic     string
	Partition int32
}

func (p pair) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{p.Topic, p.Partition})
}

func (p *pair) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&p.Topic, &p.Partition})
}

type answer map[string]any

// lists are partitions by topic, by member.
type lists map[string]map[string][]int32

var clients = map[string]func(document) (lists, error){
	"franz-go": askFranzGo,
	"kafka-go": askKafkaGo,
	"sarama":   askSarama,
}

func main() {
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		if err := encoder.Encode(reply(line)); err != nil {
			panic(err)
		}
		out.Flush()
	}
}

// reply turns errors and panics of the original into answers; neither ends the conversation.
func reply(line []byte) (said answer) {
	defer func() {
		if thrown := recover(); thrown != nil {
			said = failure(kind(thrown), thrown)
		}
	}()
	var asked document
	if err := json.Unmarshal(line, &asked); err != nil {
		return failure("BadDocument", err)
	}
	for name, ask := range clients {
		if strings.HasPrefix(asked.Strategy, name+"-") {
			given, err := ask(asked)
			if err != nil {
				return failure(kind(err), err)
			}
			said = answer{"assignment": byTopic(asked, given)}
			if asked.NextGeneration != nil {
				said["next_owned"] = claimedNext(asked, given)
			}
			return said
		}
	}
	return failure("BadDocument", "no strategy "+asked.Strategy)
}

// BadDocument says that the original was not asked.
type BadDocument string

func (reason BadDocument) Error() string {
	return string(reason)
}

func failure(kind string, reason any) answer {
	return answer{"error": fmt.Sprintf("%s: %v", kind, reason)}
}

// kind is the name of a type without package and pointer: runtime.boundsError is boundsError.
func kind(of any) string {
	name := reflect.TypeOf(of).String()
	return name[strings.LastIndexAny(name, ".*")+1:]
}

// claimedNext is what members claim after this assignment: all three clients send it sorted.
func claimedNext(asked document, given lists) map[string][]pair {
	all := byTopic(asked, given)
	for _, pairs := range all {
		sort.Slice(pairs, func(i, j int) bool {
			l, r := pairs[i], pairs[j]
			return l.Topic < r.Topic || l.Topic == r.Topic && l.Partition < r.Partition
		})
	}
	return all
}

// byTopic lists the topics of every member by name, the partitions as the client gave them.
func byTopic(asked document, given lists) map[string][]pair {
	all := make(map[string][]pair, len(asked.Members))
	for _, m := range asked.Members {
		names := make([]string, 0, len(given[m.ID]))
		for name := range given[m.ID] {
			names = append(names, name)
		}
		sort.Strings(names)
		pairs := []pair{}
		for _, name := range names {
			for _, partition := range given[m.ID][name] {
				pairs = append(pairs, pair{name, partition})
			}
		}
		all[m.ID] = pairs
	}
	return all
}

// subscribed are the partition counts of topics that exist and that somebody subscribes to.
func subscribed(asked document) map[string]int32 {
	wanted := map[string]bool{}
	for _, m := range asked.Members {
		for _, name := range m.Topics {
			wanted[name] = true
		}
	}
	counts := map[string]int32{}
	for _, t := range asked.Topics {
		if wanted[t.Name] {
			counts[t.Name] = t.Partitions
		}
	}
	return counts
}

// owned groups a claim by topic, topics in the order of their first mention.
func owned(m member) (names []string, partitions map[string][]int32) {
	partitions = map[string][]int32{}
	if m.Owned == nil {
		return nil, partitions
	}
	for _, p := range *m.Owned {
		if _, met := partitions[p.Topic]; !met {
			names = append(names, p.Topic)
		}
		partitions[p.Topic] = append(partitions[p.Topic], p.Partition)
	}
	return names, partitions
}

func strategy(asked document, client string) string {
	return strings.TrimPrefix(asked.Strategy, client+"-")
}
