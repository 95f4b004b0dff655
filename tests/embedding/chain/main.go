// Runs one task of the queue go in the trace that it carries, and enqueues one for python. It prints its spans.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"pyadeq"
	"pyadeq/queue"
)

var (
	exporter   = tracetest.NewInMemoryExporter()
	tracer     = sdk.NewTracerProvider(sdk.WithSyncer(exporter)).Tracer("chain")
	propagator = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
	for _, span := range exporter.GetSpans() {
		text, err := json.Marshal(map[string]any{
			"name": span.Name, "language": "Go", "trace": span.SpanContext.TraceID(), "span": span.SpanContext.SpanID(),
			"parent": span.Parent.SpanID(), "start": seconds(span.StartTime), "end": seconds(span.EndTime),
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(string(text))
	}
}

func seconds(at time.Time) float64 { return float64(at.UnixMicro()) / 1e6 }

func run(ctx context.Context) error {
	options, err := redis.ParseURL(os.Getenv("ADEQ_URL"))
	if err != nil {
		return err
	}
	client, err := pyadeq.New(redis.NewClient(options), pyadeq.Options{})
	if err != nil {
		return err
	}
	tasks, err := queue.New(client, "go")
	if err != nil {
		return err
	}
	lease, err := claimed(ctx, tasks)
	if err != nil {
		return err
	}
	// What the task carries: its trace, and in the header _otel the rest.
	var headers struct {
		OTel map[string]string `json:"_otel"`
	}
	if text := lease.Record["headers"]; text != "" {
		if err := json.Unmarshal([]byte(text), &headers); err != nil {
			return err
		}
	}
	carried := propagation.MapCarrier{"traceparent": lease.Record["trace"]}
	for name, value := range headers.OTel {
		carried[name] = value
	}
	ctx, span := tracer.Start(
		propagator.Extract(ctx, carried), "process go", trace.WithSpanKind(trace.SpanKindConsumer),
	)
	defer span.End()
	if err := enqueue(ctx, client); err != nil {
		return err
	}
	_, err = tasks.Ack(ctx, queue.AckArgs{Items: []queue.AckItem{{ID: lease.ID, Token: lease.Token}}})
	return err
}

func enqueue(ctx context.Context, client *pyadeq.Client) error {
	next, err := queue.New(client, "python")
	if err != nil {
		return err
	}
	ctx, span := tracer.Start(ctx, "enqueue python", trace.WithSpanKind(trace.SpanKindProducer))
	defer span.End()
	carrier := propagation.MapCarrier{}
	propagator.Inject(ctx, carrier)
	traceparent := carrier["traceparent"]
	delete(carrier, "traceparent")
	headers, err := json.Marshal(map[string]any{"_otel": carrier})
	if err != nil {
		return err
	}
	item := queue.EnqueueItem{ID: "for-python", Payload: []byte("{}"), Headers: string(headers)}
	_, err = next.Enqueue(ctx, queue.EnqueueArgs{Trace: traceparent, Items: []queue.EnqueueItem{item}})
	return err
}

func claimed(ctx context.Context, tasks *queue.Queue) (*queue.ClaimLease, error) {
	incarnation := pyadeq.NewRID()
	if _, err := tasks.Register(ctx, queue.RegisterArgs{Worker: "w", Incarnation: incarnation}); err != nil {
		return nil, err
	}
	fmt.Println("ready")
	for n := int64(1); ; n++ {
		answer, err := tasks.Claim(ctx, queue.ClaimArgs{
			Worker: "w", Incarnation: incarnation, N: n, Limit: 1, Items: []queue.ClaimItem{{Lane: "any"}},
		})
		if err != nil {
			return nil, err
		}
		if claimed, is := answer.(*queue.ClaimOK); is && len(claimed.Leases) > 0 {
			return claimed.Leases[0], nil
		}
		time.Sleep(2 * time.Millisecond)
	}
}
