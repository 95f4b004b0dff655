package embedding

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
)

// proxy is a way to the server that loses answers of calls while there are some to lose.
type proxy struct {
	url  string
	lose atomic.Int64
	lost atomic.Int64
	// onLoss is called before the client hears of it.
	onLoss func()
}

func proxied(t *testing.T) *proxy {
	t.Helper()
	options, err := redis.ParseURL(url)
	must(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := &proxy{url: "redis://" + listener.Addr().String()}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			go p.pass(near, options.Addr)
		}
	}()
	return p
}

func (p *proxy) pass(near net.Conn, addr string) {
	far, err := net.Dial("tcp", addr)
	if err != nil {
		_ = near.Close()
		return
	}
	var asked atomic.Bool
	var both sync.WaitGroup
	both.Add(2)
	go func() {
		defer both.Done()
		copied(far, near, func(data []byte) bool {
			if bytes.Contains(data, []byte("EVALSHA")) {
				asked.Store(true)
			}
			return true
		})
	}()
	go func() {
		defer both.Done()
		copied(near, far, func([]byte) bool {
			if !asked.Load() || p.lose.Add(-1) < 0 {
				return true
			}
			p.lost.Add(1)
			if p.onLoss != nil {
				p.onLoss()
			}
			return false
		})
	}()
	both.Wait()
}

// copied passes on what comes until one side is closed, or until it is not to be passed on.
func copied(to, from net.Conn, pass func([]byte) bool) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		if err != nil || !pass(buffer[:n]) {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}
