// Waiting items of conversations, read in batches, where a program had a queue in memory. Each conversation is a
// mailbox: the lane `group/<agent>+<conversation>`. pyadeq.ext.adapters.QueueRuntime stores the same.
import { AdeqError, DrainingError, newRid } from "pyadeq";

/** @typedef {"message" | "task_notification" | "approval_result" | "overlay_action"} QueueItemKind */
/** @typedef {string} QueueBlockedReason */

/**
 * @typedef {object} QueueItem
 * @property {string} id
 * @property {QueueItemKind} kind
 * @property {string} source
 * @property {number} enqueuedAt ms since the epoch; of the server once it is dequeued
 * @property {string | undefined} [agentId]
 * @property {string | undefined} [conversationId]
 * @property {string | undefined} [clientMessageId]
 * @property {unknown} [content] of a message
 * @property {string | undefined} [text] of the other kinds
 */

/**
 * @typedef {object} DequeuedBatch
 * @property {string} batchId
 * @property {QueueItem[]} items
 * @property {number} mergedCount
 * @property {number} queueLenAfter
 */

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

export class QueueRuntime {
  /** @type {Set<string>} the lanes of this process, the next to be read first */
  #lanes = new Set();
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
   * Add an item. Null if it is not accepted: the queue drains, or it has an item with this `clientMessageId`. With
   * `old`, that one decides.
   *
   * @param {Omit<QueueItem, "id" | "enqueuedAt">} input
   * @returns {Promise<QueueItem | null>}
   */
  async enqueue(input) {
    const { old } = this.options;
    const lane = this.#lane(input);
    const item = { ...input, id: newRid(), enqueuedAt: Date.now() };
    if (old && old.enqueue(item) === null) return null;
    const { clientMessageId } = input;
    const task = { id: item.id, payload: JSON.stringify(stored(item)), kind: item.kind, lane };
    const key = clientMessageId && {
      idempotencyKey: `${lane.slice("group/".length)}/${clientMessageId}`,
    };
    this.#adding.add(item.id);
    try {
      const answer = await this.queue.enqueue({ items: [{ ...task, ...(key || {}) }] });
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

  /** How many items wait. */
  async length() {
    return this.#length([...this.#lanes]);
  }

  /** Forget the worker of this object. Nothing is lost if this is not called. */
  async close() {
    await this.#turn;
    await this.queue.deregister({ worker: this.#worker, incarnation: this.#incarnation });
  }

  /** @returns {Promise<DequeuedBatch | null>} */
  async #take() {
    for (const lane of [...this.#lanes]) {
      const leases = await this.#claim(lane);
      const first = leases[0];
      if (!first) continue;
      this.#lanes.delete(lane); // the others are next
      this.#lanes.add(lane);
      const acks = leases.map(({ id, token }) => ({ id, token, result: "null" }));
      const { items } = await this.queue.ack({ items: acks });
      const taken = leases.filter((_, index) => items[index]?.status !== "lease_lost");
      if (taken.length === 0) continue;
      return {
        batchId: first.token.slice(0, first.token.lastIndexOf("/")),
        items: taken.map(read),
        mergedCount: taken.length,
        queueLenAfter: await this.#length([lane]),
      };
    }
    return null;
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

  /** @param {string[]} lanes */
  async #length(lanes) {
    if (lanes.length === 0) return 0;
    const { items } = await this.queue.length({ items: lanes.map((lane) => ({ lane })) });
    return items.reduce((total, { count }) => total + count, 0);
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

  /** @param {{ agentId?: string | undefined, conversationId?: string | undefined }} of */
  #lane({ agentId = "", conversationId = "" }) {
    for (const [name, value] of Object.entries({ agentId, conversationId })) {
      if (value.includes("+"))
        throw new RangeError(`${name}: ${value} is not accepted; allowed: no +`);
    }
    const lane = `group/${agentId}+${conversationId}`;
    this.#lanes.add(lane);
    return lane;
  }
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
 * What came in another way, such as a notification, is the content of an item.
 *
 * @param {import("pyadeq").queue.ClaimLeaseLeased} lease
 * @returns {QueueItem}
 */
function read({ id, payload, record }) {
  const found = parsed(payload);
  const kind = /** @type {QueueItemKind} */ (record.get("kind")?.toString() ?? "message");
  const enqueuedAt = Number(record.get("created_ms") ?? 0);
  if (found?.source === undefined)
    return { id, kind, source: "system", enqueuedAt, content: found };
  const { source, agent_id, conversation_id, client_message_id, content, text } = found;
  return {
    id,
    kind,
    source,
    enqueuedAt,
    agentId: agent_id ?? undefined,
    conversationId: conversation_id ?? undefined,
    clientMessageId: client_message_id ?? undefined,
    content: content ?? undefined,
    text: text ?? undefined,
  };
}

/** @param {Buffer} payload */
function parsed(payload) {
  try {
    return JSON.parse(payload.toString());
  } catch {
    return payload;
  }
}
