// KafkaJS's partitioners. JSON lines as the others. The random start of a topic's counter is taken
// from Java's ThreadLocalRandom with the history's seed, so that nothing is left to chance.
const readline = require('readline')

// The golden gamma and twice the number of the first thread, as JDK 17 adds them.
const MASK = (1n << 64n) - 1n
let state = 0n
function draw() {
  state = (state + 0x9e3779b97f4a7c17n) & MASK
  let z = ((state ^ (state >> 33n)) * 0xff51afd7ed558ccdn) & MASK
  z = ((z ^ (z >> 33n)) * 0xc4ceb9fe1a85ec53n) & MASK
  return Number(z >> 32n)
}
globalThis.crypto.getRandomValues = bytes => {
  bytes.fill(0)
  bytes.writeUInt32BE(draw(), 0)
  return bytes
}

const { Partitioners } = require('kafkajs')
const known = {
  kafkajs: Partitioners.DefaultPartitioner,
  'kafkajs-legacy': Partitioners.LegacyPartitioner,
}

readline.createInterface({ input: process.stdin }).on('line', line => {
  const history = JSON.parse(line)
  state = BigInt(history.seed)
  const create = known[history.partitioner]
  if (!create) {
    console.log(JSON.stringify({ error: `BadDocument: no partitioner ${history.partitioner}` }))
    return
  }
  const partitioner = create()
  const partitions = []
  for (const step of history.steps) {
    const topic = history.topics[step[1]]
    if (step[0] === 'available') {
      topic.available = step[2]
      continue
    }
    const others = [...Array(topic.partitions).keys()].filter(p => !topic.available.includes(p))
    const partitionMetadata = [...topic.available, ...others].map(partitionId => ({
      partitionId,
      leader: topic.available.includes(partitionId) ? 0 : -1,
    }))
    const key = step[2] === null ? null : Buffer.from(step[2], 'hex')
    partitions.push(partitioner({ topic: topic.name, partitionMetadata, message: { key } }))
  }
  console.log(JSON.stringify({ partitions, random: state.toString() }))
})
