// kafkajs's own assigner as an oracle: one group document a line in, one answer a line out.
//
// kafkajs hands the assigner the topics to which the *leader* subscribes, whatever the others
// subscribe to; the leader is the first member of the document. Each member then drops what it did
// not subscribe to, as its ConsumerGroup does. Assignments cross the wire on the way.

const readline = require('readline')
const { AssignerProtocol, PartitionAssigners } = require('kafkajs')

class BadDocument extends Error {}

async function answer(document) {
  if (document.strategy !== 'kafkajs-roundrobin') throw new BadDocument(`no strategy ${document.strategy}`)
  const members = document.members || []
  const partitions = new Map((document.topics || []).map(t => [t.name, t.partitions]))
  const cluster = {
    findTopicPartitionMetadata: topic =>
      Array.from({ length: partitions.get(topic) || 0 }, (_, partitionId) => ({ partitionId })),
  }
  const given = await PartitionAssigners.roundRobin({ cluster }).assign({
    members: members.map(member => ({ memberId: member.id, memberMetadata: Buffer.alloc(0) })),
    topics: members.length ? members[0].topics : [],
  })
  const received = new Map(given.map(one => [one.memberId, one.memberAssignment]))
  // No object with members as keys: JavaScript would sort keys that look like numbers.
  const lists = members.map(member => {
    const read = AssignerProtocol.MemberAssignment.decode(received.get(member.id) || Buffer.alloc(0))
    const assigned = read ? read.assignment : {}
    const pairs = Object.keys(assigned)
      .filter(topic => member.topics.includes(topic))
      .flatMap(topic => assigned[topic].map(partition => [topic, partition]))
    return `${JSON.stringify(member.id)}:${JSON.stringify(pairs)}`
  })
  return `{"assignment":{${lists.join(',')}}}`
}

async function converse() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    let reply
    try {
      reply = await answer(JSON.parse(line))
    } catch (thrown) {
      reply = JSON.stringify({ error: `${thrown.constructor.name}: ${thrown.message}` })
    }
    process.stdout.write(`${reply}\n`)
  }
}

converse()
