// What an agent reads, in batches: node --test, with URL in the environment.
import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { Redis } from "ioredis";
import { Adeq } from "pyadeq";
import { ioredis } from "pyadeq/ioredis";
import { QueueRuntime } from "./queue-runtime.js";

/** @typedef {import("./queue-runtime.js").QueueItem} QueueItem */

const { URL: url = "" } = process.env;
const server = new Redis(url);
const queue = new Adeq(ioredis(server)).queue("q");

after(() => server.disconnect());
beforeEach(() => server.flushall());

/**
 * @param {string} content
 * @param {object} [more]
 */
function message(content, more = {}) {
  const kind = /** @type {const} */ ("message");
  return { kind, source: "user", agentId: "a", conversationId: "17", content, ...more };
}

/** @param {QueueRuntime} runtime */
async function all(runtime) {
  const found = [];
  let batch;
  while ((batch = await runtime.tryDequeue(null))) found.push(batch);
  return found;
}

test("messages of a conversation are merged, and others are not", async () => {
  /** @type {unknown[]} */
  const blocked = [];
  const onBlocked = (/** @type {unknown[]} */ ...what) => blocked.push(what);
  const runtime = new QueueRuntime(queue, { windowMs: 0, onBlocked });
  const first = message("1", { clientMessageId: "c1" });
  const added = [await runtime.enqueue(first), await runtime.enqueue(message("2"))];
  assert.ok(added.every((item) => item));
  const kind = /** @type {const} */ ("approval_result");
  await runtime.enqueue({ kind, source: "user", agentId: "a", conversationId: "17", text: "yes" });
  await runtime.enqueue(message("3"));
  await runtime.enqueue(message("other", { conversationId: "18" }));
  assert.equal(await runtime.enqueue(first), null);
  assert.equal(await runtime.tryDequeue("a tool runs"), null);
  assert.deepEqual(blocked, [["a tool runs", 5]]);
  const batches = await all(runtime);
  const texts = batches.map(({ items }) =>
    items.map(({ content, text }) => content ?? text).join(),
  );
  assert.deepEqual(texts.sort(), ["1,2", "3", "other", "yes"]);
  const merged = batches.find(({ mergedCount }) => mergedCount === 2);
  assert.deepEqual(
    merged?.items.map(({ id }) => id),
    added.map((item) => item?.id),
  );
  assert.equal(merged?.queueLenAfter, 2);
  assert.equal(new Set(batches.map(({ batchId }) => batchId)).size, 4);
  assert.equal(await runtime.tryDequeue("again"), null);
  assert.equal(blocked.length, 1);
  await runtime.close();
});

test("the window holds a batch back, and two calls at once take it once", async () => {
  const open = new QueueRuntime(queue, { windowMs: 60_000 });
  await open.enqueue(message("1"));
  assert.equal(await open.tryDequeue(null), null);
  const runtime = new QueueRuntime(queue, { windowMs: 0, conversations: [["a", "17"]] });
  const found = await Promise.all([runtime.tryDequeue(null), runtime.tryDequeue(null)]);
  assert.equal(found.filter((batch) => batch).length, 1);
});

test("a worker that is forgotten is registered again, and not without an end", async () => {
  const runtime = new QueueRuntime(queue, { windowMs: 0 });
  await runtime.enqueue(message("1"));
  const { register } = queue;
  let count = 0;
  queue.register = async (input) => {
    const answer = await register.call(queue, input);
    count += 1;
    await queue.deregister({ worker: input.worker, incarnation: input.incarnation });
    return answer;
  };
  try {
    await assert.rejects(runtime.tryDequeue(null), /was registered 3 times/);
    assert.equal(count, 3);
  } finally {
    queue.register = register;
  }
  assert.equal((await runtime.tryDequeue(null))?.items[0]?.content, "1");
});

test("what is not accepted is null, and bad names are refused", async () => {
  const runtime = new QueueRuntime(queue);
  assert.equal(await runtime.length(), 0);
  await queue.drain({});
  assert.equal(await runtime.enqueue(message("1")), null);
  await assert.rejects(runtime.enqueue(message("1", { agentId: "a+b" })), /agentId: a\+b/);
});

test("the old queue is read until the change, and nothing comes twice", async () => {
  /** @type {QueueItem[]} */
  const memory = [];
  /** @type {string[]} */
  const different = [];
  const old = {
    enqueue: (/** @type {QueueItem} */ item) => {
      if (memory.length === 3) return null;
      memory.push(item);
      return item;
    },
    tryDequeue: () => {
      const item = memory.shift();
      return item
        ? { batchId: item.id, items: [item], mergedCount: 1, queueLenAfter: memory.length }
        : null;
    },
  };
  const onDifference = (/** @type {string[]} */ ids) => void different.push(...ids);
  const both = new QueueRuntime(queue, { old, onDifference });
  const added = [];
  for (const text of "abcd") added.push(await both.enqueue(message(text)));
  assert.deepEqual(
    added.map((item) => item?.content),
    ["a", "b", "c", undefined],
  );
  assert.equal((await both.tryDequeue(null))?.items[0]?.content, "a");
  assert.deepEqual(different, []);
  const later = new QueueRuntime(queue, { windowMs: 0, conversations: [["a", "17"]] });
  const batch = await later.tryDequeue(null);
  assert.deepEqual(
    batch?.items.map(({ content }) => content),
    ["b", "c"],
  );
  await both.tryDequeue(null);
  assert.deepEqual(different, [added[1]?.id]);

  await both.tryDequeue(null);
  different.length = 0;
  const adding = both.enqueue(message("e"));
  assert.equal((await both.tryDequeue(null))?.items[0]?.content, "e"); // while it is being enqueued here
  await adding;
  assert.deepEqual([different, await later.length()], [[], 0]);
});

test("what Python has stored is read, and a notification is the content", async () => {
  const lane = "group/a+17";
  const payload = JSON.stringify({ kind: "task_notification", task_id: "t" });
  await queue.enqueue({ items: [{ id: "n", payload, kind: "task_notification", lane }] });
  const runtime = new QueueRuntime(queue, { windowMs: 0, conversations: [["a", "17"]] });
  const batch = await runtime.tryDequeue(null);
  assert.equal(batch?.items[0]?.kind, "task_notification");
  assert.deepEqual(batch?.items[0]?.content, JSON.parse(payload));
});
