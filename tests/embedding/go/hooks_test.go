package embedding

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"
)

// called is a hook's part that most hooks leave as it is.
type called struct{}

func (called) DialHook(next redis.DialHook) redis.DialHook { return next }

func (called) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func isCall(cmd redis.Cmder) bool {
	return strings.HasPrefix(cmd.Name(), "evalsha")
}

// watching counts calls, and keeps the last one and its reply, as they were on the wire.
type watching struct {
	called
	calls int
	args  []any
	reply any
}

func (w *watching) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if isCall(cmd) {
			w.calls++
			w.args, w.reply = cmd.Args(), cmd.(interface{ Val() any }).Val()
		}
		return err
	}
}

// refusing answers the first calls as a server does that is starting; all others have an error, if there is one.
type refusing struct {
	called
	times int
	then  error
}

func (r *refusing) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if r.times--; isCall(cmd) && r.times >= 0 {
			return loading("LOADING the data set")
		}
		if r.then != nil && isCall(cmd) {
			<-ctx.Done()
			return r.then
		}
		return next(ctx, cmd)
	}
}

type loading string

func (l loading) Error() string { return string(l) }

func (loading) RedisError() {}

type answered interface {
	Val() any
	SetVal(any)
}

// after sees the reply of each call before the client does.
type after struct {
	called
	see func(answered)
}

func (a *after) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if isCall(cmd) && err == nil {
			a.see(cmd.(answered))
		}
		return err
	}
}

// answering is a server with other scripts.
type answering struct {
	called
	reply any
}

func (a *answering) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if !isCall(cmd) {
			return next(ctx, cmd)
		}
		cmd.(interface{ SetVal(any) }).SetVal(a.reply)
		return nil
	}
}
