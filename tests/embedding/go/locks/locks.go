// Package locks has locks with a wait, a fence and renewal. What a client of locks has to do, and
// why, is in "Writing a lock client" of the contract.
package locks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"pyadeq"
	"pyadeq/lock"
)

const (
	mostItems = 1000 // in a call
	// firstPause is before the first poll after the wait is over, whose end has to reach the server.
	firstPause = 10 * time.Millisecond
)

// NotGranted is a request that was not granted.
type NotGranted struct {
	// Answer is why: one of acquire or of poll, *lock.AcquireBusy for instance.
	Answer any
}

func (n *NotGranted) Error() string {
	return fmt.Sprintf("the lock was not granted: %T", n.Answer)
}

// Grant is a lock, as long as Lost is not closed.
type Grant struct {
	// Fence goes with what is written elsewhere; each grant of a resource has a larger one.
	Fence int64
	Lost  chan struct{}

	rid  string
	over *time.Timer // it is lost then, if it is not renewed
}

// Options of a request; all may be left out.
type Options struct {
	// Owner is a flow of the program, which waits for one thing at a time.
	Owner string
	// Wait is how long to wait for it at most.
	Wait time.Duration
}

// Client takes the locks of one domain.
type Client struct {
	rdb   redis.UniversalClient
	locks *lock.Domain
	began time.Time

	mu       sync.Mutex
	held     map[string]*Grant // by rid
	lease    time.Duration     // of the last renewal, or what is left of the last grant
	renewing bool
	offset   int64 // the domain's time when the client began
}

// New makes a client, which listens for hints by rdb.
func New(rdb redis.UniversalClient, locks *lock.Domain) *Client {
	return &Client{rdb: rdb, locks: locks, began: time.Now(), held: map[string]*Grant{}}
}

// Take asks for a lock, and waits no longer than the context is there.
func (c *Client) Take(ctx context.Context, resource string, options Options) (*Grant, error) {
	rid := pyadeq.NewRID()
	grant, err := c.request(ctx, rid, resource, options)
	var notGranted *NotGranted
	if err != nil && !errors.As(err, &notGranted) {
		// It may wait, or hold, or arrive yet: none of that is wanted any more.
		args := lock.CancelArgs{Items: []lock.CancelItem{{RID: rid}}}
		_, failed := c.locks.Cancel(context.WithoutCancel(ctx), args)
		err = errors.Join(err, failed)
	}
	return grant, err
}

func (c *Client) request(
	ctx context.Context, rid, resource string, options Options,
) (*Grant, error) {
	issued, err := c.now(ctx)
	if err != nil {
		return nil, err
	}
	asked := time.Now()
	answer, err := c.locks.Acquire(ctx, lock.AcquireArgs{
		RID: rid, Resource: resource, Owner: cmp.Or(options.Owner, rid),
		IssuedMs: issued, WaitMs: options.Wait.Milliseconds(),
	})
	if err != nil {
		return nil, err
	}
	c.heard(nowMs(answer))
	switch answer := answer.(type) {
	case *lock.AcquireGranted:
		return c.keep(rid, answer.Fence, asked, ms(answer.DeadlineMs-answer.NowMs)), nil
	case *lock.AcquireQueued:
		return c.poll(ctx, rid, ms(answer.PollMs), asked.Add(options.Wait))
	default:
		return nil, &NotGranted{answer}
	}
}

// poll asks how the request stands: when the subscription to its hints begins, after each hint, at
// least every pollMs, and when its wait is over.
func (c *Client) poll(
	ctx context.Context, rid string, pollTime time.Duration, over time.Time,
) (*Grant, error) {
	hints := c.rdb.SSubscribe(ctx, c.locks.Keys().Channel(rid))
	defer hints.Close()
	signs := hints.ChannelWithSubscriptions()
	for {
		pause := pollTime
		if left := time.Until(over); left < pause {
			pause = max(left, 0) + firstPause
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-signs:
		case <-time.After(pause):
		}
		asked := time.Now()
		polled, err := c.locks.Poll(ctx, lock.PollArgs{Items: []lock.PollItem{{RID: rid}}})
		if err != nil {
			return nil, err
		}
		c.heard(polled.NowMs)
		switch answer := polled.Items[0].(type) {
		case *lock.PollItemGranted:
			return c.keep(rid, answer.Fences[0].Fence, asked, ms(answer.DeadlineMs-polled.NowMs)), nil
		case *lock.PollItemQueued:
			pollTime = ms(answer.PollMs)
		default:
			return nil, &NotGranted{answer}
		}
	}
}

// Release gives a lock back.
func (c *Client) Release(ctx context.Context, grant *Grant) error {
	c.mu.Lock()
	delete(c.held, grant.rid)
	grant.over.Stop()
	c.mu.Unlock()
	released, err := c.locks.Release(ctx, lock.ReleaseArgs{Items: []lock.ReleaseItem{{RID: grant.rid}}})
	if err == nil {
		c.heard(released.NowMs)
	}
	return err
}

// now is the domain's time.
func (c *Client) now(ctx context.Context) (int64, error) {
	c.mu.Lock()
	offset := c.offset
	c.mu.Unlock()
	if offset != 0 {
		return offset + time.Since(c.began).Milliseconds(), nil
	}
	stats, err := c.locks.Stats(ctx, lock.StatsArgs{})
	if err != nil {
		return 0, err
	}
	c.heard(stats.NowMs)
	return stats.NowMs, nil
}

// heard is after every reply: the last one counts, for the domain's clock may leap.
func (c *Client) heard(nowMs int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset = nowMs - time.Since(c.began).Milliseconds()
}

func nowMs(answer lock.AcquireAnswer) int64 {
	switch answer := answer.(type) {
	case *lock.AcquireGranted:
		return answer.NowMs
	case *lock.AcquireQueued:
		return answer.NowMs
	case *lock.AcquireBusy:
		return answer.NowMs
	case *lock.AcquireDeadlock:
		return answer.NowMs
	case *lock.AcquireEnded:
		return answer.NowMs
	case *lock.AcquireOwnerWaits:
		return answer.NowMs
	case *lock.AcquireUnavailable:
		return answer.NowMs
	case *lock.AcquireRateLimited:
		return answer.NowMs
	case *lock.AcquireRequestExpired:
		return answer.NowMs
	}
	panic("unreachable: these are all")
}

func (c *Client) keep(rid string, fence int64, asked time.Time, lease time.Duration) *Grant {
	grant := &Grant{Fence: fence, Lost: make(chan struct{}), rid: rid}
	c.mu.Lock() // until it is held there is nothing to lose
	defer c.mu.Unlock()
	c.held[rid] = grant
	grant.over = time.AfterFunc(time.Until(asked.Add(lease)), func() { c.lose(grant) })
	c.lease = lease
	if !c.renewing {
		c.renewing = true
		go c.renew()
	}
	return grant
}

// renew renews all that is held, every third of the lease time.
func (c *Client) renew() {
	for {
		c.mu.Lock()
		c.renewing = len(c.held) > 0
		again, pause := c.renewing, c.lease/3
		c.mu.Unlock()
		if !again {
			return
		}
		time.Sleep(pause)
		c.mu.Lock()
		held := slices.Collect(maps.Values(c.held))
		c.mu.Unlock()
		for part := range slices.Chunk(held, mostItems) {
			if err := c.renewOnce(context.Background(), part); err != nil {
				log.Print(err)
			}
		}
	}
}

func (c *Client) renewOnce(ctx context.Context, held []*Grant) error {
	args := lock.RenewArgs{}
	for _, grant := range held {
		args.Items = append(args.Items, lock.RenewItem{RID: grant.rid})
	}
	asked := time.Now()
	renewed, err := c.locks.Renew(ctx, args)
	if err != nil {
		return err
	}
	c.heard(renewed.NowMs)
	for i, item := range renewed.Items {
		if item, ok := item.(*lock.RenewItemRenewed); ok {
			c.keepOn(held[i], asked, ms(item.DeadlineMs-renewed.NowMs))
		} else {
			c.lose(held[i])
		}
	}
	return nil
}

func (c *Client) keepOn(grant *Grant, asked time.Time, lease time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held[grant.rid] == grant {
		c.lease = lease
		grant.over.Reset(time.Until(asked.Add(lease)))
	}
}

func (c *Client) lose(grant *Grant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held[grant.rid] == grant {
		delete(c.held, grant.rid)
		grant.over.Stop()
		close(grant.Lost)
	}
}

func ms(number int64) time.Duration {
	return time.Duration(number) * time.Millisecond
}
