// The TypeScript half: a worker that runs the tasks of the lane group/node, until SIGTERM.
import { Redis } from "ioredis";
import { Adeq } from "pyadeq";
import { ioredis } from "pyadeq/ioredis";
import { Worker } from "./worker.js";

interface Counted {
  words: number;
  longest: string;
}

function count(text: string): Counted {
  const words = text.split(/\s+/).filter((word) => word !== "");
  const longest = words.reduce((one, other) => (other.length > one.length ? other : one), "");
  return { words: words.length, longest };
}

const url = process.env.ADEQ_URL ?? "redis://localhost:6379";
const client = new Redis(url.replace(/^unix:\/\//, ""));
const queue = new Adeq(ioredis(client)).queue("texts");

// The result is JSON; an exception fails the attempt. The worker renews leases, and settles in batches.
const handle = async (lease: { payload: Buffer }) => JSON.stringify(count(JSON.parse(lease.payload.toString()).text));
const worker = new Worker(queue, client, handle, { name: `node-${process.pid}`, lanes: ["group/node"], capacity: 10 });
process.on("SIGTERM", () => worker.stop());
await worker.run();
client.disconnect();
