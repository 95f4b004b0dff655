// The interface that older programs use, for the type checker.
import { QueueRuntime } from "./queue-runtime.js";

type Kind = "message" | "task_notification" | "approval_result" | "overlay_action";

type Source = "user" | "system" | "hook";

interface Item {
  id: string;
  kind: Kind;
  source: Source;
  enqueuedAt: number;
  agentId?: string | undefined;
  conversationId?: string | undefined;
  clientMessageId?: string | undefined;
  content?: unknown;
  text?: string | undefined;
}

interface Batch {
  batchId: string;
  items: Item[];
  mergedCount: number;
  queueLenAfter: number;
}

interface Runtime {
  enqueue(input: {
    kind: Kind;
    source: Source;
    agentId?: string;
    conversationId?: string;
    clientMessageId?: string;
    content?: unknown;
    text?: string;
  }): Promise<Item | null>;
  tryDequeue(blockedReason: string | null): Promise<Batch | null>;
}

export function fitting(runtime: QueueRuntime): Runtime {
  return runtime;
}

// @ts-expect-error: a reason must be given, if only null
export const wrong = (runtime: QueueRuntime) => runtime.tryDequeue();
