// Package worker claims, heartbeats, settles, and ends in good order. What a worker has to do, and
// why, is in "Writing a worker" of the contract.
package worker

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"pyadeq"
	"pyadeq/queue"
)

const (
	longestWait   = 10 * time.Second
	pause         = time.Second
	tick          = 100 * time.Millisecond
	largestResult = 1 << 20 // bytes
	mostResults   = 8 << 20 // bytes in a call
	mostItems     = 1000    // in a call, and so of tasks that one heartbeat renews
)

// Why a task has to end before it is done: the cause of its context.
var (
	ErrCancelled = errors.New("cancelled")
	ErrTimeout   = errors.New("timeout")
	ErrLost      = errors.New("lost")
)

// Handler does a task: what it returns is the result, or the error.
type Handler func(ctx context.Context, lease *queue.SettleLease) ([]byte, error)

// Options of a worker.
type Options struct {
	Name  string
	Group string
	// Lanes are from the narrowest to the widest.
	Lanes []string
	// Capacity is how many tasks run at a time, 1,000 at most.
	Capacity int
	// Grace is how long running tasks may take once it stops; 30 s unless told otherwise.
	Grace time.Duration
}

// Worker works on one queue.
type Worker struct {
	// Registered is closed once others can see it.
	Registered chan struct{}

	queue    *queue.Queue
	blocking *line
	handler  Handler
	options  Options
	changed  chan struct{}

	incarnation string
	calls       int64

	mu      sync.Mutex
	held    map[string]*held // by token
	lease   time.Duration
	mode    queue.Mode
	wanted  int
	stopped bool
	late    time.Time // when what still runs is given back
}

// held is a lease, from the claim until it is settled.
type held struct {
	lease  *queue.SettleLease
	ctx    context.Context
	end    context.CancelCauseFunc
	over   *time.Timer // it is lost then, if no heartbeat renews it
	ended  bool
	result []byte
	err    error
}

// New makes a worker. Its blocking calls have a connection of their own, to the server of the queue.
func New(q *queue.Queue, server *redis.Options, handler Handler, options Options) *Worker {
	if options.Grace == 0 {
		options.Grace = 30 * time.Second
	}
	return &Worker{
		Registered: make(chan struct{}),
		queue:      q,
		blocking:   newLine(*server),
		handler:    handler,
		options:    options,
		changed:    make(chan struct{}, 1),
		held:       map[string]*held{},
		lease:      longestWait,
		mode:       queue.ModeRun,
	}
}

// Run works until the context is done, and all that runs then has ended or been given back.
func (w *Worker) Run(ctx context.Context) error {
	defer w.blocking.close()
	defer context.AfterFunc(ctx, w.stop)()
	ctx = context.WithoutCancel(ctx)
	if err := w.register(ctx); err != nil {
		return err
	}
	close(w.Registered)
	if err := w.work(ctx); err != nil {
		w.giveBack(ctx)
		return err
	}
	_, err := w.queue.Deregister(ctx, queue.DeregisterArgs{
		Worker: w.options.Name, Incarnation: w.incarnation,
	})
	return err
}

func (w *Worker) work(ctx context.Context) error {
	var beating sync.WaitGroup
	defer beating.Wait()
	over, end := context.WithCancel(ctx)
	defer end()
	beating.Add(1)
	go func() {
		defer beating.Done()
		w.beat(over)
	}()
	for !w.isOver() {
		if w.isLate() {
			w.giveBack(ctx)
		}
		atMost, err := w.settle(ctx)
		var refused *pyadeq.ScriptError
		if errors.As(err, &refused) || err != nil && w.isLate() {
			return err
		}
		if err != nil {
			log.Print(err)
			time.Sleep(pause)
			continue
		}
		w.wait(ctx, atMost)
	}
	return nil
}

func (w *Worker) register(ctx context.Context) error {
	w.incarnation = pyadeq.NewRID()
	_, err := w.queue.Register(ctx, queue.RegisterArgs{
		Worker:      w.options.Name,
		Incarnation: w.incarnation,
		About: &queue.RegisterAbout{
			PID:      pyadeq.Int(int64(os.Getpid())),
			Layout:   pyadeq.Int(pyadeq.Layout),
			Capacity: pyadeq.Int(int64(w.options.Capacity)),
			Group:    w.options.Group,
			Lanes:    w.options.Lanes,
		},
	})
	return err
}

// settle reports what has ended, claims what there is room for, and says how long there is nothing to do.
func (w *Worker) settle(ctx context.Context) (time.Duration, error) {
	select {
	case <-w.changed: // it is in what follows
	default:
	}
	w.calls++
	args := w.settled()
	asked := time.Now()
	answer, err := w.queue.Settle(ctx, args)
	if err != nil {
		return 0, err
	}
	switch answer := answer.(type) {
	case *queue.SettleStale:
		return 0, w.leave(ctx, args)
	case *queue.SettleUnregistered:
		return 0, w.register(ctx)
	case *queue.SettleOK:
		w.forget(args)
		w.mu.Lock()
		w.lease = ms(answer.LeaseMs)
		w.mu.Unlock()
		for _, lease := range answer.Leases {
			w.start(ctx, lease, asked.Add(ms(answer.DeadlineMs-answer.NowMs)))
		}
		if w.isLate() { // it was not yet when this call was made
			w.giveBack(ctx)
		}
		due := longestWait
		if answer.NextMs != 0 {
			due = ms(answer.NextMs - answer.NowMs)
		}
		return min(due, longestWait, ms(answer.LeaseMs)), nil
	}
	return 0, nil
}

// settled is what has ended, as much as one call carries, and what there is room for.
func (w *Worker) settled() queue.SettleArgs {
	w.mu.Lock()
	defer w.mu.Unlock()
	args := queue.SettleArgs{Worker: w.options.Name, Incarnation: w.incarnation, N: w.calls}
	for _, lane := range w.options.Lanes {
		args.LanesWanted = append(args.LanesWanted, queue.SettleLanesWanted{Lane: lane})
	}
	ended, bytes := 0, 0
	for _, held := range w.held {
		if !held.ended {
			continue
		}
		if ended == mostItems-len(w.options.Lanes) || bytes+len(held.result) > mostResults {
			w.change() // the others are for the next call
			break
		}
		ended++
		bytes += len(held.result)
		id, token := held.lease.ID, held.lease.Token
		if held.err == nil {
			args.Acks = append(args.Acks, queue.SettleAcks{ID: id, Token: token, Result: held.result})
			continue
		}
		args.Fails = append(args.Fails, queue.SettleFails{
			ID: id, Token: token, Reason: held.reason(), Error: held.message(),
			JitterPPM: pyadeq.Int(rand.Int64N(1_000_000)),
		})
	}
	busy := len(w.held) - ended
	args.Busy = pyadeq.Int(int64(busy))
	if w.claims() {
		args.Limit = int64(max(w.room()-busy, 0))
	}
	return args
}

// forget is after the server knows what has ended.
func (w *Worker) forget(args queue.SettleArgs) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ack := range args.Acks {
		w.drop(ack.Token)
	}
	for _, fail := range args.Fails {
		w.drop(fail.Token)
	}
}

// drop is under the lock, of what is held. The timer would keep it in memory.
func (w *Worker) drop(token string) {
	w.held[token].over.Stop()
	delete(w.held, token)
}

// leave is when somebody else has this worker's name. What has ended or runs needs tokens only.
func (w *Worker) leave(ctx context.Context, args queue.SettleArgs) error {
	w.stop()
	acks, fails := queue.AckArgs{}, queue.FailArgs{}
	for _, ack := range args.Acks {
		acks.Items = append(acks.Items, queue.AckItem(ack))
	}
	for _, fail := range args.Fails {
		fails.Items = append(fails.Items, queue.FailItem(fail))
	}
	if len(acks.Items) > 0 {
		if _, err := w.queue.Ack(ctx, acks); err != nil {
			return err
		}
	}
	if len(fails.Items) > 0 {
		if _, err := w.queue.Fail(ctx, fails); err != nil {
			return err
		}
	}
	w.forget(args)
	w.giveBack(ctx)
	return nil
}

// stop claims no more.
func (w *Worker) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	w.stopped = true
	w.change()
	w.late = time.Now().Add(w.options.Grace)
	time.AfterFunc(w.options.Grace, w.change)
}

// giveBack lets others do what still runs here.
func (w *Worker) giveBack(ctx context.Context) {
	args := queue.ReleaseArgs{}
	for _, held := range w.all() {
		if w.lose(held) {
			args.Items = append(args.Items, queue.ReleaseItem{ID: held.lease.ID, Token: held.lease.Token})
		}
	}
	if len(args.Items) > 0 {
		if _, err := w.queue.Release(ctx, args); err != nil {
			log.Print(err)
		}
	}
}

// wait is until there is something to do, or the time is over.
func (w *Worker) wait(ctx context.Context, atMost time.Duration) {
	w.mu.Lock()
	control := w.queue.Keys().Control(w.options.Name)
	keys := []string{control}
	if w.claims() && w.room() > len(w.held) {
		// The token of a lane wakes one worker only, so it has to be one with room for a task.
		for _, lane := range w.options.Lanes {
			keys = append(keys, w.queue.Keys().Wake(lane))
		}
	}
	w.mu.Unlock()
	if atMost <= 0 || len(w.changed) > 0 || w.isOver() {
		return
	}
	popped, err := w.blocking.pop(ctx, atMost, w.changed, keys)
	if err == nil && popped != control {
		return
	}
	if err != nil {
		log.Print(err)
		select { // what failed may fail again at once
		case <-time.After(pause):
		case <-w.changed:
		}
	}
	// If the connection was lost, nobody has heard what was said meanwhile.
	if err := w.heartbeat(ctx); err != nil {
		log.Print(err)
	}
}

func (w *Worker) start(ctx context.Context, lease *queue.SettleLease, until time.Time) {
	held := &held{lease: lease}
	held.ctx, held.end = context.WithCancelCause(ctx)
	w.mu.Lock() // until it is held there is nothing to lose
	w.held[lease.Token] = held
	held.over = time.AfterFunc(time.Until(until), func() { w.lose(held) })
	w.mu.Unlock()
	go func() {
		defer held.end(nil)
		if timeout, err := strconv.ParseInt(lease.Record["timeout_ms"], 10, 64); err == nil {
			defer time.AfterFunc(ms(timeout), func() { held.end(ErrTimeout) }).Stop()
		}
		result, err := w.do(held)
		w.mu.Lock()
		defer w.mu.Unlock()
		held.ended, held.result, held.err = true, result, err
		w.change()
	}()
}

// do is the task. A panic is its failure only, and so is a result that does not fit.
func (w *Worker) do(held *held) (result []byte, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			log.Printf("task %s: panic: %v\n%s", held.lease.ID, panicked, debug.Stack())
			result, err = nil, fmt.Errorf("panic: %v", panicked)
		}
	}()
	result, err = w.handler(held.ctx, held.lease)
	if cause := context.Cause(held.ctx); err == nil && cause != nil {
		return nil, cause // it was told to end, whatever it returns
	}
	if err == nil && len(result) > largestResult {
		return nil, fmt.Errorf("a result of %d bytes; allowed: 1 MiB", len(result))
	}
	return result, err
}

func (w *Worker) beat(ctx context.Context) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	beaten := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		w.mu.Lock()
		every := min(w.lease/3, longestWait) // it may be shorter now
		w.mu.Unlock()
		if time.Since(beaten) < every {
			continue
		}
		beaten = time.Now()
		if err := w.heartbeat(ctx); err != nil {
			log.Print(err)
		}
	}
}

func (w *Worker) heartbeat(ctx context.Context) error {
	all := w.all()
	args := queue.HeartbeatArgs{Worker: w.options.Name, Busy: pyadeq.Int(int64(len(all)))}
	for _, held := range all {
		args.Items = append(args.Items, queue.HeartbeatItem{ID: held.lease.ID, Token: held.lease.Token})
	}
	asked := time.Now()
	answer, err := w.queue.Heartbeat(ctx, args)
	if err != nil {
		return err
	}
	renew := func(held *held, deadlineMs int64) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.held[held.lease.Token] == held {
			held.over.Reset(time.Until(asked.Add(ms(deadlineMs - answer.NowMs))))
		}
	}
	for i, item := range answer.Items {
		switch item := item.(type) {
		case *queue.HeartbeatItemLeaseLost:
			w.lose(all[i])
		case *queue.HeartbeatItemRenewed:
			renew(all[i], item.DeadlineMs)
		case *queue.HeartbeatItemCancelling:
			renew(all[i], item.DeadlineMs)
			all[i].end(ErrCancelled)
		case *queue.HeartbeatItemTimedOut:
			renew(all[i], item.DeadlineMs)
			all[i].end(ErrTimeout)
		}
	}
	w.steer(queue.Mode(answer.Mode), int(answer.Wanted))
	return nil
}

func (w *Worker) steer(mode queue.Mode, wanted int) {
	w.mu.Lock()
	w.mode, w.wanted = mode, wanted
	w.mu.Unlock()
	if mode == queue.ModeStop || mode == queue.ModeRestart {
		w.stop()
	}
}

// lose ends a task whose lease is somebody else's. If it has ended, settling tells what came of it.
func (w *Worker) lose(held *held) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if held.ended || w.held[held.lease.Token] != held {
		return false
	}
	w.drop(held.lease.Token)
	held.end(ErrLost)
	return true
}

func (w *Worker) all() []*held {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]*held, 0, len(w.held))
	for _, held := range w.held {
		all = append(all, held)
	}
	return all
}

func (w *Worker) isOver() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stopped && len(w.held) == 0
}

func (w *Worker) isLate() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stopped && !time.Now().Before(w.late)
}

// claims is asked under the lock, like room.
func (w *Worker) claims() bool {
	return w.mode == queue.ModeRun && !w.stopped
}

func (w *Worker) room() int {
	if w.wanted > 0 {
		return min(w.wanted, mostItems)
	}
	return min(w.options.Capacity, mostItems)
}

func (w *Worker) change() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

func (h *held) reason() string {
	if cause := context.Cause(h.ctx); cause != nil && cause != context.Canceled {
		return cause.Error()
	}
	return "error"
}

func (h *held) message() string {
	return h.err.Error()[:min(len(h.err.Error()), 1000)]
}

func ms(number int64) time.Duration {
	return time.Duration(number) * time.Millisecond
}
