// What a client does besides encoding: node --test, with LIBRARY, URL and CLUSTER in the environment.
import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { Redis } from "ioredis";
import {
  Adeq,
  ArgError,
  ConfigError,
  LayoutError,
  Queue,
  eventsBase,
  queueBase,
  ScriptError,
  TransportError,
} from "pyadeq";
import { ioredis } from "pyadeq/ioredis";
import { LIBRARIES } from "./libraries.js";
import { proxied } from "./proxy.js";

const { LIBRARY = "", URL: url = "", CLUSTER } = process.env;
const open = LIBRARIES[LIBRARY] ?? assert.fail(`LIBRARY=${LIBRARY} is not one`);
const opened = await open(url, Boolean(CLUSTER));
const server = new Redis(url);
const adeq = new Adeq(opened.connection, { source: "tests" });

after(() => {
  opened.close();
  server.disconnect();
});
beforeEach(() => server.flushall());

const task = { id: "t", payload: "{}" };

test("scripts are loaded at a deploy", async () => {
  await server.script("FLUSH");
  const ids = await adeq.load();
  assert.ok(ids.includes("queue.claim.v1") && ids.includes("lock.acquire.v1"));
  assert.equal(new Set(ids).size, ids.length);
  assert.ok((await server.info("memory")).includes(`number_of_cached_scripts:${ids.length}`));
});

test("a script that the server has forgotten is loaded by the call", async () => {
  await server.script("FLUSH");
  const answer = await adeq.queue("q").enqueue({ items: [task] });
  assert.deepEqual(answer.items, [{ status: "created" }]);
});

test("a task goes from line to result", async () => {
  const queue = adeq.queue("q");
  const payload = new Uint8Array([0, 255, 128]);
  await queue.enqueue({ items: [{ ...task, payload, priority: 3, tags: ["a", "b"] }] });
  await queue.register({ worker: "w", incarnation: "i" });
  const claimed = await queue.claim({
    worker: "w",
    incarnation: "i",
    slot: 0,
    n: 1,
    limit: 5,
    items: [{ lane: "any" }],
  });
  assert.ok(claimed.status === "ok");
  const [lease, none] = claimed.leases;
  assert.ok(lease !== undefined && none === undefined);
  assert.deepEqual(new Uint8Array(lease.payload), payload);
  assert.equal(lease.record.get("tags")?.toString(), "a,b");
  const item = { id: lease.id, token: lease.token, result: "7" };
  assert.deepEqual((await queue.ack({ items: [item] })).items, [{ status: "completed" }]);
  assert.deepEqual((await queue.ack({ items: [item] })).items, [{ status: "completed" }]);
  const entries = await server.xrange(queue.keys.events, "-", "+");
  assert.ok(entries.every(([, words]) => words[words.indexOf("source") + 1] === "tests"));
});

test("events are read where their noun writes them", async () => {
  await adeq.queue("mail").enqueue({ items: [task] });
  const events = adeq.events("queue", "mail");
  await events.register({ group: "g" });
  const found = await events.read({ group: "g" });
  assert.ok(found.status === "ok");
  const kinds = found.items.map((one) => one.status === "event" && one.fields.get("event"));
  assert.ok(kinds.map(String).includes("task.enqueued"), kinds.join());
  const slot = "prod";
  assert.equal(eventsBase("queue", "mail"), "ade:{queue:mail}");
  assert.equal(eventsBase("session", "web/c7"), "ade:{session:web/c7}");
  assert.equal(eventsBase("change", "ops", { slot }), "ade:{prod}:change:ops");
  assert.equal(eventsBase("rate", "api/1", { slot }), "ade:{prod}:rate:api/1");
  for (const [noun = "", name = ""] of [
    ["events", "mail"],
    ["toString", "mail"],
    ["queue", "a b"],
    ["queue", "q/"],
  ]) {
    assert.throws(() => adeq.events(noun, name), ConfigError);
  }
});

test("errors have classes and codes", async () => {
  const bad = adeq.queue("q").enqueue({ items: [{ id: "no blanks", payload: "" }] });
  await assert.rejects(bad, (error) => {
    assert.ok(error instanceof ArgError && error instanceof ScriptError);
    assert.deepEqual([error.code, error.script], ["ADEQ_ARG", "queue.enqueue.v1"]);
    return true;
  });
});

test("what is missing, unknown or of a wrong type is named before anything is sent", async () => {
  const queue = adeq.queue("q");
  /** @type {[any, RegExp][]} */
  const wrong = [
    [{ items: [{ id: "t" }] }, /items\[0\]\.payload/],
    [{ items: [{ ...task, prioritty: 1 }] }, /items\[0\]\.prioritty.*priority/],
    [{ items: [{ ...task, priority: 1.5 }] }, /items\[0\]\.priority: 1\.5/],
    [{ items: [task], extra: 1 }, /extra/],
    [{ items: [{ ...task, tags: "a" }] }, /items\[0\]\.tags/],
    [{ items: [{ ...task, tags: ["a,b"] }] }, /items\[0\]\.tags: "a,b".*without commas/],
    [{ items: [{ ...task, tags: [""] }] }, /items\[0\]\.tags/],
    [{ items: Array(17).fill({ ...task, payload: "x".repeat(1 << 20) }) }, /smaller batches/],
  ];
  for (const [args, words] of wrong) await assert.rejects(queue.enqueue(args), words);
  assert.equal(await server.dbsize(), 0);
});

test("a base without a hash tag is refused", () => {
  assert.throws(() => new Queue(adeq.caller, "ade:queue"), ConfigError);
  assert.throws(() => new Queue(adeq.caller, "ade:{}queue"), ConfigError);
  assert.throws(() => queueBase("a b"), ConfigError);
  assert.equal(queueBase("q", { slot: "prod" }), "ade:{prod}:queue:q");
});

test("a call whose answer is lost is sent again and acts once", async (context) => {
  if (CLUSTER) return context.skip("the nodes of a cluster are not behind the proxy");
  let cuts = 2;
  const proxy = await proxied(url, () => cuts-- > 0);
  const client = await open(proxy.url, false);
  try {
    const queue = new Adeq(client.connection).queue("q");
    proxy.armed = true;
    const answer = await queue.enqueue({ items: [task] });
    assert.deepEqual(answer.items, [{ status: "created" }]);
    assert.ok(cuts < 2, "nothing was cut");
    assert.equal(await server.zcard(queue.keys.ready("any")), 1);
  } finally {
    client.close();
    proxy.close();
  }
});

test("a call that is given up says whether it may have been applied", async (context) => {
  if (CLUSTER) return context.skip("the nodes of a cluster are not behind the proxy");
  const proxy = await proxied(url, () => true);
  const client = await open(proxy.url, false);
  try {
    proxy.armed = true;
    const call = new Adeq(client.connection)
      .queue("q")
      .enqueue({ items: [task] }, { timeoutMs: 50 });
    await assert.rejects(call, (error) => {
      assert.ok(error instanceof TransportError && error.mayHaveApplied);
      return true;
    });
  } finally {
    client.close();
    proxy.close();
  }
});

test("a refusal tells of an earlier try that may have been applied", async (context) => {
  if (CLUSTER) return context.skip("the nodes of a cluster are not behind the proxy");
  const { keys } = adeq.queue("q");
  let lost = 0;
  const proxy = await proxied(url, () => {
    void server.hset(keys.config, "layout_min", "99"); // another release takes over meanwhile
    return lost++ === 0;
  });
  const client = await open(proxy.url, false);
  try {
    proxy.armed = true;
    const call = new Adeq(client.connection).queue("q").enqueue({ items: [task] });
    await assert.rejects(call, (error) => {
      assert.ok(error instanceof LayoutError && error.mayHaveApplied);
      return true;
    });
    assert.equal(await server.zcard(keys.ready("any")), 1);
  } finally {
    client.close();
    proxy.close();
  }
});

test("a node that cannot load a script does not keep the call from the others", async () => {
  const connection = Object.create(opened.connection, {
    load: {
      value: async (/** @type {string[]} */ texts) => {
        await opened.connection.load(texts);
        throw new Error("one node cannot be had");
      },
    },
  });
  await server.script("FLUSH");
  const answer = await new Adeq(connection).queue("q").enqueue({ items: [task] });
  assert.deepEqual(answer.items, [{ status: "created" }]);
});

test("a call is not tried for longer than a server knows it", async () => {
  for (const timeoutMs of [60_000, -1, Infinity, NaN]) {
    assert.throws(() => new Adeq(opened.connection, { timeoutMs }), ConfigError);
    await assert.rejects(adeq.queue("q").stats({}, { timeoutMs }), ConfigError);
  }
});

test("a signal ends the sending again", async () => {
  const controller = new AbortController();
  controller.abort(new Error("enough"));
  const call = adeq.queue("q").stats({}, { signal: controller.signal });
  await assert.rejects(call, /enough/);
});

test("a client of ioredis is listened to once, however often it is handed over", () => {
  const client = new Redis(url, { lazyConnect: true });
  ioredis(client);
  const listeners = client.listenerCount("close");
  ioredis(client);
  assert.equal(client.listenerCount("close"), listeners);
});

test("ioredis would hide keys behind a prefix of its own", () => {
  const client = new Redis(url, { keyPrefix: "app:", lazyConnect: true });
  assert.throws(() => ioredis(client), /keyPrefix/);
});
