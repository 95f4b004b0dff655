package embedding

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"pyadeq"
	"pyadeq.test/locks"
	"pyadeq/lock"
)

func domain(t *testing.T) (redis.UniversalClient, *lock.Domain) {
	t.Helper()
	emptied(t)
	rdb := connected(t, url)
	return rdb, locksOf(t, opened(t, rdb, pyadeq.Options{}), "d")
}

func stats(t *testing.T, d *lock.Domain) *lock.StatsAnswer {
	t.Helper()
	answer, err := d.Stats(ctx, lock.StatsArgs{})
	must(t, err)
	return answer
}

func TestLocksAreOneOwnersAtATimeAndEachFenceIsAboveTheLast(t *testing.T) {
	rdb, d := domain(t)
	a, b := locks.New(rdb, d), locks.New(rdb, d)
	first, err := a.Take(ctx, "r", locks.Options{})
	must(t, err)
	_, err = b.Take(ctx, "r", locks.Options{})
	var refused *locks.NotGranted
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	if _, busy := refused.Answer.(*lock.AcquireBusy); !busy {
		t.Error(err)
	}
	granted := make(chan *locks.Grant, 1)
	go func() {
		second, err := b.Take(ctx, "r", locks.Options{Wait: 10 * time.Second})
		if err != nil {
			t.Error(err)
		}
		granted <- second
	}()
	eventually(t, "it waits", func() bool { return stats(t, d).Waiting == 1 })
	must(t, a.Release(ctx, first))
	second := <-granted
	if second == nil || second.Fence <= first.Fence {
		t.Fatal(second)
	}
	must(t, b.Release(ctx, second))
	same(t, "held", stats(t, d).Held, int64(0))
}

func TestLocksAreHandedOverWithoutAPollBetween(t *testing.T) {
	rdb, d := domain(t)
	_, err := d.Configure(ctx, lock.ConfigureArgs{Settings: &lock.ConfigureSettings{
		WaiterMs: pyadeq.Int(60_000), ClaimMs: pyadeq.Int(60_000), PollMs: pyadeq.Int(20_000),
	}})
	must(t, err)
	a, b := locks.New(rdb, d), locks.New(rdb, d)
	first, err := a.Take(ctx, "r", locks.Options{})
	must(t, err)
	go func() {
		time.Sleep(300 * time.Millisecond)
		if err := a.Release(ctx, first); err != nil {
			t.Error(err)
		}
	}()
	began := time.Now()
	second, err := b.Take(ctx, "r", locks.Options{Wait: 30 * time.Second})
	must(t, err)
	if took := time.Since(began); took > 5*time.Second {
		t.Error(took)
	}
	must(t, b.Release(ctx, second))
}

func TestLocksAreWaitedForNoLongerThanAsked(t *testing.T) {
	rdb, d := domain(t)
	a, b := locks.New(rdb, d), locks.New(rdb, d)
	_, err := a.Take(ctx, "r", locks.Options{})
	must(t, err)
	began := time.Now()
	_, err = b.Take(ctx, "r", locks.Options{Wait: 300 * time.Millisecond})
	var refused *locks.NotGranted
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	same(t, "answer", refused.Answer, &lock.PollItemEnded{Outcome: "timed_out"})
	if took := time.Since(began); took > 1500*time.Millisecond {
		t.Error(took)
	}
}

func TestLocksLeaveNothingOfAWaitThatIsBrokenOff(t *testing.T) {
	rdb, d := domain(t)
	client := locks.New(rdb, d)
	grant, err := client.Take(ctx, "r", locks.Options{})
	must(t, err)
	waiting, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := client.Take(waiting, "r", locks.Options{Wait: 10 * time.Second})
		ended <- err
	}()
	eventually(t, "it waits", func() bool { return stats(t, d).Waiting == 1 })
	end()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	same(t, "waiting", stats(t, d).Waiting, int64(0))
	must(t, client.Release(ctx, grant))
}

func TestLocksAreRenewedAndWhoLosesOneIsTold(t *testing.T) {
	rdb, d := domain(t)
	_, err := d.Configure(ctx, lock.ConfigureArgs{Settings: &lock.ConfigureSettings{LeaseMs: pyadeq.Int(1000)}})
	must(t, err)
	client := locks.New(rdb, d)
	grant, err := client.Take(ctx, "r", locks.Options{})
	must(t, err)
	time.Sleep(2 * time.Second)
	select {
	case <-grant.Lost:
		t.Fatal("it was lost")
	default:
	}
	_, err = d.ForceRelease(ctx, lock.ForceReleaseArgs{RID: pyadeq.NewRID(), Resource: "r", Reason: "test"})
	must(t, err)
	<-grant.Lost
}

func TestLocksGoByTheLastTimeThatTheyHeard(t *testing.T) {
	rdb, d := domain(t)
	client := locks.New(rdb, d)
	grant, err := client.Take(ctx, "r", locks.Options{})
	must(t, err)
	leap(t, d)
	must(t, client.Release(ctx, grant)) // it hears of the leap
	_, err = client.Take(ctx, "r", locks.Options{})
	must(t, err)
	leap(t, d)
	_, err = client.Take(ctx, "s", locks.Options{})
	var refused *locks.NotGranted
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	if _, expired := refused.Answer.(*lock.AcquireRequestExpired); !expired {
		t.Error(err)
	}
	_, err = client.Take(ctx, "s", locks.Options{})
	must(t, err)
}

// leap puts the domain's clock forward by more than a request may be late.
func leap(t *testing.T, d *lock.Domain) {
	t.Helper()
	options, err := redis.ParseURL(url)
	must(t, err)
	server := redis.NewClient(options)
	defer server.Close()
	must(t, server.HIncrBy(ctx, d.Base()+":requests", "#offset", 100_000).Err())
}

func TestLocksAreRenewedInSeveralCallsIfOneDoesNotCarryThem(t *testing.T) {
	rdb, d := domain(t)
	_, err := d.Configure(ctx, lock.ConfigureArgs{Settings: &lock.ConfigureSettings{LeaseMs: pyadeq.Int(8000)}})
	must(t, err)
	client := locks.New(rdb, d)
	grants := make([]*locks.Grant, 1001)
	var all sync.WaitGroup
	for part := range 11 {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := part; i < len(grants); i += 11 {
				grant, err := client.Take(ctx, fmt.Sprint("r", i), locks.Options{})
				if err != nil {
					t.Error(err)
				}
				grants[i] = grant
			}
		}()
	}
	all.Wait()
	time.Sleep(10 * time.Second) // longer than a lease
	for _, grant := range grants {
		select {
		case <-grant.Lost:
			t.Fatal("one was lost")
		default:
			must(t, client.Release(ctx, grant))
		}
	}
}

func TestLocksAreRenewedAtThePaceOfTheirWholeTime(t *testing.T) {
	_, d := domain(t)
	_, err := d.Configure(ctx, lock.ConfigureArgs{Settings: &lock.ConfigureSettings{LeaseMs: pyadeq.Int(30_000)}})
	must(t, err)
	rdb := connected(t, url)
	var renewals atomic.Int64
	rdb.AddHook(&after{see: func(answer answered) {
		reply := answer.Val().([]any)
		if reply[0] == "granted" { // as if most of its time was over when the answer came
			reply[3] = reply[1].(int64) + 900
		} else {
			renewals.Add(1)
		}
	}})
	client := locks.New(rdb, locksOf(t, opened(t, rdb, pyadeq.Options{}), "d"))
	grant, err := client.Take(ctx, "r", locks.Options{})
	must(t, err)
	time.Sleep(3 * time.Second)
	must(t, client.Release(ctx, grant))
	if number := renewals.Load(); number > 5 {
		t.Error(number, "calls")
	}
}
