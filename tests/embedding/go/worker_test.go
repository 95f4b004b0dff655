package embedding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"pyadeq"
	"pyadeq.test/worker"
	"pyadeq/queue"
)

// bench is a queue on an empty server, for workers to work on.
type bench struct {
	*testing.T
	server *redis.Client
	queue  *queue.Queue
}

func newBench(t *testing.T) *bench {
	t.Helper()
	if cluster {
		t.Skip("a worker's blocking connection is to one server")
	}
	server := emptied(t)
	return &bench{t, server, queueOf(t, opened(t, connected(t, url), pyadeq.Options{}), "q")}
}

// start has a worker work until it is stopped, or the test is over.
func (b *bench) start(handler worker.Handler, options worker.Options) (stop func()) {
	b.Helper()
	options.Capacity = cmp.Or(options.Capacity, 2)
	ctx, cancel := context.WithCancel(ctx)
	w, over := b.run(ctx, b.queue, b.server.Options(), handler, options)
	stop = func() {
		cancel()
		must(b.T, <-over)
	}
	b.Cleanup(cancel)
	select {
	case <-w.Registered:
	case err := <-over:
		b.Fatal(err)
	}
	return stop
}

// run is a worker of this queue, as its client knows it, and how it ended.
func (b *bench) run(
	ctx context.Context, q *queue.Queue, server *redis.Options, handler worker.Handler, options worker.Options,
) (*worker.Worker, <-chan error) {
	options.Name = "w"
	options.Lanes = []string{"group/g", "any"}
	w := worker.New(q, server, handler, options)
	over := make(chan error, 1)
	go func() { over <- w.Run(ctx) }()
	return w, over
}

func (b *bench) leases(ms int64) {
	b.Helper()
	_, err := b.queue.Configure(ctx, queue.ConfigureArgs{Settings: &queue.ConfigureSettings{LeaseMs: pyadeq.Int(ms)}})
	must(b.T, err)
}

// calls is how many scripts the server has run.
func calls(t *testing.T, server *redis.Client) (number int) {
	t.Helper()
	stats, err := server.Info(ctx, "commandstats").Result()
	must(t, err)
	_, stats, _ = strings.Cut(stats, "cmdstat_evalsha:calls=")
	text, _, _ := strings.Cut(stats, ",")
	if text != "" {
		number, err = strconv.Atoi(text)
		must(t, err)
	}
	return number
}

// soon is what comes, within the time that anything may take here.
func soon(t *testing.T, what string, comes <-chan error) error {
	t.Helper()
	select {
	case err := <-comes:
		return err
	case <-time.After(60 * time.Second):
		t.Fatalf("never: %s", what)
		return nil
	}
}

func (b *bench) enqueue(items ...queue.EnqueueItem) {
	b.Helper()
	_, err := b.queue.Enqueue(ctx, queue.EnqueueArgs{Items: items})
	must(b.T, err)
}

func (b *bench) look(id string) *queue.GetItemFound {
	b.Helper()
	answer, err := b.queue.Get(ctx, queue.GetArgs{Items: []queue.GetItem{{ID: id}}})
	must(b.T, err)
	return answer.Items[0].(*queue.GetItemFound)
}

// until waits for the state of a task.
func (b *bench) until(id, state string) {
	b.Helper()
	eventually(b.T, id+" is "+state, func() bool { return b.look(id).State == state })
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func quickly(context.Context, *queue.SettleLease) ([]byte, error) {
	return nil, nil
}

func forever(ctx context.Context, _ *queue.SettleLease) ([]byte, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func TestWorkerDoesTasksOfAllItsLanesAndThoseThatComeWhileItWaits(t *testing.T) {
	b := newBench(t)
	b.enqueue(queue.EnqueueItem{ID: "a"}, queue.EnqueueItem{ID: "b"}, queue.EnqueueItem{ID: "c"})
	stop := b.start(func(_ context.Context, lease *queue.SettleLease) ([]byte, error) {
		return []byte(lease.ID), nil
	}, worker.Options{})
	b.until("c", "completed")
	b.blocked()
	b.enqueue(queue.EnqueueItem{ID: "t", Lane: "group/g"})
	b.until("t", "completed")
	stop()
	same(t, "result", string(b.look("t").Result), "t")
	workers, err := b.queue.Workers(ctx, queue.WorkersArgs{})
	must(t, err)
	same(t, "workers", len(workers.Items), 0)
}

// blocked is when the worker waits.
func (b *bench) blocked() {
	b.Helper()
	eventually(b.T, "it waits", func() bool {
		clients, err := b.server.InfoMap(ctx, "clients").Result()
		return err == nil && clients["Clients"]["blocked_clients"] == "1"
	})
}

func TestWorkerTriesAgainWhatFails(t *testing.T) {
	b := newBench(t)
	b.enqueue(queue.EnqueueItem{ID: "t", BackoffBaseMs: pyadeq.Int(1)})
	stop := b.start(func(_ context.Context, lease *queue.SettleLease) ([]byte, error) {
		if lease.Attempt == 1 {
			return nil, errors.New("not yet")
		}
		return []byte("2"), nil
	}, worker.Options{})
	b.until("t", "completed")
	stop()
	same(t, "result", string(b.look("t").Result), "2")
}

func TestWorkerFailsATaskWhoseResultCannotBeStored(t *testing.T) {
	b := newBench(t)
	b.enqueue(queue.EnqueueItem{ID: "large", MaxAttempts: pyadeq.Int(1)}, queue.EnqueueItem{ID: "t"})
	stop := b.start(func(_ context.Context, lease *queue.SettleLease) ([]byte, error) {
		if lease.ID == "large" {
			return make([]byte, 1<<20+1), nil
		}
		return []byte("7"), nil
	}, worker.Options{})
	b.until("t", "completed")
	b.until("large", "dead")
	stop()
	same(t, "error", b.look("large").Record["error"], "a result of 1048577 bytes; allowed: 1 MiB")
}

func TestWorkerSettlesInSeveralCallsWhatOneDoesNotCarry(t *testing.T) {
	b := newBench(t)
	var ids []string
	for i := range 20 {
		ids = append(ids, fmt.Sprint("t", i))
		b.enqueue(queue.EnqueueItem{ID: ids[i]})
	}
	stop := b.start(func(context.Context, *queue.SettleLease) ([]byte, error) {
		return make([]byte, 1<<20), nil
	}, worker.Options{Capacity: 20})
	for _, id := range ids {
		b.until(id, "completed")
	}
	stop()
}

func TestWorkerEndsATaskThatIsCancelled(t *testing.T) {
	b := newBench(t)
	b.enqueue(queue.EnqueueItem{ID: "t"})
	stop := b.start(forever, worker.Options{})
	b.until("t", "running")
	_, err := b.queue.Cancel(ctx, queue.CancelArgs{Items: []queue.CancelItem{{ID: "t"}}})
	must(t, err)
	b.until("t", "cancelled")
	stop()
}

func TestWorkerFailsATaskThatTakesTooLong(t *testing.T) {
	b := newBench(t)
	b.enqueue(queue.EnqueueItem{ID: "t", TimeoutMs: pyadeq.Int(50), MaxAttempts: pyadeq.Int(1)})
	stop := b.start(forever, worker.Options{})
	b.until("t", "dead")
	stop()
	same(t, "reason", b.look("t").Record["reason"], "timeout")
}

func TestWorkerRenewsALeaseWhileItsTaskRuns(t *testing.T) {
	b := newBench(t)
	b.leases(1000)
	b.enqueue(queue.EnqueueItem{ID: "t"})
	var runs atomic.Int64
	stop := b.start(func(context.Context, *queue.SettleLease) ([]byte, error) {
		runs.Add(1)
		time.Sleep(2500 * time.Millisecond)
		return nil, nil
	}, worker.Options{})
	b.until("t", "completed")
	stop()
	same(t, "runs", runs.Load(), int64(1))
}

func TestWorkerIsQuietWhenToldSoAndGoesOn(t *testing.T) {
	b := newBench(t)
	stop := b.start(quickly, worker.Options{})
	b.steer(queue.ModeQuiet)
	b.enqueue(queue.EnqueueItem{ID: "t"})
	time.Sleep(200 * time.Millisecond)
	same(t, "state", b.look("t").State, "ready")
	b.steer(queue.ModeRun)
	b.until("t", "completed")
	stop()
}

// steer asks the worker for a mode, and waits until it has heard.
func (b *bench) steer(mode queue.Mode) {
	b.Helper()
	_, err := b.queue.Steer(ctx, queue.SteerArgs{Mode: mode, Items: []queue.SteerItem{{Worker: "w"}}})
	must(b.T, err)
	eventually(b.T, "it has heard", func() bool {
		workers, err := b.queue.Workers(ctx, queue.WorkersArgs{})
		return err == nil && len(workers.Items) == 1 && workers.Items[0].Record["heard"] == "1"
	})
}

func TestWorkerGivesBackWhatRunsWhenItsTimeIsUp(t *testing.T) {
	b := newBench(t)
	b.enqueue(queue.EnqueueItem{ID: "t"})
	stop := b.start(forever, worker.Options{Grace: 50 * time.Millisecond})
	b.until("t", "running")
	stop()
	same(t, "state", b.look("t").State, "ready")
}

func TestWorkerRegistersAgainWhenTheServerHasForgottenIt(t *testing.T) {
	b := newBench(t)
	stop := b.start(quickly, worker.Options{})
	keys := b.queue.Keys()
	must(t, b.server.Del(ctx, keys.Workers(), keys.WorkerHash("w")).Err())
	b.enqueue(queue.EnqueueItem{ID: "t"})
	b.until("t", "completed")
	stop()
}

func TestWorkerLeavesToASecondOneOfItsName(t *testing.T) {
	b := newBench(t)
	b.enqueue(queue.EnqueueItem{ID: "t"})
	stopFirst := b.start(forever, worker.Options{})
	b.until("t", "running")
	stopSecond := b.start(quickly, worker.Options{})
	b.until("t", "completed")
	stopSecond()
	stopFirst()
}

func TestWorkerGoesOnWhenItsConnectionsAreCut(t *testing.T) {
	b := newBench(t)
	stop := b.start(quickly, worker.Options{})
	b.blocked()
	must(t, b.server.Do(ctx, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Err())
	b.enqueue(queue.EnqueueItem{ID: "t"})
	b.until("t", "completed")
	stop()
}

func TestWorkerFailsWhatHadToEndWhateverItsHandlerReturns(t *testing.T) {
	b := newBench(t)
	b.enqueue(queue.EnqueueItem{ID: "t", TimeoutMs: pyadeq.Int(50), MaxAttempts: pyadeq.Int(1)})
	stop := b.start(func(ctx context.Context, _ *queue.SettleLease) ([]byte, error) {
		<-ctx.Done()
		return []byte("part of it"), nil
	}, worker.Options{})
	b.ended("t")
	stop()
	same(t, "state", b.look("t").State, "dead")
	same(t, "reason", b.look("t").Record["reason"], "timeout")
}

func (b *bench) ended(id string) {
	b.Helper()
	eventually(b.T, id+" has ended", func() bool {
		state := b.look(id).State
		return state == "completed" || state == "dead"
	})
}

func TestWorkerOutlivesAHandlerThatPanics(t *testing.T) {
	b := newBench(t)
	b.enqueue(queue.EnqueueItem{ID: "t", MaxAttempts: pyadeq.Int(1)})
	stop := b.start(func(context.Context, *queue.SettleLease) ([]byte, error) {
		panic("no such thing")
	}, worker.Options{})
	b.until("t", "dead")
	stop()
	same(t, "error", b.look("t").Record["error"], "panic: no such thing")
}

func TestWorkerEndsWhatRunsWhenItIsRefused(t *testing.T) {
	b := newBench(t)
	b.leases(600_000)
	b.enqueue(queue.EnqueueItem{ID: "t"})
	told := make(chan error, 1)
	w, over := b.run(ctx, b.queue, b.server.Options(), func(ctx context.Context, _ *queue.SettleLease) ([]byte, error) {
		<-ctx.Done()
		told <- context.Cause(ctx)
		return nil, nil
	}, worker.Options{Capacity: 2})
	<-w.Registered
	b.until("t", "running")
	must(t, b.server.HSet(ctx, b.queue.Keys().Config(), "layout_min", "99").Err())
	if err := soon(t, "it ends", over); !errors.Is(err, pyadeq.ErrLayout) {
		t.Error(err)
	}
	if err := soon(t, "its handler is told", told); !errors.Is(err, worker.ErrLost) {
		t.Error(err)
	}
}

func TestWorkerEndsInTimeWhenItsServerIsGone(t *testing.T) {
	b := newBench(t)
	way := proxied(t)
	options, err := redis.ParseURL(way.url)
	must(t, err)
	q := queueOf(t, opened(t, connected(t, way.url), pyadeq.Options{Timeout: time.Second}), "q")
	working, stop := context.WithCancel(ctx)
	defer stop()
	end := make(chan struct{})
	w, over := b.run(working, q, options, func(context.Context, *queue.SettleLease) ([]byte, error) {
		<-end
		return nil, nil
	}, worker.Options{Capacity: 2, Grace: 100 * time.Millisecond})
	<-w.Registered
	b.enqueue(queue.EnqueueItem{ID: "t"})
	b.until("t", "running")
	way.lose.Store(1_000_000)
	close(end)
	stop()
	var lost *pyadeq.TransportError
	if err := soon(t, "it ends", over); !errors.As(err, &lost) {
		t.Error(err)
	}
}

func TestWorkerGivesBackWhatComesAfterItsTime(t *testing.T) {
	b := newBench(t)
	b.enqueue(queue.EnqueueItem{ID: "t"})
	working, stop := context.WithCancel(ctx)
	defer stop()
	rdb := connected(t, url)
	var calls atomic.Int64
	rdb.AddHook(&after{see: func(answered) {
		if calls.Add(1) == 2 { // the first has registered it
			stop()
			time.Sleep(200 * time.Millisecond)
		}
	}})
	_, over := b.run(working, queueOf(t, opened(t, rdb, pyadeq.Options{}), "q"), b.server.Options(), forever,
		worker.Options{Capacity: 2, Grace: time.Millisecond})
	must(t, soon(t, "it ends", over))
	same(t, "state", b.look("t").State, "ready")
}

func TestWorkerHoldsNoMoreThanACallCarries(t *testing.T) {
	b := newBench(t)
	b.leases(4000)
	for i := range 3 {
		var items []queue.EnqueueItem
		for j := range 500 {
			items = append(items, queue.EnqueueItem{ID: fmt.Sprint("t", i, "-", j)})
		}
		b.enqueue(items...)
	}
	var runs, lost atomic.Int64
	end := make(chan struct{})
	stop := b.start(func(ctx context.Context, _ *queue.SettleLease) ([]byte, error) {
		runs.Add(1)
		select {
		case <-end:
		case <-ctx.Done():
			lost.Add(1)
		}
		return nil, nil
	}, worker.Options{Capacity: 1200})
	eventually(t, "as many run as may", func() bool { return runs.Load() >= 1000 })
	time.Sleep(6 * time.Second) // longer than a lease
	same(t, "runs", runs.Load(), int64(1000))
	close(end)
	eventually(t, "all have ended", func() bool {
		stats, err := b.queue.Stats(ctx, queue.StatsArgs{})
		return err == nil && stats.Finished == 1500
	})
	stop()
	same(t, "lost", lost.Load(), int64(0))
}

func TestWorkerForgetsWhatItHasSettled(t *testing.T) {
	b := newBench(t)
	b.leases(600_000)
	b.enqueue(queue.EnqueueItem{ID: "a"}, queue.EnqueueItem{ID: "b"}, queue.EnqueueItem{ID: "c"})
	var collected atomic.Int64
	stop := b.start(func(_ context.Context, lease *queue.SettleLease) ([]byte, error) {
		runtime.SetFinalizer(lease, func(*queue.SettleLease) { collected.Add(1) })
		return nil, nil
	}, worker.Options{})
	eventually(t, "they are out of memory", func() bool {
		runtime.GC()
		return collected.Load() == 3
	})
	stop()
}

func TestWorkerPausesWhenItCannotWait(t *testing.T) {
	b := newBench(t)
	rules := []any{"ACL", "SETUSER", "waitless", "reset", "on", "nopass", "~*", "&*", "+@all", "-blpop"}
	must(t, b.server.Do(ctx, rules...).Err())
	defer b.server.Do(ctx, "ACL", "DELUSER", "waitless")
	options := *b.server.Options()
	options.Username, options.Password = "waitless", "any"
	working, stop := context.WithCancel(ctx)
	defer stop()
	w, over := b.run(working, b.queue, &options, quickly, worker.Options{Capacity: 2})
	<-w.Registered
	must(t, b.server.ConfigResetStat(ctx).Err())
	time.Sleep(3 * time.Second)
	if calls := calls(t, b.server); calls > 30 {
		t.Error(calls, "calls")
	}
	b.enqueue(queue.EnqueueItem{ID: "t"})
	b.until("t", "completed")
	stop()
	must(t, soon(t, "it ends", over))
}

func TestWorkerThatIsAProgramFinishesOnSIGTERM(t *testing.T) {
	b := newBench(t)
	path := filepath.Join(t.TempDir(), "mixed-worker")
	out, err := exec.Command("go", "build", "-o", path, "./mixed-worker").CombinedOutput()
	if err != nil {
		t.Fatal(string(out))
	}
	b.enqueue(queue.EnqueueItem{ID: "t", Payload: []byte(`{"ms": 500}`)})
	var said strings.Builder
	program := exec.Command(path)
	program.Env = append(os.Environ(), "ADEQ_URL="+url, "ADEQ_QUEUE=q", "ADEQ_WORKER=w", "ADEQ_GROUP=g",
		"ADEQ_LANES=group/g,any", "ADEQ_CAPACITY=2")
	program.Stdout, program.Stderr = &said, &said
	must(t, program.Start())
	b.until("t", "running")
	must(t, program.Process.Signal(syscall.SIGTERM))
	must(t, program.Wait())
	same(t, "output", said.String(), "ready\n")
	same(t, "result", string(b.look("t").Result), `{"by":"w","language":"go"}`)
	workers, err := b.queue.Workers(ctx, queue.WorkersArgs{})
	must(t, err)
	same(t, "workers", len(workers.Items), 0)
}
