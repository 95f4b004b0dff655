package embedding

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"pyadeq"
)

type script struct {
	ID, Noun, Verb string
	Uses           []string
	Keys           []struct{ Template, Noun string }
	Args           []argument
	Groups         []group
	Returns        []status
	Shapes         map[string][]status
}

type argument struct {
	Name, Type string
	Default    any
}

type group struct {
	Name string
	Max  int
}

type status struct {
	Status string
	Fields []struct{ Name, Type, Of string }
}

type vector struct {
	Name   string
	Before state
	Call   struct {
		Args   map[string]any
		Groups map[string][]map[string]any
	}
	Memory string
	Argv   []any
	Answer []any
	Error  string
	After  state
}

// story is calls that follow each other on one state.
type story struct {
	Noun   string
	Before state
	Steps  []struct {
		Script string
		vector
	}
	After state
}

func TestConformance(t *testing.T) {
	folder := os.Getenv("VECTORS")
	var manifest struct{ Scripts []script }
	parse(t, filepath.Join(folder, "..", "manifest.json"), &manifest)
	rdb := connected(t, url)
	watched := &watching{}
	rdb.AddHook(watched)
	client := opened(t, rdb, pyadeq.Options{})
	number := 0
	for _, script := range manifest.Scripts {
		var file struct {
			Script  string
			Vectors []vector
		}
		parse(t, filepath.Join(folder, script.ID+".json"), &file)
		same(t, "script", file.Script, script.ID)
		for _, vector := range file.Vectors {
			number++
			t.Run(script.ID+"/"+vector.Name, func(t *testing.T) { replay(t, client, watched, script, vector) })
		}
	}
	stories, err := filepath.Glob(filepath.Join(folder, "stories", "*.json"))
	must(t, err)
	for _, path := range stories {
		var story story
		parse(t, path, &story)
		t.Run(filepath.Base(path), func(t *testing.T) { tell(t, client, watched, manifest.Scripts, story) })
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	must(t, err)
	same(t, "files", len(files), len(manifest.Scripts))
	t.Logf("%d vectors", number)
}

func replay(t *testing.T, client *pyadeq.Client, watched *watching, script script, vector vector) {
	server := emptied(t)
	base := baseOf(t, client, script.Noun)
	restore(t, server, base, vector.Before)
	if vector.Memory == "full" {
		fill(t, server, 1)
	}
	answer, err := outcome(t, client, script, vector)
	fill(t, server, 0)
	check(t, watched, base, script, vector, answer, err)
	same(t, "state", dump(t, server, base), following(vector.Before, vector.After))
}

func tell(
	t *testing.T, client *pyadeq.Client, watched *watching, scripts []script, story story,
) {
	server := emptied(t)
	base := baseOf(t, client, story.Noun)
	restore(t, server, base, story.Before)
	for _, step := range story.Steps {
		at := slices.IndexFunc(scripts, func(one script) bool { return one.ID == step.Script })
		answer, err := outcome(t, client, scripts[at], step.vector)
		check(t, watched, base, scripts[at], step.vector, answer, err)
	}
	same(t, "state", dump(t, server, base), following(story.Before, story.After))
}

func baseOf(t *testing.T, client *pyadeq.Client, noun string) string {
	return nounOf(t, client, noun, "conformance").MethodByName("Base").Call(nil)[0].String()
}

// following is a state with what has changed.
func following(before, changed state) state {
	expected := maps.Clone(before)
	maps.Copy(expected, changed)
	maps.DeleteFunc(expected, func(_ string, held any) bool { return held == nil })
	return expected
}

// check compares what was sent, and what came back.
func check(
	t *testing.T, watched *watching, base string, script script, vector vector, answer any, err error,
) {
	t.Helper()
	var refused *pyadeq.ScriptError
	if errors.As(err, &refused) {
		same(t, "error", string(refused.Code)+" "+refused.Text, vector.Error)
		if !errors.Is(err, refused.Code) {
			t.Error("the error is not its code")
		}
	} else {
		must(t, err)
		expected := ordered(script, script.Returns, vector.Answer)
		same(t, "reply", ordered(script, script.Returns, onWire(watched.reply).([]any)), expected)
		same(t, "answer", shown(script, name(script.Verb), script.Returns, reflect.ValueOf(answer)), expected)
	}
	var keys, argv []any
	for _, key := range script.Keys {
		template := strings.Replace(key.Template, "{base}", base, 1)
		keys = append(keys, strings.Replace(template, "{"+key.Noun+"}", base+"!none", 1))
	}
	for _, word := range watched.args[3+len(keys):] {
		argv = append(argv, onWire(word))
	}
	same(t, "keys", watched.args[3:3+len(keys)], keys)
	same(t, "argv", argv, sent(script, vector))
}

// outcome is a typed call, and its answer or its error.
func outcome(t *testing.T, client *pyadeq.Client, script script, vector vector) (any, error) {
	noun := nounOf(t, client, script.Noun, "conformance")
	method := noun.MethodByName(name(script.Verb))
	args := reflect.New(method.Type().In(1 + len(script.Uses))).Elem()
	for word, value := range vector.Call.Args {
		if word == "rid" && value == "" {
			value = pyadeq.NoRID
		}
		set(t, args.FieldByName(name(word)), value)
	}
	for _, group := range script.Groups {
		for _, item := range vector.Call.Groups[group.Name] {
			field := args.FieldByName(name(group.Name))
			if group.Name == "item" && group.Max > 1 {
				field = args.FieldByName("Items")
			}
			var into reflect.Value
			if group.Max == 1 {
				field.Set(reflect.New(field.Type().Elem()))
				into = field.Elem()
			} else {
				field.Set(reflect.Append(field, reflect.Zero(field.Type().Elem())))
				into = field.Index(field.Len() - 1)
			}
			for word, value := range item {
				set(t, into.FieldByName(name(word)), value)
			}
		}
	}
	given := []reflect.Value{reflect.ValueOf(context.Background())}
	for range script.Uses {
		given = append(given, reflect.ValueOf(""))
	}
	results := method.Call(append(given, args))
	err, _ := results[1].Interface().(error)
	return results[0].Interface(), err
}

func set(t *testing.T, field reflect.Value, value any) {
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(field.Type().Elem()))
		field = field.Elem()
	}
	switch value := raw(t, value).(type) {
	case float64:
		field.SetInt(int64(value))
	case bool:
		field.SetBool(value)
	case string:
		field.Set(reflect.ValueOf(value).Convert(field.Type()))
	case []any:
		field.Set(reflect.MakeSlice(field.Type(), 0, len(value)))
		for _, word := range value {
			field.Set(reflect.Append(field, reflect.ValueOf(word)))
		}
	}
}

// sent is the argv of a vector. Where a default is 0 or false, Go cannot tell it from what is left
// out, and sends nothing.
func sent(script script, vector vector) []any {
	argv := slices.Clone(vector.Argv)
	for i, one := range script.Args {
		given := vector.Call.Args[one.Name]
		if given != nil && given == one.Default && (given == 0.0 || given == false) {
			argv[i] = ""
		}
	}
	return argv
}

// onWire is a word or a reply as a vector writes it.
func onWire(value any) any {
	switch value := value.(type) {
	case int64:
		return float64(value)
	case string:
		return text(value)
	case []byte:
		return text(string(value))
	case []any:
		values := make([]any, len(value))
		for i, one := range value {
			values[i] = onWire(one)
		}
		return values
	}
	return value
}

// ordered is an answer with its pairs by name: their order is another on each engine.
func ordered(script script, statuses []status, answer []any) []any {
	at := slices.IndexFunc(statuses, func(one status) bool { return one.Status == answer[0] })
	values := slices.Clone(answer)
	for i, field := range statuses[at].Fields {
		switch field.Type {
		case "list":
			entries := []any{}
			for _, entry := range answer[i+1].([]any) {
				entries = append(entries, ordered(script, script.Shapes[field.Of], entry.([]any)))
			}
			values[i+1] = entries
		case "pairs":
			values[i+1] = byName(answer[i+1].([]any))
		}
	}
	return values
}

// shown is a typed answer in the form of the wire: a status, then the fields in their order.
func shown(script script, prefix string, statuses []status, answer reflect.Value) []any {
	for answer.Kind() == reflect.Interface || answer.Kind() == reflect.Pointer {
		answer = answer.Elem()
	}
	at := slices.IndexFunc(statuses, func(one status) bool {
		return len(statuses) == 1 || answer.Type().Name() == prefix+name(one.Status)
	})
	values := []any{statuses[at].Status}
	for _, field := range statuses[at].Fields {
		value := answer.FieldByName(name(field.Name))
		switch field.Type {
		case "pairs":
			flat := []any{}
			for word, one := range value.Interface().(map[string]string) {
				flat = append(flat, text(word), text(one))
			}
			values = append(values, byName(flat))
		case "list":
			entries := []any{}
			for _, entry := range value.Seq2() {
				inner := name(script.Verb + "_" + field.Of)
				entries = append(entries, shown(script, inner, script.Shapes[field.Of], entry))
			}
			values = append(values, entries)
		case "ids":
			entries := []any{}
			for _, id := range value.Interface().([]string) {
				entries = append(entries, text(id))
			}
			values = append(values, entries)
		default:
			values = append(values, onWire(value.Interface()))
		}
	}
	return values
}

func byName(flat []any) []any {
	pairs := [][]any{}
	for pair := range slices.Chunk(flat, 2) {
		pairs = append(pairs, pair)
	}
	slices.SortFunc(pairs, func(a, b []any) int { return cmp.Compare(fmt.Sprint(a[0]), fmt.Sprint(b[0])) })
	return slices.Concat(pairs...)
}

// name is a name of the manifest as the client writes it.
func name(snake string) string {
	words := strings.Split(snake, "_")
	for i, word := range words {
		if slices.Contains([]string{"id", "ids", "ok", "pid", "ppm", "rid", "ttl"}, word) {
			words[i] = strings.ToUpper(word)
		} else {
			words[i] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, "")
}

// fill says how many bytes of memory there are at most; 0 is no bound.
func fill(t *testing.T, server *redis.Client, most int) {
	t.Helper()
	must(t, server.ConfigSet(context.Background(), "maxmemory-policy", "noeviction").Err())
	must(t, server.ConfigSet(context.Background(), "maxmemory", fmt.Sprint(most)).Err())
}

func parse(t *testing.T, path string, into any) {
	t.Helper()
	bytes, err := os.ReadFile(path)
	must(t, err)
	must(t, json.Unmarshal(bytes, into))
}

func same(t *testing.T, what string, found, expected any) {
	if reflect.DeepEqual(found, expected) {
		return
	}
	t.Helper()
	t.Errorf("%s: %s, not %s", what, encoded(found), encoded(expected))
}

func encoded(value any) string {
	bytes, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(bytes)
}
