package worker

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// line is a connection for blocking calls. What waits on one that is lost fails at once.
type line struct {
	rdb  *redis.Client
	conn *redis.Conn
	id   int64
}

func newLine(server redis.Options) *line {
	server.MaxRetries = -1 // nothing is sent again
	server.ReadTimeout = 2 * longestWait
	return &line{rdb: redis.NewClient(&server)}
}

// pop is the key of which an element came, or none if the time is over or something has changed.
func (l *line) pop(
	ctx context.Context, atMost time.Duration, changed <-chan struct{}, keys []string,
) (string, error) {
	if err := l.open(ctx); err != nil {
		return "", err
	}
	words := []any{"BLPOP"}
	for _, key := range keys {
		words = append(words, key)
	}
	words = append(words, atMost.Seconds()) // BLPop of go-redis knows whole seconds only
	var popped []string
	var err error
	over := make(chan struct{})
	go func() {
		defer close(over)
		popped, err = l.conn.Do(ctx, words...).StringSlice()
	}()
	select {
	case <-over:
	case <-changed:
		l.unblock(ctx, over)
	}
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	if err != nil {
		l.hangUp()
		return "", err
	}
	return popped[0], nil
}

// unblock asks for the end of a wait, again and again, for it may be asked before that begins.
func (l *line) unblock(ctx context.Context, over <-chan struct{}) {
	for {
		_ = l.rdb.ClientUnblock(ctx, l.id).Err()
		select {
		case <-over:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (l *line) open(ctx context.Context) (err error) {
	if l.conn == nil {
		l.conn = l.rdb.Conn()
		if l.id, err = l.conn.ClientID(ctx).Result(); err != nil {
			l.hangUp()
		}
	}
	return err
}

func (l *line) hangUp() {
	_ = l.conn.Close()
	l.conn = nil
}

func (l *line) close() {
	_ = l.rdb.Close()
}
