package embedding

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"
)

// state is what a server holds, as the conformance vectors write it down: by what follows the base.
type state = map[string]any

// text is bytes as a vector writes them.
func text(value string) any {
	if utf8.ValidString(value) {
		return value
	}
	return map[string]any{"base64": base64.StdEncoding.EncodeToString([]byte(value))}
}

// raw is what a vector writes, as it is sent.
func raw(t *testing.T, value any) any {
	t.Helper()
	written, ok := value.(map[string]any)
	if !ok {
		return value
	}
	bytes, err := base64.StdEncoding.DecodeString(written["base64"].(string))
	must(t, err)
	return string(bytes)
}

func restore(t *testing.T, server *redis.Client, base string, before state) {
	t.Helper()
	ctx := context.Background()
	for suffix, held := range before {
		key := base + suffix
		for kind, value := range held.(map[string]any) {
			if kind == "expires" {
				continue
			}
			for _, command := range write(kind, key, value) {
				for i, word := range command {
					command[i] = raw(t, word)
				}
				must(t, server.Do(ctx, command...).Err())
			}
		}
		if held.(map[string]any)["expires"] == true {
			must(t, server.Expire(ctx, key, time.Hour).Err())
		}
	}
}

// write is the commands that make a key.
func write(kind, key string, value any) [][]any {
	if kind == "string" {
		return [][]any{{"SET", key, value}}
	}
	if kind == "hash" {
		command := []any{"HSET", key}
		fields := value.(map[string]any)
		for _, name := range sorted(fields) { // some scripts answer them in the order in which they came
			command = append(command, name, fields[name])
		}
		return [][]any{command}
	}
	values := value.([]any)
	switch kind {
	case "zset":
		command := []any{"ZADD", key}
		for _, pair := range values {
			command = append(command, pair.([]any)[1], pair.([]any)[0])
		}
		return [][]any{command}
	case "set":
		return [][]any{append([]any{"SADD", key}, values...)}
	case "list":
		return [][]any{append([]any{"RPUSH", key}, values...)}
	case "stream":
		var commands [][]any
		for _, entry := range values {
			command := []any{"XADD", key, "*"}
			pairs := entry.([]any)
			if first := pairs[0].([]any); first[0] == "*" {
				command[2], pairs = first[1], pairs[1:]
			}
			for _, pair := range pairs {
				command = append(command, pair.([]any)...)
			}
			commands = append(commands, command)
		}
		return commands
	}
	panic("no vector has a " + kind)
}

func dump(t *testing.T, server *redis.Client, base string) state {
	t.Helper()
	ctx := context.Background()
	found := state{}
	keys, err := server.Keys(ctx, "*").Result()
	must(t, err)
	for _, key := range keys {
		kind, err := server.Type(ctx, key).Result()
		must(t, err)
		command := append([]any{read[kind][0], key}, read[kind][1:]...)
		value, err := server.Do(ctx, command...).Result()
		must(t, err)
		held := map[string]any{kind: shownState(kind, value)}
		expires, err := server.PTTL(ctx, key).Result()
		must(t, err)
		if expires > 0 {
			held["expires"] = true
		}
		found[key[len(base):]] = held
	}
	return found
}

// later is a time in milliseconds: from then on a vector has the ids of a stream, as the pair `*`.
const later = "4000000000000"

var read = map[string][]any{
	"hash":   {"HGETALL"},
	"zset":   {"ZRANGE", "0", "-1", "WITHSCORES"},
	"set":    {"SMEMBERS"},
	"list":   {"LRANGE", "0", "-1"},
	"string": {"GET"},
	"stream": {"XRANGE", "-", "+"},
}

func shownState(kind string, value any) any {
	if kind == "string" {
		return text(value.(string))
	}
	values := value.([]any)
	shown := []any{}
	switch kind {
	case "hash":
		fields := map[string]any{}
		for _, pair := range couples(values) {
			fields[fmt.Sprint(pair.([]any)[0])] = pair.([]any)[1]
		}
		return fields
	case "zset":
		return couples(values)
	case "stream":
		for _, entry := range values {
			id, pairs := entry.([]any)[0].(string), couples(entry.([]any)[1].([]any))
			if ms, _, _ := strings.Cut(id, "-"); len(ms) == 13 && ms >= later {
				pairs = append([]any{[]any{"*", id}}, pairs...)
			}
			shown = append(shown, pairs)
		}
		return shown
	case "set":
		slices.SortFunc(values, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	}
	for _, value := range values {
		shown = append(shown, text(value.(string)))
	}
	return shown
}

// couples are pairs of a flat array.
func couples(flat []any) []any {
	pairs := []any{}
	for i := 0; i+1 < len(flat); i += 2 {
		pairs = append(pairs, []any{text(flat[i].(string)), text(fmt.Sprint(flat[i+1]))})
	}
	return pairs
}

func sorted[V any](values map[string]V) []string {
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
