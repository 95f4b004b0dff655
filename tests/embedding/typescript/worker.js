// A worker: claims, heartbeats, settles, and ends in good order. What it has to do, and why, is in
// "Writing a worker" of the contract.
import { setTimeout as sleep } from "node:timers/promises";
import { LAYOUT, newRid, ScriptError } from "pyadeq";

/** @typedef {import("pyadeq").queue.SettleLeaseLeased} Lease */
/** @typedef {(lease: Lease, signal: AbortSignal) => Promise<string | Uint8Array>} Handler */

/**
 * A lease, from the claim until it is settled.
 *
 * @typedef {object} Held
 * @property {Lease} lease
 * @property {AbortController} ending aborted when its task has to end before it is done
 * @property {number} until when the lease is over, if no heartbeat renews it
 * @property {{ result: string | Uint8Array } | { error: string } | undefined} outcome
 */

/**
 * @typedef {object} WorkerOptions
 * @property {string} name
 * @property {string[]} lanes from the narrowest to the widest
 * @property {number} capacity how many tasks run at a time
 * @property {string} [group]
 * @property {number} [graceMs] how long running tasks may take once it stops
 */

const LONGEST_WAIT_MS = 10_000;
const PAUSE_MS = 1000;
const LARGEST_RESULT = 1024 * 1024; // bytes
const MOST_RESULTS = 8 * 1024 * 1024; // bytes in a call
const MOST_ITEMS = 1000; // in a call
const SILENT_MS = 5000; // a connection that says nothing for so much longer than it was asked to wait is dead
const LONGEST_TIMER_MS = 2 ** 31 - 1;
const TICK_MS = 100;

export class Worker {
  /** @type {Map<string, Held>} by token */
  #held = new Map();
  #incarnation = "";
  #calls = 0;
  #leaseMs = LONGEST_WAIT_MS;
  #mode = "run";
  #wanted = 0;
  #stopped = new AbortController();
  #changed = () => {};
  /** @type {Promise<void> | undefined} */
  #givenBack;
  /** @type {Promise<void> | undefined} */
  #beating;
  #beaten = 0;
  /** @type {Promise<void> | undefined} */
  registered;

  /**
   * @param {import("pyadeq").Queue} queue
   * @param {import("ioredis").Redis} client the queue's; blocking calls have a connection of their own
   * @param {Handler} handler what it answers is the result; what it throws is the error
   * @param {WorkerOptions} options
   */
  constructor(queue, client, handler, options) {
    this.queue = queue;
    this.client = client;
    this.handler = handler;
    this.options = options;
    // What waits on a connection that is lost fails at once.
    this.blocking = client.duplicate({
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
    });
    this.blocking.on("error", () => {});
  }

  /** Work until `stop`. */
  async run() {
    await (this.registered = this.#register());
    this.#beaten = performance.now();
    const ticking = setInterval(() => this.#tick(), TICK_MS);
    try {
      while (!this.#isOver()) {
        try {
          await this.#wait(await this.#settle());
        } catch (error) {
          if (error instanceof ScriptError || this.#givenBack) throw error;
          console.error(error);
          await sleep(PAUSE_MS);
        }
      }
    } finally {
      clearInterval(ticking);
      await Promise.all([this.#beating, this.#givenBack, this.#giveBack()]);
      this.blocking.disconnect();
    }
    await this.queue.deregister({ worker: this.options.name, incarnation: this.#incarnation });
  }

  /** Claim no more; `run` is over when all that runs has ended, or has been given back. */
  stop() {
    if (this.#stopped.signal.aborted) return;
    this.#stopped.abort();
    this.#changed();
    const giveBack = () => (this.#givenBack = this.#giveBack());
    setTimeout(giveBack, this.options.graceMs ?? 30_000).unref();
  }

  async #register() {
    const { name: worker, group, lanes, capacity } = this.options;
    this.#incarnation = newRid();
    const about = [{ pid: process.pid, layout: LAYOUT, lanes, capacity, ...(group && { group }) }];
    await this.queue.register({ worker, incarnation: this.#incarnation, about });
  }

  /** Report what has ended, claim what there is room for, and say how long there is nothing to do (ms). */
  async #settle() {
    const { name: worker, lanes } = this.options;
    const ended = fitting(this.#ended(), MOST_ITEMS - lanes.length);
    const settled = { acks: ended.flatMap(ack), fails: ended.flatMap(fail) };
    const asked = performance.now();
    const answer = await this.queue.settle({
      worker,
      incarnation: this.#incarnation,
      slot: 0,
      n: ++this.#calls,
      limit: this.#claims() ? Math.max(this.#free() + ended.length, 0) : 0,
      busy: this.#held.size - ended.length,
      lanesWanted: lanes.map((lane) => ({ lane })),
      ...settled,
    });
    if (answer.status === "stale") return this.#leave(settled);
    if (answer.status === "unregistered") {
      await this.#register();
      return 0;
    }
    for (const { lease } of ended) this.#held.delete(lease.token);
    this.#leaseMs = answer.leaseMs;
    for (const lease of answer.leases) this.#start(lease, asked + answer.deadlineMs - answer.nowMs);
    if (this.#givenBack) await this.#giveBack(); // they come after its time was up
    const due = answer.nextMs === 0 ? LONGEST_WAIT_MS : answer.nextMs - answer.nowMs;
    return Math.min(due, LONGEST_WAIT_MS, this.#leaseMs);
  }

  /**
   * Somebody else has this worker's name now. What has ended or runs needs tokens only.
   *
   * @param {{ acks: import("pyadeq").queue.AckItem[], fails: import("pyadeq").queue.FailItem[] }} settled
   */
  async #leave({ acks, fails }) {
    this.stop();
    if (acks.length > 0) await this.queue.ack({ items: acks });
    if (fails.length > 0) await this.queue.fail({ items: fails });
    for (const { token } of [...acks, ...fails]) this.#held.delete(token);
    await this.#giveBack();
    return 0;
  }

  /** Others may do what still runs here. */
  async #giveBack() {
    const running = [...this.#held.values()].filter(({ outcome }) => outcome === undefined);
    running.forEach((held) => this.#lose(held));
    const items = running.map(({ lease: { id, token } }) => ({ id, token }));
    if (items.length > 0) await this.queue.release({ items }).catch(console.error);
    this.#changed();
  }

  /** @param {number} ms at most, unless there is something to do */
  async #wait(ms) {
    if (ms <= 0 || this.#ended().length > 0 || this.#isOver()) return;
    const changed = new Promise((resolve) => (this.#changed = () => resolve(undefined)));
    const { keys } = this.queue;
    // The token of a lane wakes one worker only, so it has to be one with room for a task.
    const lanes = this.#claims() && this.#free() > 0 ? this.options.lanes.map(keys.wake) : [];
    const control = keys.control(this.options.name);
    const id = this.blocking.client("ID");
    const popped = this.blocking.blpop([control, ...lanes], ms / 1000);
    const silent = setTimeout(() => this.blocking.disconnect(true), ms + SILENT_MS);
    let over = false;
    const hint = Promise.all([id, popped])
      .then(([, pair]) => pair?.[0])
      .catch(() => control) // whatever was said meanwhile, nobody heard it
      .finally(() => (over = true));
    await Promise.race([hint, changed]);
    while (!over) {
      // It may come too early. Where it fails, the wait ends by itself.
      await id.then((blocked) => this.client.client("UNBLOCK", blocked)).catch(() => {});
      await Promise.race([hint, sleep(10)]);
    }
    clearTimeout(silent);
    if ((await hint) === control) await this.#heartbeat();
  }

  /**
   * @param {Lease} lease
   * @param {number} until
   */
  #start(lease, until) {
    /** @type {Held} */
    const held = { lease, ending: new AbortController(), until, outcome: undefined };
    this.#held.set(lease.token, held);
    const timeoutMs = Math.min(Number(lease.record.get("timeout_ms") ?? 0), LONGEST_TIMER_MS);
    const timer = timeoutMs && setTimeout(() => held.ending.abort("timeout"), timeoutMs);
    this.#execute(held).then((outcome) => {
      clearTimeout(timer);
      held.outcome = outcome;
      this.#changed();
    });
  }

  /** @param {Held} held */
  async #execute({ lease, ending: { signal } }) {
    try {
      const result = accepted(await this.handler(lease, signal));
      return signal.aborted ? { error: text(signal.reason) } : { result };
    } catch (error) {
      return { error: text(error) };
    }
  }

  /** Every lease ends in time, whatever has become of the heartbeat that would renew it. */
  #tick() {
    const now = performance.now();
    for (const held of this.#held.values()) if (held.until < now + TICK_MS) this.#lose(held);
    const every = Math.min(this.#leaseMs / 3, LONGEST_WAIT_MS); // it may be shorter now
    if (this.#beating !== undefined || now - this.#beaten < every) return;
    this.#beaten = now;
    this.#beating = this.#heartbeat()
      .catch(console.error)
      .finally(() => (this.#beating = undefined));
  }

  async #heartbeat() {
    const all = [...this.#held.values()];
    const asked = performance.now();
    const answer = await this.queue.heartbeat({
      worker: this.options.name,
      busy: all.length,
      items: all.map(({ lease: { id, token } }) => ({ id, token })),
    });
    this.#mode = answer.mode;
    this.#wanted = answer.wanted;
    if (answer.mode === "stop" || answer.mode === "restart") this.stop();
    answer.items.forEach((item, index) => {
      const held = /** @type {Held} */ (all[index]);
      if (item.status === "lease_lost") return this.#lose(held);
      held.until = asked + item.deadlineMs - answer.nowMs;
      if (item.status === "cancelling") held.ending.abort("cancelled");
      if (item.status === "timed_out") held.ending.abort("timeout");
    });
  }

  /** @param {Held} held */
  #lose(held) {
    if (held.outcome !== undefined) return; // settling tells what came of it
    this.#held.delete(held.lease.token);
    held.ending.abort("lost");
  }

  #ended() {
    return [...this.#held.values()].filter(({ outcome }) => outcome !== undefined);
  }

  #isOver() {
    return this.#stopped.signal.aborted && this.#held.size === 0;
  }

  #claims() {
    return this.#mode === "run" && !this.#stopped.signal.aborted;
  }

  #free() {
    return Math.min(this.#wanted || this.options.capacity, MOST_ITEMS) - this.#held.size;
  }
}

/**
 * A result that does not fit is the failure of its task, and must not be that of a call.
 *
 * @param {string | Uint8Array} result
 */
function accepted(result) {
  if (typeof result !== "string" && !(result instanceof Uint8Array)) {
    throw new TypeError(`the result is a ${typeof result}; allowed: a string or bytes`);
  }
  const size = Buffer.byteLength(result);
  if (size > LARGEST_RESULT) throw new RangeError(`a result of ${size} bytes; allowed: 1 MiB`);
  return result;
}

/** @param {unknown} error */
function text(error) {
  try {
    return String(error).slice(0, 1000);
  } catch {
    return `a thrown ${typeof error} that has no text`;
  }
}

/**
 * As many as one call carries.
 *
 * @param {Held[]} ended
 * @param {number} most
 */
function fitting(ended, most) {
  let bytes = 0;
  return ended.slice(0, most).filter(({ outcome }) => {
    bytes += outcome && "result" in outcome ? Buffer.byteLength(outcome.result) : 0;
    return bytes <= MOST_RESULTS;
  });
}

/** @param {Held} held */
function ack({ lease: { id, token }, outcome }) {
  return outcome && "result" in outcome ? [{ id, token, result: outcome.result }] : [];
}

/** @param {Held} held */
function fail({ lease: { id, token }, ending: { signal }, outcome }) {
  if (!outcome || "result" in outcome) return [];
  const reason = signal.aborted ? String(signal.reason) : "error";
  const { error } = outcome;
  return [{ id, token, reason, error, jitterPpm: Math.floor(Math.random() * 1_000_000) }];
}
