// What an agent reads, in batches: node --test, with URL in the environment.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, beforeEach, test } from "node:test";
import { Redis } from "ioredis";
import { Adeq } from "pyadeq";
import { ioredis } from "pyadeq/ioredis";
import { QueueRuntime, scopeOf } from "./queue-runtime.js";

/** @typedef {import("./queue-runtime.js").QueueItem} QueueItem */

const { URL: url = "" } = process.env;
const server = new Redis(url);
const queue = new Adeq(ioredis(server)).queue("q");

after(() => server.disconnect());
beforeEach(() => server.flushall());

/**
 * @param {string} content
 * @param {Partial<QueueItem>} [more]
 * @returns {Omit<QueueItem, "id" | "enqueuedAt">}
 */
function message(content, more = {}) {
  return { kind: "message", source: "user", agentId: "a", conversationId: "17", content, ...more };
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
  const about = { agentId: "a", conversationId: "17", clientMessageId: "c 1" }; // only passed on
  const added = [
    await runtime.enqueue(message("1", about)),
    await runtime.enqueue(message("2", about)),
  ];
  assert.ok(added.every((item) => item));
  await runtime.enqueue({ kind: "approval_result", source: "hook", ...about, text: "yes" });
  await runtime.enqueue(message("3"));
  await runtime.enqueue(message("other", { conversationId: "18" }));
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
  assert.deepEqual(
    merged?.items.map(({ clientMessageId }) => clientMessageId),
    ["c 1", "c 1"],
  );
  const left = batches.map(({ items, queueLenAfter }) => items.length + queueLenAfter);
  assert.deepEqual(left, [5, ...batches.slice(0, -1).map(({ queueLenAfter }) => queueLenAfter)]);
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

test("what is not accepted is null", async () => {
  const runtime = new QueueRuntime(queue);
  assert.equal(await runtime.length(), 0);
  await queue.drain({});
  assert.equal(await runtime.enqueue(message("1")), null);
});

test("a conversation may have any name, and its mailbox that of Python", async () => {
  /** @type {[string, string, string][]} */
  const scopes = JSON.parse(readFileSync("scopes.json", "utf8"));
  const found = scopes.map(([agent, conversation]) => [
    agent,
    conversation,
    scopeOf(agent, conversation),
  ]);
  assert.deepEqual(found, scopes);
  const runtime = new QueueRuntime(queue, { windowMs: 0 });
  for (const [agentId, conversationId, scope] of scopes) {
    await runtime.enqueue(message("1", { agentId, conversationId }));
    const { items } = await queue.length({ items: [{ lane: `group/${scope}` }] });
    assert.equal(items[0]?.count, 1);
    const batch = await runtime.tryDequeue(null);
    assert.equal(batch?.items[0]?.agentId, agentId);
    assert.equal(batch?.items[0]?.conversationId, conversationId);
  }
});

test("a batch whose notification cannot be read is not lost", async () => {
  const runtime = new QueueRuntime(queue, { windowMs: 0, conversations: [["a", "17"]] });
  await notify();
  const { get } = queue;
  queue.get = () => Promise.reject(new Error("the connection is lost"));
  try {
    await assert.rejects(runtime.tryDequeue(null), /the connection is lost/);
  } finally {
    queue.get = get;
  }
  assert.equal((await runtime.tryDequeue(null))?.items.length, 1);
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

  const odd = await both.enqueue(message("", { content: 1n })); // JSON cannot hold it, and the old queue decides
  assert.deepEqual([different, memory], [[odd?.id], [odd]]);
});

const TASK = "6a0d7e52-9a3c-4a5e-8a52-0c9a2f3d1b10";

let notified = 0;

/** What a task tool in Python enqueues. @param {object} [more] */
async function notify(more = {}) {
  const about = { kind: "task_notification", task_id: TASK, description: "Look", parent: "a+17" };
  const payload = JSON.stringify({ ...about, ...more });
  const task = { id: `n${++notified}`, payload, kind: "task_notification", lane: "group/a+17" };
  await queue.enqueue({ items: [task] });
}

test("a notification of Python has the text that Python writes", async () => {
  const worker = { worker: "w", incarnation: "i" };
  await queue.register({ ...worker, about: [{ pid: 1 }] });
  const lane = "any";
  await queue.enqueue({ items: [{ id: TASK, payload: "{}", lane }] });
  const args = { slot: 0, limit: 1, n: 1, leaseMs: 1000 };
  const claimed = await queue.claim({ ...worker, ...args, items: [{ lane }] });
  assert.ok(claimed.status === "ok" && claimed.leases[0]);
  const { id, token } = claimed.leases[0];
  await queue.ack({ items: [{ id, token, result: '{"ok": 1, "name": "é"}' }] });
  await notify();
  await notify({ text: "as it was forwarded" });
  await notify({ task_id: TASK.replace("6", "7") });
  await notify({ task_id: "no id!" });

  const runtime = new QueueRuntime(queue, { windowMs: 0, conversations: [["a", "17"]] });
  const items = (await all(runtime)).flatMap((batch) => batch.items);
  assert.deepEqual(
    items.map(({ text }) => text),
    [
      `Agent "Look": completed (task ${TASK})\nresult: {"ok":1,"name":"é"}\nexit status: 0`,
      "as it was forwarded",
      `Agent "Look": ended (task ${TASK.replace("6", "7")}), and is no longer stored`,
      undefined,
    ],
  );
  const [first, , , other] = items;
  assert.ok(first);
  const { kind, source, agentId, conversationId, content } = first;
  const about = ["task_notification", "system", "a", "17", undefined];
  assert.deepEqual([kind, source, agentId, conversationId, content], about);
  assert.equal(/** @type {any} */ (other?.content).task_id, "no id!");
});
