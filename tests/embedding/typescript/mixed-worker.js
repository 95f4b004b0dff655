// A worker beside those of other languages. Which one, says the environment; it stops on SIGTERM.
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { Adeq } from "pyadeq";
import { ioredis } from "pyadeq/ioredis";
import { LockClient } from "./lock.js";
import { Worker } from "./worker.js";

const { ADEQ_URL = "", ADEQ_QUEUE = "", ADEQ_WORKER = "", ADEQ_GROUP = "" } = process.env;
const { ADEQ_LANES = "", ADEQ_CAPACITY = "" } = process.env;

const client = new Redis(ADEQ_URL);
const adeq = new Adeq(ioredis(client));
const locks = new LockClient(adeq.locks(ADEQ_QUEUE));

/** @type {import("./worker.js").Handler} */
async function handle(lease, signal) {
  const task = JSON.parse(lease.payload.toString());
  if (task.fail_first && lease.attempt === 1) throw new Error("the first attempt fails");
  if (task.lock === undefined) {
    await sleep(task.ms ?? 0, undefined, { signal });
  } else {
    await alone(task.lock, task.ms ?? 0, signal);
  }
  return JSON.stringify({ by: ADEQ_WORKER, language: "typescript" });
}

/**
 * @param {string} resource
 * @param {number} ms
 * @param {AbortSignal} signal
 */
async function alone(resource, ms, signal) {
  const grant = await locks.take(resource, { waitMs: 30_000, signal });
  try {
    await client.rpush(`mixed:${resource}`, `enter ${grant.fence}`);
    await sleep(ms, undefined, { signal });
    await client.rpush(`mixed:${resource}`, `leave ${grant.fence}`);
  } finally {
    await locks.release(grant);
  }
}

const worker = new Worker(adeq.queue(ADEQ_QUEUE), client, handle, {
  name: ADEQ_WORKER,
  group: ADEQ_GROUP,
  lanes: ADEQ_LANES.split(","),
  capacity: Number(ADEQ_CAPACITY),
});
process.on("SIGTERM", () => worker.stop());
const running = worker.run();
await worker.registered;
console.log("ready");
await running;
client.disconnect();
