// Real consumers of KafkaJS in one process, as Members.java has Java's, and members.py and members.go those
// of others.
//
// The same JSON lines: commands on standard input, what happens to the members, with the moment in ms, on
// standard output. Settings have the names that Java's consumer gives them; its max.poll.interval.ms is the
// rebalance timeout. Run by Node beside the package: members.js HOST:PORT.

const readline = require('readline')
const { Kafka, logLevel } = require('kafkajs')

const now = () => Date.now()
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms))

function tell(kind, key, values = {}) {
  process.stdout.write(`${JSON.stringify({ at: now(), kind, key, ...values })}\n`)
}

// What the client's log says where it lets go of all that it has: no listener is told.
const LETS_GO = {
  'The group is rebalancing, re-joining': 'revoked',
  'The coordinator is not aware of this member, re-joining the group': 'lost',
  'Topic has been updated, resync group': 'revoked',
  'Stale cluster metadata, refreshing...': 'revoked',
}

// A consumer, and what it is told. Its application reads with eachMessage.
class Member {
  constructor(command) {
    Object.assign(this, { key: command.key, command, atWork: 0, generation: -1, id: '', partitions: [] })
    this.done = Promise.resolve()
  }

  // Commands one after the other.
  next(step) {
    this.done = this.done.then(step).catch(thrown => tell('fatal', this.key, { error: thrown.message }))
  }

  async prepare() {
    const made = now()
    const set = { ...this.command.settings }
    const taken = name => {
      const value = set[name]
      delete set[name]
      return value === undefined ? undefined : Number(value)
    }
    const kafka = new Kafka({
      brokers: set['bootstrap.servers'].split(','),
      clientId: set['client.id'],
      logLevel: logLevel.DEBUG,
      logCreator: () => ({ log }) => this.read(log),
    })
    this.consumer = kafka.consumer({
      groupId: set['group.id'],
      sessionTimeout: taken('session.timeout.ms'),
      heartbeatInterval: taken('heartbeat.interval.ms'),
      rebalanceTimeout: taken('max.poll.interval.ms'),
      metadataMaxAge: taken('metadata.max.age.ms'),
      maxWaitTimeInMs: taken('fetch.max.wait.ms'),
    })
    this.how = {
      autoCommit: set['enable.auto.commit'] === 'true',
      eachMessage: given => this.process(given),
    }
    const fromBeginning = set['auto.offset.reset'] === 'earliest'
    // It has one strategy, hands out all that a fetch brings, and commits after every batch of a partition:
    // autoCommitInterval is unset, which would add commits in between.
    const known = ['bootstrap.servers', 'group.id', 'client.id', 'enable.auto.commit', 'auto.offset.reset',
      'partition.assignment.strategy', 'max.poll.records', 'auto.commit.interval.ms']
    const unknown = Object.keys(set).filter(name => !known.includes(name))
    if (unknown.length) throw new Error(`no setting of KafkaJS's: ${unknown}`)
    const { GROUP_JOIN, CRASH } = this.consumer.events
    this.consumer.on(GROUP_JOIN, ({ payload }) => this.assigned(payload))
    this.consumer.on(CRASH, ({ payload }) => this.crashed(payload))
    await this.consumer.connect()
    const { pattern, topics } = this.command
    await this.consumer.subscribe({ topics: pattern ? [new RegExp(`^(?:${pattern})$`)] : topics, fromBeginning })
    await this.consumer.describeGroup() // it knows the coordinator then
    tell('ready', this.key, { made })
  }

  start() {
    tell('started', this.key)
    this.consumer.run(this.how).catch(thrown => tell('fatal', this.key, { error: thrown.message }))
  }

  async do(command) {
    tell('does', this.key, { what: command.do })
    if (command.do === 'close') {
      await this.consumer.disconnect()
      tell('closed', this.key)
    } else if (command.do === 'stall') {
      this.atWork = now() + command.ms
    } else {
      throw new Error(command.do)
    }
  }

  read(log) {
    if (log.message === 'Received assignment') this.generation = log.generationId
    else if (LETS_GO[log.message]) this.letGo(LETS_GO[log.message])
  }

  assigned({ memberId, memberAssignment }) {
    this.id = memberId
    this.partitions = Object.entries(memberAssignment)
      .flatMap(([topic, numbers]) => numbers.map(number => `${topic}-${number}`))
      .sort()
    this.call('assigned')
  }

  letGo(kind) {
    this.call(kind)
    this.partitions = []
  }

  // It has left the group; whether it comes again says the client.
  crashed({ error, restart }) {
    this.letGo('lost')
    tell(restart ? 'error' : 'fatal', this.key, { error: error.message })
  }

  call(kind) {
    tell(kind, this.key, { partitions: this.partitions, id: this.id, generation: this.generation })
  }

  // What the application does with a record: it is through with what it is at, and takes so long again.
  async process({ topic, partition, message }) {
    const ms = Math.max(0, this.atWork - now()) + (this.command.processing_ms || 0)
    if (ms > 0) await sleep(ms)
    const offset = Number(message.offset)
    tell('got', this.key, { ranges: [[`${topic}-${partition}`, offset, offset + 1]] })
  }
}

const members = new Map()
readline.createInterface({ input: process.stdin }).on('line', line => {
  const command = JSON.parse(line)
  if (command.do === 'prepare') {
    const made = new Member(command)
    members.set(command.key, made)
    made.next(() => made.prepare())
    return
  }
  const member = members.get(command.key)
  member.next(() => (command.do === 'start' ? member.start() : member.do(command)))
})
