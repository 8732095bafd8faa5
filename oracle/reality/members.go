// Real consumers of Sarama, franz-go or kafka-go in one process, as Members.java has Java's and
// members.py those of others.
//
// The same JSON lines: commands on standard input, what happens to the members, with the moment in
// ms, on standard output. Settings have the names that Java's consumer gives them; its
// max.poll.interval.ms is the rebalance timeout. Built with the pins of oracle/clients/go, and run with
// the client's name: members franz-go HOST:PORT.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type command struct {
	Do           string         `json:"do"`
	Key          string         `json:"key"`
	Topics       []string       `json:"topics"`
	Settings     map[string]any `json:"settings"`
	Commit       string         `json:"commit"`
	Ms           int64          `json:"ms"`
	ProcessingMs float64        `json:"processing_ms"`
}

type event map[string]any

var out sync.Mutex

// consumer is what a client has for a member: one that is prepared knows its coordinator and has not
// joined; one that is closed has ended.
type consumer interface {
	prepare() error
	start()
	subscribe(topics []string)
	close()
}

// member is a consumer, and what it is told.
type member struct {
	command
	consumer  consumer
	atWork    atomic.Int64 // until when the application is, in ms
	toDo      chan command
	lastError string
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

// tellOf tells of partitions that the member is given or gives up.
func (m *member) tellOf(kind string, of map[string][]int32, id string, generation int32) {
	partitions := []string{}
	for topic, numbers := range of {
		for _, number := range numbers {
			partitions = append(partitions, fmt.Sprintf("%s-%d", topic, number))
		}
	}
	sort.Strings(partitions)
	m.tell(kind, event{"partitions": partitions, "id": id, "generation": generation})
}

// tellError tells of an error, but not again of the one that came last; nil ends that.
func (m *member) tellError(err error) {
	said := ""
	if err != nil {
		said = err.Error()
	}
	if said != "" && said != m.lastError {
		m.tell("error", event{"error": said})
	}
	m.lastError = said
}

// work lasts until the application is through with what it is at, and so long again.
func (m *member) work(ms float64) {
	time.Sleep(time.Duration(max(0, m.atWork.Load()-now())) * time.Millisecond)
	time.Sleep(time.Duration(ms * float64(time.Millisecond)))
}

// process is what the application does with a record.
func (m *member) process(topic string, partition int32, offset int64) {
	m.work(m.ProcessingMs)
	of := fmt.Sprintf("%s-%d", topic, partition)
	m.tell("got", event{"ranges": [][]any{{of, offset, offset + 1}}})
}

// live prepares the member, which then does what it is told.
func (m *member) live() {
	made := now()
	if err := m.consumer.prepare(); err != nil {
		m.tell("fatal", event{"error": err.Error()})
		return
	}
	m.tell("ready", event{"made": made})
	for told := range m.toDo {
		m.do(told)
	}
}

func (m *member) do(told command) {
	if told.Do == "start" {
		m.tell("started", nil)
		m.consumer.start()
		return
	}
	m.tell("does", event{"what": told.Do})
	switch told.Do {
	case "close":
		m.consumer.close()
		m.tell("closed", nil)
	case "stall":
		m.atWork.Store(now() + told.Ms)
	case "subscribe":
		m.consumer.subscribe(told.Topics)
	default:
		m.tell("fatal", event{"error": told.Do})
	}
}

// ofSarama is a consumer group of Sarama's, which is one member, and its handler. Setup and Cleanup are
// what a rebalance listener is elsewhere: partitions are assigned, and revoked.
type ofSarama struct {
	*member
	client sarama.Client
	group  sarama.ConsumerGroup
	topics atomic.Pointer[[]string]
	cancel atomic.Pointer[context.CancelFunc]
	ended  chan struct{}
}

func (m *ofSarama) prepare() error {
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
	m.ended = make(chan struct{})
	m.group, err = sarama.NewConsumerGroupFromClient(name, m.client)
	return err
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

func (m *ofSarama) start() {
	m.topics.Store(&m.command.Topics)
	go m.run()
}

func (m *ofSarama) subscribe(topics []string) {
	m.topics.Store(&topics)
	(*m.cancel.Load())()
}

func (m *ofSarama) close() {
	m.group.Close()
	<-m.ended
	m.client.Close()
}

// run consumes in a loop, as every user of Sarama does, also after an error.
func (m *ofSarama) run() {
	for {
		session, cancel := context.WithCancel(context.Background())
		m.cancel.Store(&cancel)
		err := m.group.Consume(session, *m.topics.Load(), m)
		cancel()
		if errors.Is(err, sarama.ErrClosedConsumerGroup) {
			close(m.ended)
			return
		}
		m.tellError(err)
		if err != nil {
			time.Sleep(50 * time.Millisecond)
		}
	}
}

func (m *ofSarama) Setup(session sarama.ConsumerGroupSession) error {
	m.tellOf("assigned", session.Claims(), session.MemberID(), session.GenerationID())
	return nil
}

func (m *ofSarama) Cleanup(session sarama.ConsumerGroupSession) error {
	m.tellOf("revoked", session.Claims(), session.MemberID(), session.GenerationID())
	return nil
}

// ConsumeClaim processes the records of a partition until it is to let go of it; then, too, a member
// that is at work finishes what it has.
func (m *ofSarama) ConsumeClaim(
	session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim,
) error {
	for {
		select {
		case <-session.Context().Done():
			m.work(0)
			return nil
		case record, open := <-claim.Messages():
			if !open {
				m.work(0)
				return nil
			}
			m.process(record.Topic, record.Partition, record.Offset)
			session.MarkMessage(record, "")
		}
	}
}

// ofFranzGo is a client of franz-go's in a group. It is its own logger: callbacks of the application
// would replace what the client does where there are none, which is to commit.
type ofFranzGo struct {
	*member
	client *kgo.Client
	most   int // records of a poll, 0 for any number
	stop   context.CancelFunc
	ended  chan struct{}
}

func (m *ofFranzGo) prepare() error {
	options, err := m.options()
	if err != nil {
		return err
	}
	if m.client, err = kgo.NewClient(options...); err != nil {
		return err
	}
	ask := kmsg.NewPtrHeartbeatRequest() // of nobody, which the coordinator answers
	ask.Group = m.Settings["group.id"].(string)
	_, err = ask.RequestWith(context.Background(), m.client)
	return err
}

func (m *ofFranzGo) options() ([]kgo.Opt, error) {
	options := []kgo.Opt{kgo.WithLogger(m)}
	times := map[string]func(time.Duration) kgo.Opt{
		"session.timeout.ms":      func(t time.Duration) kgo.Opt { return kgo.SessionTimeout(t) },
		"heartbeat.interval.ms":   func(t time.Duration) kgo.Opt { return kgo.HeartbeatInterval(t) },
		"max.poll.interval.ms":    func(t time.Duration) kgo.Opt { return kgo.RebalanceTimeout(t) },
		"metadata.max.age.ms":     func(t time.Duration) kgo.Opt { return kgo.MetadataMaxAge(t) },
		"auto.commit.interval.ms": func(t time.Duration) kgo.Opt { return kgo.AutoCommitInterval(t) },
		"fetch.max.wait.ms":       func(t time.Duration) kgo.Opt { return kgo.FetchMaxWait(t) },
	}
	for name, value := range m.Settings {
		text := fmt.Sprint(value)
		switch name {
		case "bootstrap.servers":
			options = append(options, kgo.SeedBrokers(strings.Split(text, ",")...))
		case "group.id":
			options = append(options, kgo.ConsumerGroup(text))
		case "client.id":
			options = append(options, kgo.ClientID(text))
		case "group.instance.id":
			options = append(options, kgo.InstanceID(text))
		case "enable.auto.commit":
			if text != "true" {
				options = append(options, kgo.DisableAutoCommit())
			}
		case "auto.offset.reset":
			reset := map[string]kgo.Offset{
				"earliest": kgo.NewOffset().AtStart(), "latest": kgo.NewOffset().AtEnd(),
			}[text]
			options = append(options, kgo.ConsumeResetOffset(reset), kgo.ConsumeStartOffset(reset))
		case "max.poll.records":
			m.most, _ = strconv.Atoi(text)
		case "partition.assignment.strategy":
			balancers := []kgo.GroupBalancer{}
			for _, strategy := range strings.Split(text, ",") {
				balancers = append(balancers, map[string]func() kgo.GroupBalancer{
					"range":              kgo.RangeBalancer,
					"roundrobin":         kgo.RoundRobinBalancer,
					"sticky":             kgo.StickyBalancer,
					"cooperative-sticky": kgo.CooperativeStickyBalancer,
				}[strategy]())
			}
			options = append(options, kgo.Balancers(balancers...))
		default:
			set, known := times[name]
			if !known {
				return nil, errors.New("no setting of franz-go's: " + name)
			}
			ms, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return nil, err
			}
			given := time.Duration(ms) * time.Millisecond
			options = append(options, set(given))
			if name == "metadata.max.age.ms" { // which may not be below the other
				options = append(options, kgo.MetadataMinAge(min(given, 5*time.Second)))
			}
		}
	}
	return options, nil
}

func (m *ofFranzGo) Level() kgo.LogLevel { return kgo.LogLevelDebug }

// Log tells which of its callbacks the client calls, and with what.
func (m *ofFranzGo) Log(_ kgo.LogLevel, said string, values ...any) {
	kind, calls := map[string]string{
		"entering OnPartitionsAssigned": "assigned",
		"entering OnPartitionsRevoked":  "revoked",
		"entering OnPartitionsLost":     "lost",
	}[said]
	if calls {
		partitions := reflect.ValueOf(values[1]).Convert(reflect.TypeFor[map[string][]int32]())
		id, generation := m.client.GroupMetadata()
		m.tellOf(kind, partitions.Interface().(map[string][]int32), id, generation)
	}
}

func (m *ofFranzGo) start() {
	var polls context.Context
	polls, m.stop = context.WithCancel(context.Background())
	m.ended = make(chan struct{})
	m.client.AddConsumeTopics(m.command.Topics...)
	go m.run(polls)
}

// run polls in a loop until it is stopped, also after an error. Its last poll takes what came before
// for done.
func (m *ofFranzGo) run(polls context.Context) {
	defer close(m.ended)
	for {
		fetched := m.client.PollRecords(polls, m.most)
		records := fetched.Records()
		if polls.Err() == nil {
			m.tellError(fetched.Err())
		} else if len(records) == 0 {
			return
		}
		for _, record := range records {
			m.process(record.Topic, record.Partition, record.Offset)
		}
	}
}

func (m *ofFranzGo) subscribe(topics []string) {
	known := m.client.GetConsumeTopics()
	m.client.PurgeTopicsFromConsuming(slices.DeleteFunc(known, func(topic string) bool {
		return slices.Contains(topics, topic)
	})...)
	m.client.AddConsumeTopics(topics...)
}

// close lets the application finish what it is at, as one does that closes after its last poll.
func (m *ofFranzGo) close() {
	m.stop()
	<-m.ended
	m.client.Close()
}

// ofKafkaGo is a reader of kafka-go's in a group, as its users have it. An application hears nothing of
// partitions there, so the reader's own logger tells of them. (A bare ConsumerGroup has generations
// with assignments, but its user writes what reads and commits, on which hangs when a generation ends.)
type ofKafkaGo struct {
	*member
	config     kafka.ReaderConfig
	reader     *kafka.Reader
	id         string
	generation int
	given      map[string][]int32
	stop       context.CancelFunc
	ended      chan struct{}
}

// prepare asks for the coordinator; a reader joins as soon as it is made.
func (m *ofKafkaGo) prepare() error {
	if err := m.configure(); err != nil {
		return err
	}
	client := kafka.Client{Addr: kafka.TCP(m.config.Brokers...)}
	asked := kafka.FindCoordinatorRequest{Key: m.config.GroupID}
	found, err := client.FindCoordinator(context.Background(), &asked)
	if err != nil {
		return err
	}
	return found.Error
}

func (m *ofKafkaGo) configure() error {
	config := &m.config
	config.GroupTopics, config.Logger = m.command.Topics, m
	times := map[string]*time.Duration{
		"session.timeout.ms":      &config.SessionTimeout,
		"heartbeat.interval.ms":   &config.HeartbeatInterval,
		"max.poll.interval.ms":    &config.RebalanceTimeout,
		"metadata.max.age.ms":     &config.PartitionWatchInterval,
		"auto.commit.interval.ms": &config.CommitInterval,
		"fetch.max.wait.ms":       &config.MaxWait,
	}
	for name, value := range m.Settings {
		text := fmt.Sprint(value)
		switch name {
		case "enable.auto.commit", "max.poll.records": // a reader has one record at a time
		case "bootstrap.servers":
			config.Brokers = strings.Split(text, ",")
		case "group.id":
			config.GroupID = text
		case "client.id":
			config.Dialer = &kafka.Dialer{ClientID: text, Timeout: 10 * time.Second, DualStack: true}
		case "auto.offset.reset":
			config.StartOffset = map[string]int64{
				"earliest": kafka.FirstOffset, "latest": kafka.LastOffset,
			}[text]
		case "partition.assignment.strategy":
			for _, strategy := range strings.Split(text, ",") {
				config.GroupBalancers = append(config.GroupBalancers, map[string]kafka.GroupBalancer{
					"range":      kafka.RangeGroupBalancer{},
					"roundrobin": kafka.RoundRobinGroupBalancer{},
				}[strategy])
			}
		default:
			set, known := times[name]
			if !known {
				return errors.New("no setting of kafka-go's: " + name)
			}
			ms, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return err
			}
			*set = time.Duration(ms) * time.Millisecond
		}
	}
	config.WatchPartitionChanges = config.PartitionWatchInterval > 0
	if m.Commit != "auto" { // CommitMessages waits for the broker
		config.CommitInterval = 0
	}
	return nil
}

// Printf tells when the reader begins to read partitions, and when it has committed for the last time
// what it read of them.
func (m *ofKafkaGo) Printf(said string, values ...any) {
	switch strings.TrimSpace(said) {
	case "Joined group %s as member %s in generation %d":
		m.id, m.generation = values[1].(string), int(values[2].(int32))
	case "subscribed to topics and partitions: %+v":
		m.given = map[string][]int32{}
		for of := reflect.ValueOf(values[0]).MapRange(); of.Next(); {
			topic, partition := of.Key().Field(0).String(), int32(of.Key().Field(1).Int())
			m.given[topic] = append(m.given[topic], partition)
		}
		m.tellOf("assigned", m.given, m.id, int32(m.generation))
	case "stopped commit for group %s":
		m.tellOf("revoked", m.given, m.id, int32(m.generation))
	case "%v": // of the group or of a commit
		m.tellError(values[0].(error))
	}
}

func (m *ofKafkaGo) start() {
	var reads context.Context
	reads, m.stop = context.WithCancel(context.Background())
	m.ended = make(chan struct{})
	m.reader = kafka.NewReader(m.config)
	go m.run(reads)
}

// run reads record by record until it is stopped, also after an error, and commits as it is told:
// ReadMessage before a record is processed, at once or every so often, CommitMessages after that.
func (m *ofKafkaGo) run(reads context.Context) {
	defer close(m.ended)
	read := m.reader.ReadMessage
	if m.Commit == "after" || m.Commit == "" {
		read = m.reader.FetchMessage
	}
	for {
		record, err := read(reads)
		if reads.Err() != nil {
			return
		}
		m.tellError(err)
		if err != nil {
			continue
		}
		m.process(record.Topic, int32(record.Partition), record.Offset)
		if m.Commit == "after" {
			m.tellError(m.reader.CommitMessages(reads, record))
		}
	}
}

// subscribe has nothing to call: a reader reads what it was made for.
func (m *ofKafkaGo) subscribe([]string) {
	m.tell("fatal", event{"error": "a reader of kafka-go's cannot subscribe to something else"})
}

// close lets the application finish what it is at.
func (m *ofKafkaGo) close() {
	m.stop()
	<-m.ended
	m.reader.Close()
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
			made := &member{command: told, toDo: make(chan command, 100)}
			made.consumer = map[string]consumer{
				"sarama": &ofSarama{member: made}, "franz-go": &ofFranzGo{member: made},
				"kafka-go": &ofKafkaGo{member: made},
			}[os.Args[1]]
			members[told.Key] = made
			go made.live()
		} else {
			members[told.Key].toDo <- told
		}
	}
}
