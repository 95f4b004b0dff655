// Locks with a wait, a fence and renewal. What a client has to do, and why, is in "Writing a lock client" of the contract.
import { setTimeout as sleep } from "node:timers/promises";
import { newRid } from "pyadeq";

const TICK_MS = 100;
const MOST_ITEMS = 1000; // in a call
const FIRST_PAUSE_MS = 10; // before the poll after the wait is over, whose end has to reach the server

/**
 * A lock, as long as `lost` is not aborted.
 *
 * @typedef {object} Grant
 * @property {string} rid
 * @property {number} fence goes with what is written elsewhere; each grant of a resource has a larger one
 * @property {AbortSignal} lost
 */

/** A request that was not granted. */
export class NotGranted extends Error {
  /** @param {string} status `busy` for instance, or what it ended with */
  constructor(status) {
    super(`the lock was not granted: ${status}`);
    this.status = status;
  }
}

export class LockClient {
  /** @type {Map<string, { losing: AbortController, until: number }>} by rid */
  #held = new Map();
  /** @type {NodeJS.Timeout | undefined} */
  #ticking;
  /** @type {Promise<void> | undefined} */
  #renewing;
  #renewed = 0;
  #leaseMs = 0;
  /** The domain's time, less our own. @type {number | undefined} */
  #offset;

  /** @param {import("pyadeq").Lock} locks */
  constructor(locks) {
    this.locks = locks;
  }

  /**
   * @param {string} resource
   * @param {object} [options]
   * @param {string} [options.owner] a flow of the program; it waits for one thing at a time
   * @param {number} [options.waitMs]
   * @param {AbortSignal} [options.signal] ends the wait
   * @returns {Promise<Grant>}
   */
  async take(resource, { owner = newRid(), waitMs = 0, signal } = {}) {
    const rid = newRid();
    try {
      const issuedMs = await this.#time();
      let asked = performance.now();
      const first = await this.locks.acquire({ rid, resource, owner, issuedMs, waitMs });
      const over = asked + waitMs;
      this.#observe(first.nowMs);
      if (first.status === "granted") {
        return this.#keep(rid, first.fence, asked, first.deadlineMs - first.nowMs);
      }
      let pollMs = first.status === "queued" ? first.pollMs : fail(first);
      for (;;) {
        const left = Math.max(over - performance.now(), 0) + FIRST_PAUSE_MS;
        await sleep(Math.min(pollMs, left), undefined, { signal });
        asked = performance.now();
        const { nowMs, items } = await this.locks.poll({ items: [{ rid }] });
        this.#observe(nowMs);
        const [answer] = items;
        if (answer?.status === "granted") {
          const fence = answer.fences[0]?.fence ?? 0;
          return this.#keep(rid, fence, asked, answer.deadlineMs - nowMs);
        }
        pollMs = answer?.status === "queued" ? answer.pollMs : fail(answer);
      }
    } catch (error) {
      // It may wait, or hold, or arrive yet: none of that is wanted any more.
      if (!(error instanceof NotGranted)) await this.locks.cancel({ items: [{ rid }] });
      throw error;
    }
  }

  /** @param {Grant} grant */
  async release({ rid }) {
    this.#held.delete(rid);
    await this.locks.release({ items: [{ rid }] });
  }

  /** Now, on the domain's clock. */
  async #time() {
    if (this.#offset === undefined) this.#observe((await this.locks.stats()).nowMs);
    return Math.floor(performance.now() + Number(this.#offset));
  }

  /** @param {number} nowMs of a reply; the last one counts, for clocks are set at times */
  #observe(nowMs) {
    this.#offset = nowMs - performance.now();
  }

  /**
   * @param {string} rid
   * @param {number} fence
   * @param {number} asked when the call was sent
   * @param {number} leaseMs
   * @returns {Grant}
   */
  #keep(rid, fence, asked, leaseMs) {
    const losing = new AbortController();
    this.#held.set(rid, { losing, until: asked + leaseMs });
    this.#leaseMs = leaseMs;
    if (this.#ticking === undefined) {
      this.#renewed = asked;
      this.#ticking = setInterval(() => this.#tick(), TICK_MS).unref();
    }
    return { rid, fence, lost: losing.signal };
  }

  /** Every lock ends in time, whatever has become of the call that would renew it. */
  #tick() {
    const now = performance.now();
    for (const [rid, { until }] of this.#held) if (until < now + TICK_MS) this.#lose(rid);
    if (this.#held.size === 0) {
      clearInterval(this.#ticking);
      this.#ticking = undefined;
    } else if (this.#renewing === undefined && now - this.#renewed >= this.#leaseMs / 3) {
      this.#renewed = now;
      this.#renewing = this.#renew()
        .catch(console.error)
        .finally(() => (this.#renewing = undefined));
    }
  }

  async #renew() {
    const all = [...this.#held.keys()];
    for (let at = 0; at < all.length; at += MOST_ITEMS) {
      const rids = all.slice(at, at + MOST_ITEMS);
      const asked = performance.now();
      const { nowMs, items } = await this.locks.renew({ items: rids.map((rid) => ({ rid })) });
      this.#observe(nowMs);
      items.forEach((item, index) => {
        const rid = /** @type {string} */ (rids[index]);
        const held = this.#held.get(rid);
        if (item.status !== "renewed") this.#lose(rid);
        else if (held) {
          this.#leaseMs = item.deadlineMs - nowMs; // what a grant told may be less
          held.until = asked + this.#leaseMs;
        }
      });
    }
  }

  /** @param {string} rid */
  #lose(rid) {
    this.#held.get(rid)?.losing.abort();
    this.#held.delete(rid);
  }
}

/**
 * @param {{ status: string, outcome?: string } | undefined} answer
 * @returns {never}
 */
function fail(answer) {
  throw new NotGranted(answer?.outcome ?? answer?.status ?? "unknown");
}
