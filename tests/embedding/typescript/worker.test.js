// The worker and the lock client that the pages show: node --test, with URL in the environment.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, beforeEach, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { Adeq, LayoutError } from "pyadeq";
import { ioredis } from "pyadeq/ioredis";
import { LockClient, NotGranted } from "./lock.js";
import { proxied } from "./proxy.js";
import { Worker } from "./worker.js";

const { URL: url = "" } = process.env;
const server = new Redis(url);
const adeq = new Adeq(ioredis(server));
const queue = adeq.queue("q");
const locks = adeq.locks("d");

after(() => server.disconnect());
beforeEach(() => server.flushall());

/**
 * Have a worker run, and stop it whatever happens.
 *
 * @param {import("./worker.js").Handler} handler
 * @param {(worker: Worker) => Promise<void>} during
 * @param {Partial<import("./worker.js").WorkerOptions>} [options]
 * @param {Redis} [client]
 */
async function working(handler, during, options = {}, client = server) {
  const all = { name: "w", lanes: ["group/g", "any"], capacity: 2, ...options };
  const worker = new Worker(new Adeq(ioredis(client)).queue("q"), client, handler, all);
  const running = worker.run();
  running.catch(() => {}); // told below
  try {
    await during(worker);
  } finally {
    worker.stop();
    await running;
  }
}

/**
 * @param {string[]} ids
 * @param {Partial<import("pyadeq").queue.EnqueueItem>} [more]
 */
async function enqueue(ids, more = {}) {
  await queue.enqueue({ items: ids.map((id) => ({ id, payload: "{}", ...more })) });
}

async function look(id = "t") {
  const { items } = await queue.get({ items: [{ id }] });
  assert.ok(items[0]?.status === "found", id);
  return items[0];
}

/** @param {() => Promise<boolean>} condition */
async function until(condition) {
  const end = performance.now() + 20_000;
  while (!(await condition())) {
    assert.ok(performance.now() < end, `never: ${condition}`);
    await sleep(10);
  }
}

/** @param {string} state */
function is(state, id = "t") {
  return async () => (await look(id)).state === state;
}

/** A worker waits for tasks. */
async function blocked() {
  return (await server.info("clients")).includes("blocked_clients:1");
}

/**
 * Have a client that a proxy is before.
 *
 * @param {(proxy: Awaited<ReturnType<typeof proxied>>, client: Redis) => Promise<void>} during
 */
async function behind(during) {
  const proxy = await proxied(url);
  const client = new Redis(proxy.url);
  client.on("error", () => {});
  try {
    await during(proxy, client);
  } finally {
    client.disconnect();
    proxy.close();
  }
}

/** @param {AbortSignal} signal */
async function forever(signal) {
  await sleep(60_000, undefined, { signal });
  return "";
}

test("tasks of all its lanes are done, those that come while it waits as well", async () => {
  await enqueue(["a", "b", "c"]);
  await working(
    async ({ id }) => `"${id}"`,
    async () => {
      await until(is("completed", "c"));
      const began = performance.now();
      await enqueue(["t"], { lane: "group/g" });
      await until(is("completed"));
      assert.ok(performance.now() - began < 5000, "it was woken");
    },
  );
  assert.equal((await look()).result.toString(), '"t"');
  assert.deepEqual((await queue.workers()).items, []);
});

test("what fails is tried again", async () => {
  await enqueue(["t"], { backoffBaseMs: 1 });
  await working(
    async ({ attempt }) => {
      if (attempt === 1) throw new Error("not yet");
      return "2";
    },
    () => until(is("completed")),
  );
  assert.equal((await look()).result.toString(), "2");
});

test("a result that cannot be stored is the failure of its task", async () => {
  await enqueue(["undefined", "large"], { maxAttempts: 1 });
  await enqueue(["t"]);
  /** @type {Record<string, any>} */
  const results = { large: "x".repeat(1024 * 1024 + 1), t: "7" };
  await working(
    async ({ id }) => results[id],
    () => until(is("completed")),
  );
  await until(is("dead", "undefined"));
  const { record } = await look("large");
  assert.match(String(record.get("error")), /1048577 bytes; allowed: 1 MiB/);
});

test("more than a call carries is settled in several", async () => {
  const ids = Array.from({ length: 20 }, (_, number) => `t${number}`);
  await enqueue(ids);
  await working(
    async () => "x".repeat(1024 * 1024),
    async () => {
      for (const id of ids) await until(is("completed", id));
    },
    { capacity: 20 },
  );
});

test("a task that is cancelled ends", async () => {
  await enqueue(["t"]);
  await working(
    (_, signal) => forever(signal),
    async () => {
      await until(is("running"));
      await queue.cancel({ items: [{ id: "t" }] });
      await until(is("cancelled"));
    },
  );
});

test("a task that takes too long fails with the reason timeout", async () => {
  await enqueue(["t"], { timeoutMs: 50, maxAttempts: 1 });
  await working(
    (_, signal) => forever(signal),
    () => until(is("dead")),
  );
  assert.equal((await look()).record.get("reason")?.toString(), "timeout");
});

test("whatever a task answers that had to end, it has failed", async () => {
  await enqueue(["t"], { timeoutMs: 50, maxAttempts: 1 });
  await working(
    async () => {
      await sleep(200);
      return "done";
    },
    () => until(is("dead")),
  );
  assert.equal((await look()).record.get("reason")?.toString(), "timeout");
});

test("a lease is renewed while its task runs", async () => {
  await queue.configure({ settings: [{ leaseMs: 1000 }] });
  await enqueue(["t"]);
  let runs = 0;
  await working(
    async () => {
      runs += 1;
      await sleep(2500);
      return "";
    },
    () => until(is("completed")),
  );
  assert.equal(runs, 1);
});

test("it is quiet when told so, and goes on", async () => {
  await working(
    async () => "",
    async (worker) => {
      await worker.registered;
      await queue.steer({ mode: "quiet", items: [{ worker: "w" }] });
      await until(async () => (await server.llen(queue.keys.control("w"))) === 0);
      await enqueue(["t"]);
      await sleep(100);
      assert.equal((await look()).state, "ready");
      await queue.steer({ mode: "run", items: [{ worker: "w" }] });
      await until(is("completed"));
    },
  );
});

test("what still runs when its time is up is given back", async () => {
  await enqueue(["t"]);
  await working(
    (_, signal) => forever(signal),
    async () => until(is("running")),
    { graceMs: 50 },
  );
  assert.equal((await look()).state, "ready");
});

test("it registers again when the server has forgotten it", async () => {
  await working(
    async () => "",
    async (worker) => {
      await worker.registered;
      await server.del(queue.keys.workers, queue.keys.workerHash("w"));
      await enqueue(["t"]);
      await until(is("completed"));
    },
  );
});

test("a second one of its name takes its place", async () => {
  await enqueue(["t"]);
  await working(
    (_, signal) => forever(signal),
    async () => {
      await until(is("running"));
      await working(
        async () => "",
        () => until(is("completed")),
      );
    },
  );
});

test("it goes on when its connections are cut", async () => {
  await working(
    async () => "",
    async (worker) => {
      await worker.registered;
      await until(blocked);
      await server.call("CLIENT", "KILL", "TYPE", "normal");
      const began = performance.now();
      await enqueue(["t"]);
      await until(is("completed"));
      assert.ok(performance.now() - began < 5000, "it was woken");
    },
  );
});

test("a task ends with its lease when nothing is heard of the server", async () => {
  await queue.configure({ settings: [{ leaseMs: 1000 }] });
  await enqueue(["t"]);
  /** @type {unknown} */
  let reason;
  await behind(async (proxy, client) => {
    await working(
      (_, signal) => {
        if (reason !== undefined) return forever(signal);
        proxy.silence();
        signal.addEventListener("abort", () => {
          reason ??= signal.reason;
          proxy.cut();
        });
        return forever(signal);
      },
      () => until(async () => reason !== undefined),
      { graceMs: 50 },
      client,
    );
  });
  assert.equal(reason, "lost");
});

test("a connection that went silent is left for another", async () => {
  await queue.configure({ settings: [{ leaseMs: 1000 }] });
  await behind(async (proxy, client) => {
    await working(
      async () => "",
      async (worker) => {
        await worker.registered;
        await until(blocked);
        proxy.silenceBlocking();
        await enqueue(["t"]);
        await until(is("completed"));
      },
      {},
      client,
    );
  });
});

test("more tasks than a call carries run at a time", async () => {
  const ids = Array.from({ length: 1200 }, (_, number) => `t${number}`);
  for (let at = 0; at < ids.length; at += 100) await enqueue(ids.slice(at, at + 100));
  const all = new Set();
  await working(
    async ({ id }) => {
      all.add(id);
      await sleep(200);
      return "";
    },
    async () => until(async () => (await queue.stats()).finished === ids.length),
    { capacity: 1500 },
  );
  assert.equal(all.size, ids.length);
});

test("when a script refuses it, what runs ends", async () => {
  await queue.configure({ settings: [{ leaseMs: 1000 }] });
  await enqueue(["t"]);
  /** @type {unknown} */
  let reason;
  const ending = working(
    async (_, signal) => {
      await server.hset(queue.keys.config, "layout_min", "99");
      await forever(signal).catch(() => (reason = signal.reason));
      return "";
    },
    () => until(async () => reason !== undefined),
  );
  await assert.rejects(ending, LayoutError);
  assert.equal(reason, "lost");
});

test("an error without a text, and a timeout of a month", async () => {
  await enqueue(["t"], { timeoutMs: 30 * 24 * 3600 * 1000, maxAttempts: 1 });
  await working(
    async () => {
      await sleep(50);
      throw Object.create(null);
    },
    () => until(is("dead")),
  );
  assert.match(String((await look()).record.get("error")), /no text/);
});

test("SIGTERM lets it finish", async () => {
  await enqueue(["t"], { payload: '{"ms": 500}' });
  const environment = { ADEQ_URL: url, ADEQ_QUEUE: "q", ADEQ_WORKER: "w", ADEQ_GROUP: "g" };
  const child = spawn(process.execPath, ["mixed-worker.js"], {
    env: { ...process.env, ...environment, ADEQ_LANES: "group/g,any", ADEQ_CAPACITY: "2" },
    stdio: ["ignore", "inherit", "inherit"],
  });
  await until(is("running"));
  child.kill("SIGTERM");
  assert.deepEqual(await once(child, "exit"), [0, null]);
  assert.equal((await look()).state, "completed");
  assert.deepEqual((await queue.workers()).items, []);
});

test("a lock is one owner's at a time, and each fence is above the last", async () => {
  const [a, b] = [new LockClient(locks), new LockClient(locks)];
  const first = await a.take("r");
  await assert.rejects(b.take("r"), (error) => {
    assert.ok(error instanceof NotGranted);
    return error.status === "busy";
  });
  const waiting = b.take("r", { waitMs: 10_000 });
  await until(async () => (await locks.stats()).waiting === 1);
  await a.release(first);
  const second = await waiting;
  assert.ok(second.fence > first.fence);
  await b.release(second);
  assert.equal((await locks.stats()).held, 0);
});

test("a wait that is broken off leaves nothing behind", async () => {
  const client = new LockClient(locks);
  const grant = await client.take("r");
  const ending = new AbortController();
  const waiting = client.take("r", { waitMs: 10_000, signal: ending.signal });
  await until(async () => (await locks.stats()).waiting === 1);
  ending.abort();
  await assert.rejects(waiting, { name: "AbortError" });
  assert.equal((await locks.stats()).waiting, 0);
  await client.release(grant);
});

test("a lock that cannot be renewed is lost when its time is over", async () => {
  await locks.configure({ settings: [{ leaseMs: 1000 }] });
  await behind(async (proxy, client) => {
    const grant = await new LockClient(new Adeq(ioredis(client)).locks("d")).take("r");
    const began = performance.now();
    proxy.silence();
    await once(grant.lost, "abort");
    assert.ok(performance.now() - began < 5000, "not only when the call is given up");
  });
});

test("a client hears it when clocks differ from what they were", async (context) => {
  const client = new LockClient(locks);
  await client.release(await client.take("r"));
  const now = performance.now.bind(performance);
  context.mock.method(performance, "now", () => now() + 120_000);
  await assert.rejects(client.take("r"), { status: "request_expired" });
  await client.release(await client.take("r"));
});

test("a lock is renewed, and who loses it is told", async () => {
  await locks.configure({ settings: [{ leaseMs: 1000 }] });
  const client = new LockClient(locks);
  const grant = await client.take("r");
  await sleep(2000);
  assert.equal(grant.lost.aborted, false);
  await locks.forceRelease({ resource: "r", reason: "test" });
  await once(grant.lost, "abort");
});
