package embedding

import (
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"pyadeq"
	"pyadeq/session"
)

// What is derived from a user and an id, as Python does it; SESSION_IDS is the file.
func TestSessionIDs(t *testing.T) {
	text, err := os.ReadFile(os.Getenv("SESSION_IDS"))
	must(t, err)
	for _, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")[1:] {
		row := strings.Split(line, "\t")
		realm, user, id, prefix, slot := row[0], row[1], row[2], row[3], row[4]
		server := redis.NewClient(&redis.Options{})
		client, err := pyadeq.New(server, pyadeq.Options{Prefix: prefix, Slot: slot})
		must(t, err)
		same(t, "tag", session.Tag(realm, user), row[5])
		same(t, "hash", session.Hash(realm, id), row[6])
		same(t, "tag of the id", session.TagOf(realm, id), row[7])
		base, err := session.PartitionBase(client, realm, row[5])
		must(t, err)
		same(t, "base", base, row[8])
		partition, err := session.At(client, base)
		must(t, err)
		same(t, "base of the partition", partition.Base(), base)
		if _, err := session.PartitionBase(client, realm, "a/b"); err == nil {
			t.Error("a tag that is none is accepted")
		}
		must(t, server.Close())
	}
}
