// Waiting items of conversations, read in batches, where a program had a queue in memory. Each conversation is a
// mailbox: the lane `group/<agent>+<conversation>`. pyadeq.ext.move.adapters.QueueRuntime stores the same.
import { createHash } from "node:crypto";
import { AdeqError, DrainingError, newRid } from "pyadeq";

/** @typedef {"message" | "task_notification" | "approval_result" | "overlay_action"} QueueItemKind */
/** @typedef {"user" | "system" | "hook"} QueueItemSource */
/** @typedef {string} QueueBlockedReason */

/**
 * @typedef {object} QueueItem
 * @property {string} id
 * @property {QueueItemKind} kind
 * @property {QueueItemSource} source
 * @property {number} enqueuedAt ms since the epoch; of the server once it is dequeued
 * @property {string | undefined} [agentId]
 * @property {string | undefined} [conversationId]
 * @property {string | undefined} [clientMessageId]
 * @property {unknown} [content] of a message, or what another program has enqueued
 * @property {string | undefined} [text] of the other kinds
 */

/**
 * @typedef {object} DequeuedBatch
 * @property {string} batchId
 * @property {QueueItem[]} items
 * @property {number} mergedCount
 * @property {number} queueLenAfter how many items wait in all conversations that the process reads
 */

/** @typedef {{ agentId?: string | undefined, conversationId?: string | undefined }} Scope */
/** @typedef {{ kind: string, task_id: string, description?: string, text?: string }} Notification */

/**
 * The queue in memory that is to be replaced.
 *
 * @typedef {object} OldRuntime
 * @property {(item: QueueItem) => object | null} enqueue
 * @property {(blockedReason: QueueBlockedReason | null) => DequeuedBatch | null} tryDequeue
 */

/**
 * @typedef {object} QueueRuntimeOptions
 * @property {[agentId?: string, conversationId?: string][]} [conversations] that this process reads, besides those that
 *   it enqueues for
 * @property {number} [windowMs] for how long the first item waits for more
 * @property {number} [maxItems] of a batch
 * @property {QueueItemKind[]} [aloneKinds] that are not merged with others
 * @property {(reason: QueueBlockedReason, queueLen: number) => void} [onBlocked]
 * @property {OldRuntime} [old] is still read, while all items are also written here
 * @property {(ids: string[]) => void} [onDifference] gets what `old` has or gave out, and what does not wait here
 */

const LEASE_MS = 60_000; // a batch is done as soon as it is taken
const CLAIMS = 3; // of one turn: the server forgets a worker that was away for long
const STATUSES = new Map(
  Object.entries({
    ready: "pending",
    delayed: "pending",
    blocked: "pending",
    dead: "failed",
  }),
);
const LONGEST_SCOPE = 100; // characters of the name of a mailbox

export class QueueRuntime {
  /** @type {Map<string, Scope>} the conversations of this process by lane, the next to be read first */
  #lanes = new Map();
  /** @type {Set<string>} ids that are being enqueued here */
  #adding = new Set();
  /** @type {Set<string>} of those: `old` has given them out meanwhile */
  #given = new Set();
  #worker = `runtime-${newRid()}`;
  #incarnation = newRid();
  #calls = 0;
  /** @type {Promise<unknown>} claims of one worker come one after the other */
  #turn = Promise.resolve();

  /**
   * @param {import("pyadeq").Queue} queue
   * @param {QueueRuntimeOptions} [options]
   */
  constructor(queue, options = {}) {
    this.queue = queue;
    this.options = options;
    for (const [agentId, conversationId] of options.conversations ?? []) {
      this.#lane({ agentId, conversationId });
    }
  }

  /**
   * Add an item. Null if it is not accepted, because the queue drains. With `old`, that one decides.
   *
   * @param {Omit<QueueItem, "id" | "enqueuedAt">} input
   * @returns {Promise<QueueItem | null>}
   */
  async enqueue(input) {
    const { old } = this.options;
    const lane = this.#lane(input);
    const item = { ...input, id: newRid(), enqueuedAt: Date.now() };
    if (old && old.enqueue(item) === null) return null;
    this.#adding.add(item.id);
    try {
      const task = { id: item.id, payload: JSON.stringify(stored(item)), kind: item.kind, lane };
      const answer = await this.queue.enqueue({ items: [task] });
      return old || answer.items[0]?.status === "created" ? item : null;
    } catch (error) {
      if (old) {
        this.options.onDifference?.([item.id]);
        return item;
      }
      if (error instanceof DrainingError) return null;
      throw error;
    } finally {
      this.#adding.delete(item.id);
      if (this.#given.delete(item.id)) await this.queue.cancel({ items: [{ id: item.id }] });
    }
  }

  /**
   * The next batch; null if there is none, if its window is open, or with a reason why nothing may be taken.
   *
   * @param {QueueBlockedReason | null} blockedReason
   * @returns {Promise<DequeuedBatch | null>}
   */
  async tryDequeue(blockedReason) {
    if (this.options.old) return this.#fromOld(this.options.old, blockedReason);
    if (blockedReason !== null) {
      const waiting = this.options.onBlocked ? await this.length() : 0;
      if (waiting > 0) this.options.onBlocked?.(blockedReason, waiting);
      return null;
    }
    const turn = this.#turn.then(() => this.#take());
    this.#turn = turn.catch(() => {});
    return turn;
  }

  /** How many items wait in all conversations that this process reads. */
  async length() {
    const lanes = [...this.#lanes.keys()];
    if (lanes.length === 0) return 0;
    const { items } = await this.queue.length({ items: lanes.map((lane) => ({ lane })) });
    return items.reduce((total, { count }) => total + count, 0);
  }

  /** Forget the worker of this object. Nothing is lost if this is not called. */
  async close() {
    await this.#turn;
    await this.queue.deregister({ worker: this.#worker, incarnation: this.#incarnation });
  }

  /** @returns {Promise<DequeuedBatch | null>} */
  async #take() {
    for (const [lane, scope] of [...this.#lanes]) {
      const leases = await this.#claim(lane);
      const first = leases[0];
      if (!first) continue;
      this.#lanes.delete(lane); // the others are next
      this.#lanes.set(lane, scope);
      const held = leases.map(({ id, token }) => ({ id, token }));
      /** @type {QueueItem[]} */
      const items = [];
      let queueLenAfter;
      try {
        for (const lease of leases) items.push(await this.#read(lease, scope));
        queueLenAfter = await this.length();
      } catch (error) {
        await this.queue.release({ items: held }).catch(() => {});
        throw error;
      }
      const acks = held.map((lease) => ({ ...lease, result: "null" }));
      const { items: statuses } = await this.queue.ack({ items: acks });
      const taken = items.filter((_, index) => statuses[index]?.status !== "lease_lost");
      if (taken.length === 0) continue;
      const batchId = first.token.slice(0, first.token.lastIndexOf("/"));
      return { batchId, items: taken, mergedCount: taken.length, queueLenAfter };
    }
    return null;
  }

  /**
   * An item as it was enqueued. What came in another way is its content, or the text of a notification.
   *
   * @param {import("pyadeq").queue.ClaimLeaseLeased} lease
   * @param {Scope} scope
   * @returns {Promise<QueueItem>}
   */
  async #read({ id, payload, record }, scope) {
    const found = parsed(payload);
    const kind = /** @type {QueueItemKind} */ (record.get("kind")?.toString() ?? "message");
    const about = { id, kind, enqueuedAt: Number(record.get("created_ms") ?? 0) };
    if (isNotification(found))
      return { ...about, source: "system", ...scope, text: await this.#notification(found) };
    if (found?.source === undefined)
      return { ...about, source: "system", ...scope, content: found };
    const { source, agent_id, conversation_id, client_message_id, content, text } = found;
    return {
      ...about,
      source,
      agentId: agent_id ?? undefined,
      conversationId: conversation_id ?? undefined,
      clientMessageId: client_message_id ?? undefined,
      content: content ?? undefined,
      text: text ?? undefined,
    };
  }

  /**
   * The text of a notification, as Python writes it, too.
   *
   * @param {Notification} notification
   */
  async #notification({ task_id, description = "", text }) {
    if (text !== undefined) return text;
    const head = `Agent "${description}"`;
    const task = (await this.queue.get({ items: [{ id: task_id }] })).items[0];
    if (task?.status !== "found")
      return `${head}: ended (task ${task_id}), and is no longer stored`;
    const output = task.record.get("output");
    const about = [
      ["result", shown(task.result)],
      ["error", task.record.get("error")],
      ["exit status", task.state === "completed" ? "0" : task.record.get("exit_code")],
      ["transcript", output && `${output}/stdout`],
    ];
    const known = about.filter(([, value]) => value !== undefined);
    const lines = known.map(([name, value]) => `${name}: ${value}`);
    const status = STATUSES.get(task.state) ?? task.state;
    return [`${head}: ${status} (task ${task_id})`, ...lines].join("\n");
  }

  /**
   * @param {string} lane
   * @returns {Promise<import("pyadeq").queue.ClaimLeaseLeased[]>}
   */
  async #claim(lane) {
    for (let claims = 0; claims < CLAIMS; claims++) {
      const answer = await this.queue.claim({
        worker: this.#worker,
        incarnation: this.#incarnation,
        slot: 0,
        n: ++this.#calls,
        limit: this.options.maxItems ?? 100,
        leaseMs: LEASE_MS,
        windowMs: this.options.windowMs ?? 50,
        aloneKinds: this.options.aloneKinds ?? [
          "task_notification",
          "approval_result",
          "overlay_action",
        ],
        items: [{ lane }],
      });
      if (answer.status === "ok") return answer.leases;
      this.#incarnation = newRid();
      await this.queue.register({
        worker: this.#worker,
        incarnation: this.#incarnation,
        about: [{ pid: process.pid }],
      });
    }
    throw new AdeqError(
      `worker ${this.#worker} was registered ${CLAIMS} times, and is not known to its claims: another program ` +
        "registers or deregisters it each time; nothing was taken, call tryDequeue again when that has ended",
    );
  }

  /**
   * @param {OldRuntime} old
   * @param {QueueBlockedReason | null} blockedReason
   */
  async #fromOld(old, blockedReason) {
    const batch = old.tryDequeue(blockedReason);
    if (batch === null) return null;
    for (const { id } of batch.items) {
      if (this.#adding.has(id)) this.#given.add(id); // `enqueue` cancels these
    }
    const ids = batch.items.filter(({ id }) => !this.#given.has(id)).map(({ id }) => ({ id }));
    if (ids.length === 0) return batch;
    const { items } = await this.queue.cancel({ items: ids });
    const missing = ids.filter((_, index) => items[index]?.status !== "cancelled");
    if (missing.length > 0) this.options.onDifference?.(missing.map(({ id }) => id));
    return batch;
  }

  /** @param {Scope} scope */
  #lane({ agentId, conversationId }) {
    const lane = `group/${scopeOf(agentId, conversationId)}`;
    if (!this.#lanes.has(lane)) this.#lanes.set(lane, { agentId, conversationId });
    return lane;
  }
}

/**
 * The name of the mailbox of a conversation: `<agent id>+<conversation id>`. A character that it cannot have is `+` and
 * four digits, and `++` is then between the ids. If it would be too long, it is `++` and its SHA-256. Python makes the
 * same names.
 *
 * @param {string} [agentId]
 * @param {string} [conversationId]
 */
export function scopeOf(agentId = "", conversationId = "") {
  const ids = [agentId, conversationId];
  const safe = ids.map((id) => id.replace(/[^A-Za-z0-9._@-]/g, escaped));
  const scope = safe.join(safe.every((id, index) => id === ids[index]) ? "+" : "++");
  if (scope.length <= LONGEST_SCOPE) return scope;
  return `++${createHash("sha256").update(scope).digest("hex")}`;
}

/** @param {string} unit */
function escaped(unit) {
  return `+${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** @param {QueueItem} item */
function stored({ kind, source, agentId, conversationId, clientMessageId, content, text }) {
  return {
    kind,
    source,
    agent_id: agentId ?? null,
    conversation_id: conversationId ?? null,
    client_message_id: clientMessageId ?? null,
    content: content ?? null,
    text: text ?? null,
  };
}

/**
 * Whether a task tool in Python has enqueued this.
 *
 * @param {any} found
 * @returns {found is Notification}
 */
function isNotification(found) {
  return found?.kind === "task_notification" && /^[0-9a-f-]{36}$/.test(found.task_id);
}

/**
 * A text as it is, everything else as JSON.
 *
 * @param {Buffer} result
 */
function shown(result) {
  const found = parsed(result);
  if (found === null || result.length === 0) return undefined;
  return typeof found === "string" || found === result ? String(found) : JSON.stringify(found);
}

/** @param {Buffer} payload */
function parsed(payload) {
  try {
    return JSON.parse(payload.toString());
  } catch {
    return payload;
  }
}
