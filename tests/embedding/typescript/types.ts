// What the types allow, and what they do not.
import { Adeq, type Connection, type queue } from "pyadeq";

export async function use(connection: Connection): Promise<string> {
  const adeq = new Adeq(connection, { slot: "prod" });
  const tasks = adeq.queue("default");
  const items: queue.EnqueueItem[] = [{ id: "a", payload: Buffer.from("{}"), unclaimed: "fail" }];
  const answer = await tasks.enqueue({ items });
  for (const item of answer.items) {
    if (item.status === "deduplicated") return item.id;
    // @ts-expect-error: only some answers have an id
    item.id;
  }
  // @ts-expect-error: the payload is missing
  await tasks.enqueue({ items: [{ id: "a" }] });
  // @ts-expect-error: no such argument
  await tasks.stats({ verbose: true });
  // @ts-expect-error: a lock has a mode of three
  await adeq.locks("d").acquire({ rid: "r", resource: "x", owner: "o", issuedMs: 0, mode: "all" });
  const lock = await adeq.locks("d").acquire({ rid: "r", resource: "x", owner: "o", issuedMs: 0 });
  switch (lock.status) {
    case "granted":
      return String(lock.fence);
    case "queued":
      return String(lock.pollMs);
    case "deadlock":
      return lock.circle;
    default:
      return lock.status;
  }
}
