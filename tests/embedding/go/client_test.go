package embedding

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"pyadeq"
	"pyadeq/events"
	"pyadeq/queue"
)

var (
	ctx  = context.Background()
	task = queue.EnqueueArgs{Items: []queue.EnqueueItem{{ID: "t", Payload: []byte("{}")}}}
)

func TestScriptsAreLoadedAtADeploy(t *testing.T) {
	server := emptied(t)
	must(t, server.ScriptFlush(ctx).Err())
	ids, err := opened(t, connected(t, url), pyadeq.Options{}).Load(ctx)
	must(t, err)
	if !slices.Contains(ids, "queue.claim.v1") || !slices.Contains(ids, "lock.acquire.v1") {
		t.Error(ids)
	}
	memory, err := server.InfoMap(ctx, "memory").Result()
	must(t, err)
	same(t, "scripts", memory["Memory"]["number_of_cached_scripts"], encoded(len(ids)))
}

func TestAScriptThatTheServerHasForgottenIsLoadedByTheCall(t *testing.T) {
	server := emptied(t)
	must(t, server.ScriptFlush(ctx).Err())
	answer, err := queueOf(t, opened(t, connected(t, url), pyadeq.Options{}), "q").Enqueue(ctx, task)
	must(t, err)
	same(t, "answer", answer.Items, []queue.EnqueueItemAnswer{&queue.EnqueueItemCreated{}})
}

func TestATaskGoesFromLineToResult(t *testing.T) {
	server := emptied(t)
	q := queueOf(t, opened(t, connected(t, url), pyadeq.Options{Source: "tests"}), "q")
	payload := []byte{0, 255, 128}
	item := queue.EnqueueItem{ID: "t", Payload: payload, Priority: pyadeq.Int(0), Tags: []string{"a", "b"}}
	_, err := q.Enqueue(ctx, queue.EnqueueArgs{Items: []queue.EnqueueItem{item}})
	must(t, err)
	_, err = q.Register(ctx, queue.RegisterArgs{Worker: "w", Incarnation: "i"})
	must(t, err)
	claimed, err := q.Claim(ctx, queue.ClaimArgs{
		Worker: "w", Incarnation: "i", N: 1, Limit: 5, Items: []queue.ClaimItem{{Lane: "any"}},
	})
	must(t, err)
	leases := claimed.(*queue.ClaimOK).Leases
	same(t, "leases", len(leases), 1)
	same(t, "payload", leases[0].Payload, payload)
	same(t, "tags", leases[0].Record["tags"], "a,b")
	same(t, "priority", leases[0].Record["priority"], "0")
	ack := queue.AckArgs{Items: []queue.AckItem{{ID: "t", Token: leases[0].Token, Result: []byte("7")}}}
	for range 2 {
		answer, err := q.Ack(ctx, ack)
		must(t, err)
		same(t, "answer", answer.Items, []queue.AckItemAnswer{&queue.AckItemCompleted{}})
	}
	written, err := server.XRange(ctx, q.Keys().Events(), "-", "+").Result()
	must(t, err)
	for _, event := range written {
		same(t, "source", event.Values["source"], "tests")
	}
}

func TestEventsAreReadWhereTheirNounWritesThem(t *testing.T) {
	emptied(t)
	client := opened(t, connected(t, url), pyadeq.Options{})
	_, err := queueOf(t, client, "mail").Enqueue(ctx, task)
	must(t, err)
	stream, err := events.New(client, "queue", "mail")
	must(t, err)
	_, err = stream.Register(ctx, events.RegisterArgs{Group: "g"})
	must(t, err)
	answer, err := stream.Read(ctx, events.ReadArgs{Group: "g"})
	must(t, err)
	var kinds []string
	for _, item := range answer.(*events.ReadOK).Items {
		if one, is := item.(*events.ReadItemEvent); is {
			kinds = append(kinds, one.Fields["event"])
		}
	}
	if !slices.Contains(kinds, "task.enqueued") {
		t.Error(kinds)
	}
	slotted := opened(t, connected(t, url), pyadeq.Options{Slot: "prod"})
	for _, row := range [][3]string{
		{"queue", "mail", "ade:{queue:mail}"},
		{"session", "web/c7", "ade:{session:web/c7}"},
		{"change", "ops", "ade:{prod}:change:ops"},
		{"rate", "api/1", "ade:{prod}:rate:api/1"},
	} {
		at := client
		if strings.Contains(row[2], "prod") {
			at = slotted
		}
		base, err := at.EventsBase(row[0], row[1])
		must(t, err)
		same(t, "base", base, row[2])
	}
	for _, row := range [][2]string{{"events", "mail"}, {"que", "mail"}, {"queue", "a b"}, {"queue", "q/"}} {
		_, err := events.New(client, row[0], row[1])
		refused(t, err)
	}
}

func TestErrorsHaveCodes(t *testing.T) {
	emptied(t)
	q := queueOf(t, opened(t, connected(t, url), pyadeq.Options{}), "q")
	_, err := q.Enqueue(ctx, queue.EnqueueArgs{Items: []queue.EnqueueItem{{ID: "no blanks"}}})
	var refused *pyadeq.ScriptError
	if !errors.As(err, &refused) || !errors.Is(err, pyadeq.ErrArg) || errors.Is(err, pyadeq.ErrLayout) {
		t.Fatal(err)
	}
	same(t, "script", refused.Script, "queue.enqueue.v1")
}

func TestWhatCannotWorkIsNamedBeforeAnythingIsSent(t *testing.T) {
	rdb := connected(t, url)
	must(t, rdb.Close())
	client := opened(t, rdb, pyadeq.Options{})
	_, err := queueOf(t, client, "q").Enqueue(ctx, queue.EnqueueArgs{Items: []queue.EnqueueItem{{ID: "t"}, {}}})
	if !errors.Is(err, pyadeq.ErrArg) || !strings.Contains(err.Error(), "Items[1].ID") {
		t.Error(err)
	}
	for _, tag := range []string{"a,b", ""} {
		item := queue.EnqueueItem{ID: "t", Payload: []byte("{}"), Tags: []string{tag}}
		_, err = queueOf(t, client, "q").Enqueue(ctx, queue.EnqueueArgs{Items: []queue.EnqueueItem{item}})
		if !errors.Is(err, pyadeq.ErrArg) || !strings.Contains(err.Error(), "no commas") {
			t.Errorf("%v does not say that a tag cannot be %q", err, tag)
		}
	}
	large := queue.EnqueueItem{ID: "t", Payload: make([]byte, 1<<20)}
	_, err = queueOf(t, client, "q").Enqueue(ctx, queue.EnqueueArgs{Items: slices.Repeat([]queue.EnqueueItem{large}, 17)})
	if !errors.Is(err, pyadeq.ErrArg) || !strings.Contains(err.Error(), "smaller batches") {
		t.Error(err)
	}
	_, err = queueOf(t, client, "q").SteerSchedule(ctx, queue.SteerScheduleArgs{Name: "s"})
	if !errors.Is(err, pyadeq.ErrArg) || !strings.Contains(err.Error(), "Verb") {
		t.Error(err)
	}
}

func TestABaseWithoutAHashTagIsRefused(t *testing.T) {
	client := opened(t, connected(t, url), pyadeq.Options{Slot: "prod"})
	for _, base := range []string{"ade:queue", "ade:{}queue", "ade:}{queue"} {
		_, err := queue.At(client, base)
		refused(t, err)
	}
	_, err := queue.New(client, "a b")
	refused(t, err)
	same(t, "base", queueOf(t, client, "q").Base(), "ade:{prod}:queue:q")
	base, err := client.PartitionBase("q", "a")
	must(t, err)
	same(t, "base", base, "ade:{queue:q/a}")
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	rdb := connected(t, url)
	for _, options := range []pyadeq.Options{
		{Timeout: 46 * time.Second}, {Timeout: -1}, {Prefix: "a b"}, {Slot: "{}"},
	} {
		_, err := pyadeq.New(rdb, options)
		refused(t, err)
	}
}

func TestARefusalTellsOfAnEarlierTryThatMayHaveApplied(t *testing.T) {
	if cluster {
		t.Skip("the nodes of a cluster are not behind the proxy")
	}
	server := emptied(t)
	way := proxied(t)
	client := opened(t, connected(t, way.url), pyadeq.Options{})
	_, err := client.Load(ctx)
	must(t, err)
	q := queueOf(t, client, "q")
	way.onLoss = func() { must(t, server.HSet(ctx, q.Keys().Config(), "layout_min", 99).Err()) }
	way.lose.Store(1)
	_, err = q.Enqueue(ctx, task)
	var refused *pyadeq.ScriptError
	if !errors.As(err, &refused) || refused.Code != pyadeq.ErrLayout || !refused.MayHaveApplied {
		t.Error(err)
	}
	same(t, "tasks", server.ZCard(ctx, q.Keys().Ready("any")).Val(), int64(1))
}

func TestACallWhoseAnswerIsLostIsSentAgainAndActsOnce(t *testing.T) {
	if cluster {
		t.Skip("the nodes of a cluster are not behind the proxy")
	}
	server := emptied(t)
	way := proxied(t)
	rdb := connected(t, way.url)
	watched := &watching{}
	rdb.AddHook(watched)
	client := opened(t, rdb, pyadeq.Options{})
	_, err := client.Load(ctx)
	must(t, err)
	q := queueOf(t, client, "q")
	way.lose.Store(2)
	answer, err := q.Enqueue(ctx, task)
	must(t, err)
	same(t, "answer", answer.Items, []queue.EnqueueItemAnswer{&queue.EnqueueItemCreated{}})
	same(t, "lost", way.lost.Load(), int64(2))
	same(t, "calls", watched.calls, 3) // go-redis has sent none again
	same(t, "tasks", server.ZCard(ctx, q.Keys().Ready("any")).Val(), int64(1))
}

func TestACallThatIsGivenUpSaysWhetherItMayHaveBeenApplied(t *testing.T) {
	if cluster {
		t.Skip("the nodes of a cluster are not behind the proxy")
	}
	emptied(t)
	way := proxied(t)
	client := opened(t, connected(t, way.url), pyadeq.Options{Timeout: 100 * time.Millisecond})
	way.lose.Store(1000)
	_, err := queueOf(t, client, "q").Enqueue(ctx, task)
	givenUp(t, err, true)

	busy := redis.NewClient(&redis.Options{Addr: strings.TrimPrefix(way.url, "redis://"), PoolSize: 1})
	defer busy.Close()
	held := busy.Conn()
	must(t, held.Ping(ctx).Err())
	defer held.Close()
	client = opened(t, busy, pyadeq.Options{Timeout: 100 * time.Millisecond})
	_, err = queueOf(t, client, "q").Enqueue(ctx, task)
	givenUp(t, err, false)
}

func TestACallThatWasNotWrittenWasNotApplied(t *testing.T) {
	server := redis.NewClient(&redis.Options{Addr: nowhere})
	defer server.Close()
	shards := redis.NewClusterClient(&redis.ClusterOptions{ClusterSlots: shared(nowhere, nowhere)})
	defer shards.Close()
	for _, rdb := range []redis.UniversalClient{server, shards} {
		// The first ends while go-redis connects, the second after that has failed.
		for _, timeout := range []time.Duration{50 * time.Millisecond, 3 * time.Second} {
			_, err := queueOf(t, opened(t, rdb, pyadeq.Options{Timeout: timeout}), "q").Enqueue(ctx, task)
			givenUp(t, err, false)
			if timeout > time.Second && !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("%v does not say what went wrong", err)
			}
		}
	}
}

func TestWhyACallWasTriedAgainIsSaidWhenItsContextEnds(t *testing.T) {
	rdb := connected(t, url)
	rdb.AddHook(&refusing{times: 1, then: context.DeadlineExceeded})
	_, err := queueOf(t, opened(t, rdb, pyadeq.Options{Timeout: time.Second}), "q").Enqueue(ctx, task)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "LOADING") {
		t.Error(err)
	}
	givenUp(t, err, false)
}

func TestAPrimaryThatIsGoneFailsNoCallOfAnother(t *testing.T) {
	if cluster {
		t.Skip("it is one server that plays a part of a cluster")
	}
	server := emptied(t)
	must(t, server.ScriptFlush(ctx).Err())
	rdb := redis.NewClusterClient(&redis.ClusterOptions{ClusterSlots: shared(server.Options().Addr, nowhere)})
	defer rdb.Close()
	answer, err := queueOf(t, opened(t, rdb, pyadeq.Options{Timeout: 20 * time.Second}), "q").Enqueue(ctx, task)
	must(t, err)
	same(t, "answer", answer.Items, []queue.EnqueueItemAnswer{&queue.EnqueueItemCreated{}})
}

func TestAServerThatRefusesForAWhileIsAskedAgain(t *testing.T) {
	server := emptied(t)
	rdb := connected(t, url)
	rdb.AddHook(&refusing{times: 2})
	answer, err := queueOf(t, opened(t, rdb, pyadeq.Options{}), "q").Enqueue(ctx, task)
	must(t, err)
	same(t, "answer", answer.Items, []queue.EnqueueItemAnswer{&queue.EnqueueItemCreated{}})
	must(t, server.ConfigSet(ctx, "maxmemory", "1").Err())
	defer server.ConfigSet(ctx, "maxmemory", "0")
	must(t, server.ConfigSet(ctx, "maxmemory-policy", "noeviction").Err())
	_, err = queueOf(t, opened(t, rdb, pyadeq.Options{}), "q").Enqueue(ctx, task)
	givenUp(t, err, false)
}

func TestAContextEndsTheSendingAgain(t *testing.T) {
	ended, cancel := context.WithCancel(ctx)
	cancel()
	q := queueOf(t, opened(t, connected(t, url), pyadeq.Options{}), "q")
	_, err := q.Stats(ended, queue.StatsArgs{})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	givenUp(t, err, false)
}

func TestAClosedClientIsGivenUpAtOnce(t *testing.T) {
	rdb := connected(t, url)
	must(t, rdb.Close())
	_, err := queueOf(t, opened(t, rdb, pyadeq.Options{}), "q").Stats(ctx, queue.StatsArgs{})
	if !errors.Is(err, redis.ErrClosed) {
		t.Error(err)
	}
	givenUp(t, err, false)
}

func TestAReplyOfAnotherFormIsAnError(t *testing.T) {
	emptied(t)
	rdb := connected(t, url)
	rdb.AddHook(&answering{reply: []any{"fine"}})
	_, err := queueOf(t, opened(t, rdb, pyadeq.Options{}), "q").Stats(ctx, queue.StatsArgs{})
	if err == nil || !strings.Contains(err.Error(), `status "fine"`) {
		t.Error(err)
	}
}

func refused(t *testing.T, err error) {
	t.Helper()
	var config *pyadeq.ConfigError
	if !errors.As(err, &config) {
		t.Errorf("%v is no ConfigError", err)
	}
}

func givenUp(t *testing.T, err error, mayHaveApplied bool) {
	t.Helper()
	var lost *pyadeq.TransportError
	if !errors.As(err, &lost) {
		t.Fatalf("%v is no TransportError", err)
	}
	if lost.MayHaveApplied != mayHaveApplied {
		t.Error(err)
	}
}
