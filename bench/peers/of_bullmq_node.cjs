// BullMQ on Node beside pyadeq: the command line of contract.py. Not an ES module, so that NODE_PATH says where packages are.
"use strict";

const { setTimeout: sleep } = require("node:timers/promises");
const { Queue, Worker } = require("bullmq");
const Redis = require("ioredis");

const [CONCURRENCY, PAYLOAD, RESULT, BULK] = [100, "x".repeat(200), "ok", 1000];

const about = () => ({
  versions: {
    node: process.versions.node,
    bullmq: require("bullmq/package.json").version,
    ioredis: require("ioredis/package.json").version,
  },
  mode: "locks, renewed; events; results kept",
  done: "return redis.call('ZCARD', 'bull:bench:completed')",
});

async function enqueue(queue, count) {
  await queue.waitUntilReady();
  const began = performance.now();
  for (let left = count; left > 0; left -= BULK) {
    const size = Math.min(left, BULK);
    await queue.addBulk(Array.from({ length: size }, () => ({ name: "noop", data: { payload: PAYLOAD } })));
  }
  console.log((performance.now() - began) / 1000);
}

async function send(queue, count, hold) {
  for (let n = 0; n < count; n++) {
    await sleep(50 + Math.random() * 200);
    // a string: nanoseconds are more than a double keeps
    await queue.add("report", { sent: process.hrtime.bigint().toString(), hold });
  }
}

async function handle(job) {
  if (job.name === "report") {
    const began = process.hrtime.bigint();
    process.stdout.write(`${job.data.sent} ${began} ${job.data.hold}\n`);
    await sleep(job.data.hold * 1000);
  }
  return RESULT;
}

async function main([command, url, ...numbers]) {
  if (command === "about") return console.log(JSON.stringify(about()));
  const connection = new Redis(url, { maxRetriesPerRequest: null });
  if (command === "work") return void new Worker("bench", handle, { connection, concurrency: CONCURRENCY });
  const queue = new Queue("bench", { connection });
  await (command === "enqueue" ? enqueue : send)(queue, ...numbers.map(Number));
  await queue.close();
  await connection.quit();
}

main(process.argv.slice(2));
