// Enqueues the tasks that come on standard input, one JSON object a line with `id`, `lane` and `payload`, in batches.
import { createInterface } from "node:readline";
import { Redis } from "ioredis";
import { Adeq } from "pyadeq";
import { ioredis } from "pyadeq/ioredis";

const BATCH = 100;
const { ADEQ_URL = "", ADEQ_QUEUE = "" } = process.env;
const client = new Redis(ADEQ_URL);
const queue = new Adeq(ioredis(client), { source: "producer" }).queue(ADEQ_QUEUE);

/** @type {import("pyadeq").queue.EnqueueItem[]} */
let items = [];
for await (const line of createInterface({ input: process.stdin })) {
  const { id, lane, payload } = JSON.parse(line);
  items.push({ id, lane, payload: JSON.stringify(payload) });
  if (items.length === BATCH) await enqueue();
}
if (items.length > 0) await enqueue();
client.disconnect();

async function enqueue() {
  const { items: answers } = await queue.enqueue({ items });
  const odd = answers.find(({ status }) => status !== "created");
  if (odd !== undefined) throw new Error(`a task was not made: ${odd.status}`);
  items = [];
}
