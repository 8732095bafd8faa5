// Real consumers of Sarama in one process, as Members.java has Java's and members.py those of others.
//
// The same JSON lines: commands on standard input, what happens to the members, with the moment in
// ms, on standard output. Setup and Cleanup are what a rebalance listener is elsewhere: partitions
// are assigned, and revoked. Settings have the names that Java's consumer gives them; its
// max.poll.interval.ms is the rebalance timeout. Built with the pins of oracle/clients/go.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"
)

type command struct {
	Do           string         `json:"do"`
	Key          string         `json:"key"`
	Topics       []string       `json:"topics"`
	Settings     map[string]any `json:"settings"`
	Ms           int64          `json:"ms"`
	ProcessingMs float64        `json:"processing_ms"`
}

type event map[string]any

var out sync.Mutex

// member is one consumer group of Sarama's, which is one member, and its handler.
type member struct {
	command
	client sarama.Client
	group  sarama.ConsumerGroup
	atWork atomic.Int64 // until when the application is, in ms
	topics atomic.Pointer[[]string]
	cancel atomic.Pointer[context.CancelFunc]
	toDo   chan command
	ended  chan struct{}
}

func now() int64 { return time.Now().UnixMilli() }

func (m *member) tell(kind string, values event) {
	told := event{"at": now(), "kind": kind, "key": m.Key}
	for name, value := range values {
		told[name] = value
	}
	out.Lock()
	defer out.Unlock()
	line, _ := json.Marshal(told)
	fmt.Println(string(line))
}

// prepare makes a client that knows its coordinator and has not joined.
func (m *member) prepare() error {
	made := now()
	config, err := configOf(m.Settings)
	if err != nil {
		return err
	}
	servers := strings.Split(m.Settings["bootstrap.servers"].(string), ",")
	name := m.Settings["group.id"].(string)
	if m.client, err = sarama.NewClient(servers, config); err != nil {
		return err
	}
	if _, err = m.client.Coordinator(name); err != nil {
		return err
	}
	if m.group, err = sarama.NewConsumerGroupFromClient(name, m.client); err != nil {
		return err
	}
	m.tell("ready", event{"made": made})
	return nil
}

func configOf(settings map[string]any) (*sarama.Config, error) {
	config := sarama.NewConfig()
	group, offsets := &config.Consumer.Group, &config.Consumer.Offsets
	times := map[string]*time.Duration{
		"session.timeout.ms":      &group.Session.Timeout,
		"heartbeat.interval.ms":   &group.Heartbeat.Interval,
		"max.poll.interval.ms":    &group.Rebalance.Timeout,
		"metadata.max.age.ms":     &config.Metadata.RefreshFrequency,
		"auto.commit.interval.ms": &offsets.AutoCommit.Interval,
	}
	for name, value := range settings {
		text := fmt.Sprint(value)
		switch name {
		case "bootstrap.servers", "group.id", "max.poll.records": // a claim has one record at a time
		case "client.id":
			config.ClientID = text
		case "group.instance.id":
			group.InstanceId = text
		case "enable.auto.commit":
			offsets.AutoCommit.Enable = text == "true"
		case "auto.offset.reset":
			offsets.Initial = map[string]int64{
				"earliest": sarama.OffsetOldest, "latest": sarama.OffsetNewest,
			}[text]
		case "partition.assignment.strategy":
			group.Rebalance.GroupStrategies = nil
			for _, strategy := range strings.Split(text, ",") {
				group.Rebalance.GroupStrategies = append(group.Rebalance.GroupStrategies,
					map[string]func() sarama.BalanceStrategy{
						"range":      sarama.NewBalanceStrategyRange,
						"roundrobin": sarama.NewBalanceStrategyRoundRobin,
						"sticky":     sarama.NewBalanceStrategySticky,
					}[strategy]())
			}
		default:
			set, known := times[name]
			if !known {
				return nil, errors.New("no setting of Sarama's: " + name)
			}
			ms, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return nil, err
			}
			*set = time.Duration(ms) * time.Millisecond
		}
	}
	return config, nil
}

// run consumes in a loop, as every user of Sarama does, also after an error.
func (m *member) run() {
	last := ""
	for {
		session, cancel := context.WithCancel(context.Background())
		m.cancel.Store(&cancel)
		err := m.group.Consume(session, *m.topics.Load(), m)
		cancel()
		if errors.Is(err, sarama.ErrClosedConsumerGroup) {
			close(m.ended)
			return
		}
		if err == nil {
			last = ""
			continue
		}
		if err.Error() != last {
			last = err.Error()
			m.tell("error", event{"error": last})
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// live prepares the member, which then does what it is told.
func (m *member) live() {
	if err := m.prepare(); err != nil {
		m.tell("fatal", event{"error": err.Error()})
		return
	}
	for told := range m.toDo {
		m.do(told)
	}
}

func (m *member) do(told command) {
	if told.Do == "start" {
		m.topics.Store(&m.command.Topics)
		m.tell("started", nil)
		go m.run()
		return
	}
	m.tell("does", event{"what": told.Do})
	switch told.Do {
	case "close":
		m.group.Close()
		<-m.ended
		m.client.Close()
		m.tell("closed", nil)
	case "stall":
		m.atWork.Store(now() + told.Ms)
	case "subscribe":
		m.topics.Store(&told.Topics)
		(*m.cancel.Load())()
	default:
		m.tell("fatal", event{"error": told.Do})
	}
}

func (m *member) tellOf(kind string, session sarama.ConsumerGroupSession) error {
	partitions := []string{}
	for topic, numbers := range session.Claims() {
		for _, number := range numbers {
			partitions = append(partitions, fmt.Sprintf("%s-%d", topic, number))
		}
	}
	sort.Strings(partitions)
	m.tell(kind, event{
		"partitions": partitions, "id": session.MemberID(), "generation": session.GenerationID(),
	})
	return nil
}

func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	return m.tellOf("assigned", session)
}

func (m *member) Cleanup(session sarama.ConsumerGroupSession) error {
	return m.tellOf("revoked", session)
}

// ConsumeClaim processes the records of a partition until it is to let go of it; then, too, a member
// that is at work finishes what it has.
func (m *member) ConsumeClaim(
	session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim,
) error {
	work := func(ms float64) {
		time.Sleep(time.Duration(max(0, m.atWork.Load()-now())) * time.Millisecond)
		time.Sleep(time.Duration(ms * float64(time.Millisecond)))
	}
	for {
		select {
		case <-session.Context().Done():
			work(0)
			return nil
		case record, open := <-claim.Messages():
			if !open {
				work(0)
				return nil
			}
			work(m.ProcessingMs)
			of := fmt.Sprintf("%s-%d", record.Topic, record.Partition)
			m.tell("got", event{"ranges": [][]any{{of, record.Offset, record.Offset + 1}}})
			session.MarkMessage(record, "")
		}
	}
}

func main() {
	members := map[string]*member{}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var told command
		if err := json.Unmarshal(lines.Bytes(), &told); err != nil {
			panic(err)
		}
		if told.Do == "prepare" {
			made := &member{command: told, toDo: make(chan command, 100), ended: make(chan struct{})}
			members[told.Key] = made
			go made.live()
		} else {
			members[told.Key].toDo <- told
		}
	}
}
