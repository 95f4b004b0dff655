// BullMQ on Node beside pyadeq: the command line of contract.py. Not an ES module, so that NODE_PATH says where packages are.
"use strict";

const { setTimeout: sleep } = require("node:timers/promises");
const { Queue, Worker } = require("bullmq");
const Redis = require("ioredis");

const [CONCURRENCY, PAYLOAD, RESULT, BULK, WARM] = [100, "x".repeat(200), "ok", 1000, 100];

const about = () => ({
  versions: {
    node: process.versions.node,
    bullmq: require("bullmq/package.json").version,
    ioredis: require("ioredis/package.json").version,
  },
  mode: "locks, renewed; events; results kept",
  done: "return ARGV[1] - redis.call('LLEN', 'bull:bench:wait') - redis.call('LLEN', 'bull:bench:active')",
  ways: ["promises"],
  kept: "removeOnComplete: a number",
  leaves: 0,
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

async function call(queue, count, callers) {
  await queue.waitUntilReady();
  const times = [];
  const some = async (number) => {
    let left = number;
    const caller = async () => {
      while (left-- > 0) {
        const began = performance.now();
        await queue.add("noop", { payload: PAYLOAD });
        times.push(performance.now() - began);
      }
    };
    await Promise.all(Array.from({ length: callers }, caller));
  };
  await some(WARM);
  times.length = 0;
  const [began, before] = [performance.now(), process.cpuUsage()];
  await some(count);
  const [seconds, used] = [(performance.now() - began) / 1000, process.cpuUsage(before)];
  times.sort((a, b) => a - b);
  console.log(seconds, (used.user + used.system) / count, times[Math.floor(0.99 * count)]);
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

async function main([command, url, ...words]) {
  const keep = words.at(-2) === "--keep" ? Number(words.splice(-2)[1]) : 0;
  const numbers = words.map(Number);
  if (command === "about") return console.log(JSON.stringify(about()));
  const connection = new Redis(url, { maxRetriesPerRequest: null });
  if (command === "work") {
    const kept = keep ? { removeOnComplete: { count: keep } } : {};
    return void new Worker("bench", handle, { connection, concurrency: CONCURRENCY, ...kept });
  }
  const queue = new Queue("bench", { connection });
  await { enqueue, call, send }[command](queue, ...numbers);
  await queue.close();
  await connection.quit();
}

main(process.argv.slice(2));
