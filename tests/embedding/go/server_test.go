// Package embedding tests the client: go test, with URL, VECTORS and CLUSTER in the environment.
package embedding

import (
	"context"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"

	"pyadeq"
	"pyadeq/lock"
	"pyadeq/queue"
)

var (
	url     = os.Getenv("URL")
	cluster = os.Getenv("CLUSTER") != ""
)

// connected is a client of go-redis: of a cluster, if that is what there is.
func connected(t *testing.T, url string) redis.UniversalClient {
	t.Helper()
	options, err := redis.ParseURL(url)
	must(t, err)
	var rdb redis.UniversalClient
	if cluster {
		rdb = redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{options.Addr}, ContextTimeoutEnabled: true})
	} else {
		options.ContextTimeoutEnabled = true
		rdb = redis.NewClient(options)
	}
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// emptied is the server itself, with nothing in it. It answers in the second version of the protocol.
func emptied(t *testing.T) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(url)
	must(t, err)
	options.Protocol = 2
	server := redis.NewClient(options)
	t.Cleanup(func() { _ = server.Close() })
	must(t, server.FlushAll(context.Background()).Err())
	return server
}

const nowhere = "127.0.0.1:1"

// shared is a cluster of two, of which the second has the last slot only.
func shared(first, second string) func(context.Context) ([]redis.ClusterSlot, error) {
	return func(context.Context) ([]redis.ClusterSlot, error) {
		return []redis.ClusterSlot{
			{Start: 0, End: 16382, Nodes: []redis.ClusterNode{{Addr: first}}},
			{Start: 16383, End: 16383, Nodes: []redis.ClusterNode{{Addr: second}}},
		}, nil
	}
}

func opened(t *testing.T, rdb redis.UniversalClient, options pyadeq.Options) *pyadeq.Client {
	t.Helper()
	client, err := pyadeq.New(rdb, options)
	must(t, err)
	return client
}

func queueOf(t *testing.T, client *pyadeq.Client, name string) *queue.Queue {
	t.Helper()
	q, err := queue.New(client, name)
	must(t, err)
	return q
}

func locksOf(t *testing.T, client *pyadeq.Client, name string) *lock.Domain {
	t.Helper()
	d, err := lock.New(client, name)
	must(t, err)
	return d
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
