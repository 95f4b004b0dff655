// A worker beside those of other languages. Which one, says the environment; it stops on SIGTERM.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"pyadeq"
	"pyadeq.test/locks"
	"pyadeq.test/worker"
	"pyadeq/lock"
	"pyadeq/queue"
)

type task struct {
	Ms        int64  `json:"ms"`
	Lock      string `json:"lock"`
	FailFirst bool   `json:"fail_first"`
}

type result struct {
	By       string `json:"by"`
	Language string `json:"language"`
}

type program struct {
	rdb   *redis.Client
	locks *locks.Client
	name  string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	options, err := redis.ParseURL(os.Getenv("ADEQ_URL"))
	if err != nil {
		return err
	}
	options.ContextTimeoutEnabled = true
	rdb := redis.NewClient(options)
	defer rdb.Close()
	client, err := pyadeq.New(rdb, pyadeq.Options{})
	if err != nil {
		return err
	}
	domain, err := lock.New(client, os.Getenv("ADEQ_QUEUE"))
	if err != nil {
		return err
	}
	tasks, err := queue.New(client, os.Getenv("ADEQ_QUEUE"))
	if err != nil {
		return err
	}
	capacity, err := strconv.Atoi(os.Getenv("ADEQ_CAPACITY"))
	if err != nil {
		return err
	}
	p := &program{rdb: rdb, locks: locks.New(rdb, domain), name: os.Getenv("ADEQ_WORKER")}
	w := worker.New(tasks, options, p.handle, worker.Options{
		Name:     p.name,
		Group:    os.Getenv("ADEQ_GROUP"),
		Lanes:    strings.Split(os.Getenv("ADEQ_LANES"), ","),
		Capacity: capacity,
	})
	go func() {
		<-w.Registered
		fmt.Println("ready")
	}()
	return w.Run(ctx)
}

func (p *program) handle(ctx context.Context, lease *queue.SettleLease) ([]byte, error) {
	var todo task
	if err := json.Unmarshal(lease.Payload, &todo); err != nil {
		return nil, err
	}
	if todo.FailFirst && lease.Attempt == 1 {
		return nil, errors.New("the first attempt fails")
	}
	work := p.sleep
	if todo.Lock != "" {
		work = p.alone
	}
	if err := work(ctx, todo); err != nil {
		return nil, err
	}
	return json.Marshal(result{p.name, "go"})
}

func (p *program) alone(ctx context.Context, todo task) error {
	grant, err := p.locks.Take(ctx, todo.Lock, locks.Options{Wait: 30 * time.Second})
	if err != nil {
		return err
	}
	defer func() {
		if err := p.locks.Release(context.WithoutCancel(ctx), grant); err != nil {
			log.Print(err)
		}
	}()
	key := "mixed:" + todo.Lock
	if err := p.rdb.RPush(ctx, key, fmt.Sprintf("enter %d", grant.Fence)).Err(); err != nil {
		return err
	}
	if err := p.sleep(ctx, todo); err != nil {
		return err
	}
	return p.rdb.RPush(ctx, key, fmt.Sprintf("leave %d", grant.Fence)).Err()
}

func (p *program) sleep(ctx context.Context, todo task) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Duration(todo.Ms) * time.Millisecond):
		return nil
	}
}
