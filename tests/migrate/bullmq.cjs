// The old application on Node, with real BullMQ: node bullmq.cjs record|produce|work SOCKET [FIRST AFTER]
"use strict";

const { FlowProducer, Queue, Worker } = require("bullmq");
const IORedis = require("ioredis");

const connect = (path) => new IORedis(path, { maxRetriesPerRequest: null });

// One job of each kind. Their ids say which. A queue of its own is paused: then BullMQ 5 keeps its jobs elsewhere.
async function record(connection) {
  const queue = new Queue("work", { connection });
  const add = (jobId, options = {}, name = "app.add", data = { a: 1, b: 2 }) => queue.add(name, data, { jobId, ...options });
  await queue.add("app.add", { a: 1, b: 2 });
  await add("plain");
  await add("exponential", { attempts: 3, backoff: { type: "exponential", delay: 1000, jitter: 0.5 } });
  await add("fixed", { attempts: 2, backoff: 5000, removeOnComplete: { age: 60 } });
  await add("custom", { attempts: 2, backoff: { type: "mine" }, removeOnComplete: true });
  await add("at-once", { attempts: 2 });
  await add("unknown", {}, "app.unknown");
  await add("misfit", {}, "app.add", { a: "one", b: 2 });
  await add("list", {}, "app.add", [1, 2]);
  await add("once", { deduplication: { id: "d1" } });
  await add("throttled", { deduplication: { id: "d2", ttl: 3600000 } });
  await add("first", { lifo: true });
  await add("p300", { priority: 300 });
  await add("p3", { priority: 3 });
  await add("p-last", { priority: 2097151 });
  await add("p3-second", { priority: 3 });
  await add("later", { delay: 3600000 });
  await add("later-p2", { delay: 3600000, priority: 2 });
  await queue.upsertJobScheduler("nightly", { pattern: "0 3 * * *", tz: "Europe/Berlin" }, { name: "app.add", data: { a: 1, b: 2 } });
  const flows = new FlowProducer({ connection });
  const child = { name: "app.add", queueName: "work", data: {}, opts: { jobId: "child" } };
  await flows.add({ name: "app.sum", queueName: "work", data: {}, opts: { jobId: "parent" }, children: [child] });
  const paused = new Queue("later", { connection });
  for (const jobId of ["one", "two"]) await paused.add("app.add", { a: 1, b: 2 }, { jobId });
  await paused.pause();
  for (const one of [queue, flows, paused]) await one.close();
}

// Each tenth job is for later, each tenth has a priority, and each fiftieth belongs to no function of the new program.
async function produce(connection, first, after) {
  const queue = new Queue("work", { connection });
  for (let number = first; number < after; number += 500) {
    const numbers = Array.from({ length: Math.min(500, after - number) }, (_, i) => number + i);
    const options = (n) => [{ delay: 1000 }, {}, { priority: (n % 7) + 1 }][n % 10] ?? {};
    const name = (n) => (n % 50 === 1 ? "app.old" : "app.note");
    await queue.addBulk(numbers.map((n) => ({ name: name(n), data: { number: n }, opts: options(n) })));
  }
  await queue.close();
}

function work(connection) {
  const pause = Number(process.env.ADEQ_MIGRATE_PAUSE ?? "0.05");
  const handle = async (job) => {
    await new Promise((resolve) => setTimeout(resolve, 2000 * pause)); // four at a time
    await connection.rpush("ran", job.data.number);
  };
  const worker = new Worker("work", handle, { connection, concurrency: 4 });
  process.on("SIGTERM", async () => {
    await worker.close(); // it finishes what runs
    await connection.quit();
  });
}

async function main([command, path, ...numbers]) {
  const connection = connect(path);
  if (command === "work") return work(connection);
  await { record, produce }[command](connection, ...numbers.map(Number));
  await connection.quit();
}

main(process.argv.slice(2));
