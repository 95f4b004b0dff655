package embedding

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"pyadeq"
	"pyadeq/rate"
)

// Which partition a subject has, as Python computes it; RATE_TAGS is the file.
func TestRateTags(t *testing.T) {
	text, err := os.ReadFile(os.Getenv("RATE_TAGS"))
	must(t, err)
	for _, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")[1:] {
		row := strings.Split(line, "\t")
		server := redis.NewClient(&redis.Options{})
		client, err := pyadeq.New(server, pyadeq.Options{Prefix: row[3], Slot: row[4]})
		must(t, err)
		partitions, err := strconv.Atoi(row[1])
		must(t, err)
		tag, err := rate.Tag(row[0], partitions)
		must(t, err)
		same(t, "tag", tag, row[5])
		base, err := rate.PartitionBase(client, row[2], tag)
		must(t, err)
		same(t, "base", base, row[6])
		partition, err := rate.At(client, base)
		must(t, err)
		same(t, "base of the partition", partition.Base(), base)
		if _, err := rate.PartitionBase(client, row[2], "a/b"); err == nil {
			t.Error("a tag that is none is accepted")
		}
		must(t, server.Close())
	}
	for _, partitions := range []int{-1, 0, 1025} {
		if _, err := rate.Tag("a", partitions); err == nil {
			t.Errorf("%d partitions are accepted", partitions)
		}
	}
}
