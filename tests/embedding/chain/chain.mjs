// Runs one task of the queue `typescript` in the trace that it carries, and enqueues one for `go`. It prints its spans.
import { setTimeout as sleep } from "node:timers/promises";
import {
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  SpanKind,
  trace,
} from "@opentelemetry/api";
import {
  CompositePropagator,
  hrTimeToMilliseconds,
  W3CBaggagePropagator,
  W3CTraceContextPropagator,
} from "@opentelemetry/core";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { Redis } from "ioredis";
import { Adeq, newRid } from "pyadeq";
import { ioredis } from "pyadeq/ioredis";

const exporter = new InMemorySpanExporter();
const spanProcessors = [new SimpleSpanProcessor(exporter)];
const tracer = new BasicTracerProvider({ spanProcessors }).getTracer("chain");
const propagator = new CompositePropagator({
  propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()],
});
const client = new Redis(process.env.ADEQ_URL ?? "");
const adeq = new Adeq(ioredis(client));
const queue = adeq.queue("typescript");
const lease = await claimed();

// What the task carries: its trace, and in the header `_otel` the rest.
const { _otel = {} } = JSON.parse(lease.record.get("headers")?.toString() ?? "{}");
const carried = { traceparent: lease.record.get("trace")?.toString(), ..._otel };
const before = propagator.extract(ROOT_CONTEXT, carried, defaultTextMapGetter);
const run = tracer.startSpan("process typescript", { kind: SpanKind.CONSUMER }, before);
const inside = trace.setSpan(before, run);
await enqueue(inside);
await queue.ack({ items: [{ id: lease.id, token: lease.token, result: "null" }] });
run.end();
for (const span of exporter.getFinishedSpans()) {
  const { traceId, spanId } = span.spanContext();
  const times = [span.startTime, span.endTime].map(hrTimeToMilliseconds);
  const [start, end] = times.map((ms) => ms / 1000);
  const parent = span.parentSpanContext?.spanId;
  const found = { name: span.name, trace: traceId, span: spanId, parent, start, end };
  console.log(JSON.stringify({ ...found, language: "TypeScript" }));
}
client.disconnect();

async function enqueue(current) {
  const span = tracer.startSpan("enqueue go", { kind: SpanKind.PRODUCER }, current);
  const carrier = {};
  propagator.inject(trace.setSpan(current, span), carrier, defaultTextMapSetter);
  const { traceparent, ...rest } = carrier;
  const headers = JSON.stringify({ _otel: rest });
  const items = [{ id: "for-go", payload: "{}", headers }];
  await adeq.queue("go").enqueue({ trace: traceparent, items });
  span.end();
}

async function claimed() {
  const incarnation = newRid();
  await queue.register({ worker: "w", incarnation });
  console.log("ready");
  for (let n = 1; ; n += 1) {
    const items = [{ lane: "any" }];
    const answer = await queue.claim({ worker: "w", incarnation, slot: 0, n, limit: 1, items });
    if (answer.status === "ok" && answer.leases.length > 0) return answer.leases[0];
    await sleep(2);
  }
}
